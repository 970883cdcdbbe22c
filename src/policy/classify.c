/* SPDX-License-Identifier: MIT */
#include "policy/classify.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "base/compat.h"
#include "base/libc.h"

#define CLASS_MEMBERS 4

/* One row per class. A 0 ends the members. EAGAIN counts on Unix sockets only
 * (classify() and policy_retries() see to that), ENOENT too. */
static const struct {
	const char *name;
	bool on;
	int errnos[CLASS_MEMBERS + 1];
	int eais[CLASS_MEMBERS];
} classes[CLASS_COUNT] = {
	[CLASS_REFUSED] = { "refused", true, { ECONNREFUSED }, { 0 } },
	[CLASS_TIMEOUT] = { "timeout", true, { ETIMEDOUT }, { 0 } },
	[CLASS_UNREACHABLE] = { "unreachable",
	                        true,
	                        { EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN },
	                        { 0 } },
	[CLASS_RESET] = { "reset", true, { ECONNRESET, ECONNABORTED }, { 0 } },
	[CLASS_LOCAL_RESOURCE] = { "local-resource",
	                           true,
	                           { EADDRNOTAVAIL, ENOBUFS, ENOMEM, EAGAIN },
	                           { 0 } },
	[CLASS_DNS_TEMPORARY] = { "dns-temporary", true, { 0 }, { EAI_AGAIN, EAI_SYSTEM } },
	[CLASS_DNS_MISSING] = { "dns-missing", false, { 0 }, { EAI_NONAME, EAI_NODATA } },
	[CLASS_UNIX_MISSING] = { "unix-missing", false, { ENOENT }, { 0 } },
};

static const int fixed_errnos[] = {
	EACCES,     EPERM,   EBADF,    EFAULT,      EINVAL, ENOTSOCK,     EAFNOSUPPORT,
	EPROTOTYPE, EISCONN, EALREADY, EINPROGRESS, EINTR,  EDESTADDRREQ, EMSGSIZE,
};

static const int fixed_eais[] = { EAI_BADFLAGS, EAI_FAMILY, EAI_SERVICE, EAI_SOCKTYPE };

const char *class_name(enum err_class c)
{
	return c < CLASS_COUNT ? classes[c].name : NULL;
}

enum err_class class_parse(const char *name)
{
	for (unsigned c = 0; c < CLASS_COUNT; c++)
		if (strcmp(name, classes[c].name) == 0)
			return (enum err_class)c;
	return CLASS_NONE;
}

/* gethostbyname's codes are getaddrinfo's under other names. */
static int as_eai(int h)
{
	switch (h) {
	case TRY_AGAIN:
		return EAI_AGAIN;
	case HOST_NOT_FOUND:
		return EAI_NONAME;
	case NO_DATA:
		return EAI_NODATA;
	case NETDB_INTERNAL:
		return EAI_SYSTEM;
	default:
		return EAI_FAIL;
	}
}

static struct err normal(struct err e)
{
	if (e.domain == ERR_HERRNO)
		return (struct err){ ERR_EAI, as_eai(e.code) };
	return e;
}

/* The word and bit of <e> in a set; NULL if it has none. */
static uint64_t *errno_word(struct err_set *set, int code)
{
	if (code <= 0 || (unsigned)code >= 64 * ARRAY_LEN(set->errnos))
		return NULL;
	return &set->errnos[code / 64];
}

bool err_set_add(struct err_set *set, struct err e)
{
	uint64_t *word;

	e = normal(e);
	if (e.domain == ERR_EAI) {
		if (e.code >= 0 || e.code <= -32)
			return false;
		set->eais |= UINT32_C(1) << -e.code;
		return true;
	}
	word = errno_word(set, e.code);
	if (!word)
		return false;
	*word |= UINT64_C(1) << (e.code % 64);
	return true;
}

void err_set_remove(struct err_set *set, struct err e)
{
	uint64_t *word;

	e = normal(e);
	if (e.domain == ERR_EAI) {
		if (e.code < 0 && e.code > -32)
			set->eais &= ~(UINT32_C(1) << -e.code);
		return;
	}
	word = errno_word(set, e.code);
	if (word)
		*word &= ~(UINT64_C(1) << (e.code % 64));
}

