# rank 4: the preloaded object
lib_LTLIBRARIES += libretry.la
libretry_la_SOURCES = \
	src/preload/again.c src/preload/io.h \
	src/preload/configure.c src/preload/configure.h \
	src/preload/dial.h \
	src/preload/epinfo.c src/preload/epinfo.h \
	src/preload/fork.c \
	src/preload/gate.h \
	src/preload/inject.c src/preload/inject.h \
	src/preload/inject_send.c \
	src/preload/lc_dlopen.c \
	src/preload/ops.c src/preload/ops.h \
	src/preload/places.c src/preload/places.h \
	src/preload/probe.c src/preload/probe.h \
	src/preload/real.c src/preload/real.h \
	src/preload/replace.c src/preload/replace.h \
	src/preload/runtime.c src/preload/runtime.h \
	src/preload/signal.c src/preload/signal.h \
	src/preload/symbols.def \
	src/preload/target.c src/preload/target.h \
	src/preload/thread.c \
	src/preload/waits.c src/preload/waits.h \
	src/preload/dial_again.c src/preload/wrap_connect.c \
	src/preload/wrap_epoll.c \
	src/preload/wrap_fd.c \
	src/preload/wrap_io.c \
	src/preload/wrap_poll.c \
	src/preload/wrap_prctl.c \
	src/preload/wrap_resolve.c \
	src/preload/wrap_select.c \
	src/preload/wrap_sockopt.c
libretry_la_CFLAGS = $(AM_CFLAGS)
libretry_la_LIBADD = \
	src/engine/libengine.la \
	src/log/liblog.la \
	src/state/libstate.la \
	src/config/libconf.la \
	src/policy/libpolicy.la \
	src/base/libbase.la
libretry_la_LDFLAGS = $(AM_LDFLAGS) $(HOUSE_LDFLAGS) -module -avoid-version -shared \
	-Wl,--version-script=libretry.map
EXTRA_libretry_la_DEPENDENCIES = libretry.map
CLEANFILES += libretry.map

libretry.map: $(top_srcdir)/src/preload/symbols.def $(top_srcdir)/scripts/gen-map
	$(AM_V_GEN)$(top_srcdir)/scripts/gen-map $(top_srcdir)/src/preload/symbols.def >$@.tmp && mv $@.tmp $@

# A preload is named by its file; libtool's description of it helps nobody.
install-exec-hook:
	rm -f $(DESTDIR)$(libdir)/libretry.la
uninstall-hook:
	rm -f $(DESTDIR)$(libdir)/libretry.so
