/* SPDX-License-Identifier: MIT */
/*
 * Sandboxes that kill. A call that succeeds makes no system call that the program
 * did not ask for; retrying keeps to the list of doc/guest.md; and a program that
 * confines itself by prctl() is left alone from then on.
 *
 * The filters are installed past the library, by syscall(), but where it says so.
 */
#include "tests/preload/guest.h"

/* Other machines name some of the calls differently, and libc uses others. */
#ifndef __x86_64__
int main(void)
{
	return 77;
}
#else

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

#define CALLS_MAX 80

struct list {
	int calls[CALLS_MAX];
	size_t n;
};

static void add(struct list *l, const int *calls, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_lt(l->n, CALLS_MAX);
		l->calls[l->n++] = calls[i];
	}
}

/* What the program itself does in use_network(), and to end. */
static const int programs[] = {
	SYS_socket,	SYS_connect, SYS_bind,	     SYS_sendto,     SYS_recvfrom,
	SYS_read,	SYS_write,   SYS_close,	     SYS_getsockopt, SYS_dup,
	SYS_epoll_wait, SYS_poll,    SYS_epoll_ctl,  SYS_shutdown,   SYS_socketpair,
	SYS_exit_group, SYS_select,  SYS_pselect6,   SYS_sendmsg,    SYS_fcntl,
};

/* doc/guest.md, "System calls". */
static const int for_retries[] = {
	SYS_clock_gettime,  SYS_futex,	    SYS_futex_waitv,  SYS_rt_sigprocmask,
	SYS_rt_sigpending,  SYS_rt_sigaction, SYS_getpid,     SYS_getrandom,
	SYS_getsockopt,	    SYS_setsockopt, SYS_connect,      SYS_fcntl,
	SYS_getsockname,    SYS_getpeername, SYS_epoll_ctl,   SYS_mmap,
	SYS_epoll_pwait,
};
static const int for_the_log[] = {
	SYS_openat, SYS_newfstatat, SYS_fstat,		SYS_ppoll,
	SYS_write,  SYS_close,	    SYS_rt_sigtimedwait,
};

/* All other calls kill the process with SIGSYS. */
static size_t program_of(const struct list *l, struct sock_filter *f)
{
	size_t n = 0;

	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
	                                      offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < l->n; i++) {
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
		                                      (unsigned)l->calls[i], 0, 1);
		f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	return n;
}

/* <seen>: by prctl(), so that the library knows. */
static void confine(const struct list *l, bool seen)
{
	struct sock_filter f[2 * CALLS_MAX + 2];
	struct sock_fprog prog = { .filter = f };

	prog.len = (unsigned short)program_of(l, f);
	if (seen) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) != 0)
			_exit(2);
	} else if (syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) != 0) {
		_exit(2);
	}
}

static void ends_well(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(!WIFSIGNALED(status), "killed by signal %d", WTERMSIG(status));
	ck_assert_msg(WEXITSTATUS(status) == 0, "status %d", WEXITSTATUS(status));
}

static struct sockaddr_in live, dead, late;

/* An echoing server in a process of its own, which this one does not wait for. */
static void serve(void)
{
	char buf[64];
	ssize_t n;
	int server = bound(&live);

	ck_assert_int_eq(listen(server, 100), 0);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			int fd = accept(server, NULL, NULL);

			while ((n = read(fd, buf, sizeof(buf))) > 0)
				if (write(fd, buf, (size_t)n) != n)
					break;
			close(fd);
		}
	}
	close(server);
}

#define NEED(what) ((what) ? (void)0 : _exit(__LINE__ % 250 + 3))

/* Succeeds in every way that does not need more than <programs>. */
static void use_network(int set)
{
	struct pollfd p = { .events = POLLOUT };
	struct epoll_event e = { .events = EPOLLIN };
	struct timeval second = { 5, 0 };
	struct msghdr msg = { 0 };
	struct iovec iov = { (char *)"def", 3 };
	char buf[8];
	fd_set r;
	int error = -1;
	socklen_t len = sizeof(error);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int pair[2];
	int copy;

	errno = 4711;
	NEED(connect(fd, (struct sockaddr *)&live, sizeof(live)) == 0 && errno == 4711);
	NEED(send(fd, "abc", 3, 0) == 3 && recv(fd, buf, sizeof(buf), 0) == 3);
	NEED(write(fd, "abc", 3) == 3);
	FD_ZERO(&r);
	FD_SET(fd, &r);
	NEED(select(fd + 1, &r, NULL, NULL, &second) == 1 && read(fd, buf, sizeof(buf)) == 3);
	copy = dup(fd);
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	NEED(sendmsg(copy, &msg, 0) == 3 && close(copy) == 0);
	NEED(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e) == 0 && epoll_wait(set, &e, 1, 5000) == 1);
	NEED(shutdown(fd, SHUT_WR) == 0 && close(fd) == 0);

	p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	NEED(connect(p.fd, (struct sockaddr *)&live, sizeof(live)) == -1 && errno == EINPROGRESS);
	NEED(poll(&p, 1, 5000) == 1);
	NEED(getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0);
	NEED(close(p.fd) == 0);
	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	NEED(close(pair[0]) == 0 && read(pair[1], buf, 1) == 0 && close(pair[1]) == 0);
}

