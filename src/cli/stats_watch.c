/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/duration.h"
#include "cli/cli.h"
#include "cli/stats.h"

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	stopped = sig;
}

struct screen {
	bool keys; /* stdin is a terminal, and .before what it was like */
	bool draw; /* stdout is one */
	struct termios before;
	sigset_t waiting; /* the signals of the wait: stop() runs only there */
};

/* Keys come one by one, and are not shown. */
static void begin(struct screen *s)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = stop };
	struct termios raw;
	sigset_t held;

	sigemptyset(&held);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaction(signals[i], &action, NULL);
		sigaddset(&held, signals[i]);
	}
	sigprocmask(SIG_BLOCK, &held, &s->waiting);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigdelset(&s->waiting, signals[i]);
	s->draw = isatty(STDOUT_FILENO);
	/* In the background the terminal is somebody else's. */
	s->keys = s->draw && isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp() &&
	          tcgetattr(STDIN_FILENO, &s->before) == 0;
	if (!s->keys)
		return;
	raw = s->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

static void end(const struct screen *s, bool json)
{
	if (s->draw && !json)
		putchar('\n');
	if (s->keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &s->before);
}

/* As much of <text> as the terminal has room for, from its upper left corner on. */
static void draw(const char *text)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	unsigned lines = 0;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col) {
		size.ws_row = 24;
		size.ws_col = 80;
	}
	fputs("\033[H", stdout);
	while (*text && ++lines < size.ws_row) {
		size_t len = strcspn(text, "\n");

		printf("%.*s\033[K\n", (int)(len < size.ws_col ? len : size.ws_col), text);
		text += len + (text[len] == '\n');
	}
	fputs(*text ? "\033[7m more below; q ends \033[m\033[J" : "\033[J", stdout);
}

static bool show_once(struct stats *st, const struct segment *s, bool json, bool first,
                      const struct screen *screen)
{
	int error = stats_take(st, s);
	struct out o;
	char *text = NULL;
	size_t size;
	FILE *to;

	if (error && error != ENOENT) {
		segment_say(s, error);
		return false;
	}
	to = open_memstream(&text, &size);
	if (!to) {
		cli_say("out of memory");
		return false;
	}
	out_open(&o, to, json);
	st->narrow = screen->draw && !json;
	stats_show(&o, st);
	out_close(&o);
	fclose(to);
	if (screen->draw && !json)
		draw(text);
	else
		printf("%s%s", first || json ? "" : "\n", text);
	free(text);
	return true;
}

/* False: 'q' was pressed, or a signal came. */
static bool wait_on(const struct screen *s, int64_t ns)
{
	struct pollfd keys = { .fd = s->keys ? STDIN_FILENO : -1, .events = POLLIN };
	int64_t end_at = dur_add(slot_now(), ns);
	char key;

	for (;;) {
		struct timespec left = dur_timespec(dur_sub(end_at, slot_now()));
		int n = ppoll(&keys, 1, &left, &s->waiting);

		if (stopped)
			return false;
		if (n <= 0)
			return true;
		/* Without a terminal any more there are no more keys. */
		if (read(STDIN_FILENO, &key, 1) != 1)
			keys.fd = -1;
		else if (key == 'q' || key == 'Q' || key == 4)
			return false;
	}
}

int stats_watch(struct stats *st, const struct segment *s, bool json, int64_t every)
{
	struct screen screen;
	bool ok, first = true;

	begin(&screen);
	if (screen.draw && !json)
		fputs("\033[2J", stdout);
	do {
		ok = show_once(st, s, json, first, &screen);
		first = false;
	} while (ok && fflush(stdout) == 0 && wait_on(&screen, every));
	end(&screen, json);
	/* A reader that has seen enough is no failure of ours. */
	return !ok ? EXIT_FAILURE : cli_finish(EXIT_SUCCESS, EXIT_FAILURE);
}
