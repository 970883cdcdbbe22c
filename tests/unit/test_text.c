/* SPDX-License-Identifier: MIT */
#include <stdint.h>

#include "conf_world.h"

#include "config/scan.h"

static struct arena *keep, *scratch;
static struct diag_sink sink;
static struct text text;

static bool load(const char *name)
{
	said.count = 0;
	sink = (struct diag_sink){ .report = world_hear, .ctx = &said };
	return text_load(&text, world_path(name), keep, scratch, scratch, &sink);
}

static void begin(void)
{
	world_open();
	keep = arena_new();
	scratch = arena_new();
}

static void end(void)
{
	arena_free(keep);
	arena_free(scratch);
	world_close();
}

/* Line <line> was written in <file>:<at>. */
static void comes_from(unsigned line, const char *file, unsigned at)
{
	struct source s = text_source(&text, line);
	char name[300];

	world_shorten(name, sizeof(name), s.file);
	ck_assert_str_eq(name, file);
	ck_assert_uint_eq(s.line, at);
}

START_TEST(reads_as_it_is)
{
	begin();
	world_put("a", "one\ntwo\n\nlast");
	ck_assert(load("a"));
	ck_assert_str_eq(text.bytes, "one\ntwo\n\nlast");
	comes_from(1, "D/a", 1);
	comes_from(4, "D/a", 4);
	world_put("empty", "");
	ck_assert(load("empty"));
	ck_assert_uint_eq(text.len, 0);
	comes_from(1, "D/empty", 1);
	world_put("bom", "\xef\xbb\xbf" "x = 1;");
	ck_assert(load("bom"));
	ck_assert_str_eq(text.bytes, "x = 1;");
	ck_assert_uint_eq(said.count, 0);
	end();
}
END_TEST

START_TEST(resolves_includes)
{
	begin();
	mkdir(world_path("sub"), 0700);
	world_put("main", "1\n \t@include \"sub/a\"\n3\n");
	world_put("sub/a", "a1\n@include \t\"b\" a2rest\na3");
	world_put("sub/b", "b1\nb2");
	ck_assert(load("main"));
	ck_assert_str_eq(text.bytes, "1\na1\nb1\nb2\n a2rest\na3\n\n3\n");
	comes_from(1, "D/main", 1);
	comes_from(2, "D/sub/a", 1);
	comes_from(3, "D/sub/b", 1);
	comes_from(4, "D/sub/b", 2);
	comes_from(5, "D/sub/a", 2);
	comes_from(6, "D/sub/a", 3);
	comes_from(7, "D/main", 2);
	comes_from(8, "D/main", 3);
	ck_assert_uint_eq(text.included_count, 2);
	ck_assert_uint_eq(said.count, 0);
	end();
}
END_TEST

START_TEST(same_file_twice_is_no_circle)
{
	begin();
	world_put("main", "@include \"a\"\n@include \"a\"\n");
	world_put("a", "x\n");
	ck_assert(load("main"));
	ck_assert_str_eq(text.bytes, "x\n\nx\n\n");
	ck_assert_uint_eq(said.count, 0);
	end();
}
END_TEST

START_TEST(absolute_include)
{
	char buf[300];

	begin();
	world_put("b", "found\n");
	snprintf(buf, sizeof(buf), "@include \"%s\"\n", world_path("b"));
	world_put("main", buf);
	ck_assert(load("main"));
	ck_assert_str_eq(text.bytes, "found\n\n");
	end();
}
END_TEST

START_TEST(only_at_the_start_outside_of_texts)
{
	static const char plain[] = "x = 1; @include \"no\"\n"
				    "# @include \"no\"\n"
				    "// \\\n"
				    "/* \n@include \"no\"\n */ @include \"no\"\n"
				    "a = \" \\\" \n@include \\\"no\\\"\n\";\n"
				    "@include\"no\"\n"
				    "@includes \"no\"\n"
				    "@include no\n"
				    "b = \"\\\\\"; # \"\n";

	begin();
	world_put("main", plain);
	ck_assert(load("main"));
	ck_assert_str_eq(text.bytes, plain);
	ck_assert_uint_eq(said.count, 0);
	end();
}
END_TEST

