/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/stats.h"

#ifdef HAVE_MICROHTTPD

#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/sys.h"
#include "cli/httpd.h"
#include "cli/visits.h"

#define CONNECTIONS VISITS_MAX
#define IDLE_SECONDS 15
/* More than the idle time, so that a connection that is kept for the next request is
 * not told between two. */
#define REQUEST_FOR (30 * DUR_S)

static volatile sig_atomic_t stopped;

static const struct httpd *httpd;

static void stop(int sig)
{
	stopped = sig;
}

struct server {
	struct stats *st;
	const struct segment *segment;
	struct visits visits;
};

static void on_connection(void *ctx, struct MHD_Connection *c, void **visit,
                          enum MHD_ConnectionNotificationCode what)
{
	struct server *s = ctx;
	const union MHD_ConnectionInfo *info;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		visits_end(*visit);
		return;
	}
	info = httpd->get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	*visit = info ? visits_begin(&s->visits, info->connect_fd, sys_monotonic()) : NULL;
}

static void on_completed(void *ctx, struct MHD_Connection *c, void **state,
                         enum MHD_RequestTerminationCode how)
{
	const union MHD_ConnectionInfo *info =
		httpd->get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	(void)ctx;
	(void)state;
	(void)how;
	if (info)
		visits_answered(info->socket_context, sys_monotonic());
}

/* For libmicrohttpd that ends the connection. */
static void end_visits(struct visits *v)
{
	struct visit *visit;

	while ((visit = visits_over(v, sys_monotonic(), REQUEST_FOR)))
		shutdown(visit->fd, SHUT_RDWR);
}

static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, const char *type,
                              char *text, size_t size)
{
	struct MHD_Response *r = httpd->create_response_from_buffer(size, text,
	                                                            MHD_RESPMEM_MUST_FREE);
	enum MHD_Result result;

	if (!r) {
		free(text);
		return MHD_NO;
	}
	httpd->add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	httpd->add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		httpd->add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = httpd->queue_response(c, status, r);
	httpd->destroy_response(r);
	return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *c, unsigned status, const char *text)
{
	char *mine = strdup(text);

	return mine ? answer(c, status, "text/plain; charset=utf-8", mine, strlen(mine)) : MHD_NO;
}

/* What there is now; a segment that does not exist yet is an answer too. */
static enum MHD_Result answer_stats(const struct server *s, struct MHD_Connection *c, bool health)
{
	int error = stats_take(s->st, s->segment);
	bool ok = true;
	char *text = NULL;
	size_t size;
	FILE *to;

	if (error && error != ENOENT) {
		segment_say(s->segment, error);
		return answer_text(c, MHD_HTTP_INTERNAL_SERVER_ERROR,
		                   "the statistics cannot be read\n");
	}
	to = open_memstream(&text, &size);
	if (!to)
		return MHD_NO;
	if (health)
		ok = stats_health(to, s->st);
	else
		stats_prometheus(to, s->st);
	if (fclose(to) != 0) {
		free(text);
		return MHD_NO;
	}
	return answer(c, ok ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
	              health ? "application/json" : "text/plain; version=0.0.4; charset=utf-8",
	              text, size);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **state)
{
	static int seen;

	(void)version;
	(void)upload;
	/* The first call is for the header alone; then comes what is uploaded. */
	if (!*state) {
		*state = &seen;
		return MHD_YES;
	}
	if (*upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return answer_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	if (strcmp(url, "/metrics") == 0)
		return answer_stats(ctx, c, false);
	if (strcmp(url, "/health") == 0)
		return answer_stats(ctx, c, true);
	if (strcmp(url, "/") == 0)
		return answer_text(c, MHD_HTTP_OK, "libretry stats: /metrics /health\n");
	return answer_text(c, MHD_HTTP_NOT_FOUND, "there are /metrics and /health\n");
}

/* "127.0.0.1:9469", "[::1]:9469", "localhost:9469" in its parts. */
static bool split(const char *where, char *host, size_t size, const char **port)
{
	const char *colon = strrchr(where, ':');
	size_t len = colon ? (size_t)(colon - where) : 0;

	if (len == 0 || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
	    strlen(colon + 1) > 5 || atoi(colon + 1) > 65535)
		return false;
	if (where[0] == '[' && where[len - 1] == ']') {
		where++;
		len -= 2;
	} else if (memchr(where, ':', len)) {
		return false;
	}
	if (len == 0 || len >= size)
		return false;
	memcpy(host, where, len);
	host[len] = '\0';
	*port = colon + 1;
	return true;
}

static int listen_on(const struct addrinfo *ai)
{
	const int on = 1;
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, CONNECTIONS) == 0)
		return fd;
	close(fd);
	return -1;
}

