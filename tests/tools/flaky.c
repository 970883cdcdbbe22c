/* SPDX-License-Identifier: MIT */
/*
 * flaky - a scripted server for tests: late, flapping, resetting, slow.
 *
 * The address is bound before anything else and stays bound until the end, so
 * that nobody else can take the port; a bound socket that does not listen
 * refuses connects. One process per connection; every process ends by itself.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "flaky.h"

#define FOREVER LONG_MAX

struct plan plan = { .up = FOREVER, .life = 60000, .backlog = 128 };

static int reserve_fd = -1;
static long end_at;

static const char usage_text[] =
	"Usage: flaky [OPTION]...\n"
	"A scripted TCP or Unix server. Prints \"port N\" (or \"path P\") once bound.\n"
	"\n"
	"Where (default 127.0.0.1, a free port):\n"
	"  -a, --address ADDR      an IPv4 or IPv6 address of this machine\n"
	"  -6                      the same as -a ::1\n"
	"  -P, --port N            this port\n"
	"  -u, --unix PATH         a Unix socket; an existing one is replaced\n"
	"  -p, --port-file FILE    write \"port N\" there, by rename (a FIFO: as it is)\n"
	"When (bound all the time, so connects are refused while it does not listen):\n"
	"      --late TIME         start to listen TIME after the start ...\n"
	"      --late-from FILE    ... or after FILE exists and is not empty\n"
	"      --flap UP,DOWN      listen for UP, refuse for DOWN, and so on\n"
	"      --backlog N         queue of listen() (128)\n"
	"      --no-accept         listen, never accept: the queue fills up\n"
	"      --connections N     end after N connections\n"
	"      --life TIME         end after TIME in any case (60s); also with the parent\n"
	"What each connection gets (default: closed at once):\n"
	"      --http              HTTP/1.1 200 with a short body, then close\n"
	"      --banner TEXT       TEXT (\\r \\n \\t \\\\ \\xNN), then reads until the end\n"
	"      --half-close        after the banner, say that no more will come\n"
	"      --echo              what it sent\n"
	"      --exec COMMAND      a shell command with the socket as stdin and stdout\n"
	"      --reset             RST\n"
	"      --hold              nothing, but it stays open\n"
	"      --accept-then-close N   the first N are closed at once instead\n"
	"      --accept-then-reset N   the first N are reset instead\n"
	"      --delay TIME        wait before the answer\n"
	"      --count FILE        keep the number of accepted connections there\n"
	"  -h, --help\n"
	"TIME is a whole number with ms or s: 1500ms, 2s.\n";

static void die(const char *what, const char *detail)
{
	fprintf(stderr, "flaky: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
	exit(2);
}

static void die_errno(const char *what)
{
	die(what, strerror(errno));
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static long number(const char *text, long max)
{
	char *rest;
	long v;

	errno = 0;
	v = strtol(text, &rest, 10);
	if (errno || rest == text || *rest || v < 0 || v > max)
		die("not a number in range", text);
	return v;
}

/* "250ms" or "2s"; <end> is where it must end. */
static long time_ms(const char *text, const char *end)
{
	char *rest;
	long v;

	errno = 0;
	v = strtol(text, &rest, 10);
	if (errno || rest == text || v < 0 || v > 3600000)
		die("not a time", text);
	if (rest + 2 == end && !strncmp(rest, "ms", 2))
		return v;
	if (rest + 1 == end && *rest == 's')
		return v * 1000;
	die("a time needs ms or s", text);
	return 0;
}

static long whole_time(const char *text)
{
	return time_ms(text, text + strlen(text));
}

/* Sleeps, but not past the end of our life; then we are done for good. */
static void sleep_ms(long ms)
{
	long left = end_at - now_ms();

	if (left > 0)
		poll(NULL, 0, (int)(ms < left ? ms : left));
	if (ms >= left)
		exit(0);
}

