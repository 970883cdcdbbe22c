/* SPDX-License-Identifier: MIT */
/*
 * select() and pselect(). The kernel works on copies, so that the program's sets
 * are whole until there is an answer, whatever jumps out of the wait.
 *
 * The kernel does not say which descriptor has failed. A connect that fails is
 * readable and writable, one that succeeds is writable and, unless the peer has
 * spoken already, nothing else: so those that the program wants to write to are
 * asked for reading too, and only one that is both is looked at.
 *
 * Programs pass numbers far beyond their sets (getdtablesize()), which is safe
 * with a kernel that reads and writes no more than covers the descriptors that
 * were ever open. So here nothing is written that the kernel has not written,
 * and beyond an fd_set nothing is read before the kernel was asked.
 */
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/select.h>

#include "base/sys.h"
#include "engine/pending.h"
#include "engine/wait.h"
#include "preload/gate.h"
#include "preload/real.h"
#include "preload/waits.h"

#define WORD_BITS ((int)(sizeof(unsigned long) * CHAR_BIT))
#define SMALL_WORDS (FD_SETSIZE / WORD_BITS)

/* The program's three sets; and the first as the kernel got it. */
enum which { R, W, X, SETS, GIVEN = SETS, PARTS };

struct call {
	int n;
	fd_set *own[SETS];
	bool is_pselect;
	struct timeval *tv;        /* of select() */
	const struct timespec *ts; /* of pselect() */
	const sigset_t *mask;
	/* From prepare() on. */
	int bits;                  /* n, but no more than we know of */
	size_t words;
	size_t readable[SETS];     /* how many words of the program's are there */
	unsigned long *work;       /* PARTS times <words> */
	size_t mapped;             /* size of .work; 0: it is on the stack */
	bool added;                /* R has descriptors that only W asks for */
	struct timeval left;       /* what the real select() has written back */
	struct wait_clock clock;
};

static unsigned long *part(const struct call *c, enum which i)
{
	return c->work + i * c->words;
}

static bool has(const struct call *c, enum which i, int fd)
{
	return part(c, i)[fd / WORD_BITS] >> fd % WORD_BITS & 1;
}

static void add(const struct call *c, enum which i, int fd)
{
	part(c, i)[fd / WORD_BITS] |= 1UL << fd % WORD_BITS;
}

/* Returns whether it was there. */
static int take(const struct call *c, enum which i, int fd)
{
	int had = has(c, i, fd);

	part(c, i)[fd / WORD_BITS] &= ~(1UL << fd % WORD_BITS);
	return had;
}

/* A word of the program's own set, which need not be aligned. */
static unsigned long own_word(const struct call *c, enum which i, size_t at)
{
	unsigned long word = 0;

	if (at < c->readable[i])
		memcpy(&word, (const char *)c->own[i] + at * sizeof(word), sizeof(word));
	return word;
}

static bool own_has(const struct call *c, enum which i, int fd)
{
	return own_word(c, i, (size_t)(fd / WORD_BITS)) >> fd % WORD_BITS & 1;
}

/* What the kernel would refuse to read, or to answer to, is left to it. */
static bool may_use(const struct call *c)
{
	size_t size = (size_t)(c->n + WORD_BITS - 1) / WORD_BITS * sizeof(unsigned long);

	for (int i = R; i < SETS; i++) {
		size_t first = size < sizeof(fd_set) ? size : sizeof(fd_set);

		if (c->own[i] &&
		    (!gate_may_read(c->own[i], first) ||
		     (fdtab_any_aged() && !sys_all(c->own[i], first, sys_writable))))
			return false;
	}
	return true;
}

/* How many of <words> words at <set> can be read. */
static size_t readable_words(const fd_set *set, size_t words)
{
	uintptr_t begin = (uintptr_t)set;
	uintptr_t end = begin + words * sizeof(unsigned long);
	uintptr_t page = (begin + sizeof(*set) + SYS_PAGE - 1) & ~(uintptr_t)(SYS_PAGE - 1);

	if (!set)
		return 0;
	for (; page < end; page += SYS_PAGE)
		if (!sys_readable((const void *)page))
			return (page - begin) / sizeof(unsigned long);
	return words;
}