START_TEST(success_makes_no_call_of_its_own)
{
	struct list l = { .n = 0 };
	pid_t pid;

	serve();
	add(&l, programs, ARRAY_LEN(programs));
	pid = fork();
	if (pid == 0) {
		int set = epoll_create1(0);

		use_network(set);
		confine(&l, false);
		use_network(set);
		_exit(0);
	}
	ends_well(pid);
	ck_assert_uint_eq(log_lines_of(pid, "libretry"), 0);
}
END_TEST

static volatile sig_atomic_t told;

static void tell(int sig)
{
	told = sig;
}

/* Nor is anything asked when a signal is caught that would end retries. */
START_TEST(a_caught_signal_makes_no_call_of_its_own)
{
	static const int more[] = { SYS_tgkill, SYS_rt_sigreturn };
	struct sigaction sa = { .sa_handler = tell };
	struct list l = { .n = 0 };
	pid_t pid;

	add(&l, programs, ARRAY_LEN(programs));
	add(&l, more, ARRAY_LEN(more));
	pid = fork();
	if (pid == 0) {
		pid_t self = getpid();

		NEED(sigaction(SIGTERM, &sa, NULL) == 0);
		confine(&l, false);
		NEED(syscall(SYS_tgkill, self, self, SIGTERM) == 0 && told == SIGTERM);
		_exit(0);
	}
	ends_well(pid);
}
END_TEST

/* The other way round: one failure makes such calls, or the filters tell nothing. */
START_TEST(the_filter_kills)
{
	struct list l = { .n = 0 };
	int status;
	pid_t pid;

	bound(&dead);
	add(&l, programs, ARRAY_LEN(programs));
	pid = fork();
	if (pid == 0) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		confine(&l, false);
		connect(fd, (struct sockaddr *)&dead, sizeof(dead));
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}
END_TEST

static void on_signal(int sig)
{
	(void)sig;
}

static int retried_blocking(const struct sockaddr_in *sa)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int rc = connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0 ? 0 : errno;

	close(fd);
	return rc;
}

static int retried_in_a_loop(const struct sockaddr_in *sa, int set)
{
	struct epoll_event e = { .events = EPOLLOUT };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int error = -1;
	socklen_t len = sizeof(error);

	NEED(connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) == -1 && errno == EINPROGRESS);
	NEED(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e) == 0 && epoll_wait(set, &e, 1, 10000) == 1);
	NEED(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0);
	close(fd);
	return error;
}

static int retried_in_poll(const struct sockaddr_in *sa)
{
	struct pollfd p = { .events = POLLOUT };
	int error = -1;
	socklen_t len = sizeof(error);

	p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	NEED(connect(p.fd, (const struct sockaddr *)sa, sizeof(*sa)) == -1);
	NEED(poll(&p, 1, 10000) == 1);
	NEED(getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0);
	close(p.fd);
	return error;
}

static void retry_everything(int set)
{
	NEED(retried_blocking(&late) == 0);
	NEED(retried_in_a_loop(&dead, set) == ECONNREFUSED);
	NEED(retried_in_poll(&dead) == ECONNREFUSED);
	NEED(retried_blocking(&dead) == ECONNREFUSED);
}

static void *nothing(void *arg)
{
	return arg;
}

static void retries(bool threaded)
{
	struct list l = { .n = 0 };
	int server = bound_at("127.0.0.2", &late);
	pid_t pid;

	bound(&dead);
	add(&l, programs, ARRAY_LEN(programs));
	add(&l, for_retries, ARRAY_LEN(for_retries));
	add(&l, for_the_log, ARRAY_LEN(for_the_log));
	pid = fork();
	if (pid == 0) {
		struct sigaction act = { .sa_handler = on_signal };
		int set = epoll_create1(0);
		pthread_t t;

		sigaction(SIGUSR1, &act, NULL);
		if (threaded) {
			pthread_create(&t, NULL, nothing, NULL);
			pthread_join(t, NULL);
		}
		/* Reads the configuration, which takes all that dlopen() does. */
		retried_blocking(&dead);
		listen_when_retried(server);
		close(server);
		confine(&l, false);
		retry_everything(set);
		_exit(0);
	}
	ends_well(pid);
	ck_assert_uint_ge(log_lines_of(pid, " retry op=connect"), 8);
	ck_assert_uint_eq(log_lines_of(pid, " recovered op=connect"), 1);
}

