/* SPDX-License-Identifier: MIT */
/*
 * What servers and other processes see of many programs under the library: they do not
 * come back in step, waits are those of the policy, a socket that was retried is like one
 * that was not, and newcomers change nothing of what is remembered together.
 *
 * Part of it is done by this program started anew, with a name of what to do.
 */
#include "tests/preload/guest.h"

#include <dirent.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/time.h>

static int connect_to(const struct sockaddr_in *sa)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0 ? 0 : errno;

	close(fd);
	return rc;
}

static struct sockaddr_in address(const char *ip, const char *port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };

	inet_pton(AF_INET, ip, &sa.sin_addr);
	return sa;
}

/* ------------------------------------------------ what the program does -- */

/* Exit status: what connect said, or that it did nothing. */
static int program(const char *what, const char *ip, const char *port)
{
	struct sockaddr_in to = address(ip, port);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (strcmp(what, "load") == 0)
		return 0;
	return connect_to(&to);
}

static pid_t start(const char *what, const char *ip, in_port_t port)
{
	char text[16];
	pid_t pid;

	snprintf(text, sizeof(text), "%d", ntohs(port));
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		execl("/proc/self/exe", "crowd.pt", what, ip, text, NULL);
		_exit(255);
	}
	return pid;
}

static int status_of(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* -------------------------------------------------------------- arrivals -- */

enum { CROWD = 60, BASE = 600, BUCKETS = 6 }; /* ms; as in crowd.env, +-50 % */

static unsigned bucket_of(int ms)
{
	ck_assert_int_ge(ms, BASE / 2);
	ck_assert_int_le(ms, BASE * 3 / 2);
	return (unsigned)(ms - BASE / 2) * BUCKETS / (BASE + 1);
}

/* None holds much more than its share: 10, of which the deviation is 3. */
static void spread_evenly(const unsigned buckets[BUCKETS], const char *what)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		ck_assert_msg(buckets[i] <= CROWD / 2, "%s: %u of %d in one sixth of the time", what,
		              buckets[i], CROWD);
}

static int wait_in(const char *line)
{
	const char *wait = strstr(line, " wait=");

	return wait ? atoi(wait + 6) : -1;
}

static unsigned waits_in_log(unsigned buckets[BUCKETS])
{
	FILE *f = fopen(getenv("TEST_LOG"), "r");
	char line[2048];
	unsigned n = 0;

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, " attempt=1/") && strstr(line, "dest=127.0.0.5:")) {
			buckets[bucket_of(wait_in(line))]++;
			n++;
		}
	if (f)
		fclose(f);
	return n;
}

/*
 * All fail at one moment or so: half of them are programs of their own, half are workers
 * of one that had retries before. The first wait of each is drawn by itself, and what
 * comes to the server comes so.
 */
START_TEST(processes_do_not_march_in_step)
{
	struct sockaddr_in to, before;
	unsigned drawn[BUCKETS] = { 0 }, arrived[BUCKETS] = { 0 };
	pid_t pids[CROWD];
	int64_t first = 0;
	int server = bound_at("127.0.0.5", &to);

	bound_at("127.0.0.3", &before);
	ck_assert_int_eq(connect_to(&before), ECONNREFUSED);
	for (int i = 0; i < CROWD; i++) {
		pids[i] = i % 2 ? start("connect", "127.0.0.5", to.sin_port) : fork();
		if (pids[i] == 0)
			_exit(connect_to(&to));
	}
	for (;;) {
		memset(drawn, 0, sizeof(drawn));
		if (waits_in_log(drawn) == CROWD)
			break;
		sleep_ms(20);
	}
	spread_evenly(drawn, "drawn");
	ck_assert_int_eq(listen(server, CROWD), 0);
	for (int i = 0; i < CROWD; i++) {
		int fd = accept(server, NULL, NULL);

		ck_assert_int_ge(fd, 0);
		close(fd);
		if (i == 0)
			first = ms_now();
		/* What takes longer was stopped in between. */
		if (ms_now() - first <= BASE)
			arrived[bucket_of((int)(ms_now() - first) + BASE / 2)]++;
	}
	for (int i = 0; i < CROWD; i++)
		ck_assert_int_eq(status_of(pids[i]), 0);
	spread_evenly(arrived, "arrived");
}
END_TEST

/* ---------------------------------------------------------------- series -- */

static unsigned series(const char *ip, unsigned waits[], unsigned max)
{
	FILE *f = fopen(getenv("TEST_LOG"), "r");
	char line[2048], process[64], dest[64];
	unsigned n = 0;

	snprintf(process, sizeof(process), " libretry[%d] WARN retry ", getpid());
	snprintf(dest, sizeof(dest), " dest=%s:", ip);
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, dest) && strstr(line, process)) {
			ck_assert_uint_lt(n, max);
			waits[n++] = (unsigned)wait_in(line);
		}
	if (f)
		fclose(f);
	return n;
}