/* A listening socket at <where>, and nowhere else; -1 after a message. */
static int open_at(const char *where)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	const char *port;
	char host[256];
	int error, fd;

	if (!split(where, host, sizeof(host), &port)) {
		cli_say("stats: --serve: \"%s\" is not ADDR:PORT, as 127.0.0.1:9469 or [::1]:9469",
		        where);
		return -1;
	}
	error = getaddrinfo(host, port, &hints, &found);
	if (error) {
		cli_say("stats: --serve: %s: %s", host, gai_strerror(error));
		return -1;
	}
	fd = listen_on(found);
	if (fd < 0)
		cli_say("stats: --serve: %s: %s", where, strerror(errno));
	freeaddrinfo(found);
	return fd;
}

/* Where it is, for who gave port 0. */
static void announce(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	char text[ADDR_TEXT_MAX];
	struct addr a;
	struct fmt f;

	if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0 ||
	    !addr_from_sockaddr(&a, (struct sockaddr *)&ss, len))
		return;
	fmt_init(&f, text, sizeof(text));
	addr_fmt(&f, &a);
	fmt_end(&f);
	cli_say("serving http://%s/metrics and /health", text);
}

static void hold_signals(sigset_t *waiting)
{
	struct sigaction action = { .sa_handler = stop };
	sigset_t held;

	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigemptyset(&held);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGINT);
	sigprocmask(SIG_BLOCK, &held, waiting);
	sigdelset(waiting, SIGTERM);
	sigdelset(waiting, SIGINT);
}

/* False: it cannot go on. */
static bool turn(struct MHD_Daemon *daemon, struct visits *visits, const sigset_t *waiting)
{
	fd_set r, w, e;
	MHD_socket max = -1;
	MHD_UNSIGNED_LONG_LONG ms;
	int64_t left;
	struct timespec limit;

	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_ZERO(&e);
	if (httpd->get_fdset(daemon, &r, &w, &e, &max) != MHD_YES)
		return false;
	left = visits_left(visits, sys_monotonic(), REQUEST_FOR);
	if (httpd->get_timeout(daemon, &ms) == MHD_YES && (int64_t)ms * DUR_MS < left)
		left = (int64_t)ms * DUR_MS;
	if (left != DUR_NONE)
		limit = dur_timespec(left);
	if (pselect((int)max + 1, &r, &w, &e, left != DUR_NONE ? &limit : NULL, waiting) < 0) {
		if (errno != EINTR)
			return false;
		FD_ZERO(&r);
		FD_ZERO(&w);
		FD_ZERO(&e);
	}
	end_visits(visits);
	return httpd->run_from_select(daemon, &r, &w, &e) == MHD_YES;
}

int stats_serve(struct stats *st, const struct segment *s, const char *where)
{
	struct server server = { .st = st, .segment = s };
	struct MHD_Daemon *daemon;
	sigset_t waiting;
	bool ok = true;
	int fd;

	httpd = httpd_open();
	fd = httpd ? open_at(where) : -1;
	if (fd < 0)
		return EXIT_FAILURE;
	hold_signals(&waiting);
	daemon = httpd->start_daemon(MHD_NO_FLAG, 0, NULL, NULL, on_request, &server,
	                          MHD_OPTION_LISTEN_SOCKET, (MHD_socket)fd,
	                          MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
	                          MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
	                          MHD_OPTION_NOTIFY_CONNECTION, on_connection, &server,
	                          MHD_OPTION_NOTIFY_COMPLETED, on_completed, &server,
	                          MHD_OPTION_END);
	if (!daemon) {
		cli_say("stats: --serve: the server does not start");
		close(fd);
		return EXIT_FAILURE;
	}
	announce(fd);
	while (ok && !stopped)
		ok = turn(daemon, &server.visits, &waiting);
	httpd->stop_daemon(daemon);
	if (!ok)
		cli_say("stats: --serve: %s", strerror(errno));
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

#else

int stats_serve(struct stats *st, const struct segment *s, const char *where)
{
	(void)st;
	(void)s;
	(void)where;
	cli_say("stats: --serve: this command was built without libmicrohttpd; "
	        "\"stats --prometheus -o FILE\" works");
	return EXIT_FAILURE;
}

#endif
