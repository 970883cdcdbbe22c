/* SPDX-License-Identifier: MIT */
/*
 * Where the log goes, when that is a bad place: the program neither waits nor fails nor
 * dies of it, and what is written is whole lines, in the file of that name now.
 *
 * The program is this one, started anew with LIBRETRY_LOG as the test says. For each
 * byte of its standard input it makes a call that is refused, three attempts in all, and
 * says so on its standard output.
 */
#include "tests/preload/guest.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>

#define OWN "the program's own\n"
#define LINES 3 /* of one call: two retries, and gave-up */

enum { CROWD = 100, CALLS = 25, BURST = 8 }; /* BURST as in logs.env */

static struct sockaddr_in dead;

static const char *path_of(const char *name)
{
	static char paths[4][512];
	static unsigned turn;
	char *path = paths[turn++ % ARRAY_LEN(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", getenv("TEST_DIR"), name);
	return path;
}

/* ------------------------------------------------ what the program does -- */

static char refused(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char answer = connect(fd, (struct sockaddr *)&dead, sizeof(dead)) == -1 &&
	                      errno == ECONNREFUSED ? 'y' : 'n';

	close(fd);
	return answer;
}

/* It puts another file under its descriptor 2: <how> says what and when. */
static void arrange(const char *how)
{
	int fd;

	if (strcmp(how, "opens-own") == 0) {
		fd = open(path_of("own"), O_WRONLY | O_CREAT | O_APPEND, 0600);
		if (fd != 2 || write(fd, OWN, strlen(OWN)) < 0)
			_exit(3);
	} else if (strcmp(how, "data-on-2") == 0) {
		if (dup2(1, 2) != 2)
			_exit(4);
	}
}

static int program(const char *how, const char *port)
{
	char byte;

	dead.sin_family = AF_INET;
	dead.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	dead.sin_port = htons((uint16_t)atoi(port));
	arrange(how);
	while (read(0, &byte, 1) == 1) {
		byte = refused();
		if (write(1, &byte, 1) != 1)
			return 5;
	}
	return 0;
}

/* ------------------------------------------------------------------ tests -- */

struct guest {
	pid_t pid;
	int in, out;
};

/* <two>: what is its descriptor 2 when it starts; -1: that is closed. */
static struct guest start(const char *how, const char *log, int two)
{
	struct guest g;
	char port[16];
	int in[2], out[2];

	if (dead.sin_port == 0)
		bound(&dead);
	snprintf(port, sizeof(port), "%d", ntohs(dead.sin_port));
	ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	g = (struct guest){ fork(), in[1], out[0] };
	ck_assert_int_ge(g.pid, 0);
	if (g.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_DFL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (two >= 0)
			dup2(two, 2);
		else
			close(2);
		close_range(3, ~0U, 0);
		setenv("LIBRETRY_LOG", log, 1);
		execl("/proc/self/exe", "logs.pt", how, port, NULL);
		_exit(2);
	}
	close(in[0]);
	close(out[1]);
	return g;
}

static struct guest start_with_file(const char *name)
{
	char log[600];

	snprintf(log, sizeof(log), "file:%s", path_of(name));
	return start("calls", log, open("/dev/null", O_WRONLY | O_CLOEXEC));
}

/* One call, which ends as it would alone. */
static void call(const struct guest *g)
{
	struct pollfd p = { .fd = g->out, .events = POLLIN };
	char answer = '?';

	ck_assert_int_eq(write(g->in, "x", 1), 1);
	ck_assert_msg(poll(&p, 1, 30000) == 1, "the program hangs");
	ck_assert_int_eq(read(g->out, &answer, 1), 1);
	ck_assert_int_eq(answer, 'y');
}

static void finish(const struct guest *g)
{
	int status = -1;

	close(g->in);
	ck_assert_int_eq(waitpid(g->pid, &status, 0), g->pid);
	ck_assert_msg(status == 0, "the program ended with %x", (unsigned)status);
	close(g->out);
}

/* Of <name>, which need not be there: the text, to be freed. */
static char *text_of(const char *name)
{
	int fd = open(path_of(name), O_RDONLY | O_CLOEXEC);
	size_t size = 4 << 20, have = 0;
	char *text = malloc(size);
	ssize_t n;

	ck_assert_ptr_nonnull(text);
	while (fd >= 0 && (n = read(fd, text + have, size - 1 - have)) > 0)
		have += (size_t)n;
	close(fd);
	text[have] = '\0';
	return text;
}

static unsigned count(const char *text, const char *word)
{
	unsigned n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

/* One event from its time to its last field, and nothing else. */
static bool is_whole(const char *line)
{
	const char *policy = strstr(line, " policy=default");
	const char *lines = strstr(line, " suppressed dest=");

	return strncmp(line, "20", 2) == 0 && count(line, "libretry[") == 1 &&
	       (policy ? policy[strlen(" policy=default")] == '\0'
	               : lines && strstr(lines, " lines="));
}

/* Calls <each>, if any, with every line of the file, and of <cut> of them half may be
 * missing; returns how many there are. */
static unsigned lines_of(const char *name, unsigned cut, void (*each)(const char *line))
{
	char *text = text_of(name), *end;
	unsigned n = 0;

	for (char *line = text; *line; line = end + 1, n++) {
		end = strchr(line, '\n');
		ck_assert_msg(end != NULL, "%s ends in the middle of a line", name);
		*end = '\0';
		if (is_whole(line)) {
			if (each)
				each(line);
			continue;
		}
		ck_assert_msg(cut > 0 && count(line, "libretry[") < 2,
		              "%s has a line that is not whole: %s", name, line);
		cut--;
	}
	free(text);
	return n;
}

static unsigned whole_lines(const char *name)
{
	return lines_of(name, 0, NULL);
}

START_TEST(folder_is_removed)
{
	struct guest g;

	ck_assert_int_eq(mkdir(path_of("dir"), 0700), 0);
	g = start_with_file("dir/log");
	call(&g);
	ck_assert_uint_eq(whole_lines("dir/log"), LINES);
	ck_assert_int_eq(unlink(path_of("dir/log")), 0);
	ck_assert_int_eq(rmdir(path_of("dir")), 0);
	call(&g);
	/* Nobody makes the folder but who removed it. */
	ck_assert_int_ne(access(path_of("dir"), F_OK), 0);
	ck_assert_int_eq(mkdir(path_of("dir"), 0700), 0);
	call(&g);
	ck_assert_uint_eq(whole_lines("dir/log"), LINES);
	finish(&g);
}
END_TEST

/* By renaming, as logrotate does, whoever makes the new one, and by cutting. */
START_TEST(file_is_rotated)
{
	struct guest g = start_with_file("log-r");
	int fd;

	call(&g);
	ck_assert_int_eq(rename(path_of("log-r"), path_of("old-1")), 0);
	call(&g);
	ck_assert_uint_eq(whole_lines("log-r"), LINES);
	ck_assert_int_eq(rename(path_of("log-r"), path_of("old-2")), 0);
	fd = open(path_of("log-r"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	call(&g);
	ck_assert_uint_eq(whole_lines("log-r"), LINES);
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	finish(&g);
	g = start_with_file("log-r");
	call(&g);
	ck_assert_uint_eq(whole_lines("log-r"), LINES);
	ck_assert_uint_eq(whole_lines("old-1"), LINES);
	ck_assert_uint_eq(whole_lines("old-2"), LINES);
	finish(&g);
	close(fd);
}
END_TEST

/* Without a reader, with one that sleeps, and with one that has gone. */
START_TEST(fifo_that_nobody_reads)
{
	struct guest g;
	char text[16384];
	ssize_t n;
	int reader;

	ck_assert_int_eq(mkfifo(path_of("fifo"), 0600), 0);
	g = start_with_file("fifo");
	call(&g);
	reader = open(path_of("fifo"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ck_assert_int_ge(fcntl(reader, F_SETPIPE_SZ, 8192), 0);
	for (int i = 0; i < 40; i++)
		call(&g);
	n = read(reader, text, sizeof(text) - 1);
	ck_assert_int_gt(n, 2000);
	text[n] = '\0';
	ck_assert_int_eq(text[n - 1], '\n');
	ck_assert_uint_eq(count(text, "libretry["), count(text, "\n"));
	close(reader);
	call(&g);
	finish(&g);
}
END_TEST

START_TEST(links_and_folders)
{
	static const char *const nowhere[] = { "dangling", "loop", "folder", "dangling/log" };
	struct guest g;

	ck_assert_int_eq(symlink("missing/log", path_of("dangling")), 0);
	ck_assert_int_eq(symlink("loop", path_of("loop")), 0);
	ck_assert_int_eq(mkdir(path_of("folder"), 0700), 0);
	for (size_t i = 0; i < ARRAY_LEN(nowhere); i++) {
		g = start_with_file(nowhere[i]);
		call(&g);
		finish(&g);
	}
	ck_assert_int_ne(access(path_of("missing"), F_OK), 0);
	ck_assert_int_eq(rmdir(path_of("folder")), 0);
	/* What it names can be made. */
	ck_assert_int_eq(symlink("target", path_of("link")), 0);
	g = start_with_file("link");
	call(&g);
	finish(&g);
	ck_assert_uint_eq(whole_lines("target"), LINES);
}
END_TEST

/* Fills the disk: what is left is what the log's last page has. */
static int filler(void)
{
	static const char page[4096];
	int fd = open(path_of("disk/filler"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	while (write(fd, page, sizeof(page)) > 0)
		continue;
	ck_assert_int_eq(errno, ENOSPC);
	return fd;
}

START_TEST(disk_is_full)
{
	struct guest g;
	struct stat st;
	off_t size;
	int fd;

	ck_assert_int_eq(mkdir(path_of("disk"), 0700), 0);
	if (!own_tmpfs(path_of("disk"), "size=64k")) {
		printf("skip disk_is_full: no mount namespace here\n");
		return;
	}
	g = start_with_file("disk/log");
	call(&g);
	fd = filler();
	for (int i = 0; i < 30; i++)
		call(&g);
	ck_assert_int_eq(stat(path_of("disk/log"), &st), 0);
	size = st.st_size;
	ck_assert_int_eq(size, sysconf(_SC_PAGESIZE));
	/* There is room again: the line that was cut is over, the next one is whole. */
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	call(&g);
	finish(&g);
	ck_assert_int_eq(stat(path_of("disk/log"), &st), 0);
	ck_assert_int_gt(st.st_size, size + 100);
	lines_of("disk/log", 1, NULL);
	close(fd);
}
END_TEST

/* ------------------------------------------------------------- the crowd -- */

static struct seen {
	pid_t pid;
	unsigned retries, ends, held;
} seen[CROWD];

static void add_line(const char *line)
{
	const char *lines = strstr(line, " lines=");
	int pid = 0;

	sscanf(strstr(line, "libretry["), "libretry[%d]", &pid);
	for (size_t i = 0; i < CROWD; i++) {
		if (seen[i].pid != pid)
			continue;
		seen[i].retries += strstr(line, " WARN retry ") != NULL;
		seen[i].ends += strstr(line, " ERROR gave-up ") != NULL;
		seen[i].held += lines ? (unsigned)atoi(lines + 7) : 0;
		return;
	}
	ck_abort_msg("a line of nobody: %s", line);
}

/* Many processes, one file, one destination: each has its own limit, and no more. */
START_TEST(a_hundred_processes)
{
	static struct guest g[CROWD];
	char calls[CALLS];

	memset(calls, 'x', sizeof(calls));
	for (size_t i = 0; i < CROWD; i++) {
		g[i] = start_with_file("log-c");
		seen[i].pid = g[i].pid;
	}
	for (size_t i = 0; i < CROWD; i++)
		ck_assert_int_eq(write(g[i].in, calls, CALLS), CALLS);
	for (size_t i = 0; i < CROWD; i++)
		finish(&g[i]);
	lines_of("log-c", 0, add_line);
	for (size_t i = 0; i < CROWD; i++) {
		ck_assert_uint_eq(seen[i].retries, BURST);
		ck_assert_uint_eq(seen[i].ends, CALLS);
		ck_assert_uint_eq(seen[i].held, CALLS * (LINES - 1) - BURST);
	}
}
END_TEST

/* ---------------------------------------------------------- descriptor 2 -- */

static void only_its_own(void)
{
	char *text = text_of("own");

	ck_assert_str_eq(text, OWN);
	free(text);
}

START_TEST(stderr_is_closed)
{
	static const char *const logs[] = { "stderr", "fd:2" };

	for (size_t i = 0; i < ARRAY_LEN(logs); i++) {
		struct guest g = start("calls", logs[i], -1);

		call(&g);
		finish(&g);
		/* And the number is used again. */
		unlink(path_of("own"));
		g = start("opens-own", logs[i], -1);
		call(&g);
		finish(&g);
		only_its_own();
	}
}
END_TEST

/* The reader of the data reads the answers of the calls, and nothing else: call() sees it. */
START_TEST(stderr_becomes_the_data)
{
	struct guest g;
	int two[2];
	char text[64];

	ck_assert_int_eq(pipe2(two, O_CLOEXEC), 0);
	g = start("data-on-2", "stderr", two[1]);
	close(two[1]);
	call(&g);
	call(&g);
	finish(&g);
	ck_assert_int_eq(read(two[0], text, sizeof(text)), 0);
}
END_TEST

/* What a network peer reads is a protocol; a Unix socket may be a journal. */
START_TEST(stderr_is_a_socket)
{
	struct sockaddr_in to;
	struct guest g;
	char text[4096];
	int server = bound(&to), client = tcp_socket(), peer, pair[2];
	ssize_t n;

	ck_assert_int_eq(listen(server, 1), 0);
	ck_assert_int_eq(connect(client, (struct sockaddr *)&to, sizeof(to)), 0);
	peer = accept(server, NULL, NULL);
	g = start("calls", "stderr", client);
	call(&g);
	finish(&g);
	close(client);
	ck_assert_int_eq(read(peer, text, sizeof(text)), 0);

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	g = start("calls", "stderr", pair[1]);
	call(&g);
	n = read(pair[0], text, sizeof(text) - 1);
	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	ck_assert_uint_eq(count(text, " libretry["), LINES);
	/* It is not read any more, and then there is nobody who could. */
	for (int i = 0; i < 10; i++)
		call(&g);
	close(pair[0]);
	call(&g);
	finish(&g);
}
END_TEST

START_TEST(stderr_is_a_pipe_that_nobody_reads)
{
	struct guest g;
	int two[2];
	char text[16384];
	ssize_t n;

	ck_assert_int_eq(pipe2(two, O_CLOEXEC), 0);
	ck_assert_int_ge(fcntl(two[1], F_SETPIPE_SZ, 8192), 0);
	g = start("calls", "stderr", two[1]);
	close(two[1]);
	for (int i = 0; i < 40; i++)
		call(&g);
	n = read(two[0], text, sizeof(text));
	ck_assert_int_gt(n, 2000);
	ck_assert_int_eq(text[n - 1], '\n');
	close(two[0]);
	call(&g);
	finish(&g);
}
END_TEST

int main(int argc, char **argv)
{
	static const TTest *const *const tests[] = {
		&folder_is_removed, &file_is_rotated, &fifo_that_nobody_reads,
		&links_and_folders, &disk_is_full, &a_hundred_processes,
		&stderr_is_closed, &stderr_becomes_the_data, &stderr_is_a_socket,
		&stderr_is_a_pipe_that_nobody_reads,
	};
	const TTest *list[ARRAY_LEN(tests)];

	if (argc == 3)
		return program(argv[1], argv[2]);
	for (size_t i = 0; i < ARRAY_LEN(tests); i++)
		list[i] = *tests[i];
	return unit_run("preload logs", list, ARRAY_LEN(list));
}
