/* SPDX-License-Identifier: MIT */
/*
 * corpus_main.c - Usage: corpus_main [NAME [FILE ...]]
 *
 * Feeds every target (or NAME) with the files of fuzz/corpus/NAME below
 * $TOP_SRCDIR (or with FILE), whole and cut at up to CUTS places.
 */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

#define SIZE_MOST ((size_t)256 * 1024)
#define CUTS 16

static char current[PATH_MAX];

static void feed(const struct fuzz_target *t, const uint8_t *data, size_t size)
{
	uint8_t *tight = malloc(size ? size : 1);

	FUZZ_CHECK(tight);
	memcpy(tight, data, size);
	t->run(tight, size);
	free(tight);
}

static void feed_file(const struct fuzz_target *t, const char *path)
{
	static uint8_t data[SIZE_MOST];
	FILE *f = fopen(path, "re");
	size_t size, step;

	if (!f) {
		perror(path);
		exit(1);
	}
	snprintf(current, sizeof(current), "%s: %s\n", t->name, path);
	size = fread(data, 1, sizeof(data), f);
	fclose(f);
	feed(t, data, size);
	step = size / CUTS + 1;
	for (size_t cut = 0; cut < size; cut += step)
		feed(t, data, cut);
}

static unsigned feed_folder(const struct fuzz_target *t, const char *top)
{
	char path[PATH_MAX];
	unsigned count = 0;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%s/fuzz/corpus/%s", top, t->name);
	d = opendir(path);
	if (!d) {
		perror(path);
		exit(1);
	}
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/fuzz/corpus/%s/%s", top, t->name, e->d_name);
		feed_file(t, path);
		count++;
	}
	closedir(d);
	return count;
}

/* What was fed is told when it kills us. */
static void tell(int sig)
{
	ssize_t ignored = write(STDERR_FILENO, current, strlen(current));

	(void)ignored;
	signal(sig, SIG_DFL);
	raise(sig);
}

int main(int argc, char **argv)
{
	const char *top = getenv("TOP_SRCDIR");
	const struct fuzz_target *only = argc > 1 ? fuzz_find(argv[1]) : NULL;

	if (argc > 1 && !only) {
		fprintf(stderr, "%s: no such target\n", argv[1]);
		return 2;
	}
	signal(SIGABRT, tell);
	for (int i = 2; i < argc; i++)
		feed_file(only, argv[i]);
	for (const struct fuzz_target *t = fuzz_targets; argc < 3 && t->name; t++) {
		unsigned count;

		if (only && t != only)
			continue;
		count = feed_folder(t, top ? top : ".");
		printf("%s: %u files\n", t->name, count);
		if (count == 0)
			return 1;
	}
	return 0;
}
