/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/segment.h"

/* Of digits only, below what says "no change" to the kernel; else -1. */
static int64_t number_of(const char *text)
{
	char *end;
	unsigned long long n;

	if (text[0] < '0' || text[0] > '9')
		return -1;
	n = strtoull(text, &end, 10);
	return *end == '\0' && n < UINT32_MAX ? (int64_t)n : -1;
}

static bool find_user(struct segment *s, const char *user)
{
	const struct passwd *pw = getpwnam(user);

	s->uid = pw ? (int64_t)pw->pw_uid : number_of(user);
	if (s->uid < 0)
		cli_say("%s: no such user", user);
	return s->uid >= 0;
}

static bool find_group(struct segment *s, const char *group)
{
	const struct group *gr = getgrnam(group);

	s->gid = gr ? (int64_t)gr->gr_gid : number_of(group);
	if (s->gid < 0)
		cli_say("%s: no such group", group);
	return s->gid >= 0;
}

static void name_it(struct segment *s)
{
	const struct passwd *pw = s->gid < 0 ? getpwuid((uid_t)s->uid) : NULL;
	const struct group *gr = s->gid >= 0 ? getgrgid((gid_t)s->gid) : NULL;
	const char *kind = s->gid < 0 ? "user" : "group";
	const char *name = pw ? pw->pw_name : gr ? gr->gr_name : NULL;

	if (name)
		snprintf(s->whose, sizeof(s->whose), "%s:%s", kind, name);
	else
		snprintf(s->whose, sizeof(s->whose), "%s:%lld", kind,
		         (long long)(s->gid < 0 ? s->uid : s->gid));
}

bool segment_choose(struct segment *s, const char *user, const char *group)
{
	s->uid = geteuid();
	s->gid = -1;
	if (user && group) {
		cli_say("--user and --group exclude each other");
		return false;
	}
	if ((user && !find_user(s, user)) || (group && !find_group(s, group)))
		return false;
	name_it(s);
	shm_path(s->path, sizeof(s->path), s->uid, s->gid);
	return true;
}

static sigjmp_buf truncated;

static void on_bus_error(int sig)
{
	(void)sig;
	siglongjmp(truncated, 1);
}

int segment_with(const struct segment *s, bool writable,
                 void (*with)(void *arg, struct shm_header *h, struct slot *slots), void *arg)
{
	struct sigaction action = { .sa_handler = on_bus_error }, before;
	struct slot *slots;
	struct shm_header *h = shm_map(s->path, writable, &slots);
	int error = 0;

	if (!h)
		return errno;
	sigaction(SIGBUS, &action, &before);
	if (sigsetjmp(truncated, 1) == 0)
		with(arg, h, slots);
	else
		error = EPROTO;
	sigaction(SIGBUS, &before, NULL);
	shm_unmap(h);
	return error;
}

void segment_say(const struct segment *s, int error)
{
	const char *name = strchr(s->whose, ':') + 1;

	switch (error) {
	case ENOENT:
		cli_say("there are no statistics of %s %s (%s does not exist)",
		        s->gid < 0 ? "user" : "group", name, s->path);
		fputs("They are kept from the first failure on that a program meets which runs "
		      "under the\nlibrary with statistics on: LIBRETRY_STATS=shm in its "
		      "environment, or in the\nconfiguration: stats: { to = \"shm\"; };\n",
		      stderr);
		if (s->gid >= 0)
			fputs("Those of a group also need: process: { host_group = \"...\"; }; and "
			      "policies whose\nbudget has scope = \"host\".\n", stderr);
		break;
	case EPROTO:
		cli_say("%s: not a segment of this version of libretry, or damaged (libretry stats "
		        "--reset takes it away)", s->path);
		break;
	case EACCES:
	case EPERM:
		cli_say("%s: %s (only its owner and root may look at it)", s->path,
		        strerror(error));
		break;
	default:
		cli_say("%s: %s", s->path, strerror(error));
	}
}
