/* SPDX-License-Identifier: MIT */
/*
 * Programs that close, reopen and count their descriptors, and that go on after
 * main(). Whatever they do, no text of the log reaches a file or socket of theirs,
 * and no descriptor is there that they did not open.
 *
 * Most of it is done by this program started anew, with a name of what to do and
 * with LIBRETRY_LOG as the test says.
 */
#include "tests/preload/guest.h"

#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define OWN "the program's own\n"

static struct sockaddr_in dead;

static const char *path_of(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", getenv("TEST_DIR"), name);
	return path;
}

/* Not tcp_socket(): where this runs the test framework may have lost its own
 * descriptors. */
static int connect_to(const struct sockaddr_in *sa)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int rc = connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0 ? 0 : errno;

	close(fd);
	return rc;
}

/* ------------------------------------------------ what the program does -- */

#define NEED(what) ((what) ? (void)0 : _exit(__LINE__ % 250 + 3))

/* Fails and is retried in each way, through which the log would write. */
static void fail_everywhere(void)
{
	struct pollfd p = { .events = POLLOUT };
	struct addrinfo *list;

	NEED(connect_to(&dead) == ECONNREFUSED);
	p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	NEED(connect(p.fd, (struct sockaddr *)&dead, sizeof(dead)) == -1);
	NEED(poll(&p, 1, 10000) == 1);
	close(p.fd);
	NEED(getaddrinfo("again.test", "80", NULL, &list) == EAI_AGAIN);
}

/* A file of the program's, under the lowest free number. */
static void own_file(int expected)
{
	int fd = open(path_of("own"), O_RDWR | O_CREAT | O_APPEND, 0600);

	NEED(fd == expected);
	NEED(write(fd, OWN, strlen(OWN)) == (ssize_t)strlen(OWN));
}

static void twice_forked(void)
{
	if (fork() != 0)
		_exit(0);
	setsid();
	if (fork() != 0)
		_exit(0);
}

static void done(void)
{
	int fd;

	close(0);
	fd = open(path_of("done"), O_WRONLY | O_CREAT, 0600);
	_exit(fd < 0);
}

/* The classic: two forks, all closed, the first three numbers opened anew. */
static void classic(void)
{
	twice_forked();
	for (int fd = 0; fd < 256; fd++)
		close(fd);
	for (int fd = 0; fd < 3; fd++)
		own_file(fd);
	fail_everywhere();
	done();
}

/* In the other order, and with failures before, in between and behind. */
static void early_failures(void)
{
	fail_everywhere();
	close_range(0, ~0U, 0);
	fail_everywhere();
	own_file(0);
	own_file(1);
	fail_everywhere();
	own_file(2);
	fail_everywhere();
	twice_forked();
	fail_everywhere();
	done();
}

static void by_dup2(void)
{
	int fd = open(path_of("own"), O_RDWR | O_CREAT | O_APPEND, 0600);

	NEED(write(fd, OWN, strlen(OWN)) == (ssize_t)strlen(OWN));
	NEED(dup2(fd, 1) == 1 && dup2(fd, 2) == 2 && dup2(fd, 7) == 7);
	fail_everywhere();
	closefrom(3);
	fail_everywhere();
	done();
}

/* A server's connection becomes descriptor 2 (inetd). */
static void a_socket(void)
{
	int pair[2];
	char buf[64];
	ssize_t n;

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	NEED(dup2(pair[0], 2) == 2 && dup2(pair[0], 7) == 7);
	close(pair[0]);
	fail_everywhere();
	close(2);
	close(7);
	n = read(pair[1], buf, sizeof(buf));
	if (n != 0)
		NEED(open(path_of("leaked"), O_WRONLY | O_CREAT, 0600) >= 0);
	done();
}

static const struct {
	const char *name;
	void (*run)(void);
} patterns[] = {
	{ "classic", classic },
	{ "early-failures", early_failures },
	{ "by-dup2", by_dup2 },
	{ "a-socket", a_socket },
	{ "stays", NULL }, /* keeps its descriptors: here the log is written */
};

static int pattern(const char *name, const char *port)
{
	dead.sin_family = AF_INET;
	dead.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	dead.sin_port = htons((uint16_t)atoi(port));
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++)
		if (strcmp(patterns[i].name, name) == 0 && patterns[i].run)
			patterns[i].run();
	fail_everywhere();
	done();
	return 0;
}

/* ------------------------------------------------------------------ tests -- */

