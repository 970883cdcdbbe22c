/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/sys.h"
#include "cli/stats.h"
#include "policy/budget.h"

/* A segment's bytes, at one moment (each word for itself). */
static union {
	uint64_t words[SHM_BYTES / 8];
	struct {
		struct shm_header header;
		struct slot slots[SHM_SLOTS];
	} s;
} copy;

_Static_assert(sizeof(copy) == SHM_BYTES, "a segment is header and slots");

static uint64_t word(const _Atomic uint64_t *w)
{
	return atomic_load_explicit(w, memory_order_relaxed);
}

static int by_name(const void *a, const void *b)
{
	const struct stats_dest *one = a, *other = b;
	int order = strcmp(one->text, other->text);

	return order ? order : strcmp(one->policy, other->policy);
}

void stats_build(struct stats *st, const struct shm_header *h, const struct slot *slots,
                 int64_t now, int64_t wall)
{
	st->present = true;
	st->now = now;
	st->wall = wall;
	st->created = (int64_t)word(&h->created);
	st->overflow = word(&h->overflow);
	st->count = 0;
	for (unsigned i = 0; i < SHM_SLOTS; i++)
		if (word(&slots[i].key) && atomic_load(&slots[i].named))
			view_read(&st->dests[st->count++], &slots[i], now);
	qsort(st->dests, st->count, sizeof(st->dests[0]), by_name);
}

static void copy_all(void *arg, struct shm_header *h, struct slot *slots)
{
	(void)arg;
	(void)slots;
	for (size_t i = 0; i < SHM_BYTES / 8; i++)
		copy.words[i] = word((const _Atomic uint64_t *)(const void *)h + i);
}

void stats_budgets(struct stats *st, const struct config *c)
{
	for (unsigned i = 0; i < st->count; i++) {
		struct stats_dest *d = &st->dests[i];
		const struct policy *p = config_policy(c, d->policy);

		/* Who does not share his budget has it in words of his own. */
		if (p && p->budget.scope != SCOPE_PROCESS)
			d->budget_left = budget_left(&p->budget, d->budget_calls,
			                             d->budget_spent, st->now);
	}
}

static void find_budgets(struct stats *st)
{
	static struct env env;
	char path[PATH_MAX], host[HOST_NAME_MAX + 1] = "";
	struct config *c;

	env_snapshot(&env, environ, getauxval(AT_SECURE) != 0);
	gethostname(host, sizeof(host) - 1);
	c = config_load(config_locate(&env, SYSCONFDIR, host, path, sizeof(path)) ? path : NULL,
	                &lcapi_direct, &env, NULL, NULL);
	if (!c)
		return;
	stats_budgets(st, c);
	config_free(c);
}

int stats_take(struct stats *st, const struct segment *s)
{
	int error;

	st->segment = s;
	st->present = false;
	st->count = 0;
	error = segment_with(s, false, copy_all, NULL);
	st->now = slot_now();
	st->wall = sys_realtime();
	if (error)
		return error;
	stats_build(st, &copy.s.header, copy.s.slots, st->now, st->wall);
	find_budgets(st);
	return 0;
}