static void set_flap(const char *text)
{
	const char *comma = strchr(text, ',');

	if (!comma)
		die("--flap needs UP,DOWN", text);
	plan.up = time_ms(text, comma);
	plan.down = whole_time(comma + 1);
	if (plan.up + plan.down == 0)
		die("--flap needs time", text);
}

static void set_banner(const char *s)
{
	static const char letters[] = "rnt\\", values[] = "\r\n\t\\";

	for (; *s; s++) {
		char c = *s;
		unsigned hex;
		int used = 0;

		if (plan.banner_len == BANNER_MAX)
			die("the banner is too long", NULL);
		if (c == '\\') {
			const char *at = s[1] ? strchr(letters, s[1]) : NULL;

			if (at) {
				c = values[at - letters];
				s++;
			} else if (s[1] == 'x' && sscanf(s + 2, "%2x%n", &hex, &used) == 1) {
				c = (char)hex;
				s += 1 + used;
			} else {
				die("unknown escape", s);
			}
		}
		plan.banner[plan.banner_len++] = c;
	}
}

static void set_address(const char *text, long port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&plan.addr;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&plan.addr;
	struct sockaddr_un *un = (struct sockaddr_un *)&plan.addr;

	if (plan.path) {
		if (strlen(plan.path) + 5 >= sizeof(un->sun_path))
			die("the path is too long", plan.path);
		un->sun_family = AF_UNIX;
		memcpy(un->sun_path, plan.path, strlen(plan.path) + 1);
		plan.addr_len = sizeof(*un);
	} else if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		plan.addr_len = sizeof(*v4);
	} else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
		plan.addr_len = sizeof(*v6);
	} else {
		die("not an address", text);
	}
}

