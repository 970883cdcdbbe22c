/* SPDX-License-Identifier: MIT */
/* evstress.h - what evstress.c connects to, and what it looks at in the end. */
#ifndef LIBRETRY_TESTS_EVSTRESS_H
#define LIBRETRY_TESTS_EVSTRESS_H

#include "tests/preload/evloop.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>

#include "base/prng.h"

#ifdef __SANITIZE_THREAD__
/* Around waits ThreadSanitizer stops watching atomics, as if nobody could work in
 * there: so its wrappers are stepped over. */
static int (*library_epoll_wait)(int, struct epoll_event *, int, int);
static int (*library_poll)(struct pollfd *, nfds_t, int);
#define epoll_wait library_epoll_wait
#define poll library_poll

__attribute__((constructor)) static void step_over(void)
{
	void *library = dlopen(getenv("LIBRETRY_SO"), RTLD_NOW | RTLD_NOLOAD);

	*(void **)&library_epoll_wait = dlsym(library ? library : RTLD_DEFAULT, "epoll_wait");
	*(void **)&library_poll = dlsym(library ? library : RTLD_DEFAULT, "poll");
}
#endif

#define PORTS 12

struct port {
	enum { LIVE, DEAD, FLAPPING } kind;
	struct sockaddr_in sa;
	int fd; /* bound, so that nobody else can have the port */
};

static struct port ports[PORTS];
static uint64_t seed;

static unsigned below(struct prng *p, unsigned n)
{
	return (unsigned)prng_below(prng_next(p), n - 1);
}

static int listener_at(const struct sockaddr_in *sa, bool reserve)
{
	struct sockaddr_in any = *sa;
	int one = 1;
	int fd = stream();

	must_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	must_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)), 0);
	must_eq(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	if (!reserve)
		must_eq(listen(fd, 4096), 0);
	return fd;
}

static void reserve_ports(void)
{
	for (unsigned i = 0; i < PORTS; i++) {
		struct port *p = &ports[i];
		socklen_t len = sizeof(p->sa);

		p->kind = i < 3 ? LIVE : i < 7 ? DEAD : FLAPPING;
		p->sa.sin_family = AF_INET;
		p->sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		p->fd = listener_at(&p->sa, true);
		must_eq(getsockname(p->fd, (struct sockaddr *)&p->sa, &len), 0);
	}
}

static void close_by_reset(int fd)
{
	struct linger now = { 1, 0 };

	/* No TIME_WAIT: the ports would run out. */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

/* Takes connections and holds each until the other end closes it. */
static void take(int epfd, struct epoll_event *e, int n)
{
	for (int i = 0; i < n; i++) {
		int fd = e[i].data.fd & 0xffff;
		int c;

		if (!(e[i].data.fd & 0x10000)) {
			char c1;

			if (recv(fd, &c1, 1, 0) <= 0)
				close_by_reset(fd);
			continue;
		}
		while ((c = accept4(fd, NULL, NULL, SOCK_NONBLOCK)) >= 0)
			enrol(EPOLL_CTL_ADD, epfd, c, EPOLLIN, (uint64_t)c);
	}
}

static __attribute__((noreturn)) void serve(void)
{
	int epfd = set_of_events();
	int listeners[PORTS];
	int64_t toggle[PORTS] = { 0 };
	struct epoll_event e[64];
	struct prng p;

	prng_seed(&p, seed);
	memset(listeners, -1, sizeof(listeners));
	for (;;) {
		for (unsigned i = 0; i < PORTS; i++) {
			if (ports[i].kind == DEAD || ms_now() < toggle[i])
				continue;
			toggle[i] = ports[i].kind == LIVE ? INT64_MAX : ms_now() + 20 + below(&p, 300);
			if (listeners[i] >= 0) {
				close(listeners[i]);
				listeners[i] = -1;
				continue;
			}
			listeners[i] = listener_at(&ports[i].sa, false);
			enrol(EPOLL_CTL_ADD, epfd, listeners[i], EPOLLIN,
			      (uint64_t)listeners[i] | 0x10000);
		}
		take(epfd, e, epoll_wait(epfd, e, 64, 10));
	}
}

static pid_t start_server(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	must(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		serve();
	}
	/* The live ones live. */
	for (unsigned i = 0; i < PORTS; i++) {
		int fd = -1;

		if (ports[i].kind != LIVE)
			continue;
		do {
			if (fd >= 0)
				close(fd);
			fd = stream();
			fcntl(fd, F_SETFL, 0);
		} while (connect(fd, (struct sockaddr *)&ports[i].sa, sizeof(ports[i].sa)) != 0);
		close_by_reset(fd);
	}
	return pid;
}

static unsigned open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	must(d != NULL);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int find_library(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	if (!strstr(info->dlpi_name, "libretry.so"))
		return 0;
	*(uintptr_t *)base = info->dlpi_addr;
	return 1;
}

/* FDTAB_PEERS of state/fdtab.h: set for good by the first connect. */
#define PEERS_BIT UINT32_C(0x10000000)

/* No record is left: a lost one would close the fast paths for good. */
static void gate_is_down(void)
{
	uintptr_t base = 0, offset = 0;
	char command[512];
	FILE *f;

	dl_iterate_phdr(find_library, &base);
	unsetenv("LD_PRELOAD");
	snprintf(command, sizeof(command),
	         "nm '%s' 2>/dev/null | sed -n 's/ [A-Za-z] fdtab_gate$//p'",
	         getenv("LIBRETRY_SO"));
	f = popen(command, "r");
	must(f != NULL);
	if (fscanf(f, "%zx", &offset) == 1 && base)
		must_eq(*(const volatile uint32_t *)(base + offset) & ~PEERS_BIT, 0);
	pclose(f);
}

#endif
