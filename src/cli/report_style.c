/* SPDX-License-Identifier: MIT */
/* What the page looks like. Colours have a contrast of at least 4.5 (text) or 3
 * (marks) to what they stand on; marks differ in shape, bars in their rows. */
#include "cli/report_html.h"

#define COLOURS_DARK \
	"--bg:#16181c;--fg:#e8e6e3;--dim:#a9adb3;--card:#212429;--line:#3d4249;--link:#8ab8ff;" \
	"--fail:#ff9466;--ok:#4fd1a5;--gave:#ff8fc0;--gone:#b3b7bd;--move:#8ab8ff;--wait:#8d939b;" \
	"--tint:#ff946622;--out:#5a2f1f;--outfg:#ffd9c7"

const char report_style[] =
	":root{color-scheme:light dark;"
	"--bg:#fff;--fg:#1c1e21;--dim:#595e66;--card:#f4f5f7;--line:#c9cdd3;--link:#0b57c4;"
	"--fail:#b84300;--ok:#00734f;--gave:#9c0f57;--gone:#5c6168;--move:#0b57c4;--wait:#80868e;"
	"--tint:#b8430014;--out:#ffd9c4;--outfg:#6b2600}\n"
	"@media (prefers-color-scheme:dark){:root{" COLOURS_DARK "}}\n"
	"*{box-sizing:border-box}"
	"body{margin:0 auto;max-width:64rem;padding:1.5rem 1rem 4rem;background:var(--bg);"
	"color:var(--fg);font:16px/1.5 system-ui,sans-serif}\n"
	"h1{font-size:1.5rem;margin:0 0 .75rem;overflow-wrap:anywhere}"
	"h2{font-size:1.2rem;margin:2.5rem 0 .75rem}"
	"h3{font-size:1.05rem;margin:2rem 0 .5rem;overflow-wrap:anywhere}"
	"p{margin:.5rem 0;max-width:48rem}a{color:var(--link)}\n"
	".answer{font-size:1.2rem;line-height:1.4;border-left:.3rem solid var(--ok);"
	"padding:.25rem 0 .25rem .9rem}"
	".answer.bad{border-color:var(--gave)}"
	".dim,caption,figcaption{color:var(--dim);font-size:.9rem}"
	".note{border-left:.3rem solid var(--line);padding-left:.9rem;font-size:.9rem}\n"
	"dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(10.5rem,1fr));gap:.6rem;"
	"margin:1.25rem 0}"
	"dl div{background:var(--card);border-radius:.4rem;padding:.6rem .8rem}"
	"dt{color:var(--dim);font-size:.85rem}dd{margin:0;font-size:1.35rem;font-weight:600}"
	"dd small{display:block;font-size:.85rem;font-weight:400;color:var(--dim)}\n"
	".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;margin:.75rem 0}"
	"caption{text-align:left;padding-bottom:.3rem}"
	"th,td{text-align:right;padding:.25rem .7rem;border-bottom:1px solid var(--line);"
	"vertical-align:top;font-variant-numeric:tabular-nums}"
	"th{font-weight:600}thead th{border-bottom-width:2px;vertical-align:bottom}"
	".w{text-align:left;overflow-wrap:anywhere;min-width:5rem}"
	".d{min-width:11rem}.m{text-align:left;white-space:nowrap}\n"
	"figure{margin:.75rem 0;overflow-x:auto}svg{display:block}"
	".chart{width:100%;min-width:44rem;height:auto}"
	".legend{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;margin:.5rem 0;padding:0;"
	"list-style:none;font-size:.9rem}.legend svg{display:inline-block;vertical-align:-.2rem}\n"
	"svg text{font:12px system-ui,sans-serif;fill:var(--fg)}"
	"text.l{text-anchor:end}text.s{fill:var(--dim);font-size:11px}"
	"text.t{text-anchor:middle;fill:var(--dim)}"
	"text.o{text-anchor:middle;fill:var(--outfg);font-weight:600}"
	".axis,.base{stroke:var(--dim);fill:none}.base{stroke:var(--line)}"
	".grid{stroke:var(--line);stroke-dasharray:2 3;fill:none}"
	".un{fill:url(#hatch)}#hatch path{stroke:var(--wait);fill:none}"
	".tint{fill:var(--tint)}.out{fill:var(--out);stroke:var(--fail)}"
	".wait{stroke:var(--wait);stroke-width:1.5;fill:none}"
	".try{stroke:var(--fail);stroke-width:3;fill:none}\n"
	".bf{fill:var(--fail)}.br{fill:var(--ok)}.bg{fill:var(--gave)}.ba{fill:var(--gone)}"
	".bw{fill:var(--wait)}"
	"#mf{stroke:var(--fail);stroke-width:2;fill:none}"
	"#mr{fill:var(--ok);stroke:var(--bg)}#mg{fill:var(--gave);stroke:var(--bg)}"
	"#ma{fill:var(--bg);stroke:var(--gone);stroke-width:1.5}"
	"#mm{fill:var(--move);stroke:var(--bg)}"
	".track{fill:var(--card);stroke:var(--line)}\n"
	"@media print{:root{color-scheme:light;--bg:#fff;--fg:#000;--dim:#444;--card:#f4f5f7;"
	"--line:#bbb;--link:#000;--fail:#b84300;--ok:#00734f;--gave:#9c0f57;--gone:#5c6168;"
	"--move:#0b57c4;--wait:#80868e;--tint:#b8430014;--out:#ffd9c4;--outfg:#6b2600}"
	"*{print-color-adjust:exact;-webkit-print-color-adjust:exact}"
	"body{max-width:none;font-size:11pt;padding:0}"
	"figure,.wide{overflow:visible}.chart{min-width:0}"
	"figure,tr,dl div{break-inside:avoid}h2,h3{break-after:avoid}}\n";

