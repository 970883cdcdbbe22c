/* SPDX-License-Identifier: MIT */
/*
 * fmt.h - bounded formatting into a caller's buffer.
 *
 * No malloc, no locale, no stdio, no errno: safe in signal handlers and inside
 * a host's allocator. A result that does not fit is cut and says so in .cut;
 * nothing is ever written past .cap, and one byte is kept for the final NUL.
 */
#ifndef LIBRETRY_BASE_FMT_H
#define LIBRETRY_BASE_FMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fmt {
	char *buf;
	size_t cap;
	size_t len;
	bool cut;
};

/* Starts an empty text in <buf> of <cap> bytes (cap >= 1). */
void fmt_init(struct fmt *f, char *buf, size_t cap);

void fmt_char(struct fmt *f, char c);
void fmt_mem(struct fmt *f, const char *s, size_t n);
void fmt_str(struct fmt *f, const char *s); /* NULL counts as "" */
void fmt_u64(struct fmt *f, uint64_t v);
void fmt_i64(struct fmt *f, int64_t v);
void fmt_pad(struct fmt *f, uint64_t v, unsigned width); /* zero-padded */
void fmt_hex(struct fmt *f, uint64_t v);

/*
 * A duration for people: "0us", "41us", "0.4ms", "112ms", "1.5s", "29.9s",
 * "2m", "1h". Microseconds below 100us, then one decimal (if it is not zero),
 * none from 10ms to 1s; rounded down; DUR_NONE is "none", a negative one has
 * its sign. For reading; use fmt_dur_exact where it is read back.
 */
void fmt_dur(struct fmt *f, int64_t ns);

/* A duration in the largest unit that keeps it whole: "100ms", "90s", "1m",
 * "0s"; dur_parse() reads it back to the same value if it is in its range. */
void fmt_dur_exact(struct fmt *f, int64_t ns);

/*
 * A parts-per-million number as a decimal: 500000 -> "0.5", 2000000 -> "2".
 */
void fmt_ppm(struct fmt *f, int64_t ppm);

/*
 * At most <max> bytes of <s>, made harmless for one line of key=value text:
 * control characters, bytes >= 0x7f, space, quote, backslash and '=' become
 * \xNN. A cut value ends in "...".
 */
void fmt_word(struct fmt *f, const char *s, size_t max);

/* The same bound, as the inside of a JSON string (no quotes added); controls,
 * U+0080 to U+009F too, and bytes that are not valid UTF-8 become \u00NN. */
void fmt_json(struct fmt *f, const char *s, size_t max);

/* Wall-clock seconds and nanoseconds as 2026-11-29T18:31:37.123Z (UTC,
 * proleptic Gregorian; no tz database, no lock as gmtime_r may take). */
void fmt_utc(struct fmt *f, int64_t seconds, int64_t nanoseconds);

/* Adds the NUL and returns the length without it. */
size_t fmt_end(struct fmt *f);

#endif