static int new_socket(void)
{
	const int on = 1;
	int fd = socket(plan.addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die_errno("socket");
	if (!plan.path)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (plan.addr.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	return fd;
}

/* The whole text, or nothing that a reader could take for it. */
static void write_file(const char *path, const char *text)
{
	char tmp[PATH_MAX];
	struct stat st;
	bool fifo = stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
	int fd;

	if (snprintf(tmp, sizeof(tmp), "%s%s", path, fifo ? "" : ".tmp") >= (int)sizeof(tmp))
		die("the path is too long", path);
	fd = open(tmp, O_WRONLY | O_CLOEXEC | (fifo ? 0 : O_CREAT | O_TRUNC), 0644);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die_errno(tmp);
	close(fd);
	if (!fifo && rename(tmp, path) < 0)
		die_errno(path);
}

/* A socket that never listens holds the port between two listeners. */
static void reserve_address(void)
{
	struct stat st;

	if (plan.path && lstat(plan.path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(plan.path);
	reserve_fd = new_socket();
	if (bind(reserve_fd, (struct sockaddr *)&plan.addr, plan.addr_len) < 0)
		die_errno("bind");
	if (!plan.path &&
	    getsockname(reserve_fd, (struct sockaddr *)&plan.addr, &plan.addr_len) < 0)
		die_errno("getsockname");
}

static void announce(void)
{
	/* The port stands at the same place in both families. */
	struct sockaddr_in *v4 = (struct sockaddr_in *)&plan.addr;
	char line[PATH_MAX];
	int null;

	if (plan.path)
		snprintf(line, sizeof(line), "path %s\n", plan.path);
	else
		snprintf(line, sizeof(line), "port %u\n", ntohs(v4->sin_port));
	if (plan.port_file)
		write_file(plan.port_file, line);
	else if (write(STDOUT_FILENO, line, strlen(line)) < 0)
		die_errno("stdout");
	/* A caller that reads our output must see its end. */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		die_errno("/dev/null");
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
}

static int start_listening(void)
{
	struct sockaddr_un aside;
	int fd = new_socket();

	if (!plan.path) {
		if (bind(fd, (struct sockaddr *)&plan.addr, plan.addr_len) < 0)
			die_errno("bind");
		if (listen(fd, plan.backlog) < 0)
			die_errno("listen");
		return fd;
	}
	/* A Unix path cannot be bound twice: the new one takes its place when
	 * it already listens. */
	memset(&aside, 0, sizeof(aside));
	aside.sun_family = AF_UNIX;
	snprintf(aside.sun_path, sizeof(aside.sun_path), "%.100s.new", plan.path);
	unlink(aside.sun_path);
	if (bind(fd, (struct sockaddr *)&aside, sizeof(aside)) < 0)
		die_errno("bind");
	if (listen(fd, plan.backlog) < 0)
		die_errno("listen");
	if (rename(aside.sun_path, plan.path) < 0)
		die_errno("rename");
	return fd;
}

static bool not_empty(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_size > 0;
}

/* Until --late-from has something in it, or our end. */
static void wait_for_file(const char *path)
{
	char folder[PATH_MAX], events[4096];
	const char *slash = strrchr(path, '/');
	struct pollfd p = { .fd = inotify_init1(IN_CLOEXEC), .events = POLLIN };

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path + 1) : 1,
	         slash ? path : ".");
	if (p.fd < 0 || inotify_add_watch(p.fd, folder, IN_CREATE | IN_MODIFY | IN_MOVED_TO) < 0)
		die_errno(folder);
	while (!not_empty(path)) {
		long left = end_at - now_ms();

		if (left <= 0)
			exit(0);
		if (poll(&p, 1, (int)left) > 0 && read(p.fd, events, sizeof(events)) < 0)
			die_errno("inotify");
	}
	close(p.fd);
}

static void die_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
}

static void accept_one(int listener)
{
	static long accepted;
	char text[32];
	pid_t self = getpid(), child;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	accepted++;
	if (plan.count_file) {
		snprintf(text, sizeof(text), "%ld\n", accepted);
		write_file(plan.count_file, text);
	}
	child = fork();
	if (child < 0)
		die_errno("fork");
	if (child == 0) {
		die_with_parent(self);
		close(listener);
		close(reserve_fd);
		flaky_serve(fd, accepted);
		_exit(0);
	}
	close(fd);
	if (plan.connections && accepted == plan.connections) {
		/* SIGCHLD is ignored: this returns when the last child is gone. */
		while (wait(NULL) > 0)
			;
		exit(0);
	}
}

/* Whoever is told of a server that is not late finds it there. */
static void run(void)
{
	bool told = plan.late || plan.late_from;

	if (told)
		announce();
	if (plan.late_from)
		wait_for_file(plan.late_from);
	sleep_ms(plan.late);
	for (;;) {
		int fd = start_listening();
		long until = end_at, now;

		if (!told)
			announce();
		told = true;
		if (plan.up != FOREVER && now_ms() + plan.up < end_at)
			until = now_ms() + plan.up;
		while ((now = now_ms()) < until) {
			struct pollfd p = { .fd = plan.no_accept ? -1 : fd, .events = POLLIN };

			if (poll(&p, 1, (int)(until - now)) > 0)
				accept_one(fd);
		}
		close(fd);
		sleep_ms(plan.up == FOREVER ? FOREVER : plan.down);
	}
}

enum {
	OPT_LATE = 256, OPT_LATE_FROM, OPT_FLAP, OPT_BACKLOG, OPT_NO_ACCEPT, OPT_CONNECTIONS,
	OPT_LIFE, OPT_HTTP, OPT_BANNER, OPT_HALF_CLOSE, OPT_ECHO, OPT_EXEC, OPT_RESET, OPT_HOLD,
	OPT_CLOSED_FIRST, OPT_RESET_FIRST, OPT_DELAY, OPT_COUNT
};

static const struct option options[] = {
	{ "address", required_argument, NULL, 'a' },
	{ "port", required_argument, NULL, 'P' },
	{ "unix", required_argument, NULL, 'u' },
	{ "port-file", required_argument, NULL, 'p' },
	{ "late", required_argument, NULL, OPT_LATE },
	{ "late-from", required_argument, NULL, OPT_LATE_FROM },
	{ "flap", required_argument, NULL, OPT_FLAP },
	{ "backlog", required_argument, NULL, OPT_BACKLOG },
	{ "no-accept", no_argument, NULL, OPT_NO_ACCEPT },
	{ "connections", required_argument, NULL, OPT_CONNECTIONS },
	{ "life", required_argument, NULL, OPT_LIFE },
	{ "http", no_argument, NULL, OPT_HTTP },
	{ "banner", required_argument, NULL, OPT_BANNER },
	{ "half-close", no_argument, NULL, OPT_HALF_CLOSE },
	{ "echo", no_argument, NULL, OPT_ECHO },
	{ "exec", required_argument, NULL, OPT_EXEC },
	{ "reset", no_argument, NULL, OPT_RESET },
	{ "hold", no_argument, NULL, OPT_HOLD },
	{ "accept-then-close", required_argument, NULL, OPT_CLOSED_FIRST },
	{ "accept-then-reset", required_argument, NULL, OPT_RESET_FIRST },
	{ "delay", required_argument, NULL, OPT_DELAY },
	{ "count", required_argument, NULL, OPT_COUNT },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 }
};

