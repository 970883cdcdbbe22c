/* SPDX-License-Identifier: MIT */
/*
 * caller - many clients of one port of 127.0.0.1, which write down what they saw.
 *
 * Every call leaves two records in the file: one when it begins and one when it has
 * ended, each a write of its own, so that what was killed shows as a call without an
 * end. A record: began and ended (ns, CLOCK_MONOTONIC; ended 0: not yet), process,
 * number of the call in it, errno (0: it succeeded), for how long of that time (us) the
 * thread was ready to run and got no processor; 32 bytes, as the machine stores them.
 *
 * SIGUSR1: begin no more calls.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define MS INT64_C(1000000)
#define OPEN_MAX_CALLS 1024
#define THREADS_MAX 1000

struct record {
	int64_t began, ended;
	int32_t process;
	uint32_t call;
	int32_t error;
	int32_t starved;
};

enum how { HOW_BLOCK, HOW_POLL, HOW_OPEN, HOW_MIXED };

static struct {
	enum how how;
	long processes, threads, calls, at_once;
	int64_t gap, last, ask;
	bool gate;
	int records;
	struct sockaddr_in to;
	int64_t end;
} plan = { .processes = 1, .threads = 1, .records = -1 };

static enum how how;
static _Atomic uint32_t numbers;
static volatile sig_atomic_t stopping;

static const char usage_text[] =
	"Usage: caller [OPTION]... PORT\n"
	"  -n, --processes N   processes (1), made by fork\n"
	"  -t, --threads N     threads in each (1)\n"
	"      --how HOW       block: connect and wait (the default); poll: do not block,\n"
	"                      poll; open: begin calls whether or not others have ended,\n"
	"                      in one loop around poll; mixed: every fourth process\n"
	"                      blocks, the others are open\n"
	"      --gap MS        pause before a call, drawn at random, this in the mean\n"
	"      --calls N       calls of each thread (0: no such end)\n"
	"      --at-once N     open: begin so many at once, and then no more\n"
	"      --for MS        no call begins after that time\n"
	"      --gate          before each call read a byte of the standard input\n"
	"      --ask MS        read an answer, in that time, before the call has succeeded\n"
	"      --records FILE  append to it what came of the calls\n";

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

/* us that this thread has waited for a processor since it began. */
static int64_t starved(void)
{
	static _Thread_local int fd = -1;
	char text[80], *second;
	ssize_t n;

	if (fd < 0)
		fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	second = strchr(text, ' ');
	return second ? strtoll(second, NULL, 10) / 1000 : 0;
}

static void put(const struct record *r)
{
	if (plan.records >= 0 && write(plan.records, r, sizeof(*r)) != sizeof(*r)) {
		perror("caller: records");
		exit(2);
	}
}

static struct record begun(void)
{
	struct record r = { .began = now(),
		            .process = (int32_t)getpid(),
		            .call = atomic_fetch_add(&numbers, 1) };

	put(&r);
	r.starved = (int32_t)starved();
	return r;
}

static void ended(struct record *r, int error)
{
	r->ended = now();
	r->error = error;
	r->starved = (int32_t)starved() - r->starved;
	put(r);
}

static void stop(int signal)
{
	(void)signal;
	stopping = 1;
}

/* Drawn from the exponential distribution: a Poisson process. */
static int64_t gap(unsigned *seed)
{
	double u = (rand_r(seed) + 1.0) / (RAND_MAX + 2.0);

	return (int64_t)(-log(u) * (double)plan.gap);
}

