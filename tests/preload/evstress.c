/* SPDX-License-Identifier: MIT */
/*
 * Eight threads on one epoll set, hundreds of connects under way, and at any
 * moment another thread closes a descriptor, puts a new file under its number,
 * duplicates it, registers it anew, or asks it how its connect has ended.
 *
 * All that a program does to a descriptor it does under the connection's lock,
 * so whatever it could not have seen without the library is a fault: an event for
 * a connection that is no more, one too many of a one-shot registration, an event
 * without a cause, an outcome too early, wrong, late, or never.
 *
 * EVSTRESS_SECONDS: how long, 5 by default. EVSTRESS_SEED.
 */
#include "tests/preload/evstress.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 8
#define IN_FLIGHT 500
#define CONNS 1024
#define QUIET 64 /* in backoff for long, at the end */
#define PAST 8   /* ended lives of a connection that are remembered */

/* The kernel's 1 s for a SYN that it dropped included, and a busy machine. */
#define LATEST_NS INT64_C(20000000000)
#define EARLIEST_NS (LEAST_MS * INT64_C(1000000))

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define QUIET_CPU_MS 400
#else
#define QUIET_CPU_MS 100
#endif

struct conn {
	pthread_mutex_t lock;
	enum { UNUSED = 0, TRYING, OPEN } state;
	int fd;
	int spare;        /* a dup; -1 */
	bool in_set;      /* .fd is registered */
	bool exposed;     /* has a number that others poll */
	uint32_t mode;    /* 0 or EPOLLONESHOT */
	uint32_t life;
	unsigned arms;    /* registrations made of a one-shot one ... */
	unsigned events;  /* ... and events that came */
	uint64_t born;    /* on .moments: connect() has returned, and it was registered */
	int64_t since;    /* ns */
	const struct port *port;
	uint64_t ended[PAST]; /* lives: when their sockets were gone */
};

static struct conn conns[CONNS];
static int set, null_fd;
static _Atomic bool over;
static _Atomic int trying;
static _Atomic uint64_t moments = 1; /* counts what happened */
static _Atomic unsigned counts[6];
enum { BEGUN, SUCCEEDED, REFUSED, RESET, CLOSED, EARLY };

static uint64_t moment(void)
{
	return atomic_fetch_add(&moments, 1) + 1;
}

static uint64_t token(const struct conn *c)
{
	return UINT64_C(0xc0) << 56 | (uint64_t)c->life << 16 | (uint64_t)(c - conns);
}

static void tell(const struct conn *c)
{
	fprintf(stderr,
	        "thread %d: conn %d state %d fd %d spare %d life %u mode %#x arms %u events %u "
	        "born %llu port kind %d exposed %d\n",
	        (int)gettid(), (int)(c - conns), (int)c->state, c->fd, c->spare, c->life, c->mode,
	        c->arms, c->events, (unsigned long long)c->born, c->port ? (int)c->port->kind : -1,
	        c->exposed);
}

/* Registers; with <op> EPOLL_CTL_MOD arms again. */
static void enter_set(struct conn *c, int op)
{
	uint32_t wanted = c->state == OPEN ? EPOLLIN | EPOLLRDHUP : EPOLLOUT;

	c->arms++;
	must_eq(enrol(op, set, c->fd, wanted | c->mode, token(c)), 0);
	c->in_set = true;
	/* An event that was fetched before may be of the registration before. */
	if (op == EPOLL_CTL_ADD && c->born != UINT64_MAX)
		c->born = moment();
}

static void leave_set(struct conn *c)
{
	must_eq(epoll_ctl(set, EPOLL_CTL_DEL, c->fd, NULL), 0);
	c->in_set = false;
}