/* <space> is for SMALL_WORDS. False: there is no memory. */
static bool prepare(struct call *c, unsigned long *space)
{
	c->bits = c->n < FDTAB_FDS ? c->n : FDTAB_FDS;
	c->words = (size_t)(c->bits + WORD_BITS - 1) / WORD_BITS;
	c->mapped = 0;
	c->work = space;
	if (c->words > SMALL_WORDS) {
		c->mapped = PARTS * c->words * sizeof(*c->work);
		c->work = waits_map(c->mapped);
	}
	for (int i = R; i < SETS; i++)
		c->readable[i] = readable_words(c->own[i], c->words);
	return c->work != NULL;
}

static void copy_in(struct call *c)
{
	for (int i = R; i < SETS; i++) {
		memset(part(c, i), 0, c->words * sizeof(*c->work));
		if (c->own[i])
			memcpy(part(c, i), c->own[i], c->readable[i] * sizeof(*c->work));
	}
	c->added = false;
}

/* How many words the kernel (or we, on a descriptor that it knows) has changed. */
static size_t changed_words(const struct call *c, enum which i)
{
	size_t n = c->readable[i];

	while (n > 0 && part(c, i)[n - 1] == own_word(c, i, n - 1))
		n--;
	return n;
}

/* Nothing is written before all is compared: with numbers beyond the sets, what
 * follows one set is another. */
static void copy_out(const struct call *c)
{
	size_t n[SETS];

	for (int i = R; i < SETS; i++)
		n[i] = changed_words(c, i);
	for (int i = R; i < SETS; i++)
		if (n[i])
			memcpy(c->own[i], part(c, i), n[i] * sizeof(*c->work));
}

/* The real call has worked on the program's sets, and the copies are as those
 * were: puts each where it is expected. Some sets may be one and the same. */
static void swap(const struct call *c)
{
	for (size_t at = 0; at < c->words; at++) {
		unsigned long got[SETS];

		for (int i = R; i < SETS; i++)
			got[i] = own_word(c, i, at);
		for (int i = R; i < SETS; i++) {
			if (at < c->readable[i])
				memcpy((char *)c->own[i] + at * sizeof(*c->work),
				       &part(c, i)[at], sizeof(*c->work));
			part(c, i)[at] = got[i];
		}
	}
}

/* The first from <fd> on that is in a set, and of which something is known; else
 * .bits or more. */
static int next_known(const struct call *c, int fd)
{
	while (fd < c->bits) {
		size_t at = (size_t)(fd / WORD_BITS);
		unsigned long word = part(c, R)[at] | part(c, W)[at] | part(c, X)[at];

		word >>= fd % WORD_BITS;
		if (word == 0) {
			fd = (fd | (WORD_BITS - 1)) + 1;
			continue;
		}
		fd += __builtin_ctzl(word);
		if (fd >= c->bits || fdtab_knows(fd))
			break;
		fd++;
	}
	return fd;
}

/* What the kernel is asked in place of the program's sets. */
static void fill(struct call *c)
{
	copy_in(c);
	for (int fd = 0; (fd = next_known(c, fd)) < c->bits; fd++) {
		struct signal_hold hold;
		struct pend_ref ref;

		if (pending_hidden(&preload_ops, &hold, fd)) {
			take(c, R, fd);
			take(c, W, fd);
			take(c, X, fd);
		} else if (has(c, W, fd) && !has(c, R, fd) && fdtab_find(fd, &ref)) {
			add(c, R, fd);
			c->added = true;
		}
	}
	memcpy(part(c, GIVEN), part(c, R), c->words * sizeof(*c->work));
}

static bool asks_bad(int fd)
{
	struct timespec zero = { 0, 0 };
	struct pollfd f = { .fd = fd };

	return sys_ppoll(&f, 1, &zero) > 0 && (f.revents & (POLLERR | POLLHUP));
}

