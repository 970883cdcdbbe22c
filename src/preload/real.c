/* SPDX-License-Identifier: MIT */
#include "preload/real.h"

#include <dlfcn.h>

#include "base/compat.h"
#include "base/libc.h"

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
#define ALIAS(ret, name, target, params, args) \
	LR_EXPORT ret export_##name params __asm__(#name); \
	ret export_##name params \
	{ \
		return wrap_##target args; \
	}
#ifdef __GLIBC__
#define SYMBOL_SINCE(minor, ret, name, params, args, missing) \
	SYMBOL(ret, name, params, args, missing)
#define ALIAS_SINCE(minor, ret, name, target, params, args) \
	ALIAS(ret, name, target, params, args)
#else
#define SYMBOL_SINCE(minor, ret, name, params, args, missing)
#define ALIAS_SINCE(minor, ret, name, target, params, args)
#endif
#include "preload/symbols.def"
#undef SYMBOL
#undef SYMBOL_SINCE
#undef ALIAS
#undef ALIAS_SINCE

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
#define ALIAS_SINCE(minor, ret, name, target, params, args)
#include "preload/symbols.def"
#undef SYMBOL
#undef SYMBOL_SINCE
#undef ALIAS
#undef ALIAS_SINCE
#pragma GCC diagnostic pop

/* Before real_bind() nobody calls through these but by mistake; then too a
 * failure is better than a jump to NULL. */
struct real real = {
#define SYMBOL(ret, name, params, args, missing) .name = missing_##name,
#define SYMBOL_SINCE(minor, ret, name, params, args, missing) \
	SYMBOL(ret, name, params, args, missing)
#define ALIAS(ret, name, target, params, args)
#define ALIAS_SINCE(minor, ret, name, target, params, args)
#include "preload/symbols.def"
#undef SYMBOL
#undef SYMBOL_SINCE
#undef ALIAS
#undef ALIAS_SINCE
};

/* dlsym() gives an object pointer; POSIX says it may hold a function. */
union symbol {
	void *object;
	void (*function)(void);
};

void real_bind(void)
{
	LR_UNUSED int minor = libc_glibc_minor();
	union symbol s;

#define SYMBOL(ret, name, params, args, missing) \
	s.object = dlsym(RTLD_NEXT, #name); \
	if (s.object && s.function != (void (*)(void))export_##name) \
		real.name = (ret(*) params)s.function;
#ifdef __GLIBC__
#define SYMBOL_SINCE(since, ret, name, params, args, missing) \
	if (minor >= (since)) { \
		SYMBOL(ret, name, params, args, missing) \
	}
#else
#define SYMBOL_SINCE(since, ret, name, params, args, missing)
#endif
#define ALIAS(ret, name, target, params, args)
#define ALIAS_SINCE(minor, ret, name, target, params, args)
#include "preload/symbols.def"
#undef SYMBOL
#undef SYMBOL_SINCE
#undef ALIAS
#undef ALIAS_SINCE
}
