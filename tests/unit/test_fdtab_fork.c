/* SPDX-License-Identifier: MIT */
/*
 * A handler that forks, after each atomic instruction of what begins and ends a record or a
 * note (what lies between changes nothing that others see) and the one that follows it: in
 * the child the connect is the parent's, and what is counted is what there is.
 *
 * The child is this process: fdtab_postfork_child() does in it what it would do there.
 */
#include <signal.h>
#include <string.h>
#include <ucontext.h>

/* Elsewhere a program cannot step through itself; nor can it here under valgrind. What
 * ThreadSanitizer puts in between takes it minutes. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

#include "tests/unit/fdtab.h"
#include "tests/unit/steps.h"

#define FD 3    /* the record that is begun or ended */
#define OWED 5  /* one that stays the child's: its error was not told */

#define POINTS 200

static volatile unsigned steps, fork_at;
static unsigned points[POINTS], count;

/* "lock", or an exchange with memory, which needs no such word. */
static bool is_atomic(const unsigned char *code)
{
	return code[0] == 0xf0 || code[code[0] >> 4 == 4] == 0x87;
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	static const unsigned char *last;
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	if (++steps > 1 && fork_at == 0 && is_atomic(last) && count + 2 < POINTS) {
		points[count++] = steps;
		points[count++] = steps + 1;
	}
	last = (const unsigned char *)regs[REG_RIP];
	if (steps != fork_at)
		return;
	fdtab_postfork_child();
	regs[REG_EFL] &= ~STEPS_FLAG;
}

static const struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = 80 };

static bool young(void)
{
	return fdtab_begin_young(FD, (const struct sockaddr *)&in, sizeof(in), 7, 42);
}

static void begins_young(void)
{
	young();
}

/* As pending_begin() does, which holds no signals back. */
static void begins(void)
{
	struct pend_ref ref;

	if (fdtab_begin(FD, &ref)) {
		atomic_store(&ref.p->due, DUR_NONE);
		fdtab_release(&ref, PEND_CONNECTING);
	}
}

static void begins_due(void)
{
	struct pend_ref ref;

	if (fdtab_begin(FD, &ref))
		fdtab_release(&ref, PEND_CONNECTING);
}

static void drops_young(void)
{
	fdtab_drop_young(FD);
}

static void drops(void)
{
	struct pend_ref ref;

	if (fdtab_find(FD, &ref))
		fdtab_drop(&ref);
}

static void closes(void)
{
	struct pend_ref ref;
	bool alone;

	if (fdtab_forget(FD, &ref, &alone))
		fdtab_drop(&ref);
}

static void notes(void)
{
	fdtab_note_any(FD, (const struct sockaddr *)&in, sizeof(in), 42, 0, FDTAB_NOTE_KEPT);
}

/* As the wrapper of connect() does. */
static void notes_four(uint64_t as)
{
	uint64_t busy;

	if (!fdtab_note_four(FD, (const struct sockaddr *)&in, 42, 7, as, &busy) && busy)
		fdtab_note_end(FD, busy, as);
}

static void begins_four(void)
{
	notes_four(FDTAB_NOTE_YOUNG);
}

/* What is under way gets its record. */
static void looks(void)
{
	struct pend_ref ref;

	fdtab_find(FD, &ref);
}

static void clean(void)
{
}

static const struct {
	void (*before)(void);
	void (*step)(void);
	bool ends; /* a record, else it begins one */
} ways[] = {
	{ clean, begins_young, false },  { begins_young, begins_young, false },
	{ notes, begins_young, false },  { clean, begins_four, false },
	{ clean, begins, false },        { clean, begins_due, false },
	{ begins_young, begins, false }, { begins_young, looks, true },
	{ begins_young, notes, true },   { begins_young, drops_young, true },
	{ begins_young, drops, true },   { begins_due, drops, true },
	{ begins_young, closes, true },  { begins_due, closes, true },
};

static void is_consistent(unsigned way, unsigned at)
{
	struct pend_ref ref;
	unsigned live = 0, aged = 0, i = 0;

	while (fdtab_next(&i, &ref)) {
		live++;
		aged += (ref.word & FDTAB_AGED) != 0;
	}
	for (int fd = 0; fd < FDTAB_CHUNK; fd++)
		if (atomic_load(&fdtab_slot(fd)->word) & FDTAB_NOTE_OPEN)
			live += FDTAB_NOTED;
	ck_assert_msg(fdtab_word() == live, "way %u, forked at %u: %u counted, %u are", way, at,
	              fdtab_word(), live);
	ck_assert_msg(atomic_load(&fdtab_aged) == aged, "way %u, forked at %u: %u aged, %u are",
	              way, at, atomic_load(&fdtab_aged), aged);
	ck_assert(fdtab_find(OWED, &ref) && pend_state(&ref) == PEND_FAILED);
}

static void run(unsigned way, unsigned at)
{
	fdtab_reset();
	begin(OWED, PEND_FAILED);
	ways[way].before();
	steps = 0;
	fork_at = at;
	begin_steps();
	ways[way].step();
	end_steps();
}

START_TEST(in_the_middle)
{
	struct sigaction act = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	if (unit_valgrind())
		return;
	sigaction(SIGTRAP, &act, NULL);
	for (unsigned way = 0; way < ARRAY_LEN(ways); way++) {
		bool begun = true;

		count = 0;
		run(way, 0);
		is_consistent(way, 0);
		ck_assert_uint_ge(count, 4);
		ck_assert_uint_lt(count + 2, POINTS);
		for (unsigned i = 0; i < count; i++) {
			struct pend_ref ref;
			bool alive;

			run(way, points[i]);
			is_consistent(way, points[i]);
			/* Begun after the fork it is the child's own. */
			alive = fdtab_find(FD, &ref);
			ck_assert_msg(!alive || (begun && !ways[way].ends),
			              "way %u, forked at %u: the parent's record lives", way,
			              points[i]);
			begun = alive;
		}
		ck_assert(!begun);
	}
}
END_TEST

UNIT_MAIN("fdtab fork", &in_the_middle)

#else

int main(void)
{
	return 77;
}

#endif
