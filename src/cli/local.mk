# rank 4: the command
bin_PROGRAMS += libretry
libretry_SOURCES = \
	src/cli/cli.c src/cli/cli.h \
	src/cli/cmd_check.c src/cli/cmd_run.c \
	src/cli/elf.c src/cli/elf.h \
	src/cli/main.c \
	src/cli/out.c src/cli/out.h \
	src/cli/preload_path.c src/cli/preload_path.h \
	src/cli/show.c src/cli/show.h
libretry_CPPFLAGS = $(AM_CPPFLAGS) -DPKG_LIBDIR='"$(libdir)"'
libretry_CFLAGS = -std=gnu11 $(WARN_CFLAGS) $(SAN_CFLAGS) $(TOOL_CFLAGS)
libretry_LDFLAGS = $(AM_LDFLAGS) $(TOOL_LDFLAGS)
libretry_LDADD = \
	src/config/libconf.la src/config/libconfdirect.la \
	src/policy/libpolicy.la src/base/libbase.la
