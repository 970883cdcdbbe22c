/* SPDX-License-Identifier: MIT */
/* call.h - one connect through the engine in a scripted world, for the suites
 * about it. */
#ifndef LIBRETRY_TESTS_CALL_H
#define LIBRETRY_TESTS_CALL_H

#include "engine/connect.h"
#include "policy/builtin.h"
#include "tests/unit/unit.h"
#include "tests/unit/world.h"

static struct world w;
static struct policy p;
static struct addr target;
static struct sockaddr_storage target_sa;
static struct connect_call call;
static struct name_entry name;

static void aim_at(const char *text)
{
	ck_assert(addr_parse_ip(&target, text));
	target.port = 5432;
	call.sa = (struct sockaddr *)&target_sa;
	call.len = addr_to_sockaddr(&target, &target_sa);
	call.addr = &target;
	if (call.name)
		call.name = names_find(&target, 1, &name) ? &name : NULL;
}

static void setup(void)
{
	world_init(&w);
	names_reset();
	p = builtin_default();
	p.backoff.jitter = JITTER_NONE;
	memset(&call, 0, sizeof(call));
	call.fd = 3;
	call.policy = &p;
	call.limit = DUR_NONE;
	call.began = w.clock;
	aim_at("127.0.0.1");
}

static LR_UNUSED void script(unsigned count, const int *results)
{
	memcpy(w.results, results, count * sizeof(*results));
	w.result_count = count;
}
#define SCRIPT(...) script(ARRAY_LEN(((int[]){ __VA_ARGS__ })), (int[]){ __VA_ARGS__ })

/* Makes the first attempt through the engine, as a policy with a time limit
 * does; the waits and the logic are the same as after a bare one. */
static LR_UNUSED int run(void)
{
	call.began = w.clock;
	return engine_connect(&world_ops, &w, &call, 0);
}

#endif
