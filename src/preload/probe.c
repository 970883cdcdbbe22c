/* SPDX-License-Identifier: MIT */
#include "preload/probe.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/time.h>

#include "base/compat.h"
#include "base/duration.h"
#include "base/sys.h"

#define TCP_STATE_LISTEN 10

int probe_socket_type(int fd)
{
	int type = -1;
	socklen_t len = sizeof(type);

	return sys_getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 ? type : -1;
}

uint64_t probe_identity(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);
	struct stat st;

	if (sys_getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len) == 0)
		return cookie;
	return sys_fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) ? (uint64_t)st.st_ino : 0;
}

bool probe_nonblocking(int fd)
{
	int flags = sys_fcntl(fd, F_GETFL, 0);

	return flags < 0 || (flags & O_NONBLOCK);
}

int64_t probe_send_timeout(int fd)
{
	struct timeval tv = { 0, 0 };
	socklen_t len = sizeof(tv);
	int64_t ns;

	if (sys_getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, &len) != 0)
		return DUR_NONE;
	ns = dur_of(tv.tv_sec, tv.tv_usec * DUR_US);
	return ns > 0 ? ns : DUR_NONE;
}

/* TCP's states as TCP_INFO tells them. */
enum { TCP_STATE_SYN_SENT = 2, TCP_STATE_SYN_RECV = 3, TCP_STATE_CLOSE = 7 };

/* How many bytes went out or are waiting to; false if the kernel does not count. */
static bool count_taken(const struct tcp_info *info, socklen_t len, uint64_t *taken)
{
	*taken = info->tcpi_bytes_sent - info->tcpi_bytes_retrans + info->tcpi_notsent_bytes;
	return len >= offsetof(struct tcp_info, tcpi_bytes_retrans) + 8;
}

/* Nothing was received, and <sent> bytes were taken. A FIN counts as a byte: in what
 * was received, and in what was acknowledged. There the SYN of the side that
 * connected counts, too: of an accepted socket nothing is acknowledged yet. */
static bool has_only_sent(const struct tcp_info *info, socklen_t len, uint64_t sent)
{
	uint64_t taken;

	return count_taken(info, len, &taken) && taken == sent &&
	       info->tcpi_bytes_received == 0 && (sent || info->tcpi_data_segs_out == 0) &&
	       info->tcpi_bytes_acked >= 1 && info->tcpi_bytes_acked <= sent + 1;
}

/* Whether a connection was ever made on the closed socket. */
static bool was_connected(const struct tcp_info *info)
{
	return info->tcpi_rtt || info->tcpi_delivered || info->tcpi_bytes_acked ||
	       info->tcpi_bytes_received;
}

static bool is_tcp(int fd)
{
	int protocol = -1;
	socklen_t len = sizeof(protocol);

	return sys_getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) == 0 &&
	       protocol == IPPROTO_TCP;
}

/* getpeername() does not tell it of a socket that was reset; this does, if it is
 * not asked for more than there is. */
static bool peer_is(int fd, const struct sockaddr *sa, socklen_t len)
{
	struct sockaddr_storage ss;
	socklen_t size = sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
	                                           : sizeof(struct sockaddr_in);
	struct addr peer;
	struct addr wanted;

	if (sys_getsockopt(fd, SOL_SOCKET, SO_PEERNAME, &ss, &size) != 0 ||
	    !addr_from_sockaddr(&peer, (struct sockaddr *)&ss, size) ||
	    !addr_from_sockaddr(&wanted, sa, len) || peer.port != wanted.port)
		return false;
	/* Connecting to "any" leads to this machine. */
	return addr_same_ip(&peer, &wanted) || (addr_is_any(&wanted) && addr_is_loopback(&peer));
}

bool probe_over(int fd, const struct sockaddr *sa, socklen_t len, uint64_t sent)
{
	struct tcp_info info = { .tcpi_state = 0 };
	socklen_t size = sizeof(info);

	return is_tcp(fd) && sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
	       info.tcpi_state == TCP_STATE_CLOSE && was_connected(&info) &&
	       has_only_sent(&info, size, sent) && peer_is(fd, sa, len);
}

bool probe_taken(int fd, uint64_t *taken)
{
	struct tcp_info info = { .tcpi_state = 0 };
	socklen_t len = sizeof(info);

	return is_tcp(fd) && sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
	       count_taken(&info, len, taken);
}

static enum condition tcp_condition(int fd)
{
	struct tcp_info info = { .tcpi_state = 0 };
	socklen_t len = sizeof(info);

	if (sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0)
		return CONDITION_OTHER;
	if (info.tcpi_state == TCP_STATE_SYN_SENT || info.tcpi_state == TCP_STATE_SYN_RECV)
		return CONDITION_TRYING;
	if (info.tcpi_state != TCP_STATE_CLOSE)
		return CONDITION_CONNECTED;
	if (!was_connected(&info))
		return CONDITION_CLOSED;
	return has_only_sent(&info, len, 0) ? CONDITION_RESET : CONDITION_CONNECTED;
}

