/* SPDX-License-Identifier: MIT */
/* sending.h - a send that failed, in a scripted world, for the suites about it. */
#ifndef LIBRETRY_TESTS_SENDING_H
#define LIBRETRY_TESTS_SENDING_H

#include "engine/send.h"
#include "tests/unit/under_way.h"

static struct target t;
static struct so_far so_far;
static struct send_failure f;
static int error;

static void begin_send(enum send_cause cause, int with)
{
	setup();
	memset(&t, 0, sizeof(t));
	ck_assert(addr_parse_ip(&t.addr, "127.0.0.1"));
	t.addr.port = 5432;
	t.policy = &p;
	so_far = (struct so_far){ 0 };
	f = (struct send_failure){ .cause = cause,
		                   .error = with,
		                   .fd = FD,
		                   .blocking = true,
		                   .sa = (struct sockaddr *)&sa,
		                   .len = sa_len,
		                   .t = &t,
		                   .thread = THREAD,
		                   .identity = WORLD_SOCKET,
		                   .limit = DUR_NONE };
}

static enum send_answer failed(void)
{
	return engine_send_failed(&world_ops, &w, &f, &so_far, &error);
}

static void script(unsigned count, const int *results)
{
	memcpy(w.results, results, count * sizeof(*results));
	w.result_count = count;
}
#define SCRIPT(...) \
	script(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int), (int[]){ __VA_ARGS__ })

#endif