static bool is_bad(const struct call *c, int fd)
{
	if (has(c, R, fd) || (has(c, W, fd) && !has(c, GIVEN, fd)))
		return asks_bad(fd);
	return false;
}

/* Makes <fd> ready in set <i> if the program has it there. Returns what that
 * adds to the count. */
static int report(const struct call *c, enum which i, int fd)
{
	if (!own_has(c, i, fd) || has(c, i, fd))
		return 0;
	add(c, i, fd);
	return 1;
}

/* A dup that was made before the connect has no record yet. */
static bool may_be_pending(int fd)
{
	struct pend_ref ref;

	return fdtab_find(fd, &ref) || fdtab_is_dup(fd);
}

/* Decides on what is reported, <count> by the kernel's count; returns the
 * program's. */
static int show(const struct call *c, int count)
{
	for (int fd = 0; (fd = next_known(c, fd)) < c->bits; fd++) {
		struct signal_hold hold;

		if (!may_be_pending(fd))
			continue;
		switch (pending_event(&preload_ops, &hold, fd, is_bad(c, fd))) {
		case SIGHT_SHOW:
			break;
		case SIGHT_HIDE:
			count -= take(c, R, fd) + take(c, W, fd) + take(c, X, fd);
			break;
		case SIGHT_SHOW_ERROR:
			count += report(c, R, fd) + report(c, W, fd);
			break;
		}
	}
	for (size_t at = 0; c->added && at < c->words; at++) {
		unsigned long ours = part(c, R)[at] & ~own_word(c, R, at);

		part(c, R)[at] &= ~ours;
		count -= __builtin_popcountl(ours);
	}
	return count;
}

/* With the program's own arguments. */
static int call_plain(const struct call *c)
{
	if (c->is_pselect)
		return real.pselect(c->n, c->own[R], c->own[W], c->own[X], c->ts, c->mask);
	return real.select(c->n, c->own[R], c->own[W], c->own[X], c->tv);
}

/* On the copies, for as long as may be waited at a time. */
static int call_limited(struct call *c)
{
	fd_set *r = c->own[R] || c->added ? (fd_set *)part(c, R) : NULL;
	fd_set *w = c->own[W] ? (fd_set *)part(c, W) : NULL;
	fd_set *x = c->own[X] ? (fd_set *)part(c, X) : NULL;
	struct timespec ts;

	if (c->is_pselect)
		return real.pselect(c->bits, r, w, x, waits_limit_timespec(&c->clock, &ts),
		                    c->mask);
	return real.select(c->bits, r, w, x, waits_limit_timeval(&c->clock, &c->left));
}

/* A real call has answered *rc. True: *rc is the program's answer; else the wait
 * goes on. */
static bool is_answer(struct call *c, int *rc)
{
	bool timed_out = *rc == 0;

	if (*rc < 0)
		return true;
	if (*rc > 0)
		*rc = show(c, *rc);
	if (*rc > 0 || waits_over(&c->clock, timed_out)) {
		copy_out(c);
		return true;
	}
	waits_round(&c->clock);
	return false;
}

static int go_on(struct call *c)
{
	int rc;

	do {
		struct signal_hold hold;

		wait_drive(&preload_ops, &hold);
		waits_look(&c->clock);
		fill(c);
		if (!waits_enter(&c->clock, c->mask))
			return -1;
		rc = call_limited(c);
	} while (!is_answer(c, &rc));
	return rc;
}

static bool begin(struct call *c, const struct timeval *tv, int64_t entry)
{
	return c->is_pselect ? waits_begin_timespec(&c->clock, c->ts, entry)
	                     : waits_begin_timeval(&c->clock, tv, entry);
}

static bool is_timed(const struct call *c)
{
	return c->is_pselect ? waits_timed_timespec(c->ts) : waits_timed_timeval(c->tv);
}

/* select() writes back what is left of its time, whatever the answer. A time that
 * has not changed is not written: it may be a constant. */