static void run_pattern(const char *name, const char *log, int *output)
{
	char port[16];
	pid_t pid;
	int pipes[2];

	unlink(path_of("own"));
	unlink(path_of("done"));
	unlink(path_of("leaked"));
	snprintf(port, sizeof(port), "%d", ntohs(dead.sin_port));
	ck_assert_int_eq(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		dup2(pipes[1], 2);
		dup2(pipes[1], 7);
		close_range(3, 6, 0);
		close_range(8, ~0U, 0);
		setenv("LIBRETRY_LOG", log, 1);
		execl("/proc/self/exe", "daemon.pt", name, port, NULL);
		_exit(2);
	}
	close(pipes[1]);
	waitpid(pid, NULL, 0);
	/* The daemon itself is nobody's child any more. */
	for (int i = 0; i < 2000 && access(path_of("done"), F_OK) != 0; i++)
		sleep_ms(5);
	ck_assert_msg(access(path_of("done"), F_OK) == 0, "%s with %s did not end well", name,
	              log);
	*output = pipes[0];
}

static bool says(int fd, const char *word)
{
	char text[65536];
	size_t have = 0;
	ssize_t n;

	while (have < sizeof(text) - 1 && (n = read(fd, text + have, sizeof(text) - 1 - have)) > 0)
		have += (size_t)n;
	text[have] = '\0';
	close(fd);
	return strstr(text, word) != NULL;
}

/* Only what the program wrote is in its file. */
static void only_its_own(const char *name, const char *log)
{
	char line[1024];
	FILE *f = fopen(path_of("own"), "r");

	ck_assert_msg(access(path_of("leaked"), F_OK) != 0, "%s with %s: the socket got text",
	              name, log);
	while (f && fgets(line, sizeof(line), f))
		ck_assert_msg(strcmp(line, OWN) == 0, "%s with %s: %s", name, log, line);
	if (f)
		fclose(f);
}

START_TEST(no_log_in_the_programs_files)
{
	char own_log[600];
	const char *const logs[] = { "stderr", "fd:2", "fd:7", own_log };

	snprintf(own_log, sizeof(own_log), "file:%s", getenv("TEST_LOG"));
	bound_at("127.0.0.2", &dead);
	for (size_t l = 0; l < ARRAY_LEN(logs); l++) {
		for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
			bool stays = !patterns[i].run;
			int output;
			bool said;

			run_pattern(patterns[i].name, logs[l], &output);
			said = says(output, "libretry[");
			only_its_own(patterns[i].name, logs[l]);
			/* Where the descriptor is still the one of the start there is a
			 * log, so its absence elsewhere means something. */
			if (stays)
				ck_assert_int_eq(said, l < 3);
		}
	}
}
END_TEST

static unsigned count_open(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* A child made by exec has what the program opened, and no more. */
static unsigned count_in_child(void)
{
	FILE *f = popen("exec ls /proc/self/fd | wc -l", "r");
	unsigned n = 0;

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%u", &n), 1);
	pclose(f);
	return n;
}

/* A child that listens at <fd> in <ms>; by means that do without Check. */
static pid_t listens_in(int fd, int ms)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sleep_ms(ms);
		_exit(listen(fd, 8) != 0 || accept(fd, NULL, NULL) < 0);
	}
	return pid;
}

static int refusing(struct sockaddr_in *sa)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(*sa);

	memset(sa, 0, sizeof(*sa));
	sa->sin_family = AF_INET;
	sa->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	NEED(bind(fd, (struct sockaddr *)sa, sizeof(*sa)) == 0);
	NEED(getsockname(fd, (struct sockaddr *)sa, &len) == 0);
	return fd;
}

/* Only 0 to 4 stay, over and over. */
static void closes_all(void)
{
	struct pollfd p = { .events = POLLOUT, .fd = 4 };
	struct sockaddr_in to;
	int error = -1;
	socklen_t len = sizeof(error);
	pid_t pid;

	closefrom(4);
	NEED(connect_to(&dead) == ECONNREFUSED);
	closefrom(3);
	NEED(refusing(&to) == 3);
	NEED(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0) == 4);
	pid = listens_in(3, 60);
	NEED(connect(4, (struct sockaddr *)&to, sizeof(to)) == -1 && errno == EINPROGRESS);
	do
		close_range(5, ~0U, 0);
	while (poll(&p, 1, 10) == 0);
	close_range(5, ~0U, 0);
	NEED(getsockopt(4, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0);
	NEED(waitpid(pid, NULL, 0) == pid);
	NEED(dup(0) == 5 && close(5) == 0);
}