/* <alone>: no other descriptor of the socket is to live on. */
static void close_one(int fd, bool alone, struct prng *p)
{
	switch (below(p, alone ? 6 : 5)) {
	case 0:
		must_eq(dup2(null_fd, fd), fd);
		close(fd);
		break;
	case 1:
		must_eq(dup3(null_fd, fd, O_CLOEXEC), fd);
		close(fd);
		break;
	case 2:
		must_eq(close_range((unsigned)fd, (unsigned)fd, 0), 0);
		break;
	case 5:
		shutdown(fd, SHUT_RDWR);
		close(fd);
		break;
	default:
		must_eq(close(fd), 0);
	}
}

/* close() has returned. Who still polls it by its number has the socket, and so has the
 * set, until he is done. */
static void ended(struct conn *c)
{
	uint64_t now = moment();

	c->ended[c->life % PAST] = c->exposed ? UINT64_MAX : now;
}

/* Ends this life of <c>, in whatever state its descriptor is. */
static void end(struct conn *c, struct prng *p)
{
	if (c->state == TRYING)
		atomic_fetch_sub(&trying, 1);
	/* A registration that a dup survives would be reported for ever. */
	if (c->spare >= 0) {
		if (c->in_set)
			leave_set(c);
		close_one(c->spare, true, p);
	}
	close_one(c->fd, true, p);
	ended(c);
	c->state = UNUSED;
	c->fd = c->spare = -1;
	c->in_set = false;
}

/* What poll_some() asks of others' numbers can be about a socket that was closed
 * while it asked, and make the library lose the one that has the number now. That
 * is a rescue lost, and the failure is the program's, which then is to be told of it
 * by a second connect() of another thread. */
static bool is_polled(int fd)
{
	return fd % 2 == 0;
}

static void add_spare(struct conn *c, int fd)
{
	must(fd >= 0);
	c->spare = fd;
	c->exposed |= is_polled(fd);
}

static void begin(struct conn *c, struct prng *p, int fd)
{
	struct linger now = { 1, 0 };
	bool before = below(p, 2);

	must_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	c->life++;
	c->state = TRYING;
	c->fd = fd;
	c->spare = -1;
	c->in_set = false;
	c->exposed = is_polled(fd);
	c->mode = below(p, 2) ? EPOLLONESHOT : 0;
	c->arms = c->events = 0;
	c->born = UINT64_MAX;
	c->port = &ports[below(p, PORTS)];
	c->since = ns_now();
	if (before)
		enter_set(c, EPOLL_CTL_ADD);
	must_fail(connect(fd, (const struct sockaddr *)&c->port->sa, sizeof(c->port->sa)),
	          EINPROGRESS);
	c->born = moment();
	if (!before)
		enter_set(c, EPOLL_CTL_ADD);
	if (below(p, 8) == 0)
		add_spare(c, dup(fd));
	atomic_fetch_add(&counts[BEGUN], 1);
	atomic_fetch_add(&trying, 1);
}

/* A new connection over the number of an old one. */
static void replace(struct conn *c, struct prng *p)
{
	int fd = stream();
	int old = c->fd;

	if (c->spare >= 0) {
		end(c, p);
		begin(c, p, fd);
		return;
	}
	if (c->state == TRYING)
		atomic_fetch_sub(&trying, 1);
	must_eq(dup2(fd, old), old);
	close(fd);
	ended(c);
	begin(c, p, old);
}

/* The program was told that the connect has ended with <error>, 0: well. */
static void outcome(struct conn *c, struct prng *p, int error)
{
	int64_t took = ns_now() - c->since;
	struct sockaddr_in peer = { 0 };
	socklen_t len = sizeof(peer);

	must(took < LATEST_NS);
	if (error == 0) {
		must(c->port->kind != DEAD);
		if (getpeername(c->fd, (struct sockaddr *)&peer, &len) != 0) {
			/* Its listener was closed with it in the queue. */
			must_eq(errno, ENOTCONN);
			must_eq(c->port->kind, FLAPPING);
		} else {
			must_eq(peer.sin_port, c->port->sa.sin_port);
		}
		atomic_fetch_add(&counts[SUCCEEDED], 1);
		if (below(p, 2)) {
			c->state = OPEN;
			atomic_fetch_sub(&trying, 1);
			if (c->in_set)
				enter_set(c, EPOLL_CTL_MOD);
			return;
		}
	} else if (error == ECONNREFUSED) {
		must(c->port->kind != LIVE);
		if (took < EARLIEST_NS)
			atomic_fetch_add(&counts[EARLY], 1);
		atomic_fetch_add(&counts[REFUSED], 1);
	} else {
		if (c->port->kind != FLAPPING ||
		    (error != ECONNRESET && error != ECONNABORTED && error != EPIPE))
			case_failed(__FILE__, __LINE__, "a possible error", error);
		atomic_fetch_add(&counts[RESET], 1);
	}
	end(c, p);
}

