/* SPDX-License-Identifier: MIT */
#include "cli/limits.h"

#include <resolv.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"

#define RETRIES_MAX 255 /* what TCP_SYNCNT takes */

static bool read_number(const char *dir, const char *name, unsigned *value)
{
	char path[256];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fscanf(f, "%u", value) == 1;
	fclose(f);
	return ok;
}

bool syn_limits_read(struct syn_limits *l, const char *dir)
{
	unsigned rto_max = 120000;
	bool ok;

	*l = (struct syn_limits){ .retries = 6 };
	ok = read_number(dir, "tcp_syn_retries", &l->retries);
	read_number(dir, "tcp_syn_linear_timeouts", &l->linear);
	read_number(dir, "tcp_rto_max_ms", &rto_max);
	l->rto_max = (int64_t)rto_max * DUR_MS;
	return ok;
}

static int64_t doubled(int64_t rto, int64_t rto_max)
{
	int64_t twice = dur_add(rto, rto);

	return twice < rto_max ? twice : rto_max;
}

/* <retries> doubled time-outs and the last one: what the kernel takes for the
 * length of so many retransmissions. */
static int64_t model(unsigned retries, int64_t rto_max)
{
	int64_t total = 0, rto = DUR_S;

	for (unsigned i = 0; i <= retries && i <= RETRIES_MAX; i++) {
		total = dur_add(total, rto);
		rto = doubled(rto, rto_max);
	}
	return total;
}

int64_t syn_time(const struct syn_limits *l, unsigned *again)
{
	int64_t rto_max = l->rto_max > DUR_S ? l->rto_max : DUR_S;
	int64_t limit = l->user_timeout ? l->user_timeout : model(l->retries, rto_max);
	int64_t now = 0, rto = DUR_S;

	for (unsigned sent = 0;; sent++) {
		*again = sent;
		/* The timer is set shorter where the user's time-out ends. */
		now = l->user_timeout && sent && dur_add(now, rto) > limit ? limit
		                                                           : dur_add(now, rto);
		if (sent >= l->retries + l->linear || now >= limit || sent > 2 * RETRIES_MAX)
			return now;
		if (sent >= l->linear)
			rto = doubled(rto, rto_max);
	}
}

#ifdef __GLIBC__
bool resolver_limits_read(struct resolver_limits *l, const char *name)
{
	struct __res_state state;
	size_t len = strlen(name);
	bool absolute = len && name[len - 1] == '.';
	bool dots = strchr(name, '.') != NULL;

	*l = (struct resolver_limits){ .timeout = 5, .attempts = 2, .servers = 1 };
	memset(&state, 0, sizeof(state));
	if (res_ninit(&state) != 0)
		return false;
	l->timeout = (unsigned)state.retrans;
	l->attempts = (unsigned)state.retry;
	l->servers = state.nscount > 0 ? (unsigned)state.nscount : 1;
	/* DEFNAMES is for names without a dot, DNSRCH for the others. */
	l->searches = !absolute && state.dnsrch[0] && state.dnsrch[0][0] &&
	              state.options & (dots ? RES_DNSRCH : RES_DEFNAMES);
	res_nclose(&state);
	return true;
}
#else
/* musl asks all servers at once, and what it has read nobody can ask. */
bool resolver_limits_read(struct resolver_limits *l, const char *name)
{
	(void)name;
	*l = (struct resolver_limits){ .timeout = 5, .attempts = 1, .servers = 1 };
	return false;
}
#endif

int64_t resolver_time(const struct resolver_limits *l)
{
	unsigned servers = l->servers ? l->servers : 1;
	int64_t round = 0;

	for (unsigned k = 0; k < servers && k < 32; k++) {
		int64_t seconds = (int64_t)l->timeout << k;

		if (k > 0)
			seconds /= servers;
		round += seconds > 0 ? seconds : 1;
	}
	return round * l->attempts * (l->searches ? 2 : 1) * DUR_S;
}
