/* SPDX-License-Identifier: MIT */
#include "policy/classify.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "base/libc.h"
#include "policy/builtin.h"
#include "tests/unit/unit.h"

/* Design section 4, row by row: error, on a Unix path?, class, by default? */
START_TEST(design_table)
{
	static const struct {
		enum err_domain domain;
		int code, sys;
		bool unix_dest;
		enum err_class class;
		bool retried;
	} rows[] = {
		{ ERR_ERRNO, ECONNREFUSED, 0, false, CLASS_REFUSED, true },
		{ ERR_ERRNO, ECONNREFUSED, 0, true, CLASS_REFUSED, true },
		{ ERR_ERRNO, ETIMEDOUT, 0, false, CLASS_TIMEOUT, true },
		{ ERR_ERRNO, EHOSTUNREACH, 0, false, CLASS_UNREACHABLE, true },
		{ ERR_ERRNO, ENETUNREACH, 0, false, CLASS_UNREACHABLE, true },
		{ ERR_ERRNO, EHOSTDOWN, 0, false, CLASS_UNREACHABLE, true },
		{ ERR_ERRNO, ENETDOWN, 0, false, CLASS_UNREACHABLE, true },
		{ ERR_ERRNO, ECONNRESET, 0, false, CLASS_RESET, true },
		{ ERR_ERRNO, ECONNABORTED, 0, false, CLASS_RESET, true },
		{ ERR_ERRNO, EADDRNOTAVAIL, 0, false, CLASS_LOCAL_RESOURCE, true },
		{ ERR_ERRNO, ENOBUFS, 0, false, CLASS_LOCAL_RESOURCE, true },
		{ ERR_ERRNO, ENOMEM, 0, false, CLASS_LOCAL_RESOURCE, true },
		{ ERR_ERRNO, EAGAIN, 0, true, CLASS_LOCAL_RESOURCE, true },
		{ ERR_ERRNO, EAGAIN, 0, false, CLASS_NONE, false },
		{ ERR_ERRNO, ENOENT, 0, true, CLASS_UNIX_MISSING, false },
		{ ERR_ERRNO, ENOENT, 0, false, CLASS_NONE, false },
		{ ERR_ERRNO, EACCES, 0, false, CLASS_NONE, false },
		{ ERR_ERRNO, EADDRINUSE, 0, false, CLASS_NONE, false },
		{ ERR_EAI, EAI_AGAIN, 0, false, CLASS_DNS_TEMPORARY, true },
		{ ERR_EAI, EAI_SYSTEM, ECONNREFUSED, false, CLASS_DNS_TEMPORARY, true },
		{ ERR_EAI, EAI_SYSTEM, EMFILE, false, CLASS_NONE, false },
		{ ERR_EAI, EAI_NONAME, 0, false, CLASS_DNS_MISSING, false },
		{ ERR_EAI, EAI_NODATA, 0, false, CLASS_DNS_MISSING, false },
		{ ERR_EAI, EAI_FAIL, 0, false, CLASS_NONE, false },
		{ ERR_HERRNO, TRY_AGAIN, 0, false, CLASS_DNS_TEMPORARY, true },
		{ ERR_HERRNO, HOST_NOT_FOUND, 0, false, CLASS_DNS_MISSING, false },
		{ ERR_HERRNO, NO_DATA, 0, false, CLASS_DNS_MISSING, false },
		{ ERR_HERRNO, NO_RECOVERY, 0, false, CLASS_NONE, false },
		{ ERR_HERRNO, NETDB_INTERNAL, ERANGE, false, CLASS_NONE, false },
		{ ERR_HERRNO, NETDB_INTERNAL, ENETUNREACH, false, CLASS_DNS_TEMPORARY, true },
	};
	struct policy p = builtin_default();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err e = { rows[i].domain, rows[i].code };
		enum op op = e.domain == ERR_ERRNO ? OP_CONNECT : OP_LOOKUP;

		ck_assert_msg(classify(op, e, rows[i].sys, rows[i].unix_dest) == rows[i].class,
		              "row %zu: class", i);
		ck_assert_msg(policy_retries(&p, op, e, rows[i].sys, rows[i].unix_dest) ==
		                      rows[i].retried,
		              "row %zu: retried", i);
	}
}
END_TEST

/* Even if a set held them, they are never retried. */
START_TEST(fixed_errors_never)
{
	static const int codes[] = { EACCES,       EPERM,      EBADF,   EFAULT,      EINVAL,
	                             ENOTSOCK,     EPROTOTYPE, EISCONN, EAFNOSUPPORT, EALREADY,
	                             EINPROGRESS,  EINTR };
	struct policy p = builtin_default();

	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		struct err e = { ERR_ERRNO, codes[i] };

		ck_assert(err_is_fixed(e));
		ck_assert(err_set_add(&p.retry, e));
		ck_assert(!policy_retries(&p, OP_CONNECT, e, 0, false));
	}
	ck_assert(err_is_fixed((struct err){ ERR_EAI, EAI_SERVICE }));
	ck_assert(!err_is_fixed((struct err){ ERR_EAI, EAI_NONAME }));
}
END_TEST

START_TEST(sets)
{
	struct err_set s;
	struct err e = { ERR_ERRNO, EADDRINUSE };

	memset(&s, 0, sizeof(s));
	ck_assert(!err_set_has(&s, e));
	ck_assert(err_set_add(&s, e));
	ck_assert(err_set_has(&s, e));
	err_set_remove(&s, e);
	ck_assert(!err_set_has(&s, e));
	/* h_errno codes are their getaddrinfo twins. */
	ck_assert(err_set_add(&s, (struct err){ ERR_HERRNO, TRY_AGAIN }));
	ck_assert(err_set_has(&s, (struct err){ ERR_EAI, EAI_AGAIN }));
	/* Out of range: refused, and no memory touched. */
	ck_assert(!err_set_add(&s, (struct err){ ERR_ERRNO, 192 }));
	ck_assert(!err_set_add(&s, (struct err){ ERR_ERRNO, -1 }));
	ck_assert(!err_set_add(&s, (struct err){ ERR_EAI, -105 }));
	ck_assert(!err_set_has(&s, (struct err){ ERR_ERRNO, 100000 }));
	err_set_remove(&s, (struct err){ ERR_ERRNO, 100000 });
	err_set_add_class(&s, CLASS_UNREACHABLE);
	ck_assert(err_set_has(&s, (struct err){ ERR_ERRNO, EHOSTDOWN }));
	err_set_remove_class(&s, CLASS_UNREACHABLE);
	ck_assert(!err_set_has(&s, (struct err){ ERR_ERRNO, EHOSTDOWN }));
}
END_TEST

START_TEST(class_names_round_trip)
{
	for (unsigned c = 0; c < CLASS_COUNT; c++)
		ck_assert_int_eq(class_parse(class_name((enum err_class)c)), (int)c);
	ck_assert_int_eq(class_parse("Refused"), CLASS_NONE);
	ck_assert_ptr_null(class_name(CLASS_NONE));
}
END_TEST

UNIT_MAIN("classify", &design_table, &fixed_errors_never, &sets, &class_names_round_trip)
