/* SPDX-License-Identifier: MIT */
#include "policy/inject.h"

#include <errno.h>
#include <netdb.h>
#include <stddef.h>

#include "base/compat.h"
#include "base/prng.h"
#include "policy/match.h"

/* What a random number is for: the same call draws several. */
enum draw { DRAW_STRIKES = 1, DRAW_DELAY, DRAW_OUTAGE };

/* The process of outages begins anew at each multiple of this many mean gaps.
 * Exponential gaps have no memory, so the seam does not show, and the work to
 * find out about any moment is bounded. */
#define EPOCH_GAPS 64

/* Of the epochs before, those whose outages may still last; but after so many
 * mean gaps there has been another one. */
#define EPOCHS_BACK 8

/* 99.99999 % of epochs have fewer. */
#define EPOCH_STEPS (2 * EPOCH_GAPS)

static uint64_t draw(uint64_t seed, unsigned index, enum draw what, uint64_t n)
{
	const uint64_t facts[3] = { index, what, n };
	struct prng p;

	prng_seed(&p, hash_bytes(facts, sizeof(facts), hash_bytes(&seed, sizeof(seed), 0)));
	return prng_next(&p);
}

/* log2 of <x> > 0 with 16 bits of fraction, one by squaring at a time. */
static int64_t log2_16(uint64_t x)
{
	unsigned whole = 63 - (unsigned)__builtin_clzll(x);
	uint64_t m = (x << (63 - whole)) >> 32; /* 1 <= m / 2^31 < 2 */
	int64_t result = whole;

	for (unsigned i = 0; i < 16; i++) {
		uint64_t square = m * m >> 31;
		unsigned bit = square >> 32 != 0;

		result = result * 2 + bit;
		m = square >> bit;
	}
	return result;
}

/* Exponential with mean <mean>: -ln(random / 2^64) * mean. At least 1 ns, so that
 * a walk moves on. */
static int64_t exponential(int64_t mean, uint64_t random)
{
	const int64_t ln2_ppm = 693147;
	int64_t log = ((INT64_C(64) << 16) - log2_16(random ? random : 1));
	int64_t ns = dur_scale(mean, log * ln2_ppm >> 16);

	return ns > 0 ? ns : 1;
}

/* Whether an outage that began in <epoch> lasts at <since>. */
static bool epoch_covers(const struct outage *o, unsigned index, int64_t epoch, int64_t length,
                         int64_t since, uint64_t seed)
{
	int64_t at = epoch * length;
	int64_t end = dur_add(at, length);
	struct prng p;

	prng_seed(&p, draw(seed, index, DRAW_OUTAGE, (uint64_t)epoch));
	for (unsigned i = 0; i < EPOCH_STEPS; i++) {
		int64_t lasts;

		at = dur_add(at, exponential(o->mean_gap, prng_next(&p)));
		if (at > since || at >= end)
			return false;
		lasts = dur_add(o->min, prng_below(prng_next(&p), o->max - o->min));
		if (since < dur_add(at, lasts))
			return true;
	}
	return false;
}

bool inject_outage(const struct outage *o, unsigned index, int64_t since, uint64_t seed)
{
	int64_t length = o->mean_gap * EPOCH_GAPS;
	int64_t last, first;

	if (o->mean_gap <= 0 || since < 0)
		return false;
	last = since / length;
	first = since > o->max ? (since - o->max) / length : 0;
	if (first < last - EPOCHS_BACK)
		first = last - EPOCHS_BACK;
	for (int64_t epoch = last; epoch >= first; epoch--)
		if (epoch_covers(o, index, epoch, length, since, seed))
			return true;
	return false;
}

static bool timeline_covers(const struct fault *f, int64_t since)
{
	for (unsigned i = 0; i < f->timeline_count; i++)
		if (since >= f->timeline[i].start && since < f->timeline[i].end)
			return true;
	return false;
}

static bool strikes(const struct fault *f, unsigned index, uint64_t nth, int64_t since,
                    uint64_t seed)
{
	if (nth <= f->after)
		return false;
	if (f->first && nth - f->after > f->first)
		return false;
	if (f->every && (nth - f->after) % f->every != 0)
		return false;
	if (f->probability < PPM &&
	    prng_below(draw(seed, index, DRAW_STRIKES, nth), PPM - 1) >= f->probability)
		return false;
	if (f->timeline && !timeline_covers(f, since))
		return false;
	return f->outage.mean_gap == 0 || inject_outage(&f->outage, index, since, seed);
}