START_TEST(bad_includes_are_reported_and_passed_over)
{
	static const char *const lines[] = {
		"E D/main:1: @include: \".\": is a folder (a regular file is expected)",
		"E D/main:2: @include: \"missing\": cannot be opened: no such file (ENOENT)",
		"E D/main:3: @include: the quotes are not closed",
		"E D/main:4: @include: \"main\": includes itself (a circle)",
		"E D/b:1: @include: \"./main\": includes itself (a circle)",
		"E D/nul:2: a NUL byte: this is not a text file",
		"E D/main:7: @include: \"\": is a folder (a regular file is expected)",
		NULL,
	};

	begin();
	world_put("main", "@include \".\"\n@include \"missing\"\n@include \"x\n@include \"main\"\n"
	                  "@include \"b\"\n@include \"nul\"\n@include \"\"\nend\n");
	world_put("b", "@include \"./main\"\n");
	world_put_bytes("nul", "a\nb\0c", 5);
	ck_assert(load("main"));
	world_said("includes", lines);
	ck_assert_ptr_nonnull(strstr(text.bytes, "end\n"));
	ck_assert_ptr_null(strchr(text.bytes, '@'));
	end();
}
END_TEST

START_TEST(depth_is_bounded)
{
	static const char *const lines[] = {
		"E D/8:1: @include: \"9\": nested too deep (at most 8)", NULL,
	};
	char name[16], buf[64];

	begin();
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "%d", i);
		snprintf(buf, sizeof(buf), "@include \"%d\"\nx%d\n", i + 1, i);
		world_put(name, buf);
	}
	ck_assert(load("0"));
	world_said("depth", lines);
	ck_assert_ptr_nonnull(strstr(text.bytes, "x8"));
	ck_assert_ptr_null(strstr(text.bytes, "x9"));
	end();
}
END_TEST

START_TEST(number_of_includes_is_bounded)
{
	static const char *const lines[] = {
		"E D/main:257: @include: \"e\": too many files (at most 256)", NULL,
	};
	static char buf[257 * 16];
	struct fmt f;

	begin();
	fmt_init(&f, buf, sizeof(buf));
	for (int i = 0; i < 257; i++)
		fmt_str(&f, "@include \"e\"\n");
	fmt_end(&f);
	world_put("main", buf);
	world_put("e", "");
	ck_assert(load("main"));
	world_said("number", lines);
	comes_from(257, "D/main", 257);
	end();
}
END_TEST

START_TEST(size_is_bounded)
{
	static const char *const one[] = {
		"U D/b: has 1048577 bytes: too large (at most 1048576)", NULL,
	};
	static const char *const both[] = {
		"E D/a:1: the text and what it includes are too large (at most 1048576 bytes)",
		NULL,
	};
	char *big = malloc(TEXT_MAX + 1);

	begin();
	memset(big, 'x', TEXT_MAX + 1);
	world_put_bytes("a", big, TEXT_MAX);
	world_put_bytes("b", big, TEXT_MAX + 1);
	ck_assert(load("a"));
	ck_assert_uint_eq(text.len, TEXT_MAX);
	ck_assert_uint_eq(said.count, 0);
	ck_assert(!load("b"));
	world_said("file", one);
	world_put("main", "y\n@include \"a\"\n");
	ck_assert(!load("main"));
	world_said("sum", both);
	free(big);
	end();
}
END_TEST

START_TEST(bytes_are_checked)
{
	static const struct {
		const char *bytes;
		bool good;
	} table[] = {
		{ "\xc3\xa9", true },          { "\xe2\x82\xac", true },
		{ "\xf0\x9f\x98\x80", true },  { "\xf4\x8f\xbf\xbf", true },
		{ "\xe9", false },             { "\xc0\x80", false },
		{ "\xc1\xbf", false },         { "\xe0\x80\x80", false },
		{ "\xed\xa0\x80", false },     { "\xf4\x90\x80\x80", false },
		{ "\xf8\x88\x80\x80\x80", false }, { "\x80", false },
		{ "\xe2\x82", false },         { "\xff", false },
	};
	static const char *const bad[] = {
		"E D/a:2: not valid UTF-8 (write the file in UTF-8)", NULL,
	};
	static const char *const good[] = { NULL };

	begin();
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		char buf[32];

		snprintf(buf, sizeof(buf), "x\n%s", table[i].bytes);
		world_put("a", buf);
		ck_assert(load("a"));
		world_said("utf-8", table[i].good ? good : bad);
	}
	end();
}
END_TEST

