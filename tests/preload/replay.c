/* SPDX-License-Identifier: MIT */
/*
 * send = "first-write": what was sent is sent once more over a new connection, as
 * long as nothing was received; and a server that counts bytes and connections
 * says that nothing is sent twice without it.
 */
#include "tests/preload/resets.h"

#include <sched.h>
#include <sys/sendfile.h>

static void blocking(unsigned how)
{
	struct server *s = serve(FIRST, "qqe");
	int fd = dial(s);

	must_eq(write_by(how, fd, "ping", 0), 4);
	must_get(fd, "ping");
	must_eq(write(fd, "pong", 4), 4);
	must_get(fd, "pong");
	must_eq(s->accepted, 3);
	must_eq(s->bytes, 16);
	must_eq(log_lines(" retry op=send "), 2);
	must_eq(log_lines(" recovered op=send "), 1);
}

static void nonblocking(unsigned how)
{
	struct server *s = serve(FIRST, "qqe");
	int fd = dial_flags(s, SOCK_NONBLOCK);
	struct pollfd p = { fd, POLLOUT, 0 };

	must_eq(poll(&p, 1, 5000), 1);
	must_eq(p.revents, POLLOUT);
	must_eq(write_by(how, fd, "ping", 0), 4);
	must_get(fd, "ping");
	must_eq(write_by(how, fd, "pong", 0), 4);
	must_get(fd, "pong");
	must_eq(s->accepted, 3);
	must_eq(s->bytes, 16);
	must_eq(log_lines(" retry op=send "), 2);
}

static void request(unsigned i)
{
	snprintf(case_name, sizeof(case_name), "request %u", i);
	if (i < WRITERS)
		blocking(i);
	else
		nonblocking(i - WRITERS);
}

START_TEST(requests_are_repeated)
{
	side_by_side(2 * WRITERS, 12, request);
}
END_TEST

/* In several parts, some of them after the reset: EPIPE counts as one. */
static void a_request_in_parts(void)
{
	struct server *s = serve(FIRST, "qe");
	int fd = dial(s);

	must_eq(write(fd, "pi", 2), 2);
	must_eq(write(fd, "ng", 2), 2);
	until_closed(fd);
	must_eq(send(fd, "-pong", 5, MSG_NOSIGNAL), 5);
	must_get(fd, "ping-pong");
	must_eq(s->accepted, 2);
}

#define LARGE 60000