/* The set says that there is something to know: <events>. */
static void look(struct conn *c, struct prng *p, uint32_t events, uint64_t began)
{
	struct sockaddr_in peer;
	socklen_t len = sizeof(peer);
	int error = so_error(c->fd);

	if (error || getpeername(c->fd, (struct sockaddr *)&peer, &len) == 0) {
		outcome(c, p, error);
	} else if (began >= c->born && c->port->kind != FLAPPING) {
		tell(c);
		fprintf(stderr, "events %#x\n", events);
		case_failed(__FILE__, __LINE__, "an event has a cause", c->fd);
	} else if (began >= c->born) {
		outcome(c, p, 0);
	} else {
		/* Of before the connect, when the socket was hung up. */
		enter_set(c, EPOLL_CTL_MOD);
	}
}

/* <began>: when the wait began. */
static void event(const struct epoll_event *e, struct prng *p, uint64_t began)
{
	struct conn *c = &conns[e->data.u64 & 0xffff];
	uint32_t life = (uint32_t)(e->data.u64 >> 16);

	must((e->data.u64 & 0xffff) < CONNS);
	pthread_mutex_lock(&c->lock);
	if (life != c->life || c->state == UNUSED) {
		must(life <= c->life);
		/* It was there when the kernel reported it. */
		if (c->life - life < PAST && c->ended[life % PAST] <= began) {
			tell(c);
			fprintf(stderr, "events %#x of life %u, over at %llu, told of after %llu\n",
			        e->events, life, (unsigned long long)c->ended[life % PAST],
			        (unsigned long long)began);
			case_failed(__FILE__, __LINE__, "an event of what is there", c->fd);
		}
	} else {
		must_eq(e->data.u64, token(c));
		if (c->mode)
			must(++c->events <= c->arms);
		if (c->state == TRYING)
			look(c, p, e->events, began);
		else if (e->events & ~(uint32_t)EPOLLOUT)
			end(c, p);
		else if (c->in_set)
			enter_set(c, EPOLL_CTL_MOD);
	}
	pthread_mutex_unlock(&c->lock);
}

static void ask_by_poll(struct conn *c, struct prng *p)
{
	struct pollfd one = { c->fd, POLLOUT, 0 };

	if (poll(&one, 1, 0) == 1)
		look(c, p, (uint32_t)one.revents, UINT64_MAX - 1);
}

static void ask_by_send(struct conn *c, struct prng *p)
{
	ssize_t n = send(c->fd, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n == 1)
		outcome(c, p, 0);
	else if (errno != EAGAIN)
		outcome(c, p, errno);
}

static void ask_by_connect(struct conn *c, struct prng *p)
{
	int rc = connect(c->fd, (const struct sockaddr *)&c->port->sa, sizeof(c->port->sa));

	if (rc == 0 || errno == EISCONN)
		outcome(c, p, 0);
	else if (errno != EALREADY && errno != EINPROGRESS)
		outcome(c, p, errno);
}

/* One of two descriptors goes; the registered one stays. */
static void drop_one(struct conn *c, struct prng *p)
{
	int keep = below(p, 2) ? c->fd : c->spare;

	if (c->in_set && keep != c->fd) {
		leave_set(c);
		close_one(c->fd, false, p);
		c->fd = keep;
		enter_set(c, EPOLL_CTL_ADD);
	} else {
		close_one(c->spare, false, p);
	}
	c->spare = -1;
}

