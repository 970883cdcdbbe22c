/* SPDX-License-Identifier: MIT */
#include "preload/real.h"

#include <dlfcn.h>

#include "base/compat.h"
#include "base/libc.h"
#include "preload/next.h"

/* Other names of what stands in an .S file stand there, too. */
#define ALIAS_JUMP(ret, name, target, params, args)

/*
 * The exported one-liners. Named export_x in C and x for the linker: libc's
 * headers declare some of them with types (a transparent union for socket
 * addresses) that a definition cannot repeat. own_x is its address as the linker knows
 * it: that of export_x would be one to be relocated.
 */
#define JUMP(ret, name, params, args, missing) \
	LR_HIDDEN ret own_##name params __asm__("export_" #name);
#define SYMBOL(ret, name, params, args, missing) \
	LR_EXPORT ret export_##name params __asm__(#name); \
	ret export_##name params \
	{ \
		return wrap_##name args; \
	} \
	extern __typeof__(export_##name) own_##name LR_HIDDEN __attribute__((alias(#name)));
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
#undef JUMP
#undef SYMBOL
#undef SYMBOL_SINCE
#undef ALIAS
#undef ALIAS_SINCE

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define JUMP(ret, name, params, args, missing) SYMBOL(ret, name, params, args, missing)
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
#undef JUMP
#undef SYMBOL
#undef SYMBOL_SINCE
#undef ALIAS
#undef ALIAS_SINCE
#pragma GCC diagnostic pop

/* Before real_bind() nobody calls through these but by mistake; then too a
 * failure is better than a jump to NULL. */
struct real real = {
#define JUMP(ret, name, params, args, missing) SYMBOL(ret, name, params, args, missing)
#define SYMBOL(ret, name, params, args, missing) .name = missing_##name,
#define SYMBOL_SINCE(minor, ret, name, params, args, missing) \
	SYMBOL(ret, name, params, args, missing)
#define ALIAS(ret, name, target, params, args)
#define ALIAS_SINCE(minor, ret, name, target, params, args)
#include "preload/symbols.def"
#undef JUMP
#undef SYMBOL
#undef SYMBOL_SINCE
#undef ALIAS
#undef ALIAS_SINCE
};

/* The names in one text, not in pointers that the loader would have to relocate. */
#define JUMP(ret, name, params, args, missing) SYMBOL(ret, name, params, args, missing)
#define SYMBOL(ret, name, params, args, missing) char name[sizeof(#name)];
#define SYMBOL_SINCE(minor, ret, name, params, args, missing) \
	SYMBOL(ret, name, params, args, missing)
#define ALIAS(ret, name, target, params, args)
#define ALIAS_SINCE(minor, ret, name, target, params, args)
struct names {
#include "preload/symbols.def"
};
#undef SYMBOL
#define SYMBOL(ret, name, params, args, missing) #name,
static const struct names names = {
#include "preload/symbols.def"
};
#undef SYMBOL
#define SYMBOL(ret, name, params, args, missing) ROW_##name,
enum row {
#include "preload/symbols.def"
	ROWS
};
#undef SYMBOL
#undef SYMBOL_SINCE

#define ROW(name, minor) \
	{ NEXT_HASH(#name), offsetof(struct names, name), sizeof(#name) - 1, minor },
#define SYMBOL(ret, name, params, args, missing) ROW(name, 0)
#ifdef __GLIBC__
#define SYMBOL_SINCE(minor, ret, name, params, args, missing) ROW(name, minor)
#else
#define SYMBOL_SINCE(minor, ret, name, params, args, missing) ROW(name, UINT8_MAX)
#endif
static const struct next_name list[] = {
#include "preload/symbols.def"
};
#undef SYMBOL
#undef SYMBOL_SINCE
#define SYMBOL(ret, name, params, args, missing) \
	_Static_assert(sizeof(#name) - 1 <= NEXT_NAME_LEN, #name);
#define SYMBOL_SINCE(minor, ret, name, params, args, missing) \
	SYMBOL(ret, name, params, args, missing)
#include "preload/symbols.def"
#undef JUMP
#undef SYMBOL
#undef SYMBOL_SINCE
_Static_assert(ROWS <= NEXT_NAMES, "next_find() takes fewer");

/* dlsym() gives an object pointer; POSIX says it may hold a function. */
union symbol {
	void *object;
	void (*function)(void);
};

void real_bind(void)
{
	const char *text = (const char *)&names;
	int minor = libc_glibc_minor();
	void *found[ROWS];
	union symbol s;

	next_find(text, list, ROWS, minor, found);
	for (size_t i = 0; i < ROWS; i++)
		if (!found[i] && list[i].since <= minor)
			found[i] = dlsym(RTLD_NEXT, text + list[i].at);
#if LR_JUMPS
#define JUMP(ret, name, params, args, missing) SYMBOL(ret, name, params, args, missing)
#else
#define JUMP(ret, name, params, args, missing)
#endif
#define SYMBOL(ret, name, params, args, missing) \
	s.object = found[ROW_##name]; \
	if (s.object && s.function != (void (*)(void))own_##name) \
		real.name = (ret(*) params)s.function;
#ifdef __GLIBC__
#define SYMBOL_SINCE(since, ret, name, params, args, missing) \
	SYMBOL(ret, name, params, args, missing)
#else
#define SYMBOL_SINCE(since, ret, name, params, args, missing)
#endif
#include "preload/symbols.def"
#undef JUMP
#undef SYMBOL
#undef SYMBOL_SINCE
#undef ALIAS
#undef ALIAS_SINCE
}
