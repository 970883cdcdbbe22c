/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "conf_world.h"

static void put(const char *dir, const char *name)
{
	char path[200];

	mkdir(world_path(dir), 0700);
	snprintf(path, sizeof(path), "%s/libretry", dir);
	mkdir(world_path(path), 0700);
	snprintf(path, sizeof(path), "%s/libretry/hosts.d", dir);
	mkdir(world_path(path), 0700);
	snprintf(path, sizeof(path), "%s/libretry/%s", dir, name);
	world_put(path, "version = 1;");
}

/* What is found with the variables <a> and <b> ("NAME=D/x"), in short. */
static const char *locate(const char *a, const char *b, bool secure)
{
	static char path[256], result[256];
	char first[200] = "", second[200] = "";
	char *vars[] = { first, second, NULL };
	bool found;

	for (int i = 0; i < 2; i++) {
		const char *s = i ? b : a, *d = s ? strstr(s, "D/") : NULL;

		if (d)
			snprintf(vars[i], 200, "%.*s%s%s", (int)(d - s), s, world_dir, d + 1);
		else if (s)
			snprintf(vars[i], 200, "%s", s);
	}
	env_snapshot(&the_env, vars, secure);
	errno = 4711;
	found = config_locate(&the_env, world_path("etc"), "host1", path, sizeof(path));
	ck_assert_int_eq(errno, 4711);
	world_shorten(result, sizeof(result), found ? path : "-");
	return result;
}

START_TEST(searches_in_order)
{
	world_open();
	ck_assert_str_eq(locate("HOME=D/home", NULL, false), "-");
	put("etc", "libretry.conf");
	ck_assert_str_eq(locate("HOME=D/home", NULL, false), "D/etc/libretry/libretry.conf");
	put("etc", "hosts.d/host2.conf");
	ck_assert_str_eq(locate("HOME=D/home", NULL, false), "D/etc/libretry/libretry.conf");
	put("etc", "hosts.d/host1.conf");
	ck_assert_str_eq(locate("HOME=D/home", NULL, false), "D/etc/libretry/hosts.d/host1.conf");
	mkdir(world_path("home"), 0700);
	put("home/.config", "libretry.conf");
	ck_assert_str_eq(locate("HOME=D/home", NULL, false),
	                 "D/home/.config/libretry/libretry.conf");
	put("xdg", "libretry.conf");
	ck_assert_str_eq(locate("HOME=D/home", "XDG_CONFIG_HOME=D/xdg", false),
	                 "D/xdg/libretry/libretry.conf");
	ck_assert_str_eq(locate("XDG_CONFIG_HOME=D/xdg", "LIBRETRY_CONFIG=D/my.conf", false),
	                 "D/my.conf");
	world_close();
}
END_TEST

START_TEST(xdg_replaces_home)
{
	world_open();
	mkdir(world_path("home"), 0700);
	put("home/.config", "libretry.conf");
	ck_assert_str_eq(locate("HOME=D/home", "XDG_CONFIG_HOME=D/empty", false), "-");
	ck_assert_str_eq(locate("HOME=D/home", "XDG_CONFIG_HOME=rel", false),
	                 "D/home/.config/libretry/libretry.conf");
	ck_assert_str_eq(locate("HOME=rel", NULL, false), "-");
	world_close();
}
END_TEST

START_TEST(secure_mode_takes_the_systems_only)
{
	world_open();
	put("xdg", "libretry.conf");
	put("etc", "libretry.conf");
	ck_assert_str_eq(locate("XDG_CONFIG_HOME=D/xdg", "LIBRETRY_CONFIG=D/my.conf", true),
	                 "D/etc/libretry/libretry.conf");
	ck_assert_str_eq(locate("LIBRETRY_CONFIG=none", NULL, true),
	                 "D/etc/libretry/libretry.conf");
	world_close();
}
END_TEST

START_TEST(variable_is_taken_as_it_is)
{
	world_open();
	put("etc", "libretry.conf");
	ck_assert_str_eq(locate("LIBRETRY_CONFIG=none", NULL, false), "-");
	ck_assert_str_eq(locate("LIBRETRY_CONFIG=rel/x.conf", NULL, false), "rel/x.conf");
	ck_assert_str_eq(locate("LIBRETRY_CONFIG=", NULL, false), "D/etc/libretry/libretry.conf");
	world_close();
}
END_TEST

START_TEST(hostile_names)
{
	static const char *const hosts[] = { "../x", "a/b", "", ".", NULL };
	char path[64], small[8], *vars[] = { NULL };

	world_open();
	put("etc", "libretry.conf");
	put("etc", "x.conf");
	env_snapshot(&the_env, vars, false);
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		ck_assert(config_locate(&the_env, world_path("etc"), hosts[i], path, sizeof(path)));
		ck_assert_str_eq(path + strlen(world_dir), "/etc/libretry/libretry.conf");
	}
	ck_assert(!config_locate(&the_env, world_path("etc"), "h", small, sizeof(small)));
	world_close();
}
END_TEST

UNIT_MAIN("locate", &searches_in_order, &xdg_replaces_home,
          &secure_mode_takes_the_systems_only, &variable_is_taken_as_it_is, &hostile_names)