enum condition probe_condition(int fd)
{
	struct sockaddr peer;
	socklen_t peer_len = sizeof(peer);
	int domain = -1;
	socklen_t len = sizeof(domain);

	if (probe_socket_type(fd) != SOCK_STREAM)
		return CONDITION_OTHER;
	if (is_tcp(fd))
		return tcp_condition(fd);
	if (sys_getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) != 0 || domain != AF_UNIX)
		return CONDITION_OTHER;
	return sys_getpeername(fd, &peer, &peer_len) == 0 ? CONDITION_CONNECTED
	                                                  : CONDITION_CLOSED;
}

bool probe_connected_to_self(int fd)
{
	struct sockaddr_storage own;
	struct sockaddr_storage peer;
	socklen_t own_len = sizeof(own);
	socklen_t peer_len = sizeof(peer);
	struct addr a;
	struct addr b;

	if (sys_getsockname(fd, (struct sockaddr *)&own, &own_len) != 0 ||
	    sys_getpeername(fd, (struct sockaddr *)&peer, &peer_len) != 0)
		return false;
	return addr_from_sockaddr(&a, (struct sockaddr *)&own, own_len) &&
	       addr_from_sockaddr(&b, (struct sockaddr *)&peer, peer_len) && a.port == b.port &&
	       addr_same_ip(&a, &b);
}

/*
 * An address is this machine's own if the way to it starts at itself. A UDP
 * socket is asked: connecting one looks the route up and sends nothing.
 */
static bool is_own_address(const struct addr *a)
{
	struct sockaddr_storage ss;
	struct addr source;
	socklen_t len;
	bool own = false;
	int fd;

	if (addr_is_loopback(a) || addr_is_any(a))
		return true;
	fd = sys_off_stdio(sys_socket(a->family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	if (fd < 0)
		return false;
	len = addr_to_sockaddr(a, &ss);
	if (sys_connect(fd, (struct sockaddr *)&ss, len) == 0) {
		len = sizeof(ss);
		own = sys_getsockname(fd, (struct sockaddr *)&ss, &len) == 0 &&
		      addr_from_sockaddr(&source, (struct sockaddr *)&ss, len) &&
		      addr_same_ip(&source, a);
	}
	sys_close(fd);
	return own;
}

/* The request: all listening TCP sockets of one family with this local port. */
struct request {
	struct nlmsghdr header;
	struct inet_diag_req_v2 diag;
	struct rtattr attribute;
	struct inet_diag_bc_op code[4];
};

static void fill_request(struct request *r, int family, uint16_t port)
{
	memset(r, 0, sizeof(*r));
	r->header.nlmsg_len = sizeof(*r);
	r->header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
	r->header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	r->diag.sdiag_family = (uint8_t)family;
	r->diag.sdiag_protocol = IPPROTO_TCP;
	r->diag.idiag_states = 1u << TCP_STATE_LISTEN;
	r->attribute.rta_type = INET_DIAG_REQ_BYTECODE;
	r->attribute.rta_len = sizeof(r->attribute) + sizeof(r->code);
	/* port >= P and port <= P; the operand of each is in the op after it. A
	 * jump by the whole rest and 4 more means "no". */
	r->code[0] = (struct inet_diag_bc_op){ INET_DIAG_BC_S_GE, 8, sizeof(r->code) + 4 };
	r->code[1] = (struct inet_diag_bc_op){ 0, 0, port };
	r->code[2] = (struct inet_diag_bc_op){ INET_DIAG_BC_S_LE, 8, sizeof(r->code) + 4 - 8 };
	r->code[3] = (struct inet_diag_bc_op){ 0, 0, port };
}

/* Whether a listener bound to <src> takes connections to <a>. A v6 wildcard
 * counts for v4 too, unless it is said to be <v6_only>: that is not always told, and
 * taking a listener for possible errs to the side of not waiting. */
static bool takes(int family, const __be32 *src, bool v6_only, const struct addr *a)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in four = { .sin_family = AF_INET };
	struct addr bound;
	bool ok;

	if (family == AF_INET6) {
		memcpy(&six.sin6_addr, src, 16);
		ok = addr_from_sockaddr(&bound, (struct sockaddr *)&six, sizeof(six));
	} else {
		memcpy(&four.sin_addr, src, 4);
		ok = addr_from_sockaddr(&bound, (struct sockaddr *)&four, sizeof(four));
	}
	if (!ok)
		return false;
	if (addr_is_any(&bound))
		return bound.family == a->family || (family == AF_INET6 && !v6_only);
	return addr_same_ip(&bound, a);
}

/* IPV6_V6ONLY of the socket that <m> is about. */
static bool is_v6_only(const struct nlmsghdr *h, const struct inet_diag_msg *m)
{
	const struct rtattr *r = (const struct rtattr *)(m + 1);
	int len = (int)h->nlmsg_len - (int)NLMSG_SPACE(sizeof(*m));

	for (; RTA_OK(r, len); r = RTA_NEXT(r, len))
		if (r->rta_type == INET_DIAG_SKV6ONLY && RTA_PAYLOAD(r) >= 1)
			return *(const uint8_t *)RTA_DATA(r) != 0;
	return false;
}

/* One reply: 1 found, 0 the end, -1 go on, -2 trouble. */
static int read_reply(char *reply, size_t len, int family, const struct addr *a)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)reply;

	for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
		const struct inet_diag_msg *m = NLMSG_DATA(h);

		if (h->nlmsg_type == NLMSG_DONE)
			return 0;
		if (h->nlmsg_type == NLMSG_ERROR)
			return -2;
		if (ntohs(m->id.idiag_sport) == a->port && takes(family, m->id.idiag_src, is_v6_only(h, m), a))
			return 1;
	}
	return -1;
}