static void a_large_one(int flags)
{
	static char data[LARGE], back[LARGE];
	struct server *s = serve(FIRST, "qe");
	int fd = dial_flags(s, flags);
	struct pollfd p = { fd, POLLOUT, 0 };
	int small = 4096;
	size_t sent = 0, got = 0;

	for (unsigned i = 0; i < LARGE; i++)
		data[i] = (char)(i * 7 + i / 251);
	/* It does not fit at once. */
	must_eq(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	must_eq(poll(&p, 1, 5000), 1);
	while (got < LARGE) {
		ssize_t n;

		p.events = (short)(POLLIN | (sent < LARGE ? POLLOUT : 0));
		must_eq(poll(&p, 1, 5000), 1);
		n = sent < LARGE ? write(fd, data + sent, LARGE - sent < 3000 ? LARGE - sent : 3000)
		                 : 0;
		must(n >= 0 || errno == EAGAIN);
		sent += n > 0 ? (size_t)n : 0;
		/* Not before all is sent: an answer ends what is kept. */
		if (sent < LARGE)
			continue;
		n = read(fd, back + got, LARGE - got);
		must(n > 0 || (n < 0 && errno == EAGAIN));
		got += n > 0 ? (size_t)n : 0;
	}
	must_eq(memcmp(data, back, LARGE), 0);
	must_eq(s->accepted, 2);
}

static void a_large_one_blocking(void)
{
	a_large_one(0);
}

static void a_large_one_nonblocking(void)
{
	a_large_one(SOCK_NONBLOCK);
}

static void is_bounded(void)
{
	struct server *s = serve(FIRST_FEW, "q");
	int fd = dial(s);
	char c;

	must_eq(write(fd, "ping", 4), 4);
	must_fail(read(fd, &c, 1), ECONNRESET);
	must_eq(s->accepted, 4);
	must_eq(log_lines(" retry op=send "), 3);
	must_eq(log_lines(" gave-up op=send "), 1);
}

static void is_bounded_in_a_loop(void)
{
	struct server *s = serve(FIRST_FEW, "q");
	int fd = dial_flags(s, SOCK_NONBLOCK);
	struct pollfd p = { fd, POLLOUT, 0 };
	char c;

	must_eq(poll(&p, 1, 5000), 1);
	must_eq(write(fd, "ping", 4), 4);
	p.events = POLLIN;
	for (unsigned i = 0; i < 50; i++) {
		must_eq(poll(&p, 1, 5000), 1);
		must_eq(read(fd, &c, 1), -1);
		if (errno != EAGAIN)
			break;
	}
	must_eq(errno, ECONNRESET);
	must_eq(s->accepted, 4);
}

/* What ends it. */

static void not_repeated(int fd, struct server *s)
{
	char c;

	until_closed(fd);
	must_fail(read(fd, &c, 1), ECONNRESET);
	must_eq(s->accepted, 1);
	nothing_done();
}

static void too_much(void)
{
	struct server *s = serve(SMALL, "qe");
	int fd = dial(s);
	char data[101] = { 0 };

	must_eq(write(fd, data, sizeof(data)), sizeof(data));
	not_repeated(fd, s);
}

static void just_enough(void)
{
	struct server *s = serve(SMALL, "qe");
	int fd = dial(s);
	char data[100], back[100];
	size_t got = 0;

	memset(data, 'x', sizeof(data));
	must_eq(write(fd, data, sizeof(data)), sizeof(data));
	while (got < sizeof(data)) {
		ssize_t n = read(fd, back + got, sizeof(back) - got);

		must(n > 0);
		got += (size_t)n;
	}
	must_eq(s->accepted, 2);
}

static void an_answer(void)
{
	struct server *s = serve(FIRST, "se");
	int fd = dial(s);
	char buf[4];

	must_eq(write(fd, "ping", 4), 4);
	must_eq(read(fd, buf, 4), 2);
	not_repeated(fd, s);
}

/* The kernel has it, and the program has not read it. */
static void an_answer_that_waits(void)
{
	struct server *s = serve(FIRST, "se");
	int fd = dial(s);

	must_eq(write(fd, "ping", 4), 4);
	until_closed(fd);
	must_fail(write(fd, "ping", 4), ECONNRESET);
	must_eq(s->accepted, 1);
	nothing_done();
}

static void bytes_that_nobody_saw(void)
{
	for (unsigned how = 0; how < 4; how++) {
		struct server *s = serve(FIRST, "qe");
		int fd = dial(s);
		int f = open("/proc/self/exe", O_RDONLY);
		int copy = dup(fd);
		pid_t pid;

		must_eq(write(fd, "pi", 2), 2);
		if (how == 0) {
			must_eq(sendfile(fd, f, NULL, 2), 2);
		} else if (how == 1) {
			must_eq(write(copy, "ng", 2), 2);
		} else if (how == 2) {
			must_eq(syscall(SYS_write, fd, "ng", 2), 2);
		} else {
			pid = fork();
			if (pid == 0)
				_exit(write(fd, "ng", 2) != 2);
			must_eq(waitpid(pid, NULL, 0), pid);
		}
		not_repeated(fd, s);
		close(fd);
		close(copy);
		close(f);
	}
}

static void urgent_data(void)
{
	struct server *s = serve(FIRST, "qe");
	int fd = dial(s);

	must_eq(write(fd, "pin", 3), 3);
	must_eq(send(fd, "g-", 2, MSG_OOB), 2);
	not_repeated(fd, s);
}

static void an_end(void)
{
	struct server *s = serve(FIRST, "qe");
	int fd = dial(s);

	must_eq(write(fd, "pi", 2), 2);
	must_eq(shutdown(fd, SHUT_WR), 0);
	sleep_ms(50);
	must_eq(s->accepted, 1);
	nothing_done();
}

static void another_destination(void)
{
	struct server *s = serve(SAFE, "qe");
	int fd = dial(s);

	must_eq(write(fd, "ping", 4), 4);
	not_repeated(fd, s);
}

static const struct named other[] = { { "in parts", a_request_in_parts },
	{ "large, blocking", a_large_one_blocking },
	{ "large", a_large_one_nonblocking },
	{ "bounded", is_bounded },
	{ "bounded in a loop", is_bounded_in_a_loop },
	{ "too much", too_much },
	{ "just enough", just_enough },
	{ "an answer", an_answer },
	{ "an answer that waits", an_answer_that_waits },
	{ "unseen bytes", bytes_that_nobody_saw },
	{ "urgent data", urgent_data },
	{ "shutdown", an_end },
	{ "another destination", another_destination } };

START_TEST(what_is_repeated_and_what_not)
{
	RUN_GROUP(other);
}
END_TEST

/*
 * At most once: each connection of the program sends its number in small parts,
 * and the server resets it at some byte, or before. What the server got under one
 * number, over all connections, is never more than the kernel took from the
 * program for it.
 */
#define ROUNDS 1000
#define PART 8

struct ledger {
	_Atomic unsigned got[ROUNDS];
	_Atomic unsigned connections;
};

static void count_one(struct ledger *l, int fd, unsigned random)
{
	unsigned limit = random % 8 ? random % (4 * PART) : 0;
	unsigned number, got = 0;
	char buf[PART];

	while (got < limit) {
		ssize_t n = syscall(SYS_recvfrom, fd, buf, PART, MSG_WAITALL, NULL, NULL);

		if (n <= 0)
			break;
		if (n == PART) {
			memcpy(&number, buf, sizeof(number));
			atomic_fetch_add(&l->got[number % ROUNDS], 1);
		}
		got += (unsigned)n;
	}
	hang_up(fd);
}

static pid_t count_all(struct ledger *l, int server)
{
	pid_t pid = fork();
	unsigned random = 1;

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int fd = (int)syscall(SYS_accept4, server, NULL, NULL, 0);

		random = random * 1103515245 + 12345;
		atomic_fetch_add(&l->connections, 1);
		count_one(l, fd, random >> 16);
	}
}