/* What a connection gets; false if <opt> is not about that. */
static bool set_act(int opt)
{
	switch (opt) {
	case OPT_HTTP:   plan.act = ACT_HTTP; return true;
	case OPT_ECHO:   plan.act = ACT_ECHO; return true;
	case OPT_RESET:  plan.act = ACT_RESET; return true;
	case OPT_HOLD:   plan.act = ACT_HOLD; return true;
	case OPT_BANNER: plan.act = ACT_BANNER; set_banner(optarg); return true;
	case OPT_EXEC:   plan.act = ACT_EXEC; plan.command = optarg; return true;
	case OPT_HALF_CLOSE:   plan.half_close = true; return true;
	case OPT_CLOSED_FIRST: plan.closed_first = number(optarg, INT_MAX); return true;
	case OPT_RESET_FIRST:  plan.reset_first = number(optarg, INT_MAX); return true;
	case OPT_DELAY:  plan.delay = whole_time(optarg); return true;
	case OPT_COUNT:  plan.count_file = optarg; return true;
	default:         return false;
	}
}

static void parse(int argc, char **argv)
{
	const char *address = "127.0.0.1";
	long port = 0;
	int opt;

	while ((opt = getopt_long(argc, argv, "a:6P:u:p:h", options, NULL)) != -1) {
		if (set_act(opt))
			continue;
		switch (opt) {
		case 'a': address = optarg; break;
		case '6': address = "::1"; break;
		case 'P': port = number(optarg, 65535); break;
		case 'u': plan.path = optarg; break;
		case 'p': plan.port_file = optarg; break;
		case OPT_LATE: plan.late = whole_time(optarg); break;
		case OPT_LATE_FROM: plan.late_from = optarg; break;
		case OPT_FLAP: set_flap(optarg); break;
		case OPT_BACKLOG: plan.backlog = (int)number(optarg, INT_MAX); break;
		case OPT_NO_ACCEPT: plan.no_accept = true; break;
		case OPT_CONNECTIONS: plan.connections = number(optarg, INT_MAX); break;
		case OPT_LIFE: plan.life = whole_time(optarg); break;
		case 'h': fputs(usage_text, stdout); exit(0);
		default: fputs(usage_text, stderr); exit(2);
		}
	}
	if (optind != argc)
		die("unexpected argument", argv[optind]);
	set_address(address, port);
}

int main(int argc, char **argv)
{
	pid_t parent = getppid();

	parse(argc, argv);
	die_with_parent(parent);
	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	end_at = now_ms() + plan.life;
	reserve_address();
	run();
	return 0;
}