bool err_set_has(const struct err_set *set, struct err e)
{
	e = normal(e);
	if (e.domain == ERR_EAI)
		return e.code < 0 && e.code > -32 && (set->eais >> -e.code & 1);
	if (e.code <= 0 || (unsigned)e.code >= 64 * ARRAY_LEN(set->errnos))
		return false;
	return set->errnos[e.code / 64] >> (e.code % 64) & 1;
}

static void each_member(struct err_set *set, enum err_class c, bool add)
{
	for (const int *p = classes[c].errnos; *p; p++) {
		struct err e = { ERR_ERRNO, *p };

		if (add)
			err_set_add(set, e);
		else
			err_set_remove(set, e);
	}
	for (unsigned i = 0; i < CLASS_MEMBERS && classes[c].eais[i]; i++) {
		struct err e = { ERR_EAI, classes[c].eais[i] };

		if (add)
			err_set_add(set, e);
		else
			err_set_remove(set, e);
	}
}

void err_set_add_class(struct err_set *set, enum err_class c)
{
	if (c < CLASS_COUNT)
		each_member(set, c, true);
}

void err_set_remove_class(struct err_set *set, enum err_class c)
{
	if (c < CLASS_COUNT)
		each_member(set, c, false);
}

struct err_set err_set_default(void)
{
	struct err_set set;

	memset(&set, 0, sizeof(set));
	for (unsigned c = 0; c < CLASS_COUNT; c++)
		if (classes[c].on)
			each_member(&set, (enum err_class)c, true);
	return set;
}

bool err_is_fixed(struct err e)
{
	e = normal(e);
	if (e.domain == ERR_EAI) {
		for (unsigned i = 0; i < ARRAY_LEN(fixed_eais); i++)
			if (fixed_eais[i] == e.code)
				return true;
		return false;
	}
	for (unsigned i = 0; i < ARRAY_LEN(fixed_errnos); i++)
		if (fixed_errnos[i] == e.code)
			return true;
	return false;
}

/* EAGAIN is a full queue and ENOENT a missing socket only where a Unix path
 * is connected; elsewhere they mean something that waiting does not cure. */
static bool only_unix(int code)
{
	return code == EAGAIN || code == ENOENT;
}

static enum err_class class_of_errno(int code, bool unix_dest)
{
	if (only_unix(code) && !unix_dest)
		return CLASS_NONE;
	for (unsigned c = 0; c < CLASS_COUNT; c++)
		for (const int *p = classes[c].errnos; *p; p++)
			if (*p == code)
				return (enum err_class)c;
	return CLASS_NONE;
}

enum err_class classify(enum op op, struct err e, int sys_errno, bool unix_dest)
{
	(void)op;
	e = normal(e);
	if (e.domain == ERR_ERRNO)
		return class_of_errno(e.code, unix_dest);
	if (e.code == EAI_SYSTEM)
		return class_of_errno(sys_errno, false) == CLASS_NONE ? CLASS_NONE
		                                                      : CLASS_DNS_TEMPORARY;
	for (unsigned c = 0; c < CLASS_COUNT; c++)
		for (unsigned i = 0; i < CLASS_MEMBERS && classes[c].eais[i]; i++)
			if (classes[c].eais[i] == e.code)
				return (enum err_class)c;
	return CLASS_NONE;
}

bool policy_retries(const struct policy *p, enum op op, struct err e, int sys_errno,
                    bool unix_dest)
{
	(void)op;
	e = normal(e);
	if (err_is_fixed(e) || !err_set_has(&p->retry, e))
		return false;
	if (e.domain == ERR_EAI && e.code == EAI_SYSTEM)
		return !only_unix(sys_errno) &&
		       err_set_has(&p->retry, (struct err){ ERR_ERRNO, sys_errno });
	return !(e.domain == ERR_ERRNO && only_unix(e.code) && !unix_dest);
}
