/* SPDX-License-Identifier: MIT */
#include "cli/inuse.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/compat.h"
#include "cli/cli.h"

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

struct in_use in_use_find(const struct env *env, const char *given, bool none_is_word,
                          char *path, size_t size)
{
	const char *named = env_get(env, ENV_CONFIG);
	char host[HOST_NAME_MAX + 1] = "";

	if (given && none_is_word && strcmp(given, "none") == 0)
		return (struct in_use){ NULL, "argument", "as asked" };
	if (given)
		return (struct in_use){ given, "argument", "as asked" };
	gethostname(host, sizeof(host) - 1);
	if (!config_locate(env, SYSCONFDIR, host, path, size)) {
		if (named)
			return (struct in_use){ NULL, "LIBRETRY_CONFIG", "LIBRETRY_CONFIG=none" };
		return (struct in_use){ NULL, "built-in", "no configuration file was found" };
	}
	if (named)
		return (struct in_use){ path, "LIBRETRY_CONFIG", "named by LIBRETRY_CONFIG" };
	if (starts_with(path, SYSCONFDIR "/libretry/hosts.d/"))
		return (struct in_use){ path, "host", "the file of this host" };
	if (starts_with(path, SYSCONFDIR "/libretry/"))
		return (struct in_use){ path, "system", "the system's file" };
	return (struct in_use){ path, "user", "the user's own file" };
}

void in_use_text(const struct in_use *c, char *text, size_t size)
{
	struct fmt f;

	fmt_init(&f, text, size);
	fmt_str(&f, c->file ? c->file : "built-in policies");
	fmt_str(&f, " (");
	fmt_str(&f, c->why);
	fmt_char(&f, ')');
	fmt_end(&f);
}

void in_use_members(struct out *o, const struct in_use *c)
{
	out_member(o, "file", c->file);
	out_member(o, "chosen_by", c->word);
}

void in_use_files(struct out *o, const struct config *c)
{
	static const struct out_column columns[] = { { "path", NULL } };

	out_table(o, "files", NULL, columns, ARRAY_LEN(columns));
	for (unsigned i = 0; i < c->file_count; i++) {
		if (o->json)
			out_cell(o, c->files[i]);
		else if (i)
			out_say(o, "with %s", c->files[i]);
	}
	if (o->json)
		out_table_end(o);
}

void note_rejected(bool rejected[ENV_COUNT], const struct diag *d)
{
	if (d->file || d->level == DIAG_NOTE)
		return;
	for (int v = 0; v < ENV_COUNT; v++) {
		size_t len = strlen(env_name(v));

		if (strncmp(d->text, env_name(v), len) == 0 && d->text[len] == ':')
			rejected[v] = true;
	}
}