START_TEST(retries_keep_to_their_list)
{
	retries(false);
}
END_TEST

START_TEST(threads_too)
{
	retries(true);
}
END_TEST

/* From prctl(PR_SET_SECCOMP) on nothing is retried, and nothing asked of the kernel. */
START_TEST(who_confines_itself_is_left_alone)
{
	struct list l = { .n = 0 };
	pid_t pid;

	serve();
	bound(&dead);
	add(&l, programs, ARRAY_LEN(programs));
	for (int first = 0; first < 2; first++) {
		pid = fork();
		if (pid == 0) {
			int set = epoll_create1(0);
			int fd;

			signal(SIGTERM, on_signal);
			signal(SIGINT, on_signal);
			if (first)
				NEED(retried_blocking(&dead) == ECONNREFUSED);
			use_network(set);
			confine(&l, true);
			use_network(set);
			NEED(retried_blocking(&dead) == ECONNREFUSED);
			NEED(retried_in_a_loop(&dead, set) == ECONNREFUSED);
			NEED(retried_in_poll(&dead) == ECONNREFUSED);
			/* A connection that breaks, and a datagram that is refused. */
			fd = socket(AF_INET, SOCK_DGRAM, 0);
			NEED(connect(fd, (struct sockaddr *)&dead, sizeof(dead)) == 0);
			NEED(send(fd, "x", 1, 0) == 1);
			NEED(send(fd, "x", 1, 0) == -1 && errno == ECONNREFUSED);
			close(fd);
			/* Not by return, which runs exit handlers. */
			_exit(0);
		}
		ends_well(pid);
		ck_assert_uint_eq(log_lines_of(pid, "retry op=connect"), first ? 3 : 0);
		ck_assert_uint_eq(log_lines_of(pid, "gave-up"), first ? 1 : 0);
	}
}
END_TEST

/* A child that shares our memory confines itself, not us. */
START_TEST(not_by_a_vfork_child)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = { .len = 1, .filter = &all };
	int status;
	pid_t pid;

	bound(&dead);
	pid = vfork();
	if (pid == 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		_exit(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) != 0);
	}
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(retried_blocking(&dead), ECONNREFUSED);
	ck_assert_uint_eq(log_lines(" retry op=connect"), 3);
}
END_TEST

/* vsftpd and Chromium make children with memory of their own past libc, which confine
 * themselves: in there it is not asked any more whose they are. */
static void confined_past_libc(bool fails)
{
	struct list l = { .n = 0 };
	int set = epoll_create1(0);
	pid_t pid;

	serve();
	bound(&dead);
	add(&l, programs, ARRAY_LEN(programs));
	use_network(set); /* reads the configuration */
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		NEED(!fails || retried_blocking(&dead) == ECONNREFUSED);
		confine(&l, true);
		use_network(set);
		_exit(0);
	}
	ends_well(pid);
	ck_assert_uint_eq(log_lines_of(pid, "libretry"), 0);
}

START_TEST(a_child_made_past_libc_confines_itself)
{
	confined_past_libc(false);
}
END_TEST

START_TEST(so_does_one_that_has_failed)
{
	confined_past_libc(true);
}
END_TEST

