/* SPDX-License-Identifier: MIT */
/* connect() of a socket whose connect is under way already. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/sys.h"
#include "engine/pending.h"
#include "preload/dial.h"
#include "preload/gate.h"
#include "preload/probe.h"
#include "preload/real.h"
#include "state/tally.h"
#include "preload/waits.h"

/* What a connect under way is asked first: ANSWER_CALL, or *error is the answer.
 * On a descriptor that was made blocking meanwhile the kernel waits, and so do
 * we, in a wait that makes the retries. */
static enum answer ask(int fd, int *error)
{
	struct signal_hold hold;
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	enum answer answer = pending_ask(&preload_ops, &hold, fd, error);

	while (answer == ANSWER_PENDING && !probe_nonblocking(fd)) {
		if (waits_poll(&p, 1, -1) < 0) {
			*error = errno;
			if (*error != EINTR || signal_may_interrupt())
				return ANSWER_ERROR;
		}
		answer = pending_ask(&preload_ops, &hold, fd, error);
	}
	if (answer == ANSWER_PENDING)
		*error = EALREADY;
	return answer;
}

/* What the program asked for is <sa>. */
static bool goes_to(const struct pending *p, const struct sockaddr *sa, socklen_t len)
{
	socklen_t home_len;
	const struct sockaddr *home = pend_home(p, &home_len);

	return home_len == len && memcmp(home, sa, len) == 0;
}

/* The real call on a socket whose connect goes on in the kernel. What it tells is
 * believed of the connect under way if it names the same destination: else the
 * number is another socket's by now, or the program ends it with AF_UNSPEC. */
static enum outcome call_again(int fd, const struct sockaddr *sa, socklen_t len, int *error)
{
	struct signal_hold hold;
	struct pend_ref ref;
	int told = real.connect(fd, sa, len) == 0 ? 0 : errno;

	*error = told;
	if (told != 0 && told != EISCONN && told != EINPROGRESS && dial_is_programs_affair(told))
		return OUTCOME_KNOWN;
	if (told == EINPROGRESS && fdtab_find(fd, &ref) && goes_to(ref.p, sa, len) &&
	    pending_undo(&preload_ops, &hold, fd)) {
		*error = EALREADY;
		return OUTCOME_KNOWN;
	}
	if (told == EINPROGRESS || !fdtab_find(fd, &ref) || !goes_to(ref.p, sa, len)) {
		pending_withdraw(&preload_ops, &hold, fd);
		if (told == EINPROGRESS) {
			int64_t began = clock_at_entry();

			tally_call(sa, len, began);
			dial_under_way(fd, sa, len, began, DUR_NONE);
		}
		return told == 0 || told == EINPROGRESS ? OUTCOME_KNOWN : OUTCOME_OTHER;
	}
	*error = pending_result(&preload_ops, &hold, fd, told ? told : EISCONN);
	if (*error == EISCONN)
		*error = told;
	/* 0 stands for hidden there; it may be a socket connected to itself. */
	else if (*error == 0)
		return OUTCOME_HIDDEN;
	return OUTCOME_KNOWN;
}

/* The kernel looks at what it is given before it looks at the socket. */
static bool is_wrong(const struct sockaddr *sa, socklen_t len)
{
	return len < sizeof(sa->sa_family) || len > sizeof(struct sockaddr_storage) ||
	       !sys_all(sa, len, sys_readable);
}

LR_NOINLINE enum outcome dial_again(int fd, const struct sockaddr *sa, socklen_t len, int *error)
{
	struct signal_hold hold;
	struct pend_ref ref;
	enum outcome outcome;

	*error = 0;
	while (gate_open() && fdtab_find(fd, &ref)) {
		if (pend_state(&ref) != PEND_CONNECTING) {
			if (is_wrong(sa, len) || !runtime_owns_process())
				return OUTCOME_OTHER;
			if (sa->sa_family == AF_UNSPEC) {
				pending_withdraw(&preload_ops, &hold, fd);
				return OUTCOME_OTHER;
			}
			if (ask(fd, error) != ANSWER_CALL)
				return OUTCOME_KNOWN;
			if (!fdtab_find(fd, &ref)) {
				*error = 0;
				return OUTCOME_OTHER;
			}
		}
		outcome = call_again(fd, sa, len, error);
		if (outcome != OUTCOME_HIDDEN)
			return outcome;
		*error = EALREADY;
		if (probe_nonblocking(fd))
			return OUTCOME_KNOWN;
	}
	*error = 0;
	return OUTCOME_OTHER;
}