static void meddle_trying(struct conn *c, struct prng *p)
{
	int error;

	switch (below(p, 9)) {
	case 0:
		ask_by_poll(c, p);
		break;
	case 1:
		if ((error = so_error(c->fd)) != 0)
			outcome(c, p, error);
		break;
	case 2:
		ask_by_send(c, p);
		break;
	case 3:
		if (!c->exposed)
			ask_by_connect(c, p);
		break;
	case 4:
		enter_set(c, EPOLL_CTL_MOD);
		break;
	case 5:
		leave_set(c);
		enter_set(c, EPOLL_CTL_ADD);
		break;
	case 6:
		if (c->spare < 0)
			add_spare(c, fcntl(c->fd, F_DUPFD_CLOEXEC, 0));
		else
			drop_one(c, p);
		break;
	case 7:
		replace(c, p);
		break;
	default:
		atomic_fetch_add(&counts[CLOSED], 1);
		end(c, p);
	}
}

static void meddle(struct prng *p)
{
	struct conn *c = &conns[below(p, CONNS)];

	if (pthread_mutex_trylock(&c->lock) != 0)
		return;
	if (c->state == TRYING)
		meddle_trying(c, p);
	else if (c->state == OPEN && below(p, 4) == 0)
		end(c, p);
	else if (c->state == UNUSED && atomic_load(&trying) < IN_FLIGHT)
		begin(c, p, stream());
	pthread_mutex_unlock(&c->lock);
}

/* Numbers of others, whatever they are: nobody acts on the answer. */
static void poll_some(struct prng *p)
{
	struct pollfd some[16];
	fd_set w;
	struct timeval now = { 0, 1000 };

	for (unsigned i = 0; i < 16; i++)
		some[i] = (struct pollfd){ 10 + 2 * (int)below(p, CONNS / 2), POLLOUT, 0 };
	poll(some, 16, (int)below(p, 2));
	FD_ZERO(&w);
	for (unsigned i = 0; i < 16; i++)
		FD_SET(10 + 2 * below(p, CONNS / 2 - 10), &w);
	select(CONNS - 10, NULL, &w, NULL, &now);
}

static void *work(void *arg)
{
	struct epoll_event e[32];
	struct prng p;

	prng_seed(&p, seed + 1 + (uintptr_t)arg);
	while (!atomic_load(&over) || atomic_load(&trying) > 0) {
		uint64_t began = atomic_load(&moments);
		int n = epoll_wait(set, e, 1 + (int)below(&p, 32), (int)below(&p, 15));

		must(n >= 0);
		for (int i = 0; i < n; i++)
			event(&e[i], &p, began);
		for (unsigned i = 0; i < 24 && !atomic_load(&over); i++)
			meddle(&p);
		if (below(&p, 8) == 0)
			poll_some(&p);
	}
	return NULL;
}

/* What nobody touches any more must end by itself. */
static void find_stuck(void)
{
	for (unsigned i = 0; i < CONNS; i++) {
		struct conn *c = &conns[i];

		pthread_mutex_lock(&c->lock);
		if (c->state == TRYING && ns_now() - c->since > LATEST_NS) {
			tell(c);
			case_failed(__FILE__, __LINE__, "every connect ends", c->fd);
		}
		pthread_mutex_unlock(&c->lock);
	}
}

static void *only_wait(void *arg)
{
	struct epoll_event e;
	int64_t until = ms_now() + 1000;
	int64_t left;

	(void)arg;
	while ((left = until - ms_now()) > 0)
		must_eq(epoll_wait(set, &e, 1, (int)left), 0);
	return NULL;
}