static int64_t delay_of(const struct fault *f, uint64_t random)
{
	int64_t least = f->delay > f->delay_jitter ? f->delay - f->delay_jitter : 0;

	return dur_add(least, prng_below(random, dur_add(f->delay, f->delay_jitter) - least));
}

bool inject_decide(const struct fault *f, unsigned index, uint64_t nth, int64_t since,
                   uint64_t seed, struct injection *i)
{
	*i = (struct injection){ .delay = 0 };
	if (!strikes(f, index, nth, since, seed))
		return false;
	i->error = f->error;
	i->reset = f->reset;
	if (f->reset)
		i->error = (struct err){ ERR_ERRNO, ECONNRESET };
	i->short_write = f->short_write;
	if (f->delay || f->delay_jitter)
		i->delay = delay_of(f, draw(seed, index, DRAW_DELAY, nth));
	return true;
}

bool inject_matches(const struct fault *f, const struct dest *d)
{
	if (f->op != d->op)
		return false;
	if (d->addr && addr_is_special(d->addr) && !rule_names_dest(&f->match))
		return false;
	return rule_matches(&f->match, d);
}

static const int of_connect[] = {
	EACCES,       EPERM,     EADDRINUSE, EADDRNOTAVAIL, EAFNOSUPPORT, EAGAIN,
	EBADF,        EFAULT,    EINVAL,     ECONNREFUSED,  ECONNRESET,   ECONNABORTED,
	ETIMEDOUT,    ENETDOWN,  ENETUNREACH, EHOSTDOWN,    EHOSTUNREACH, ENOBUFS,
	ENOMEM,       ENOENT,    ENOTDIR,    ELOOP,         ENAMETOOLONG, ENOTSOCK,
	EOPNOTSUPP,   EPROTOTYPE, EIO,
};

static const int of_send[] = {
	EACCES,       EPERM,      EAGAIN,      EBADF,        ECONNREFUSED, ECONNRESET,
	ECONNABORTED, EDESTADDRREQ, EFAULT,    EINTR,        EINVAL,       EISCONN,
	EMSGSIZE,     ENETDOWN,   ENETUNREACH, EHOSTDOWN,    EHOSTUNREACH, ENOBUFS,
	ENOMEM,       ENOTCONN,   ENOTSOCK,    EOPNOTSUPP,   EPIPE,        ETIMEDOUT,
	EIO,
};

static const int of_lookup[] = {
	EAI_AGAIN,  EAI_FAIL,   EAI_NONAME,  EAI_NODATA,   EAI_ADDRFAMILY,
	EAI_FAMILY, EAI_MEMORY, EAI_SERVICE, EAI_SOCKTYPE, EAI_BADFLAGS,
};

static bool is_in(const int *list, size_t count, int code)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == code)
			return true;
	return false;
}

bool inject_possible(enum op op, struct err e, const char **why)
{
	if (op == OP_LOOKUP) {
		*why = e.domain == ERR_EAI && e.code == EAI_SYSTEM
		               ? "would need an errno with it (EAI_AGAIN, EAI_FAIL, ...)"
		               : "getaddrinfo does not return it (EAI_...)";
		return e.domain == ERR_EAI && is_in(of_lookup, ARRAY_LEN(of_lookup), e.code);
	}
	*why = "the call does not return it (an errno name)";
	if (e.domain != ERR_ERRNO)
		return false;
	/* Each says something about the socket that would not be so. */
	if (op == OP_CONNECT && (e.code == EINPROGRESS || e.code == EALREADY ||
	                         e.code == EISCONN || e.code == EINTR)) {
		*why = "says that the attempt goes on, or has been made (an error that ends it)";
		return false;
	}
	*why = op == OP_CONNECT ? "connect does not return it (see connect(2))"
	                        : "send does not return it (see send(2))";
	return op == OP_CONNECT ? is_in(of_connect, ARRAY_LEN(of_connect), e.code)
	                        : is_in(of_send, ARRAY_LEN(of_send), e.code);
}