/* As the policy says, and not shorter in truth. */
START_TEST(waits_of_a_real_process)
{
	static const unsigned exact[] = { 10, 20, 40, 80, 80, 80 };
	unsigned waits[40], at_cap = 0, n;
	struct sockaddr_in to;
	int64_t begin;

	bound_at("127.0.0.3", &to);
	begin = ms_now();
	ck_assert_int_eq(connect_to(&to), ECONNREFUSED);
	ck_assert_int_ge(ms_now() - begin, 310);
	ck_assert_uint_eq(series("127.0.0.3", waits, ARRAY_LEN(waits)), ARRAY_LEN(exact));
	for (size_t i = 0; i < ARRAY_LEN(exact); i++)
		ck_assert_uint_eq(waits[i], exact[i]);
	/* With jitter they stay apart, also at the limit. */
	bound_at("127.0.0.4", &to);
	ck_assert_int_eq(connect_to(&to), ECONNREFUSED);
	n = series("127.0.0.4", waits, ARRAY_LEN(waits));
	ck_assert_uint_eq(n, 24);
	for (unsigned i = 0; i < n; i++) {
		ck_assert_uint_le(waits[i], 40);
		at_cap += waits[i] >= 39;
	}
	ck_assert_uint_lt(at_cap, n / 2);
}
END_TEST

/* --------------------------------------------------------------- options -- */

#define OPTION_MAX 96

static const int levels[] = { SOL_SOCKET, IPPROTO_IP, IPPROTO_TCP };

struct options {
	struct {
		socklen_t len;
		unsigned char value[64];
	} of[ARRAY_LEN(levels)][OPTION_MAX];
};

/* What says how things are, not what was set. */
static bool not_compared(int level, int name)
{
	static const int socket_state[] = { SO_ERROR, SO_INCOMING_CPU, SO_INCOMING_NAPI_ID, SO_COOKIE,
		                            SO_MEMINFO };
	static const int tcp_state[] = { TCP_INFO,    TCP_QUICKACK,	   TCP_TIMESTAMP,
		                         TCP_CC_INFO, TCP_ZEROCOPY_RECEIVE };
	const int *list = level == SOL_SOCKET ? socket_state : tcp_state;
	size_t n = level == SOL_SOCKET ? ARRAY_LEN(socket_state) : ARRAY_LEN(tcp_state);

	if (level == IPPROTO_IP)
		return name == 52; /* IP_PROTOCOL, which is the port here */
	for (size_t i = 0; i < n; i++)
		if (list[i] == name)
			return true;
	return false;
}

static void read_options(int fd, struct options *o)
{
	memset(o, 0, sizeof(*o));
	for (size_t l = 0; l < ARRAY_LEN(levels); l++)
		for (int name = 1; name < OPTION_MAX; name++) {
			socklen_t len = sizeof(o->of[l][name].value);

			if (!not_compared(levels[l], name) &&
			    getsockopt(fd, levels[l], name, o->of[l][name].value, &len) == 0)
				o->of[l][name].len = len;
		}
}

static unsigned set_options(int fd)
{
	static const struct {
		int level, name, value;
	} list[] = {
		{ SOL_SOCKET, SO_REUSEADDR, 1 },   { SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ SOL_SOCKET, SO_OOBINLINE, 1 },   { SOL_SOCKET, SO_RCVBUF, 30000 },
		{ SOL_SOCKET, SO_SNDBUF, 40000 },  { SOL_SOCKET, SO_RCVLOWAT, 2 },
		{ SOL_SOCKET, SO_PRIORITY, 3 },    { SOL_SOCKET, SO_MAX_PACING_RATE, 5000000 },
		{ SOL_SOCKET, SO_TIMESTAMP, 1 },   { IPPROTO_IP, IP_TOS, 0x10 },
		{ IPPROTO_IP, IP_TTL, 33 },        { IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT },
		{ IPPROTO_IP, IP_RECVERR, 1 },     { IPPROTO_TCP, TCP_NODELAY, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 77 }, { IPPROTO_TCP, TCP_KEEPINTVL, 7 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 5 },   { IPPROTO_TCP, TCP_SYNCNT, 3 },
		{ IPPROTO_TCP, TCP_LINGER2, 9 },   { IPPROTO_TCP, TCP_USER_TIMEOUT, 12345 },
		{ IPPROTO_TCP, TCP_NOTSENT_LOWAT, 4096 },
		{ IPPROTO_TCP, TCP_MAXSEG, 1000 }, { IPPROTO_TCP, TCP_WINDOW_CLAMP, 5000 },
	};
	struct timeval limit = { 20, 0 };
	struct linger linger = { 1, 3 };
	unsigned n = 0;

	for (size_t i = 0; i < ARRAY_LEN(list); i++)
		n += setsockopt(fd, list[i].level, list[i].name, &list[i].value, sizeof(int)) == 0;
	n += setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0;
	limit.tv_usec = 500000;
	n += setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0;
	n += setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) == 0;
	n += setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) == 0;
	n += setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 5) == 0;
	return n;
}