static void with_threads(void *(*body)(void *), int64_t ms)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		must_eq(pthread_create(&threads[i], NULL, body, (void *)i), 0);
	for (int64_t until = ms_now() + ms; ms_now() < until; sleep_ms(50))
		find_stuck();
	atomic_store(&over, true);
	for (int64_t until = ms_now() + 30000; atomic_load(&trying) > 0; sleep_ms(50)) {
		must(ms_now() < until);
		find_stuck();
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* Descriptors that are in backoff for long cost nothing. */
static void quiet_phase(void)
{
	struct sockaddr_in sa;
	int dead = bound_at(SLOW, &sa);
	int fds[QUIET];
	struct epoll_event e;
	int64_t cpu;

	for (unsigned i = 0; i < QUIET; i++) {
		fds[i] = stream();
		must_fail(connect(fds[i], (struct sockaddr *)&sa, sizeof(sa)), EINPROGRESS);
		must_eq(enrol(EPOLL_CTL_ADD, set, fds[i], EPOLLOUT | EPOLLIN, i), 0);
	}
	for (unsigned i = 0; i < 10; i++)
		must_eq(epoll_wait(set, &e, 1, 10), 0);
	cpu = cpu_ms();
	with_threads(only_wait, 0);
	cpu = cpu_ms() - cpu;
	if (cpu >= QUIET_CPU_MS)
		case_failed(__FILE__, __LINE__, "waiting costs no CPU time", cpu);
	for (unsigned i = 0; i < QUIET; i++)
		close(fds[i]);
	close(dead);
}

static bool is_log_renamed(void)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s.1", getenv("TEST_LOG"));
	return access(name, F_OK) == 0;
}

/* Each series of retries has one end. */
static void log_adds_up(void)
{
	unsigned begun = log_lines(" attempt=1/");
	unsigned recovered = log_lines(" recovered ");
	unsigned gave_up = log_lines(" gave-up ");
	unsigned abandoned = log_lines(" abandoned ");

	fprintf(stderr, "begun %u succeeded %u refused %u (early %u) reset %u closed %u; log: "
	       "retried %u recovered %u gave-up %u abandoned %u suppressed %u\n",
	       counts[BEGUN], counts[SUCCEEDED], counts[REFUSED], counts[EARLY], counts[RESET],
	       counts[CLOSED], begun, recovered, gave_up, abandoned, log_lines(" suppressed "));
	/* Rescues may be lost in races that nothing can be done about. */
	must(counts[EARLY] * 50 <= counts[REFUSED]);
	must(recovered > 0);
	must(gave_up > 0);
	must(abandoned > QUIET);
	must_eq(log_lines(" suppressed "), 0);
	/* After half a minute the log begins anew. */
	if (!is_log_renamed())
		must_eq(recovered + gave_up + abandoned, begun);
}

START_TEST(many_threads_and_descriptors)
{
	const char *seconds = getenv("EVSTRESS_SECONDS");
	const char *fixed = getenv("EVSTRESS_SEED");
	struct rlimit limit;
	unsigned fds;
	pid_t server;
	struct prng p;

	snprintf(case_name, sizeof(case_name), "evstress");
	seed = fixed ? strtoull(fixed, NULL, 0) : (uint64_t)ns_now();
	fprintf(stderr, "EVSTRESS_SEED=%llu\n", (unsigned long long)seed);
	prng_seed(&p, seed);
	must_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
	must_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	reserve_ports();
	server = start_server();
	set = set_of_events();
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (unsigned i = 0; i < CONNS; i++) {
		pthread_mutex_init(&conns[i].lock, NULL);
		conns[i].fd = conns[i].spare = -1;
	}
	fds = open_fds();
	with_threads(work, 1000 * (seconds ? atoi(seconds) : 5));
	for (unsigned i = 0; i < CONNS; i++)
		if (conns[i].state != UNUSED)
			end(&conns[i], &p);
	quiet_phase();
	must_eq(open_fds(), fds);
	log_adds_up();
	gate_is_down();
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
}
END_TEST

UNIT_MAIN("preload evstress", &many_threads_and_descriptors)