static bool wait_until(int64_t at)
{
	struct timespec t = { at / (1000 * MS), at % (1000 * MS) };

	if (plan.end && at >= plan.end)
		return false;
	while (!stopping && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
	return !stopping;
}

/* The server says something, then no more. EAGAIN: it has not done so yet. */
static int answer(int fd)
{
	char text[16];
	ssize_t n = recv(fd, text, sizeof(text), MSG_DONTWAIT);

	return n > 0 ? 0 : n == 0 ? ENODATA : errno;
}

static int answer_within(int fd, int64_t within)
{
	struct pollfd p = { fd, POLLIN, 0 };
	int64_t end = now() + within, left;
	int error = EAGAIN;

	while (error == EAGAIN && (left = end - now()) > 0)
		if (poll(&p, 1, (int)(left / MS) + 1) == 1)
			error = answer(fd);
	return error == EAGAIN ? ETIME : error;
}

static int error_of(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? errno : error;
}

static int connected(int fd)
{
	struct pollfd p = { fd, POLLOUT, 0 };

	if (connect(fd, (struct sockaddr *)&plan.to, sizeof(plan.to)) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	while (poll(&p, 1, -1) < 0)
		if (errno != EINTR)
			return errno;
	return error_of(fd);
}

static void one_call(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | (how == HOW_POLL ? SOCK_NONBLOCK : 0), 0);
	struct record r = begun();
	int error = connected(fd);

	if (error == 0 && plan.ask)
		error = answer_within(fd, plan.ask);
	ended(&r, error);
	close(fd);
}

static void *closed_loop(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg ^ (unsigned)getpid() * 2654435761u;
	char byte;

	for (long i = 0; plan.calls == 0 || i < plan.calls; i++) {
		if (plan.gate && read(STDIN_FILENO, &byte, 1) != 1)
			break;
		if (!wait_until(now() + (plan.gap ? gap(&seed) : 0)))
			break;
		one_call();
	}
	return NULL;
}

/* One of the calls of an open loop: connecting, then perhaps waiting for an answer. */
struct under_way {
	struct record r;
	int64_t until; /* of the answer; 0 while it connects */
};

static struct pollfd fds[OPEN_MAX_CALLS];
static struct under_way calls[OPEN_MAX_CALLS];
static nfds_t count;

static void end_call(nfds_t i, int error)
{
	ended(&calls[i].r, error);
	close(fds[i].fd);
	count--;
	fds[i] = fds[count];
	calls[i] = calls[count];
}

static void connect_done(nfds_t i)
{
	if (!plan.ask) {
		end_call(i, 0);
		return;
	}
	fds[i].events = POLLIN;
	calls[i].until = now() + plan.ask;
}

static void begin_call(void)
{
	nfds_t i = count++;

	fds[i] = (struct pollfd){ socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), POLLOUT, 0 };
	calls[i] = (struct under_way){ .r = begun() };
	if (connect(fds[i].fd, (struct sockaddr *)&plan.to, sizeof(plan.to)) == 0)
		connect_done(i);
	else if (errno != EINPROGRESS)
		end_call(i, errno);
}

static void look_at(nfds_t i)
{
	int error = EAGAIN;

	if (calls[i].until) {
		if (fds[i].revents)
			error = answer(fds[i].fd);
		if (error != EAGAIN)
			end_call(i, error);
		else if (now() >= calls[i].until)
			end_call(i, ETIME);
	} else if (fds[i].revents) {
		error = error_of(fds[i].fd);
		if (error)
			end_call(i, error);
		else
			connect_done(i);
	}
}

/* ms, rounded up, until a call begins or an answer is late. */
static int patience(int64_t next)
{
	int64_t at = next;

	for (nfds_t i = 0; i < count; i++)
		if (calls[i].until && calls[i].until < at)
			at = calls[i].until;
	if (at == INT64_MAX)
		return -1;
	at -= now();
	return at > 0 ? (int)(at / MS) + 1 : 0;
}

static void open_loop(void)
{
	unsigned seed = (unsigned)getpid() * 2654435761u;
	int64_t next = plan.at_once ? INT64_MAX : now() + gap(&seed);

	for (long i = 0; i < plan.at_once; i++)
		begin_call();
	while (count > 0 || next != INT64_MAX) {
		if (poll(fds, count, patience(next)) < 0 && errno != EINTR) {
			perror("caller: poll");
			exit(2);
		}
		for (nfds_t i = count; i > 0; i--)
			look_at(i - 1);
		while (next <= now() && count < OPEN_MAX_CALLS) {
			next += gap(&seed) + 1;
			begin_call();
		}
		if (stopping || (plan.end && next >= plan.end))
			next = INT64_MAX;
	}
}

