/* SPDX-License-Identifier: MIT */
#include "preload/real.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>

#include "base/compat.h"

/*
 * The exported one-liners. Named export_x in C and x for the linker: libc's
 * headers declare some of them with types (a transparent union for socket
 * addresses) that a definition cannot repeat.
 */
#define SYMBOL(ret, name, params, args, missing) \
	LR_EXPORT ret export_##name params __asm__(#name); \
	ret export_##name params \
	{ \
		return wrap_##name args; \
	}
#define SYMBOL_SINCE(minor, ret, name, params, args, missing) \
	SYMBOL(ret, name, params, args, missing)
#define ALIAS(ret, name, target, params, args) \
	LR_EXPORT ret export_##name params __asm__(#name); \
	ret export_##name params \
	{ \
		return wrap_##target args; \
	}
#include "preload/symbols.def"
#undef SYMBOL
#undef SYMBOL_SINCE
#undef ALIAS

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define SYMBOL(ret, name, params, args, missing) \
	static ret missing_##name params \
	{ \
		errno = ENOSYS; \
		return missing; \
	}
#define SYMBOL_SINCE(minor, ret, name, params, args, missing) \
	SYMBOL(ret, name, params, args, missing)
#define ALIAS(ret, name, target, params, args)
#include "preload/symbols.def"
#undef SYMBOL
#undef SYMBOL_SINCE
#undef ALIAS
#pragma GCC diagnostic pop

/* Before real_bind() nobody calls through these but by mistake; then too a
 * failure is better than a jump to NULL. */
struct real real = {
#define SYMBOL(ret, name, params, args, missing) .name = missing_##name,
#define SYMBOL_SINCE(minor, ret, name, params, args, missing) \
	SYMBOL(ret, name, params, args, missing)
#define ALIAS(ret, name, target, params, args)
#include "preload/symbols.def"
#undef SYMBOL
#undef SYMBOL_SINCE
#undef ALIAS
};

/* dlsym() gives an object pointer; POSIX says it may hold a function. */
union symbol {
	void *object;
	void (*function)(void);
};

/* The second number of glibc's version: "2.36" is 36. */
static unsigned libc_minor(void)
{
	const char *p = gnu_get_libc_version();
	unsigned minor = 0;

	while (*p && *p++ != '.')
		;
	for (; *p >= '0' && *p <= '9'; p++)
		minor = minor * 10 + (unsigned)(*p - '0');
	return minor;
}

void real_bind(void)
{
	unsigned minor = libc_minor();
	union symbol s;

#define SYMBOL(ret, name, params, args, missing) \
	s.object = dlsym(RTLD_NEXT, #name); \
	if (s.object && s.function != (void (*)(void))export_##name) \
		real.name = (ret(*) params)s.function;
#define SYMBOL_SINCE(since, ret, name, params, args, missing) \
	if (minor >= (since)) { \
		SYMBOL(ret, name, params, args, missing) \
	}
#define ALIAS(ret, name, target, params, args)
#include "preload/symbols.def"
#undef SYMBOL
#undef SYMBOL_SINCE
#undef ALIAS
}
