/* SPDX-License-Identifier: MIT */
#include "tests/unit/conf_world.h"

#include "base/compat.h"
#include "config/timeline.h"

static struct arena *arena;
static char why_text[512];

static bool load(struct timeline *t)
{
	struct fmt why;
	bool ok;

	fmt_init(&why, why_text, sizeof(why_text));
	ok = timeline_load(t, world_path("line"), arena, arena, &why);
	fmt_end(&why);
	return ok;
}

START_TEST(good_files)
{
	static const char text[] = "# the outages of a day\n"
	                           "\n"
	                           "2s 2.5s\n"
	                           "  10ms\t20ms # short\r\n"
	                           "5350.554 5705.069\n"
	                           "0 1\n"
	                           "1h 2h";
	static const struct interval expected[] = {
		{ 2 * DUR_S, 2500 * DUR_MS },
		{ 10 * DUR_MS, 20 * DUR_MS },
		{ 5350554 * DUR_US, 5705069 * DUR_US },
		{ 0, DUR_MS },
		{ 3600 * DUR_S, 7200 * DUR_S },
	};
	struct timeline t;

	arena = arena_new();
	world_open();
	world_put("line", text);
	ck_assert_msg(load(&t), "%s", why_text);
	ck_assert_uint_eq(t.count, ARRAY_LEN(expected));
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		ck_assert_int_eq(t.list[i].start, expected[i].start);
		ck_assert_int_eq(t.list[i].end, expected[i].end);
	}
	world_close();
	arena_free(arena);
}
END_TEST

START_TEST(bad_files)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "holds no interval (lines \"START END\")" },
		{ "# none\n\n", "holds no interval (lines \"START END\")" },
		{ "1s 2s\n3s\n", "line 2: two times are expected (START END)" },
		{ "1s # 2s\n", "line 1: two times are expected (START END)" },
		{ "1s 2s 3s\n", "line 1: more than two times (START END)" },
		{ "2s 1s\n", "line 1: ends at 1s and begins at 2s (START before END)" },
		{ "5 5\n", "line 1: ends at 5ms and begins at 5ms (START before END)" },
		{ "\n\n1s soon\n",
		  "line 3: \"soon\": is not a duration (such as \"2s\", or a number of ms)" },
		{ "-1s 2s",
		  "line 1: \"-1s\": is not a duration (such as \"2s\", or a number of ms)" },
		{ "1x 2s",
		  "line 1: \"1x\": has an unknown unit (such as \"2s\", or a number of ms)" },
		{ "1s 25h", "line 1: \"25h\": is too large (such as \"2s\", or a number of ms)" },
	};
	static char many[(TIMELINE_MAX + 1) * 4 + 1];
	struct timeline t;

	arena = arena_new();
	world_open();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		world_put("line", cases[i].text);
		ck_assert_msg(!load(&t), "%s", cases[i].text);
		if (getenv("SHOW"))
			printf("%s\n", why_text);
		else
			ck_assert_str_eq(why_text, cases[i].why);
	}
	for (unsigned i = 0; i <= TIMELINE_MAX; i++)
		memcpy(many + i * 4, "1 2\n", 4);
	world_put("line", many);
	ck_assert(!load(&t));
	ck_assert_str_eq(why_text, "line 4097: too many intervals (at most 4096)");
	many[TIMELINE_MAX * 4] = '\0';
	world_put("line", many);
	ck_assert_msg(load(&t), "%s", why_text);
	ck_assert_uint_eq(t.count, TIMELINE_MAX);
	/* Bytes, not text. */
	world_put_bytes("line", "1s\0 2s\n", 7);
	ck_assert(!load(&t));
	unlink(world_path("line"));
	ck_assert(!load(&t));
	ck_assert_str_eq(why_text, "cannot be opened: no such file (ENOENT)");
	world_close();
	arena_free(arena);
}
END_TEST

UNIT_MAIN("timeline", &good_files, &bad_files)
