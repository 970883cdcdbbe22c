/* SPDX-License-Identifier: MIT */
#include "preload/stale.h"

#include <pthread.h>
#include <string.h>

#include "base/fmt.h"
#include "base/libc.h"
#include "preload/real.h"
#include "preload/signal.h"
#include "state/names.h"

/* The answer for one address in digits: one entry for each type of socket. */
static struct addrinfo *answer_of(const struct name_ip *ip, const char *service,
                                  const struct addrinfo *hints)
{
	struct addrinfo digits = { .ai_flags = AI_NUMERICHOST, .ai_family = AF_UNSPEC };
	struct addr a = { .family = ip->family };
	struct addrinfo *answer = NULL;
	char text[ADDR_TEXT_MAX];
	struct fmt f;

	if (hints) {
		digits.ai_flags |= hints->ai_flags & AI_NUMERICSERV;
		digits.ai_socktype = hints->ai_socktype;
		digits.ai_protocol = hints->ai_protocol;
	}
	memcpy(a.ip, ip->ip, sizeof(a.ip));
	/* Which link it is on is not remembered. */
	if (a.family == AF_INET6 && addr_is_special(&a))
		return NULL;
	fmt_init(&f, text, sizeof(text));
	addr_fmt_ip(&f, &a);
	fmt_end(&f);
	return real.getaddrinfo(text, service, &digits, &answer) == 0 ? answer : NULL;
}

/* glibc frees a list entry by entry, so those of several answers can be one list. */
static struct addrinfo *join(const struct name_ip *ips, unsigned count, const char *service,
                             const struct addrinfo *hints)
{
	struct addrinfo *list = NULL;
	struct addrinfo **end = &list;

	for (unsigned i = 0; i < count && (LIBC_JOINS_ANSWERS || !list); i++) {
		*end = answer_of(&ips[i], service, hints);
		while (*end)
			end = &(*end)->ai_next;
	}
	return list;
}

bool stale_answer(const char *node, const char *service, const struct addrinfo *hints,
                  int64_t oldest, struct addrinfo **res, int64_t *age)
{
	struct name_ip ips[NAMES_ADDRS];
	struct addrinfo *list;
	unsigned count;
	int64_t at = 0;
	int cancel;

	if (hints && (hints->ai_flags & AI_CANONNAME))
		return false;
	count = names_recall(node, hints ? hints->ai_family : AF_UNSPEC, ips, &at);
	*age = dur_sub(clock_at_entry(), at);
	if (count == 0 || *age > oldest)
		return false;
	/* It would leave the list, and the file of services open, behind. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	list = join(ips, count, service, hints);
	pthread_setcancelstate(cancel, NULL);
	if (!list)
		return false;
	*res = list;
	return true;
}
