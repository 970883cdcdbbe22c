/* SPDX-License-Identifier: MIT */
/* A module that is loaded with RTLD_DEEPBIND: seen with process.deepbind = "clear", and
 * only then; and dlopen() goes by the caller, as without us. */
#include "tests/preload/guest.h"

#include <dlfcn.h>
#include <stdlib.h>

/* Each test is a process of its own, which has not read it yet. */
static void configure(const char *deepbind)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/deepbind.conf", getenv("TEST_DIR"));
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fprintf(f, "version = 1;\nprocess = { deepbind = \"%s\"; };\npolicies = { default = { "
	           "base_delay = \"1ms\"; max_delay = \"2ms\"; max_attempts = 3; }; };\n",
	        deepbind);
	fclose(f);
}

static void *load(int flags)
{
	char path[1024];
	void *module;

	deep_path(path, sizeof(path));
	errno = 77;
	module = dlopen(path, flags);
	ck_assert_msg(module != NULL, "%s", dlerror());
	ck_assert_int_eq(errno, 77);
	return module;
}

/* How many retries a connect of the module's has that is refused. */
static unsigned retries(void *module)
{
	int (*deep_connect)(int fd, const struct sockaddr *sa, socklen_t len);
	unsigned before = log_lines(" retry ");
	struct sockaddr_in to;
	int server = bound(&to);
	int fd = tcp_socket();

	*(void **)&deep_connect = dlsym(module, "deep_connect");
	ck_assert_ptr_nonnull((void *)deep_connect);
	ck_assert_int_eq(deep_connect(fd, (struct sockaddr *)&to, sizeof(to)), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	close(fd);
	close(server);
	return log_lines(" retry ") - before;
}

START_TEST(kept)
{
	configure("keep");
	ck_assert_uint_eq(retries(load(RTLD_NOW | RTLD_DEEPBIND)), 0);
}
END_TEST

START_TEST(cleared)
{
	configure("clear");
	ck_assert_uint_eq(retries(load(RTLD_NOW | RTLD_DEEPBIND)), 2);
}
END_TEST

/* Without the flag there is nothing to ask the configuration for. */
START_TEST(not_asked_for)
{
	configure("nonsense");
	load(RTLD_NOW);
	ck_assert_uint_eq(log_lines("config"), 0);
	configure("keep");
	ck_assert_uint_eq(retries(load(RTLD_NOW)), 2);
}
END_TEST

/* The module has a RUNPATH, the program has none. */
START_TEST(the_caller_decides_where_to_look)
{
	void *(*deep_open)(const char *name, int flags);
	void *module;

	configure("clear");
	module = load(RTLD_NOW | RTLD_DEEPBIND);
	*(void **)&deep_open = dlsym(module, "deep_open");
	ck_assert_ptr_nonnull((void *)deep_open);
	ck_assert_ptr_null(dlopen("kinds.so", RTLD_NOW));
	ck_assert_ptr_nonnull(strstr(dlerror(), "kinds.so: cannot open"));
	ck_assert_ptr_nonnull(deep_open("kinds.so", RTLD_NOW));
	ck_assert_ptr_nonnull(dlopen(NULL, RTLD_NOW));
}
END_TEST

UNIT_MAIN("deepbind", &kept, &cleared, &not_asked_for, &the_caller_decides_where_to_look)