/* haproxy gives up privileges so, and installs no filter. */
START_TEST(no_new_privileges_alone)
{
	pid_t pid;

	bound(&dead);
	pid = fork();
	if (pid == 0) {
		NEED(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
		NEED(retried_blocking(&dead) == ECONNREFUSED);
		_exit(0);
	}
	ends_well(pid);
	ck_assert_uint_eq(log_lines_of(pid, "retry op=connect"), 3);
}
END_TEST

/* From libseccomp, if it is there, as programs have it that do not need it. */
static struct libseccomp {
	void *(*init)(uint32_t action);
	int (*rule_add)(void *filter, uint32_t action, int call, unsigned args, ...);
	int (*load)(void *filter);
} libseccomp;

static bool load_libseccomp(void)
{
	void *lib = dlopen("libseccomp.so.2", RTLD_NOW);

	if (!lib)
		return false;
	*(void **)&libseccomp.init = dlsym(lib, "seccomp_init");
	*(void **)&libseccomp.rule_add = dlsym(lib, "seccomp_rule_add");
	*(void **)&libseccomp.load = dlsym(lib, "seccomp_load");
	return libseccomp.init && libseccomp.rule_add && libseccomp.load;
}

/* apt gives up privileges so, and has libseccomp for a filter that is off by default. */
START_TEST(no_new_privileges_beside_libseccomp)
{
	pid_t pid;

	if (!load_libseccomp())
		return;
	bound(&dead);
	pid = fork();
	if (pid == 0) {
		NEED(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
		NEED(retried_blocking(&dead) == ECONNREFUSED);
		_exit(0);
	}
	ends_well(pid);
	ck_assert_uint_eq(log_lines_of(pid, "retry op=connect"), 3);
}
END_TEST

START_TEST(who_uses_libseccomp_is_left_alone)
{
	pid_t pid;

	if (!load_libseccomp())
		return;
	serve();
	bound(&dead);
	pid = fork();
	if (pid == 0) {
		void *filter = libseccomp.init(SECCOMP_RET_KILL_PROCESS);
		int set = epoll_create1(0);

		NEED(retried_blocking(&dead) == ECONNREFUSED);
		use_network(set);
		for (size_t i = 0; i < ARRAY_LEN(programs); i++)
			NEED(libseccomp.rule_add(filter, SECCOMP_RET_ALLOW, programs[i], 0) == 0);
		NEED(libseccomp.load(filter) == 0);
		use_network(set);
		NEED(retried_blocking(&dead) == ECONNREFUSED);
		NEED(retried_in_poll(&dead) == ECONNREFUSED);
		_exit(0);
	}
	ends_well(pid);
	ck_assert_uint_eq(log_lines_of(pid, "retry op=connect"), 3);
}
END_TEST

/* The other options are the kernel's, with their arguments and errors. */
START_TEST(other_options)
{
	char name[16] = "";
	int sig = -1;

	bound(&dead);
	errno = 4711;
	ck_assert_int_eq(prctl(PR_SET_NAME, "a-name", 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_GET_NAME, name, 0, 0, 0), 0);
	ck_assert_str_eq(name, "a-name");
	ck_assert_int_eq(prctl(PR_SET_PDEATHSIG, SIGUSR1), 0);
	ck_assert_int_eq(prctl(PR_GET_PDEATHSIG, &sig), 0);
	ck_assert_int_eq(sig, SIGUSR1);
	ck_assert_int_eq(errno, 4711);
	ck_assert_int_eq(prctl(123456, 0, 0, 0, 0), -1);
	ck_assert_int_eq(errno, EINVAL);
	/* Refused: nobody is confined. */
	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 7, 0, 0, 0), -1);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, 77, 0), -1);
	ck_assert_int_eq(prctl(PR_GET_SECCOMP, 0, 0, 0, 0), 0);
	ck_assert_int_eq(retried_blocking(&dead), ECONNREFUSED);
	ck_assert_uint_eq(log_lines(" retry op=connect"), 3);
}
END_TEST

/* A filter may know epoll_wait() only, and say so. */
START_TEST(a_call_of_ours_is_refused)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_pwait, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	};
	struct sock_fprog prog = { .len = ARRAY_LEN(f), .filter = f };
	struct epoll_event e = { .events = EPOLLOUT };
	int server = bound(&late);
	pid_t pid = fork();

	if (pid == 0) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		int set = epoll_create1(0);

		NEED(syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
		NEED(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0);
		NEED(epoll_pwait(set, &e, 1, 0, NULL) == -1 && errno == EPERM);
		listen_late(server, 50);
		NEED(connect(fd, (struct sockaddr *)&late, sizeof(late)) == -1);
		NEED(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e) == 0);
		errno = 77;
		NEED(epoll_wait(set, &e, 1, 10000) == 1 && e.events == EPOLLOUT && errno == 77);
		_exit(log_lines(" recovered ") == 1 ? 0 : 3);
	}
	ends_well(pid);
}
END_TEST

UNIT_MAIN("preload sandbox", &success_makes_no_call_of_its_own,
          &a_caught_signal_makes_no_call_of_its_own, &the_filter_kills,
          &retries_keep_to_their_list, &threads_too, &who_confines_itself_is_left_alone,
          &not_by_a_vfork_child, &a_child_made_past_libc_confines_itself,
          &so_does_one_that_has_failed, &no_new_privileges_alone,
          &no_new_privileges_beside_libseccomp, &who_uses_libseccomp_is_left_alone,
          &a_call_of_ours_is_refused, &other_options)

#endif