static int ask_diag(int fd, int family, const struct addr *a)
{
	struct request request;
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	/* A reply that does not fit is cut. What fits may still say "yes". */
	_Alignas(struct nlmsghdr) char reply[640];

	fill_request(&request, family, a->port);
	if (sys_sendto(fd, &request, sizeof(request), 0, (struct sockaddr *)&kernel,
	               sizeof(kernel)) != (ssize_t)sizeof(request))
		return -1;
	for (unsigned i = 0; i < 64; i++) {
		ssize_t n = sys_recv(fd, reply, sizeof(reply), MSG_DONTWAIT | MSG_TRUNC);
		bool cut = n > (ssize_t)sizeof(reply);
		int answer;

		if (n <= 0)
			return -1;
		answer = read_reply(reply, cut ? sizeof(reply) : (size_t)n, family, a);
		if (answer == -2 || (cut && answer != 1))
			return -1;
		if (answer != -1)
			return answer;
	}
	return -1;
}

LR_NOINLINE int probe_by_diag(const struct addr *a)
{
	int fd = sys_off_stdio(sys_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
	int answer;

	if (fd < 0)
		return -1;
	answer = ask_diag(fd, a->family, a);
	if (answer == 0 && a->family == AF_INET)
		answer = ask_diag(fd, AF_INET6, a);
	sys_close(fd);
	return answer;
}

/* One line of /proc/net/tcp or tcp6: "  0: 0100007F:1F90 00000000:0000 0A".
 * The address is 32-bit words in host order. 1 match, 0 no match. */
static int read_line(const char *line, int family, const struct addr *a)
{
	unsigned words = family == AF_INET6 ? 4 : 1;
	__be32 src[4] = { 0 };
	uint32_t port = 0;
	const char *p = strchr(line, ':');

	if (!p)
		return 0;
	while (*++p == ' ')
		;
	for (unsigned i = 0; i < words * 8; i++, p++) {
		unsigned digit = *p <= '9' ? (unsigned)(*p - '0') : (unsigned)(*p - 'A') + 10;

		if (digit > 15)
			return 0;
		src[i / 8] = src[i / 8] << 4 | digit;
	}
	if (*p++ != ':')
		return 0;
	for (unsigned i = 0; i < 4; i++, p++)
		port = port << 4 | (*p <= '9' ? (uint32_t)(*p - '0') : (uint32_t)(*p - 'A') + 10);
	p = strchr(p + 1, ' ');
	return p && p[1] == '0' && p[2] == 'A' && port == a->port && takes(family, src, false, a);
}

static LR_NOINLINE int search_proc(const char *path, int family, const struct addr *a)
{
	char line[256];
	unsigned len = 0;
	char chunk[256];
	ssize_t n;
	int found = 0;
	int fd = sys_off_stdio(sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0));

	if (fd < 0)
		return -1;
	/* The kernel lists listeners first; the bound is for a busy host. */
	for (unsigned i = 0; i < 4096 && !found; i++) {
		n = sys_read(fd, chunk, sizeof(chunk));
		if (n <= 0)
			break;
		for (ssize_t j = 0; j < n && !found; j++) {
			if (chunk[j] != '\n') {
				if (len < sizeof(line) - 1)
					line[len++] = chunk[j];
				continue;
			}
			line[len] = '\0';
			len = 0;
			found = read_line(line, family, a);
		}
	}
	sys_close(fd);
	return found;
}

int probe_by_proc(const struct addr *a)
{
	int four = a->family == AF_INET ? search_proc("/proc/net/tcp", AF_INET, a) : 0;
	int six;

	if (four == 1)
		return 1;
	/* Without IPv6 in the kernel there is no such file, and nothing to miss. */
	six = search_proc("/proc/net/tcp6", AF_INET6, a);
	if (six == 1)
		return 1;
	return four < 0 || (six < 0 && a->family == AF_INET6) ? -1 : 0;
}

int probe_listening(const struct addr *a)
{
	int answer;

	if ((a->family != AF_INET && a->family != AF_INET6) || !is_own_address(a))
		return -1;
	answer = probe_by_diag(a);
	if (answer < 0)
		answer = probe_by_proc(a);
	/* Behind an address that others can reach a packet filter may lead to a
	 * listener elsewhere (a container's port): "no" is not certain there. */
	return answer == 0 && !addr_is_loopback(a) ? -1 : answer;
}
