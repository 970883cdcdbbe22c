/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stddef.h>

#include "base/compat.h"
#include "preload/configure.h"
#include "preload/real.h"

/*
 * libconfig's names that its own code calls through the dynamic linker, and
 * with which a program's functions of the same name could be called instead.
 * The list of what it exports is longer; one hit among these common ones is
 * enough to know that the program has names of that kind.
 */
static const char *const shared_names[] = {
	"config_init",
	"config_destroy",
	"config_read",
	"config_read_string",
	"config_read_file",
	"config_lookup",
	"config_setting_add",
	"config_setting_remove",
	"config_setting_get_member",
	"config_setting_get_elem",
	"config_setting_lookup",
	"config_write",
};

#ifdef RTLD_DEEPBIND
#define CANNOT_KEEP_APART \
	"the program exports names of libconfig's and an allocator of its own"
#else
#define CANNOT_KEEP_APART "the program exports names of libconfig's"
#endif

/* dlsym() gives an object pointer; POSIX says it may hold a function. */
union symbol {
	void *object;
	void (*function)(void);
};

/* Functions of libc that only who reads a file needs: not worth a look-up at each start. */
#define RARE(name) ((__typeof__(&name))((union symbol){ dlsym(RTLD_DEFAULT, #name) }).function)

/* Whether the program's global scope defines one of them. */
static bool names_taken(void)
{
	for (size_t i = 0; i < ARRAY_LEN(shared_names); i++)
		if (dlsym(RTLD_DEFAULT, shared_names[i]))
			return true;
	return false;
}

#ifdef RTLD_DEEPBIND
/* Whether malloc is libc's own. A library in deep binding takes free() from
 * libc but gets strings from libc's strdup(), which calls the program's
 * malloc: two allocators would meet. */
static bool malloc_is_libcs(void)
{
	Dl_info of_malloc;
	Dl_info of_libc;
	__typeof__(&dladdr) find = RARE(dladdr);
	void *m = dlsym(RTLD_DEFAULT, "malloc");
	void *g = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");

	return m && g && find && find(m, &of_malloc) && find(g, &of_libc) &&
	       of_malloc.dli_fbase == of_libc.dli_fbase;
}
#endif

/* Adds the flag that keeps the program's names from libconfig. */
static bool keep_apart(int *flags)
{
#ifdef RTLD_DEEPBIND
	if (malloc_is_libcs()) {
		*flags |= RTLD_DEEPBIND;
		return true;
	}
#else
	(void)flags;
#endif
	return false;
}

static bool fill(struct lcapi *lc, void *handle)
{
	union symbol s;

#define X(ret, name, params) \
	s.object = dlsym(handle, #name); \
	if (!s.object) \
		return false; \
	lc->name = (ret(*) params)s.function;
	LCAPI_TABLE(X)
#undef X
	return true;
}

bool lcapi_load(struct lcapi *lc, void **handle, const char **why)
{
	int flags = RTLD_NOW | RTLD_LOCAL;

	if (names_taken() && !keep_apart(&flags)) {
		*why = CANNOT_KEEP_APART ", so the file cannot be read here";
		return false;
	}
	/* Not by ours, which may take the flag out. */
	*handle = real.dlopen(LIBCONFIG_SONAME, flags);
	if (!*handle) {
		*why = "cannot be read: " LIBCONFIG_SONAME " cannot be loaded";
		return false;
	}
	if (!fill(lc, *handle)) {
		lcapi_unload(*handle);
		*handle = NULL;
		*why = "cannot be read: " LIBCONFIG_SONAME " lacks a function";
		return false;
	}
	return true;
}

void lcapi_unload(void *handle)
{
	__typeof__(&dlclose) close_library = RARE(dlclose);

	if (close_library)
		close_library(handle);
}