static void send_parts(struct ledger *l, const struct sockaddr_in *sa, unsigned number)
{
	unsigned char part[PART] = { 0 };
	struct pollfd p;
	unsigned taken = 0;
	int flags = number % 2 ? SOCK_NONBLOCK : 0;
	int fd = socket(AF_INET, SOCK_STREAM | flags, 0);

	memcpy(part, &number, sizeof(number));
	p = (struct pollfd){ fd, POLLOUT, 0 };
	if (connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) != 0) {
		must_eq(errno, EINPROGRESS);
		must_eq(poll(&p, 1, 5000), 1);
	}
	/* Else the reset hardly ever comes first. */
	if (number % 4 == 0)
		sleep_ms(2);
	for (unsigned i = 0; i < 3; i++) {
		ssize_t n = send(fd, part, PART, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN && poll(&p, 1, 5000) == 1)
			n = send(fd, part, PART, MSG_NOSIGNAL);
		if (n < 0)
			break;
		must_eq(n, PART);
		taken++;
		if (number % 3 == 0)
			sched_yield();
	}
	close(fd);
	must(l->got[number] <= taken);
}

START_TEST(nothing_is_sent_twice)
{
	struct ledger *l = mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE,
	                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct sockaddr_in sa;
	int server = bound_at("127.0.0.9", &sa);
	pid_t pid;

	must_eq(listen(server, 64), 0);
	pid = count_all(l, server);
	for (unsigned i = 0; i < ROUNDS; i++)
		send_parts(l, &sa, i);
	/* Some were made again. */
	for (unsigned i = 0; l->connections <= ROUNDS; i++) {
		must(i < 5000);
		sleep_ms(1);
	}
	for (unsigned i = 0; i < ROUNDS; i++)
		must(l->got[i] <= 3);
	kill(pid, SIGKILL);
	must(log_lines(" retry op=") >= 1);
}
END_TEST

UNIT_MAIN("preload replay", &requests_are_repeated, &what_is_repeated_and_what_not,
          &nothing_is_sent_twice)