/* Around 0,0, some ten units across. */
const char report_marks[] =
	"<svg width=\"0\" height=\"0\" aria-hidden=\"true\" focusable=\"false\"><defs>"
	"<path id=\"mf\" d=\"M-4 -4L4 4M-4 4L4 -4\"/>"
	"<circle id=\"mr\" r=\"5.5\"/>"
	"<rect id=\"mg\" x=\"-5\" y=\"-5\" width=\"10\" height=\"10\"/>"
	"<path id=\"ma\" d=\"M-5 -4H5L0 5z\"/>"
	"<path id=\"mm\" d=\"M-4 -5L5 0L-4 5z\"/>"
	"<pattern id=\"hatch\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
	"<path d=\"M0 8L8 0\"/></pattern>"
	"</defs></svg>\n"
	"<ul class=\"legend\" aria-label=\"Marks in the timelines\">"
#define MARK(id, text) \
	"<li><svg width=\"16\" height=\"16\" viewBox=\"-8 -8 16 16\" aria-hidden=\"true\">" \
	"<use href=\"#" id "\"/></svg> " text "</li>"
	MARK("mf", "failed attempt")
	MARK("mr", "recovered")
	MARK("mg", "gave up")
	MARK("ma", "abandoned by the program")
	MARK("mm", "went to another place")
	"<li><svg width=\"26\" height=\"16\" viewBox=\"0 0 26 16\" aria-hidden=\"true\">"
	"<path class=\"try\" d=\"M0 8h12\"/><path class=\"wait\" d=\"M12 8h14\"/></svg> "
	"attempt, then wait</li>"
	"<li><svg width=\"26\" height=\"16\" viewBox=\"0 0 26 16\" aria-hidden=\"true\">"
	"<rect class=\"out\" x=\"1\" y=\"2\" width=\"24\" height=\"12\"/></svg> outage</li>"
	"<li><svg width=\"26\" height=\"16\" viewBox=\"0 0 26 16\" aria-hidden=\"true\">"
	"<rect class=\"un\" x=\"1\" width=\"24\" height=\"16\"/></svg> lines were suppressed</li>"
	"</ul>\n";
