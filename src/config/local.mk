# rank 2: files and environment to policies. The object that calls libconfig
# directly is apart, so that the preload cannot link it by accident.
# What links it needs all of CONF_DIRECT.
noinst_LIBRARIES += src/config/libconf.a src/config/libconfdirect.a
src_config_libconf_a_SOURCES = \
	src/config/arena.c \
	src/config/arena_parts.c \
	src/config/arena.h \
	src/config/check.c \
	src/config/config.h \
	src/config/diag.c \
	src/config/diag.h \
	src/config/dropins.c \
	src/config/env.c \
	src/config/env.h \
	src/config/group.c \
	src/config/host_group.c \
	src/config/keys.c \
	src/config/keys.h \
	src/config/lcapi.h \
	src/config/load.c \
	src/config/load_cond.c \
	src/config/load_dest.c \
	src/config/load_errors.c \
	src/config/load_inject.c \
	src/config/load_misc.c \
	src/config/load_policy.c \
	src/config/load_program.c \
	src/config/loader.h \
	src/config/locate.c \
	src/config/node.c \
	src/config/node.h \
	src/config/number.c \
	src/config/overrides.c \
	src/config/parse.c \
	src/config/parse.h \
	src/config/scan.c \
	src/config/scan.h \
	src/config/scan_state.c \
	src/config/scan_state.h \
	src/config/scan_value.c \
	src/config/slurp.c \
	src/config/text.c \
	src/config/text.h \
	src/config/timeline.c \
	src/config/timeline.h \
	src/config/value.c
# Loading happens once and may use more stack than a hook.
src_config_libconf_a_CFLAGS = $(AM_CFLAGS) -Wframe-larger-than=4096
src_config_libconf_a_CPPFLAGS = $(AM_CPPFLAGS) $(LIBCONFIG_CFLAGS)
src_config_libconfdirect_a_SOURCES = src/config/lc_direct.c
CONF_DIRECT = src/config/libconf.a src/config/libconfdirect.a $(LIBCONFIG_LIBS)
src_config_libconfdirect_a_CPPFLAGS = $(AM_CPPFLAGS) $(LIBCONFIG_CFLAGS)
