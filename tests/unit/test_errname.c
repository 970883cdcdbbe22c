/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "base/errname.h"
#include "base/libc.h"

START_TEST(prints_known_names)
{
	static const struct {
		struct err err;
		const char *name;
	} cases[] = {
		{ { ERR_ERRNO, ECONNREFUSED }, "ECONNREFUSED" },
		{ { ERR_ERRNO, EPERM }, "EPERM" },
		{ { ERR_ERRNO, EHWPOISON }, "EHWPOISON" },
		{ { ERR_ERRNO, EWOULDBLOCK }, "EAGAIN" },
		{ { ERR_ERRNO, ENOTSUP }, "EOPNOTSUPP" },
		{ { ERR_ERRNO, EDEADLOCK }, "EDEADLK" },
		{ { ERR_EAI, EAI_AGAIN }, "EAI_AGAIN" },
		{ { ERR_EAI, EAI_NODATA }, "EAI_NODATA" },
		{ { ERR_HERRNO, TRY_AGAIN }, "TRY_AGAIN" },
		{ { ERR_HERRNO, NO_ADDRESS }, "NO_DATA" },
		{ { ERR_HERRNO, NETDB_INTERNAL }, "NETDB_INTERNAL" },
		{ { ERR_ERRNO, 0 }, NULL },
		{ { ERR_ERRNO, -1 }, NULL },
		{ { ERR_ERRNO, 4095 }, NULL },
		{ { ERR_EAI, 0 }, NULL },
		{ { ERR_EAI, ECONNREFUSED }, NULL },
		{ { ERR_HERRNO, 0 }, NULL },
		{ { (enum err_domain)7, EPERM }, NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *name = err_name(cases[i].err);

		if (cases[i].name)
			ck_assert_str_eq(name, cases[i].name);
		else
			ck_assert_ptr_null(name);
	}
}
END_TEST

START_TEST(reads_names)
{
	struct err e = { ERR_ERRNO, 12345 };

	ck_assert(!err_parse("", &e));
	ck_assert(!err_parse("econnrefused", &e));
	ck_assert(!err_parse("ECONNREFUSED ", &e));
	ck_assert(!err_parse("ENOSUCHTHING", &e));
	ck_assert_int_eq(e.code, 12345);
	ck_assert(err_parse("EWOULDBLOCK", &e));
	ck_assert_int_eq(e.domain, ERR_ERRNO);
	ck_assert_int_eq(e.code, EAGAIN);
	ck_assert(err_parse("EAI_AGAIN", &e));
	ck_assert_int_eq(e.domain, ERR_EAI);
	ck_assert_int_eq(e.code, EAI_AGAIN);
	ck_assert(err_parse("HOST_NOT_FOUND", &e));
	ck_assert_int_eq(e.domain, ERR_HERRNO);
	ck_assert_int_eq(e.code, HOST_NOT_FOUND);
}
END_TEST

/* Every errno that the kernel can give has a name, and each name its number. */
START_TEST(covers_all_errnos)
{
	for (int code = 1; code <= EHWPOISON; code++) {
		struct err e = { ERR_ERRNO, code }, back;
		/* 41 and 58 were EWOULDBLOCK and EDEADLOCK once. */
		bool hole = code == 41 || code == 58;

		ck_assert_msg((err_name(e) == NULL) == hole, "errno %d", code);
		if (hole)
			continue;
#ifdef __GLIBC__
		ck_assert_str_eq(err_name(e), strerrorname_np(code));
#endif
		ck_assert(err_parse(err_name(e), &back));
		ck_assert_int_eq(back.code, code);
	}
}
END_TEST

START_TEST(table_has_no_duplicates)
{
	unsigned count = 0;

	for (const char *name; (name = err_table_name(count)) != NULL; count++) {
		struct err e;

		ck_assert(err_parse(name, &e));
		ck_assert_ptr_nonnull(err_name(e));
		for (unsigned i = 0; i < count; i++)
			ck_assert_str_ne(name, err_table_name(i));
	}
	ck_assert_uint_gt(count, 150);
	ck_assert_ptr_null(err_table_name(count + 1));
	ck_assert_ptr_null(err_table_name(~0U));
}
END_TEST

UNIT_MAIN("errname", &prints_known_names, &reads_names, &covers_all_errnos,
          &table_has_no_duplicates)
