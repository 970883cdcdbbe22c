#!/bin/bash
# SPDX-License-Identifier: MIT
# "libretry report" as a user runs it: what the page says, that it stands alone,
# and that a browser shows it. Environment: LIBRETRY (the binary), TOP_SRCDIR.
set -u

# shellcheck source=tests/preload/verdicts.sh
. "${0%/*}/verdicts.sh"

TOP_SRCDIR=$(cd "${TOP_SRCDIR:-.}" && pwd) || exit 99
: "${LIBRETRY:=./libretry}"
LIBRETRY=$(cd "$(dirname "$LIBRETRY")" && pwd)/$(basename "$LIBRETRY")
[ -x "$LIBRETRY" ] || { echo "not ok setup: $LIBRETRY is missing"; exit 99; }
command -v python3 >/dev/null || { echo "skip: no python3"; exit 77; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 99

# lr ARG...: runs the command; $status, files out and err
lr() {
	"$LIBRETRY" "$@" >out 2>err </dev/null
	status=$?
}

# ends NAME STATUS ARG...
ends() {
	name=$1 expected=$2
	shift 2
	lr "$@"
	[ "$status" = "$expected" ] || cat err
	is "$name: status" "$expected" "$status"
}

# checked NAME PYTHON-SCRIPT ARG...
checked() {
	name=$1
	shift
	if text=$(python3 "$@" 2>&1); then pass "$name"; else fail "$name" "$text"; fi
}

# One line of each format per call of db1, hostile names, and what is none of ours.
cat >make_log.py <<'END'
import random, sys
random.seed(1)
count, hostile = int(sys.argv[1]), len(sys.argv) > 2
dests = ['db1:5432', 'cache:6379', 'api.test:443']
if hostile:
    dests = ['d%d:1' % i for i in range(count // 2)]
lines = []

def stamp(t):
    s = int(t)
    return '2026-11-29T%02d:%02d:%02d.%03dZ' % (12 + s // 3600 % 12, s // 60 % 60, s % 60, t % 1 * 1000)

def line(t, pid, level, event, fields, form):
    if form == 0:
        return '%s libretry[%d] %s %s %s' % (stamp(t), pid, level, event, ' '.join('%s=%s' % f for f in fields))
    if form == 1:
        return 'time=%s pid=%d level=%s event=%s %s' % (stamp(t), pid, level.lower(), event,
                                                         ' '.join('%s=%s' % f for f in fields))
    return '{"time":"%s","pid":%d,"level":"%s","event":"%s",%s}' % (
        stamp(t), pid, level.lower(), event,
        ','.join('"%s":%s' % (k, v if k == 'attempts' else '"%s"' % v) for k, v in fields))

used = set()

# No two in one millisecond: their order is that of the files.
def emit(t, *rest):
    while int(t * 1000) in used:
        t += 0.001
    used.add(int(t * 1000))
    t = int(t * 1000) / 1000 + 0.0005
    lines.append((t, line(t, *rest)))

def call(t, dest, pid, attempts, end):
    form, total = random.randrange(3), 0
    head = [('op', 'connect'), ('dest', dest), ('addr', '192.0.2.1:1')]
    for n in range(1, attempts + (end == 'abandoned')):
        wait = random.randrange(50, 900)
        emit(t, pid, 'WARN', 'retry', head + [('attempt', '%d/5' % n), ('error', 'ECONNREFUSED'),
             ('wait', '%dms' % wait), ('elapsed', '1ms'), ('policy', 'p')], form)
        t += wait / 1000
        total += wait
    level = 'ERROR' if end == 'gave-up' else 'INFO'
    tail = [('attempts', attempts)]
    if end == 'gave-up':
        tail += [('error', 'ECONNREFUSED'), ('reason', 'attempts')]
    if end == 'abandoned':
        t -= wait / 2000
    if end:
        emit(t, pid, level, end, head + tail + [('waited', '%dms' % total)], form)

t = 0.0
while len(lines) < count:
    t += random.random() * 0.2
    end = random.choice(['recovered'] * 6 + ['gave-up', 'abandoned', ''])
    attempts = 5 if end == 'gave-up' else random.randrange(2, 6)
    call(t, dests[len(lines) % len(dests)], random.randrange(1, 30), attempts, end)
lines.sort(key=lambda x: x[0])
print('\n'.join(text for _, text in lines[:count]))
END

# The figures, counted by other means: page.json against the log.
cat >agree.py <<'END'
import json, re, sys
log, figures = open(sys.argv[1]).read().splitlines(), json.load(open(sys.argv[2]))
ends = {'recovered': 0, 'gave-up': 0, 'abandoned': 0}
attempts = retries = 0
per = {}
for text in log:
    kind = re.search(r' (retry|recovered|gave-up|abandoned) |event(?:=|":")([a-z-]+)', text)
    if not kind:
        continue
    kind = kind.group(1) or kind.group(2)
    dest = re.search(r'dest(?:=|":")([^ "]+)', text).group(1)
    p = per.setdefault(dest, {'recovered': 0, 'gave-up': 0, 'abandoned': 0})
    if kind in ends:
        ends[kind] += 1
        p[kind] += 1
        n = int(re.search(r'attempts(?:=|":)(\d+)', text).group(1))
        if kind != 'abandoned':
            attempts += n
    elif kind == 'retry':
        retries += 1
total = figures['total'][0]
def same(what, expected, actual):
    if expected != actual:
        sys.exit('%s: expected %s, got %s' % (what, expected, actual))
same('lines', len(log), figures['lines'])
same('saved', ends['recovered'], total['saved'])
same('gave up', ends['gave-up'], total['gave_up'])
same('abandoned', ends['abandoned'], total['abandoned'])
# Each failed attempt has a line, but the last one of a call that gave up.
# Whether an abandoned one was waiting is a guess where calls run side by side.
if abs(retries + ends['gave-up'] - total['failed_attempts']) > ends['abandoned'] / 1000:
    same('failed', retries + ends['gave-up'], total['failed_attempts'])
same('effective', round(ends['recovered'] / (ends['recovered'] + ends['gave-up']), 4),
     round(total['effective'], 4))
same('actual', round(ends['recovered'] / attempts, 4), round(total['actual'], 4))
for d in figures['destinations']:
    p = per.pop(d['dest'])
    same(d['dest'], [p['recovered'], p['gave-up'], p['abandoned']],
         [d['saved'], d['gave_up'], d['abandoned']])
same('destinations left', {}, {d: p for d, p in per.items() if any(p.values())})
same('programs', total['saved'], sum(p['saved'] for p in figures['programs']))
same('outages', total['outages'], len(figures['outages']))
END

# Well-formed, alone, accessible.
cat >page.py <<'END'
import re, sys, xml.etree.ElementTree as tree
from html.parser import HTMLParser
text = open(sys.argv[1], encoding='utf-8').read()
root = tree.fromstring(text)
class Strict(HTMLParser):
    def handle_starttag(self, tag, attrs):
        self.seen = getattr(self, 'seen', 0) + 1
        if tag in ('script', 'link', 'img', 'iframe', 'object', 'embed', 'image', 'base', 'form'):
            sys.exit('an element ' + tag)
        for name, value in attrs:
            if name.startswith('on') or name in ('src', 'srcset', 'data', 'action', 'style', 'xlink:href'):
                sys.exit('an attribute %s=%s' % (name, value))
            if name == 'href' and not value.startswith('#'):
                sys.exit('a link to ' + value)
parser = Strict()
parser.feed(text)
style = root.find('.//style').text
if re.search(r'@import|@font-face|url\((?!#)|expression', style):
    sys.exit('the style sheet is not alone')
ids = [e.get('id') for e in root.iter() if e.get('id')]
if len(ids) != len(set(ids)):
    sys.exit('an id twice')
for e in root.iter():
    if e.get('href') and e.get('href')[1:] not in ids:
        sys.exit('a link to nowhere: ' + e.get('href'))
charts = [s for s in root.iter('svg') if s.get('role') == 'img']
for s in charts:
    named = [e.text for i in s.get('aria-labelledby').split() for e in s.iter() if e.get('id') == i]
    if len(named) != 2 or not all(named):
        sys.exit('a chart without a name')
for s in root.iter('svg'):
    if s not in charts and s.get('aria-hidden') != 'true':
        sys.exit('a picture that is neither named nor hidden')
for t in root.iter('table'):
    if t.find('caption') is None or any(h.get('scope') is None for h in t.iter('th')):
        sys.exit('a table without a caption or scopes')
    width = len(t.findall('./thead/tr/th'))
    if any(len(row) != width for row in t.findall('./tbody/tr')):
        sys.exit('a table with a row too short')
if len(sys.argv) > 2 and len(text) > int(sys.argv[2]):
    sys.exit('%d bytes' % len(text))
# Numbers in a picture that are none, or lie outside of it.
for s in charts:
    w, h = map(float, s.get('viewBox').split()[2:])
    for e in s.iter():
        for name, most in (('x', w), ('y', h), ('width', w), ('height', h)):
            if e.get(name) and e.tag != 'pattern' and not 0 <= float(e.get(name)) <= most:
                sys.exit('%s=%s in a picture of %d to %d' % (name, e.get(name), w, h))
        if re.search('nan|inf', e.get('d') or ''):
            sys.exit('no number: ' + e.get('d'))
# Contrast (WCAG 2): text 4.5, marks 3.
def colours(block):
    return dict(re.findall(r'--(\w+):(#[0-9a-f]+)', block))
def luminance(c):
    c = c[1:]
    c = ''.join(x * 2 for x in c) if len(c) == 3 else c
    parts = [int(c[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    parts = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
def contrast(a, b):
    a, b = sorted((luminance(a), luminance(b)))
    return (b + 0.05) / (a + 0.05)
blocks = re.findall(r':root\{([^}]*)\}', style)
if len(blocks) != 3:
    sys.exit('light, dark and print are not three sets of colours')
for block in blocks:
    c = colours(block)
    for a, b, least in ([(t, s, 4.5) for t in ('fg', 'dim') for s in ('bg', 'card')] +
                        [('link', 'bg', 4.5), ('outfg', 'out', 4.5)] +
                        [(m, 'bg', 3) for m in ('fail', 'ok', 'gave', 'gone', 'move', 'wait')]):
        if contrast(c[a], c[b]) < least:
            sys.exit('%s on %s: %.1f' % (a, b, contrast(c[a], c[b])))
END

arguments() {
	ends "help" 0 report --help
	has "help: usage" "Usage: libretry report" out
	ends "no log" 2 report
	has "no log: message" "no log given" err
	ends "unknown option" 2 report --what x
	ends "no such file" 3 report nosuch
	has "no such file: message" "report: nosuch: No such file" err
	is "no such file: no page" "" "$(<out)"
	ends "a folder" 3 report .
	: >old.gz
	ends "compressed" 3 report old.gz
	has "compressed: message" "zcat" err
	cp small.log precious.log
	ends "over the log" 3 report -o ./precious.log small.log precious.log
	has "over the log: message" "the log itself" err
	if cmp -s small.log precious.log; then pass "the log is whole"; else fail "the log" "is gone"; fi
	ends "cannot write" 3 report -o nosuch/page.html small.log
	[ ! -e /dev/full ] || ends "full disk" 3 report -o /dev/full small.log
	[ ! -e /dev/full ] || {
		"$LIBRETRY" report small.log >/dev/full 2>err
		is "full standard output: status" 3 $?
	}
}

nothing() {
	: >empty.log
	ends "empty log" 1 report -o empty.html empty.log
	has "empty log: message" "no line of libretry in empty.log (0 of others" err
	has "empty log: page" "There is no line of libretry" empty.html
	checked "empty log: well-formed" page.py empty.html
	printf 'hello\nworld\n' >foreign.log
	ends "lines of others" 1 report -o foreign.html foreign.log
	has "lines of others: counted" "2 lines were written by others" foreign.html
	echo '2026-11-29T12:00:00.000Z libretry[1] DEBUG config no file' >quiet.log
	ends "no failure" 0 report -o quiet.html quiet.log
	has "no failure: said" "no failure was logged" quiet.html
	checked "no failure: well-formed" page.py quiet.html
}

# By hand, so that what is expected can be read here.
known() {
	printf '%s\r\n' \
		'2026-11-29T12:00:01.010Z libretry[7] WARN retry op=connect dest=db1:5432 addr=192.0.2.1:5432 attempt=1/5 error=ECONNREFUSED wait=100ms elapsed=10ms left=30s policy=p rule=x.conf:3' \
		'time=2026-11-29T12:00:01.120Z pid=7 level=warn event=retry op=connect dest=db1:5432 attempt=2/5 error=ETIMEDOUT wait=4.9s elapsed=10ms policy=p' \
		'{"time":"2026-11-29T12:00:06.025Z","pid":7,"level":"info","event":"recovered","op":"connect","dest":"db1:5432","attempts":3,"waited":"5s","waited_ns":5000000000,"policy":"p"}' \
		'2026-11-29T12:00:07.000Z libretry[8] ERROR gave-up op=lookup dest=db2 attempts=1 error=EAI_AGAIN reason=deadline waited=0us policy=p' \
		'2026-11-29T12:00:08.000Z libretry[8] WARN suppressed dest=db2 lines=1234' \
		'2026-11-29T12:00:09.000Z libretry[8] INFO stopping signal=SIGTERM' \
		'2026-11-29T12:00:09.500Z libretry[8] WARN retry op=connect dest=db2 attem' \
		'a line of the program' >known.log
	ends "known" 0 report -o known.html known.log
	is "known: silent" "" "$(cat out err)"
	checked "known: well-formed" page.py known.html
	has "known: the answer" "Between 2026-11-29 12:00:01 and 12:00:09 UTC, 2 destinations failed, in 2 outages of at most 5s: libretry saved 1 of 2 calls that met trouble; 1 gave up; 1,234 lines were suppressed" known.html
	has "known: bars" "1 of 2 succeeded for the program; of their attempts, 1 of 4 did" known.html
	has "known: what cannot be known" "shares of the calls that met trouble, not of all calls" known.html
	has "known: outage" "<td class=\"m\">2026-11-29 12:00:01.000</td><td class=\"m\">2026-11-29 12:00:06.025</td><td>5s</td><td>2</td><td class=\"w\">recovered</td>" known.html
	has "known: end not seen" "<td class=\"w\">not seen; last failure; perhaps earlier: 1,234 lines suppressed</td>" known.html
	has "known: reason" "<th scope=\"row\" class=\"w\">deadline</th><td>1</td>" known.html
	has "known: error" "<th scope=\"row\" class=\"w\">EAI_AGAIN</th><td>1</td>" known.html
	has "known: program" "<td class=\"w\">SIGTERM</td>" known.html
	has "known: damaged" "1 line is damaged" known.html
	has "known: foreign" "1 line was written by others" known.html
	has "known: a mark" "12:00:01.120 pid 7: retry, attempt 2 failed with ETIMEDOUT after 10ms, next in 4.9s" known.html
	is "known: marks" "2 1 1" "$(for m in mf mr mg; do grep -o "<use href=\"#$m\" x=\"[^\"]*\" y=\"[1-9]" known.html | wc -l; done | xargs)"
	"$LIBRETRY" report - <known.log >piped.html
	has "standard input" "<title>Retries in a log</title>" piped.html
	grep -v ' recovered \|"recovered"\|stopping' known.log >warn.log
	ends "level warn" 0 report -o warn.html warn.log
	has "level warn: said" "No line has level info" warn.html
	has "level warn: no number" "how many calls were saved is not in the log" warn.html
}

hostile() {
	printf '2026-11-29T12:00:01.000Z libretry[7] ERROR gave-up op=connect dest=%s attempts=1 error=%s reason=%s waited=0us policy=p\n' \
		'<script>alert(1)</script>' '<b>' '"><i>' '"onload\x3dx&amp;' "'" '&' \
		'\xe2\x80\xae\x1b[2J\xff' '\xef\xbf\xbe' ']]>' >hostile.log
	printf '%s\n' '2026-11-29T12:00:01.000Z libretry[7] DEBUG config <img src=x> ]]> --> &lt;' \
		'{"time":"2026-11-29T12:00:02.000Z","pid":1,"level":"warn","event":"retry","op":"connect","dest":"a","attempt":"4294967295/1","wait":"1h","wait_ns":9223372036854775807,"elapsed":"1h","elapsed_ns":9223372036854775807,"error":"E"}' \
		'{"time":"2261-11-29T12:00:02.000Z","pid":1,"level":"error","event":"gave-up","op":"connect","dest":"a","attempts":0,"waited":"1h","waited_ns":-9223372036854775808}' \
		'{"time":"1970-01-01T00:00:00.000Z","pid":1,"level":"info","event":"recovered","op":"connect","dest":"a","attempts":0,"waited":"1h","waited_ns":9223372036854775807}' \
		>>hostile.log
	ends "hostile" 0 report -t '<&">' -o hostile.html hostile.log
	checked "hostile: well-formed" page.py hostile.html
	has "hostile: title" "<title>&lt;&amp;&quot;&gt;</title>" hostile.html
	has "hostile: name" "&lt;script&gt;alert(1)&lt;/script&gt;" hostile.html
	has "hostile: bytes" '\u{202e}\x1b[2J\xff' hostile.html
	lacks "hostile: no element" "<script" hostile.html
	has "hostile: message" "&lt;img src=x&gt; ]]&gt; --&gt; &amp;lt;" hostile.html
	ends "hostile: json" 0 report --json hostile.log
	checked "hostile: json is JSON" -c 'import json; json.load(open("out"))'
}

figures() {
	ends "small" 0 report -o small.html small.log
	checked "small: well-formed" page.py small.html
	"$LIBRETRY" report --json small.log >small.json
	checked "small: agrees with the log" agree.py small.log small.json
	"$LIBRETRY" report small.log >again.html
	if cmp -s small.html again.html; then pass "the same again"; else fail "the same again" "differs"; fi
	split -l 100 small.log part.
	"$LIBRETRY" report --json part.ab part.aa part.ac >parts.json
	if cmp -s small.json parts.json; then pass "in parts"; else fail "in parts" "differs"; fi
	lines=30000
	[ -z "${SANITIZED:-}" ] || lines=10000
	python3 make_log.py $lines >big.log
	ends "$lines lines" 0 report -o big.html big.log
	checked "$lines lines: well-formed, small" page.py big.html 1000000
	"$LIBRETRY" report --json big.log >big.json
	checked "$lines lines: agrees with the log" agree.py big.log big.json
	python3 make_log.py 20000 many >many.log
	ends "many destinations" 0 report -o many.html many.log
	checked "many destinations: well-formed, small" page.py many.html 1000000
	has "many destinations: said" "The first 100 of " many.html
}

# A browser shows what was meant: as many charts, nothing but the page loaded.
browser() {
	[ -z "${SANITIZED:-}" ] || { echo "skip browser: the page is no other here"; return; }
	browser=
	for name in chromium chromium-browser google-chrome; do
		! command -v "$name" >/dev/null || browser=${browser:-$name}
	done
	[ -n "$browser" ] || { echo "skip browser: no chromium"; return; }
	in_browser small
	if [ ! -s small.png ]; then
		echo '<!DOCTYPE html><p>hello</p>' >hello.html
		in_browser hello
		[ ! -s hello.png ] || { fail "screenshot" "none was made"; return; }
		echo "skip browser: $browser does not run here"
		return
	fi
	checked "screenshot: has colours" - <<-'END'
		import struct, sys, zlib
		data, at, pixels = open('small.png', 'rb').read(), 8, b''
		while at < len(data):
		    size, kind = struct.unpack('>I4s', data[at:at + 8])
		    if kind == b'IHDR':
		        width, height, depth, colour = struct.unpack('>IIBB', data[at + 8:at + 18])
		    if kind == b'IDAT':
		        pixels += data[at + 8:at + 8 + size]
		    at += size + 12
		pixels = zlib.decompress(pixels)
		if (width, height) != (1000, 1600):
		    sys.exit('%d x %d' % (width, height))
		# The filters of PNG leave flat areas as zeros: a page with charts has more.
		used = sum(1 for b in pixels if b)
		if used < len(pixels) / 200:
		    sys.exit('%d of %d bytes: the page is blank' % (used, len(pixels)))
	END
	is "charts in the browser" "$(grep -c '<svg' small.html)" "$(grep -c '<svg' small.dom)"
}

# in_browser NAME: NAME.html as NAME.png, and as NAME.dom what was made of it. A
# start of the browser takes seconds.
in_browser() {
	timeout -k 5 60 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
		--user-data-dir="$tmp/profile" --window-size=1000,1600 --dump-dom \
		"--screenshot=$tmp/$1.png" "file://$tmp/$1.html" >"$1.dom" 2>browser.log
}

python3 make_log.py 300 >small.log
arguments
nothing
known
hostile
figures
browser
exit "$failed"
