/* SPDX-License-Identifier: MIT */
/*
 * lcapi.h - the functions of libconfig that the project uses, as pointers.
 *
 * The preloaded object must not have libconfig among its dependencies: its
 * names are generic ("config_init"), and a program that exports one of its own
 * would capture ours, or the reverse. The command and the unit tests fill the
 * table directly (lc_direct.c), the preload by dlopen().
 */
#ifndef LIBRETRY_CONFIG_LCAPI_H
#define LIBRETRY_CONFIG_LCAPI_H

#include <libconfig.h>

/* X(return type, name, parameters) */
#define LCAPI_TABLE(X) \
	X(void, config_init, (config_t *)) \
	X(void, config_destroy, (config_t *)) \
	X(int, config_read_string, (config_t *, const char *)) \
	X(config_setting_t *, config_lookup, (const config_t *, const char *)) \
	X(config_setting_t *, config_setting_get_member, (const config_setting_t *, const char *)) \
	X(config_setting_t *, config_setting_get_elem, (const config_setting_t *, unsigned int)) \
	X(int, config_setting_length, (const config_setting_t *)) \
	X(int, config_setting_get_int, (const config_setting_t *)) \
	X(long long, config_setting_get_int64, (const config_setting_t *)) \
	X(double, config_setting_get_float, (const config_setting_t *)) \
	X(int, config_setting_get_bool, (const config_setting_t *)) \
	X(const char *, config_setting_get_string, (const config_setting_t *))

struct lcapi {
#define X(ret, name, params) ret (*name) params;
	LCAPI_TABLE(X)
#undef X
};

/* The table filled by the linker. Defined in lc_direct.c only. */
extern const struct lcapi lcapi_direct;

#endif
