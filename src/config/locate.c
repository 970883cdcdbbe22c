/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/fmt.h"
#include "base/sys.h"
#include "config/config.h"

/* <head><middle><tail> as <path>, and whether such a file exists. A path too
 * long for the buffer does not. */
static bool found(char *path, size_t size, const char *head, const char *middle,
                  const char *tail)
{
	struct fmt f;

	fmt_init(&f, path, size);
	fmt_str(&f, head);
	fmt_str(&f, middle);
	fmt_str(&f, tail);
	fmt_end(&f);
	return !f.cut && sys_exists(path);
}

static bool of_user(const struct env *env, char *path, size_t size)
{
	const char *xdg = env_get(env, ENV_XDG_CONFIG_HOME);
	const char *home = env_get(env, ENV_HOME);

	/* A relative one would mean the program's own working directory. */
	if (xdg && *xdg == '/')
		return found(path, size, xdg, "/libretry/libretry.conf", "");
	if (home && *home == '/')
		return found(path, size, home, "/.config/libretry/libretry.conf", "");
	return false;
}

static bool of_system(const char *dir, const char *host, char *path, size_t size)
{
	char head[512];
	struct fmt f;

	fmt_init(&f, head, sizeof(head));
	fmt_str(&f, dir);
	fmt_str(&f, "/libretry/hosts.d/");
	fmt_end(&f);
	if (host && *host && *host != '.' && !strchr(host, '/') && !f.cut &&
	    found(path, size, head, host, ".conf"))
		return true;
	return found(path, size, dir, "/libretry/libretry.conf", "");
}

bool config_locate(const struct env *env, const char *sysconfdir, const char *hostname,
                   char *path, size_t size)
{
	const char *given = env_get(env, ENV_CONFIG);
	bool in_use;

	if (given && strcmp(given, "none") == 0) {
		in_use = false;
	} else if (given) {
		found(path, size, given, "", "");
		in_use = true;
	} else {
		in_use = of_user(env, path, size) || of_system(sysconfdir, hostname, path, size);
	}
	return in_use;
}
