/* SPDX-License-Identifier: MIT */
#include "preload/replace.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/addr.h"
#include "base/compat.h"
#include "base/sys.h"

/* What a program may have set on a TCP socket before connect, whatever the
 * family. Copied where the fresh socket's value differs. (What the old one has forgotten is
 * set again before the attempt, by its number: attempt_options().) */
static const struct {
	int level, name;
} options[] = {
	{ SOL_SOCKET, SO_KEEPALIVE },     { SOL_SOCKET, SO_LINGER },
	{ SOL_SOCKET, SO_OOBINLINE },     { SOL_SOCKET, SO_REUSEADDR },
	{ SOL_SOCKET, SO_REUSEPORT },     { SOL_SOCKET, SO_DONTROUTE },
	{ SOL_SOCKET, SO_PRIORITY },      { SOL_SOCKET, SO_MARK },
	{ SOL_SOCKET, SO_RCVLOWAT },      { SOL_SOCKET, SO_RCVTIMEO },
	{ SOL_SOCKET, SO_SNDTIMEO },      { SOL_SOCKET, SO_BINDTODEVICE },
	{ SOL_SOCKET, SO_TIMESTAMP },     { SOL_SOCKET, SO_BUSY_POLL },
	{ SOL_SOCKET, SO_MAX_PACING_RATE }, { IPPROTO_TCP, TCP_NODELAY },
	{ IPPROTO_TCP, TCP_CORK },        { IPPROTO_TCP, TCP_NOTSENT_LOWAT },
	{ IPPROTO_TCP, TCP_KEEPIDLE },    { IPPROTO_TCP, TCP_KEEPINTVL },
	{ IPPROTO_TCP, TCP_KEEPCNT },     { IPPROTO_TCP, TCP_SYNCNT },
	{ IPPROTO_TCP, TCP_LINGER2 },     { IPPROTO_TCP, TCP_USER_TIMEOUT },
	{ IPPROTO_TCP, TCP_CONGESTION },
};

static void copy_option(int from, int to, int level, int name)
{
	char old[64];
	char new[64];
	socklen_t old_len = sizeof(old);
	socklen_t new_len = sizeof(new);

	memset(old, 0, sizeof(old));
	memset(new, 0, sizeof(new));
	if (sys_getsockopt(from, level, name, old, &old_len) != 0 || old_len == 0)
		return;
	sys_getsockopt(to, level, name, new, &new_len);
	if (old_len != new_len || memcmp(old, new, sizeof(old)) != 0)
		sys_setsockopt(to, level, name, old, old_len);
}

/* The kernel reports twice what was asked for. */
static void copy_buffer(int from, int to, int name)
{
	int old = 0;
	int new = 0;
	socklen_t len = sizeof(old);

	if (sys_getsockopt(from, SOL_SOCKET, name, &old, &len) != 0 ||
	    sys_getsockopt(to, SOL_SOCKET, name, &new, &len) != 0 || old == new)
		return;
	old /= 2;
	sys_setsockopt(to, SOL_SOCKET, name, &old, sizeof(old));
}

static void copy_traffic_class(int from, int to, int family)
{
	int value = 0;
	socklen_t len = sizeof(value);
	bool to_six = family == AF_INET6;

	if (sys_getsockopt(from, to_six ? IPPROTO_IP : IPPROTO_IPV6,
	                   to_six ? IP_TOS : IPV6_TCLASS, &value, &len) == 0 &&
	    value > 0)
		sys_setsockopt(to, to_six ? IPPROTO_IPV6 : IPPROTO_IP, to_six ? IPV6_TCLASS : IP_TOS,
		               &value, sizeof(value));
}

/*
 * Whether the program has chosen the source. A failed connect leaves the port
 * that the kernel picked on the socket, also after AF_UNSPEC (measured), so a
 * port alone tells only if it is one of those that the kernel never picks. A
 * program that bound a higher port to the wildcard address loses it.
 */
static bool is_bound(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	struct addr a;

	return sys_getsockname(fd, (struct sockaddr *)&ss, &len) != 0 ||
	       !addr_from_sockaddr(&a, (struct sockaddr *)&ss, len) || !addr_is_any(&a) ||
	       (a.port > 0 && a.port < IPPORT_RESERVED);
}

static bool put_fresh(int fd, int family)
{
	int fresh = sys_off_stdio(sys_socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
	int flags = sys_fcntl(fd, F_GETFD, 0);
	bool done;

	if (fresh < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		copy_option(fd, fresh, options[i].level, options[i].name);
	copy_buffer(fd, fresh, SO_SNDBUF);
	copy_buffer(fd, fresh, SO_RCVBUF);
	copy_traffic_class(fd, fresh, family);
	done = flags >= 0 && sys_dup3(fresh, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0) == fd;
	sys_close(fresh);
	return done;
}

bool replace_family(int fd, int family, bool in_place, bool *mapped)
{
	int domain = 0;
	int protocol = 0;
	int only = 0;
	socklen_t len = sizeof(int);

	*mapped = false;
	if (sys_getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) != 0 ||
	    sys_getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) != 0 ||
	    protocol != IPPROTO_TCP)
		return false;
	if (domain == family)
		return true;
	if (domain == AF_INET6 && !is_bound(fd) &&
	    sys_getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &len) == 0 && !only) {
		*mapped = true;
		return true;
	}
	return !in_place && !is_bound(fd) && put_fresh(fd, family);
}
