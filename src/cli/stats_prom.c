/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compat.h"
#include "cli/cli.h"
#include "cli/stats.h"

static const struct stats_dest *dest(void *arg, unsigned i)
{
	return &((const struct stats *)arg)->dests[i];
}

static void flush(void *to, const char *text, size_t len)
{
	fwrite(text, 1, len, to);
}

void stats_prometheus(FILE *to, const struct stats *st)
{
	static char room[VIEW_ROOM];
	const struct view v = { .segment = st->segment->whose,
		                .present = st->present,
		                .wall = st->wall,
		                .places = SHM_SLOTS,
		                .taken = st->count,
		                .overflow = st->overflow,
		                .count = st->count,
		                .dest = dest,
		                .arg = (void *)st,
		                .flush = flush,
		                .to = to,
		                .room = room };

	view_prometheus(&v);
}

static bool write_to(int fd, const struct stats *st)
{
	FILE *to = fdopen(fd, "w");
	bool ok;

	if (!to) {
		close(fd);
		return false;
	}
	/* Its reader is somebody else. */
	fchmod(fd, 0644);
	stats_prometheus(to, st);
	ok = !ferror(to);
	return fclose(to) == 0 && ok;
}

bool stats_prometheus_file(const char *file, const struct stats *st)
{
	const char *slash = strrchr(file, '/');
	int folder = slash ? (int)(slash - file) + 1 : 0;
	char *aside;
	bool ok;
	int fd;

	/* In the same folder, and under a name that no collector reads. */
	if (asprintf(&aside, "%.*s.%s.XXXXXX", folder, file, file + folder) < 0) {
		cli_say("out of memory");
		return false;
	}
	fd = mkstemp(aside);
	ok = fd >= 0 && write_to(fd, st) && rename(aside, file) == 0;
	if (!ok) {
		cli_say("%s: %s", file, strerror(errno));
		if (fd >= 0)
			unlink(aside);
	}
	free(aside);
	return ok;
}

bool stats_health(FILE *to, const struct stats *st)
{
	static const struct out_column columns[] = {
		{ "destination", NULL }, { "policy", NULL }, { "reason", NULL }, { "for", NULL }
	};
	bool ok = true;
	struct out o;

	for (unsigned i = 0; i < st->count; i++)
		ok = ok && !st->dests[i].hold_left && st->dests[i].breaker != BREAKER_OPEN;
	out_open(&o, to, true);
	out_member(&o, "status", ok ? "ok" : "degraded");
	out_member(&o, "segment", st->segment->whose);
	out_member_bool(&o, "present", st->present);
	out_table(&o, "degraded", NULL, columns, ARRAY_LEN(columns));
	for (unsigned i = 0; i < st->count; i++) {
		const struct stats_dest *d = &st->dests[i];

		if (!d->hold_left && d->breaker != BREAKER_OPEN)
			continue;
		out_cell(&o, d->text);
		out_cell(&o, d->policy);
		out_cell(&o, d->hold_left ? "held" : "breaker open");
		out_cell_duration(&o, (d->hold_left ? d->hold_left : d->breaker_left));
	}
	out_table_end(&o);
	out_close(&o);
	return ok;
}
