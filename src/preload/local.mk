# rank 4: the preloaded object. It is linked like a program: a preload is named by
# its file, so there is no version, and nothing links with it.
preloaddir = $(libdir)
preload_PROGRAMS = libretry.so
libretry_so_SOURCES = \
	src/preload/attempt.c src/preload/attempt.h src/preload/leaving.h \
	src/preload/again.c src/preload/io.h \
	src/preload/configure.c src/preload/configure.h \
	src/preload/dial.h \
	src/preload/dlopen.S src/preload/deepbind.c \
	src/preload/epinfo.c src/preload/epinfo.h \
	src/preload/fork.c \
	src/preload/gate.h \
	src/preload/inject.c src/preload/inject.h \
	src/preload/inject_send.c \
	src/preload/jump.h \
	src/preload/next.c src/preload/next.h \
	src/preload/ops.c src/preload/ops.h \
	src/preload/places.c src/preload/places.h \
	src/preload/probe.c src/preload/probe.h \
	src/preload/real.c src/preload/real.h \
	src/preload/replace.c src/preload/replace.h \
	src/preload/runtime.c src/preload/runtime.h \
	src/preload/signal.c src/preload/signal.h src/preload/signal_hold.c \
	src/preload/stale.c src/preload/stale.h \
	src/preload/symbols.def \
	src/preload/target.c src/preload/target.h \
	src/preload/thread.c \
	src/preload/time64.h \
	src/preload/vfork.S \
	src/preload/waits.c src/preload/waits.h \
	src/preload/dial_again.c src/preload/dial_first.c \
	src/preload/wrap_connect.c \
	src/preload/wrap_epoll.c \
	src/preload/wrap_fd.c \
	src/preload/wrap_io.c \
	src/preload/wrap_poll.c \
	src/preload/wrap_prctl.c \
	src/preload/wrap_resolve.c \
	src/preload/wrap_select.c \
	src/preload/wrap_sockopt.c \
	src/preload/wrap_time64.c
if LINKED_LIBCONFIG
libretry_so_SOURCES += src/preload/lc_linked.c
LIBCONFIG_INSIDE = src/config/libconfdirect.a $(LIBCONFIG_LIBS)
else
libretry_so_SOURCES += src/preload/lc_dlopen.c
endif
# Behind all others: the linker takes it for what they lack. A sanitizer wants to see
# those calls.
noinst_LIBRARIES += src/preload/libstring.a
src_preload_libstring_a_SOURCES = src/preload/string.c
src_preload_libstring_a_CFLAGS = $(AM_CFLAGS) -ffreestanding -fno-lto \
	-fno-tree-loop-distribute-patterns
if !SANITIZED
STRING_INSIDE = src/preload/libstring.a
endif
libretry_so_CFLAGS = $(AM_CFLAGS)
libretry_so_CCASFLAGS = $(AM_CFLAGS)
libretry_so_CPPFLAGS = $(AM_CPPFLAGS) $(LIBCONFIG_CFLAGS)
libretry_so_LDADD = \
	src/engine/libengine.a \
	src/log/liblog.a \
	src/state/libstate.a \
	src/config/libconf.a \
	$(LIBCONFIG_INSIDE) \
	src/policy/libpolicy.a \
	src/base/libbase.a \
	$(STRING_INSIDE)
libretry_so_LDFLAGS = $(AM_LDFLAGS) $(HOUSE_LDFLAGS) -shared -Wl,-soname,libretry.so \
	-Wl,--version-script=libretry.map
EXTRA_libretry_so_DEPENDENCIES = libretry.map
CLEANFILES += libretry.map

libretry.map: $(top_srcdir)/src/preload/symbols.def $(top_srcdir)/scripts/gen-map
	$(AM_V_GEN)$(top_srcdir)/scripts/gen-map $(top_srcdir)/src/preload/symbols.def >$@.tmp && mv $@.tmp $@