static void one_process(long number)
{
	static pthread_t threads[THREADS_MAX];

	how = plan.how;
	if (how == HOW_MIXED)
		how = number % 4 == 3 ? HOW_BLOCK : HOW_OPEN;
	if (how == HOW_OPEN) {
		open_loop();
		return;
	}
	for (long i = 1; i < plan.threads; i++)
		if (pthread_create(&threads[i], NULL, closed_loop, (void *)(uintptr_t)i)) {
			fputs("caller: no thread\n", stderr);
			exit(2);
		}
	closed_loop(NULL);
	for (long i = 1; i < plan.threads; i++)
		pthread_join(threads[i], NULL);
}

static long number(const char *text, long low, long high)
{
	char *rest;
	long v = strtol(text, &rest, 10);

	if (rest == text || *rest || v < low || v > high) {
		fprintf(stderr, "caller: %s: not a number in range\n", text);
		exit(2);
	}
	return v;
}

static enum how how_of(const char *text)
{
	static const char *const names[] = { "block", "poll", "open", "mixed" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text, names[i]) == 0)
			return (enum how)i;
	fprintf(stderr, "caller: %s: no such way\n", text);
	exit(2);
}

static const struct option options[] = {
	{ "processes", 1, NULL, 'n' }, { "threads", 1, NULL, 't' }, { "how", 1, NULL, 'H' },
	{ "gap", 1, NULL, 'g' },       { "calls", 1, NULL, 'c' },   { "at-once", 1, NULL, 'a' },
	{ "for", 1, NULL, 'f' },       { "gate", 0, NULL, 'G' },    { "ask", 1, NULL, 'A' },
	{ "records", 1, NULL, 'r' },   { NULL, 0, NULL, 0 }
};

static void set_option(int letter)
{
	switch (letter) {
	case 'n': plan.processes = number(optarg, 1, 1000); break;
	case 't': plan.threads = number(optarg, 1, THREADS_MAX); break;
	case 'H': plan.how = how_of(optarg); break;
	case 'g': plan.gap = number(optarg, 1, 3600000) * MS; break;
	case 'c': plan.calls = number(optarg, 0, 1000000); break;
	case 'a': plan.at_once = number(optarg, 1, OPEN_MAX_CALLS); break;
	case 'f': plan.last = number(optarg, 1, 3600000) * MS; break;
	case 'G': plan.gate = true; break;
	case 'A': plan.ask = number(optarg, 1, 3600000) * MS; break;
	case 'r':
		plan.records = open(optarg, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		if (plan.records < 0) {
			perror(optarg);
			exit(2);
		}
		break;
	default: fputs(usage_text, stderr); exit(2);
	}
}

int main(int argc, char **argv)
{
	int letter;

	while ((letter = getopt_long(argc, argv, "n:t:", options, NULL)) != -1)
		set_option(letter);
	if (optind != argc - 1) {
		fputs(usage_text, stderr);
		return 2;
	}
	if ((plan.how == HOW_OPEN || plan.how == HOW_MIXED) && !plan.gap && !plan.at_once) {
		fputs("caller: an open loop needs --gap or --at-once\n", stderr);
		return 2;
	}
	plan.to = (struct sockaddr_in){ .sin_family = AF_INET,
		                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		                        .sin_port = htons((uint16_t)number(argv[optind], 1, 65535)) };
	if (plan.last)
		plan.end = now() + plan.last;
	signal(SIGUSR1, stop); /* restarts what it interrupts */
	for (long i = 1; i < plan.processes; i++)
		switch (fork()) {
		case -1: perror("caller: fork"); exit(2);
		case 0:
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			one_process(i);
			return 0;
		}
	one_process(0);
	while (wait(NULL) > 0)
		;
	return 0;
}