/* The options of a socket with a port of its own after its connect to <to>. */
static void options_after(const struct sockaddr_in *to, int kind, struct options *o)
{
	int fd = socket(AF_INET, SOCK_STREAM | kind, 0), flags;
	struct sockaddr_in own, now;
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(now);

	close(bound(&own));
	ck_assert_uint_ge(set_options(fd), 20);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	flags = fcntl(fd, F_GETFL);
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) != 0) {
		ck_assert_int_eq(errno, EINPROGRESS);
		ck_assert_int_eq(poll(&p, 1, 20000), 1);
		ck_assert_int_eq(p.revents, POLLOUT);
	}
	ck_assert_int_eq(fcntl(fd, F_GETFL), flags);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&now, &len), 0);
	ck_assert_mem_eq(&now, &own, sizeof(own));
	read_options(fd, o);
	close(fd);
}

START_TEST(a_retried_socket_is_like_another)
{
	static struct options plain, retried;
	static const int kinds[] = { 0, SOCK_NONBLOCK };
	struct sockaddr_in to;

	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		int server = bound(&to);

		ck_assert_int_eq(listen(server, 8), 0);
		options_after(&to, kinds[k], &plain);
		close(server);
		server = bound(&to);
		listen_late(server, 60);
		options_after(&to, kinds[k], &retried);
		ck_assert_uint_eq(log_lines(" recovered op=connect "), k + 1);
		for (size_t l = 0; l < ARRAY_LEN(levels); l++)
			for (int name = 0; name < OPTION_MAX; name++)
				ck_assert_msg(memcmp(&plain.of[l][name], &retried.of[l][name],
				                     sizeof(plain.of[l][name])) == 0,
				              "kind %zu: option %d of level %d differs: %d, %d", k, name,
				              levels[l], *(int *)plain.of[l][name].value,
				              *(int *)retried.of[l][name].value);
	}
}
END_TEST

/* ------------------------------------------------------------- newcomers -- */

static size_t read_segment(unsigned char *bytes, size_t size)
{
	DIR *d = opendir("/dev/shm");
	struct dirent *e;
	size_t n = 0;

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d))) {
		int fd;

		if (e->d_name[0] == '.')
			continue;
		ck_assert_uint_eq(n, 0);
		fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC);
		n = (size_t)read(fd, bytes, size);
		close(fd);
	}
	closedir(d);
	return n;
}

/* The breaker is open; who comes then learns it, and sets nothing back. */
START_TEST(newcomers_change_nothing)
{
	static unsigned char before[1 << 20], after[1 << 20];
	struct sockaddr_in to;
	pid_t newcomers[20];
	size_t size;

	if (!own_tmpfs("/dev/shm", "size=4m,mode=1777")) {
		printf("skip newcomers_change_nothing: no mount namespace here\n");
		return;
	}
	bound_at("127.0.0.6", &to);
	ck_assert_int_eq(status_of(start("connect", "127.0.0.6", to.sin_port)), ECONNREFUSED);
	size = read_segment(before, sizeof(before));
	ck_assert_uint_gt(size, 1000);
	for (int i = 0; i < 20; i++)
		newcomers[i] = start("load", "127.0.0.6", to.sin_port);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(status_of(newcomers[i]), 0);
	ck_assert_uint_eq(read_segment(after, sizeof(after)), size);
	ck_assert_mem_eq(before, after, size);
	for (int i = 0; i < 3; i++) {
		pid_t pid = start("connect", "127.0.0.6", to.sin_port);

		ck_assert_int_eq(status_of(pid), ECONNREFUSED);
		ck_assert_uint_eq(log_lines_of(pid, " retry "), 0);
		ck_assert_uint_eq(log_lines_of(pid, " reason=breaker "), 1);
	}
}
END_TEST

int main(int argc, char **argv)
{
	static const TTest *const *const tests[] = {
		&processes_do_not_march_in_step, &waits_of_a_real_process,
		&a_retried_socket_is_like_another, &newcomers_change_nothing,
	};
	const TTest *list[ARRAY_LEN(tests)];

	if (argc == 4)
		return program(argv[1], argv[2], argv[3]);
	for (size_t i = 0; i < ARRAY_LEN(tests); i++)
		list[i] = *tests[i];
	return unit_run("preload crowd", list, ARRAY_LEN(list));
}