static int finish(struct call *c, int rc)
{
	if (c->mapped)
		waits_unmap(c->work, c->mapped);
	if (!is_timed(c) || c->is_pselect)
		return rc;
	if (!waits_whole(&c->clock)) {
		struct timespec ts = dur_timespec(waits_left(&c->clock));

		c->left.tv_sec = ts.tv_sec;
		c->left.tv_usec = ts.tv_nsec / 1000;
	}
	if (c->tv->tv_sec != c->left.tv_sec || c->tv->tv_usec != c->left.tv_usec)
		*c->tv = c->left;
	return rc;
}

/*
 * A wait that cannot go on has ended with <rc>. A first attempt whose failure it shows is
 * the program's, which may ask for the error next, and is not to hear that there is none.
 */
static int shown_as_it_is(struct call *c, unsigned long *space, int rc)
{
	if (rc <= 0 || !gate_open() || !prepare(c, space))
		return rc;
	copy_in(c);
	for (int fd = 0; (fd = next_known(c, fd)) < c->bits; fd++) {
		struct pend_ref ref;

		if (fdtab_find(fd, &ref) && pend_state(&ref) == PEND_CONNECTING &&
		    atomic_load(&ref.p->identity) == 0 && asks_bad(fd))
			fdtab_drop(&ref);
	}
	if (c->mapped)
		waits_unmap(c->work, c->mapped);
	return rc;
}

/* Nothing is under way, but another thread may begin a connect meanwhile. With
 * more than fits on the stack there is no copy to go on with: to map memory here would
 * cost programs in which nothing fails. */
static int among_threads(struct call *c, unsigned long *space)
{
	struct timeval tv = { 0, 0 };
	int64_t entry;
	int rc;

	if (c->n < 0 || !may_use(c))
		return call_plain(c);
	if (c->n > FD_SETSIZE)
		return shown_as_it_is(c, space, call_plain(c));
	if (!c->is_pselect && c->tv)
		tv = *c->tv;
	entry = is_timed(c) ? clock_at_entry() : WAITS_NOW;
	prepare(c, space);
	copy_in(c);
	rc = call_plain(c);
	if (rc <= 0 || gate_idle())
		return rc;
	begin(c, c->tv ? &tv : NULL, entry);
	waits_was_called(&c->clock);
	if (c->tv)
		c->left = *c->tv;
	/* What was not asked for reading then is unknown now: is_bad() asks. */
	memcpy(part(c, GIVEN), part(c, R), c->words * sizeof(*c->work));
	swap(c);
	return finish(c, is_answer(c, &rc) ? rc : go_on(c));
}

static LR_NOINLINE int slow(struct call *c)
{
	unsigned long space[PARTS * SMALL_WORDS];

	/* As gate_wait(), but that what is young goes on as well: its set is to be filled. */
	if (!gate_open())
		return gate_foreign() ? call_plain(c) : among_threads(c, space);
	if (c->n < 0 || !may_use(c) || !begin(c, c->tv, WAITS_NOW) ||
	    !prepare(c, space))
		return call_plain(c);
	return finish(c, go_on(c));
}

static LR_NOINLINE int slow_select(int n, fd_set *r, fd_set *w, fd_set *x,
                                   struct timeval *timeout)
{
	struct call c = { .n = n, .own = { r, w, x }, .tv = timeout };

	return slow(&c);
}

static LR_NOINLINE int slow_pselect(int n, fd_set *r, fd_set *w, fd_set *x,
                                    const struct timespec *timeout, const sigset_t *mask)
{
	struct call c = { .n = n,
	                  .own = { r, w, x },
	                  .is_pselect = true,
	                  .ts = timeout,
	                  .mask = mask };

	return slow(&c);
}

int wrap_select(int n, fd_set *r, fd_set *w, fd_set *x, struct timeval *timeout)
{
	thread_waits();
	if (gate_idle_through())
		return real.select(n, r, w, x, timeout);
	return slow_select(n, r, w, x, timeout);
}

int wrap_pselect(int n, fd_set *r, fd_set *w, fd_set *x, const struct timespec *timeout,
                 const sigset_t *mask)
{
	thread_waits();
	if (gate_idle_through())
		return real.pselect(n, r, w, x, timeout, mask);
	return slow_pselect(n, r, w, x, timeout, mask);
}