START_TEST(lexer_states)
{
	static const struct {
		const char *text;
		enum lex state;
	} table[] = {
		{ "", LEX_PLAIN },          { "a \"b\" c", LEX_PLAIN },
		{ "\"", LEX_STRING },       { "\"\\\"", LEX_STRING },
		{ "\"\\\\\"", LEX_PLAIN },  { "\"#/*//", LEX_STRING },
		{ "# \"", LEX_LINE_COMMENT }, { "// \"", LEX_LINE_COMMENT },
		{ "# \"\n", LEX_PLAIN },    { "/* \"", LEX_BLOCK_COMMENT },
		{ "/*/", LEX_BLOCK_COMMENT }, { "/**/", LEX_PLAIN },
		{ "/* # */ \"", LEX_STRING }, { "a / b", LEX_PLAIN },
		{ "\"\\x\"", LEX_PLAIN },   { "/* *", LEX_BLOCK_COMMENT },
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		ck_assert_msg(lex_skip(LEX_PLAIN, table[i].text, strlen(table[i].text)) ==
		                      table[i].state,
		              "%s", table[i].text);
}
END_TEST

START_TEST(numbers)
{
	static const struct {
		const char *text;
		enum number kind;
	} table[] = {
		{ "0", NUMBER_INT },                { "-0", NUMBER_INT },
		{ "+7", NUMBER_INT },               { "2147483647", NUMBER_INT },
		{ "2147483648", NUMBER_TOO_LARGE }, { "-2147483648", NUMBER_INT },
		{ "-2147483649", NUMBER_TOO_LARGE }, { "4294967297", NUMBER_TOO_LARGE },
		{ "99999999999999999999999999", NUMBER_TOO_LARGE },
		{ "0x7fffffff", NUMBER_INT },       { "0x80000000", NUMBER_TOO_LARGE },
		{ "0XFFFFFFFFFF", NUMBER_TOO_LARGE }, { "4294967297L", NUMBER_INT },
		{ "4294967297LL", NUMBER_INT },     { "9223372036854775807L", NUMBER_INT },
		{ "9223372036854775808L", NUMBER_TOO_LARGE_64 },
		{ "-9223372036854775808L", NUMBER_INT },
		{ "0xFFFFFFFFFFFFFFFFL", NUMBER_TOO_LARGE_64 },
		{ "1.5", NUMBER_FLOAT },            { ".5", NUMBER_FLOAT },
		{ "5.", NUMBER_FLOAT },             { "1e9", NUMBER_FLOAT },
		{ "-1.5e-3", NUMBER_FLOAT },        { "99999999999.0", NUMBER_FLOAT },
		{ "1e", NUMBER_NONE },              { "100ms", NUMBER_NONE },
		{ "10.0.0.1", NUMBER_NONE },        { "0x", NUMBER_NONE },
		{ "-0x10", NUMBER_NONE },           { "L", NUMBER_NONE },
		{ "+", NUMBER_NONE },               { "", NUMBER_NONE },
		{ "1LLL", NUMBER_NONE },            { "e5", NUMBER_NONE },
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		ck_assert_msg(number_kind(table[i].text, strlen(table[i].text)) == table[i].kind,
		              "%s", table[i].text);
}
END_TEST

/* libconfig 1.5 exits on a directive that names a folder, so none may be left
 * where it might see one, whatever the text around it. */
START_TEST(no_directive_survives_the_scan)
{
	static const char *const table[] = {
		"/* c */ @include \".\"\n",   "x = ; @include \".\"\n",
		"x = \"\n@include \\\".\\\"\";\n", "/*\n@include \".\"\n*/ y = 1;\n",
		"a = ( b,\n@include\".\" );\n", "\r@include \".\"\n",
		"\f@include \".\"\n",          "x =\n\t@include\v\".\"\n",
	};

	begin();
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		world_put("a", table[i]);
		ck_assert(load("a"));
		if (!scan_text(&text, scratch, &sink))
			continue;
		for (const char *s = strchr(text.bytes, '@'); s; s = strchr(s + 1, '@')) {
			const char *line = s;

			while (line > text.bytes && (line[-1] == ' ' || line[-1] == '\t'))
				line--;
			ck_assert_msg(line > text.bytes && line[-1] != '\n', "%s", table[i]);
		}
	}
	end();
}
END_TEST

UNIT_MAIN("text", &reads_as_it_is, &resolves_includes, &same_file_twice_is_no_circle,
          &absolute_include, &only_at_the_start_outside_of_texts,
          &bad_includes_are_reported_and_passed_over, &depth_is_bounded,
          &number_of_includes_is_bounded, &size_is_bounded, &bytes_are_checked, &lexer_states,
          &numbers, &no_directive_survives_the_scan)