START_TEST(closing_all_between_all_calls)
{
	unsigned before, children;
	int status;
	pid_t pid;

	bound_at("127.0.0.2", &dead);
	before = count_open();
	children = count_in_child();
	ck_assert_int_eq(connect_to(&dead), ECONNREFUSED);
	ck_assert_uint_eq(count_open(), before);
	ck_assert_uint_eq(count_in_child(), children);
	pid = fork();
	if (pid == 0) {
		for (int round = 0; round < 3; round++)
			closes_all();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(log_lines_of(pid, " recovered op=connect"), 3);
}
END_TEST

/* No descriptor is free: then there is no log, and all else goes on. */
START_TEST(without_a_free_descriptor)
{
	struct sockaddr_in to;
	struct rlimit limit = { 5, 5 };
	int server = bound(&to);
	int status;
	pid_t pid;

	bound_at("127.0.0.2", &dead);
	listen_later(server, 100, false);
	pid = fork();
	if (pid == 0) {
		struct pollfd p = { .events = POLLOUT };
		int fd;

		closefrom(3);
		NEED((fd = socket(AF_INET, SOCK_STREAM, 0)) == 3);
		NEED(setrlimit(RLIMIT_NOFILE, &limit) == 0);
		NEED(dup(0) == 4 && dup(0) == -1 && errno == EMFILE);
		NEED(connect(fd, (struct sockaddr *)&dead, sizeof(dead)) == -1 &&
		     errno == ECONNREFUSED);
		NEED(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
		close(fd);
		p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		NEED(p.fd == 3);
		NEED(connect(3, (struct sockaddr *)&dead, sizeof(dead)) == -1);
		NEED(errno == EINPROGRESS && poll(&p, 1, 10000) == 1);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* As far as is allowed: retried like others, for little memory. */
START_TEST(a_far_descriptor)
{
	struct rlimit limit;
	struct pollfd p = { .events = POLLOUT };
	struct sockaddr_in to;
	struct rusage before, after;
	int error = -1;
	socklen_t len = sizeof(error);
	int far, fd;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	far = limit.rlim_max > 900000 ? 900000 : (int)limit.rlim_max - 1;
	getrusage(RUSAGE_SELF, &before);
	fd = tcp_socket();
	ck_assert_int_eq(dup2(fd, far), far);
	close(fd);
	listen_late(bound(&to), 100);
	ck_assert_int_eq(connect(far, (struct sockaddr *)&to, sizeof(to)), 0);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(dup2(fd, far), far);
	close(fd);
	listen_late(bound(&to), 100);
	ck_assert_int_eq(connect(far, (struct sockaddr *)&to, sizeof(to)), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	p.fd = far;
	ck_assert_int_eq(poll(&p, 1, 10000), 1);
	ck_assert_int_eq(getsockopt(far, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	ck_assert_int_eq(error, 0);
	ck_assert_uint_eq(log_lines(" recovered "), 2);
	getrusage(RUSAGE_SELF, &after);
	/* The kernel's own table of descriptors is not the process's. */
	ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, 8192);
}
END_TEST

/* ---------------------------------------------------------- after main() -- */

static int report_fd;
static struct sockaddr_in last_live;

static void report(const char *what, bool ok)
{
	dprintf(report_fd, "%s %s\n", what, ok ? "ok" : "not ok");
}

static void use_both(const char *when)
{
	report(when, connect_to(&dead) == ECONNREFUSED && connect_to(&last_live) == 0);
}

static void at_exit(void)
{
	use_both("atexit");
}

static void at_exit_too(int status, void *arg)
{
	report("status", status == 7 && arg == &dead);
	use_both("on_exit");
}

__attribute__((destructor)) static void last(void)
{
	if (report_fd)
		use_both("destructor");
}

START_TEST(exit_handlers)
{
	char text[256] = "";
	int pipes[2];
	int status;
	int server = bound(&last_live);
	pid_t pid;

	bound_at("127.0.0.2", &dead);
	ck_assert_int_eq(listen(server, 10), 0);
	ck_assert_int_eq(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		report_fd = pipes[1];
		atexit(at_exit);
		on_exit(at_exit_too, &dead);
		exit(7);
	}
	close(pipes[1]);
	for (size_t n = 0, k; (k = (size_t)read(pipes[0], text + n, 200 - n)) > 0 && k < 200; n += k)
		;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), 7);
	ck_assert_str_eq(text, "status ok\non_exit ok\natexit ok\ndestructor ok\n");
	ck_assert_uint_eq(log_lines_of(pid, " gave-up "), 3);
}
END_TEST

/* --------------------------------------------------------------- threads -- */

START_TEST(no_thread_is_made)
{
	DIR *d;
	struct dirent *e;
	unsigned n = 0;
	int status;
	pid_t pid;

	bound_at("127.0.0.2", &dead);
	fail_everywhere();
	d = opendir("/proc/self/task");
	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	ck_assert_uint_eq(n, 1);
	/* What zygotes do needs exactly that. */
	pid = fork();
	if (pid == 0) {
		fail_everywhere();
		if (unshare(CLONE_NEWUSER) != 0 && errno == EINVAL)
			_exit(1);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

int main(int argc, char **argv)
{
	static const TTest *const *const tests[] = {
		&no_log_in_the_programs_files, &closing_all_between_all_calls,
		&without_a_free_descriptor, &a_far_descriptor, &exit_handlers, &no_thread_is_made,
	};
	const TTest *list[ARRAY_LEN(tests)];

	if (argc == 3)
		return pattern(argv[1], argv[2]);
	for (size_t i = 0; i < ARRAY_LEN(tests); i++)
		list[i] = *tests[i];
	return unit_run("preload daemon", list, ARRAY_LEN(list));
}
