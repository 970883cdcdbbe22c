/* SPDX-License-Identifier: MIT */
#include "preload/target.h"

#include "policy/match.h"
#include "preload/places.h"
#include "preload/runtime.h"

bool target_find(struct target *t, const struct sockaddr *sa, socklen_t len, uintptr_t thread)
{
	return target_find_for(t, sa, len, thread, OP_CONNECT, PROTO_TCP);
}

bool target_find_for(struct target *t, const struct sockaddr *sa, socklen_t len,
                     uintptr_t thread, enum op op, enum proto proto)
{
	const struct config *c = runtime_config();
	struct dest d;

	if (!c || !addr_from_sockaddr(&t->addr, sa, len))
		return false;
	t->name.id = 0;
	names_find(&t->addr, thread, &t->name);
	d = (struct dest){ .op = op,
	                   .host = t->name.id ? t->name.name : NULL,
	                   .addr = &t->addr,
	                   .port = t->addr.family == AF_UNIX ? -1 : t->addr.port,
	                   .proto = t->addr.family == AF_UNIX ? PROTO_UNIX : proto };
	t->rule = match_rule(&c->set, &d);
	t->policy = t->rule ? t->rule->policy : runtime_default_policy(c);
	t->mode = runtime_mode(c);
	if (t->rule && t->rule->plain && places_ambiguous(t))
		t->rule = t->rule->plain;
	return true;
}
