# Programs that run under the library (run.sh), and scripts about it.
PRELOAD_TESTS = \
	tests/preload/connect.pt \
	tests/preload/fds.pt \
	tests/preload/fdio.pt \
	tests/preload/midway.pt \
	tests/preload/signals.pt \
	tests/preload/collide.pt \
	tests/preload/errnos.pt \
	tests/preload/reload.pt \
	tests/preload/places.pt \
	tests/preload/asked.pt \
	tests/preload/timeout.pt \
	tests/preload/stack.pt \
	tests/preload/lookup.pt \
	tests/preload/preinit.pt \
	tests/preload/evloop.pt \
	tests/preload/evlife.pt \
	tests/preload/evset.pt \
	tests/preload/evnow.pt \
	tests/preload/evfail.pt \
	tests/preload/evreuse.pt \
	tests/preload/evbeside.pt \
	tests/preload/evstress.pt \
	tests/preload/resetev.pt \
	tests/preload/replay.pt \
	tests/preload/sends.pt \
	tests/preload/resets.pt \
	tests/preload/resetmore.pt \
	tests/preload/replaymid.pt \
	tests/preload/inject.pt \
	tests/preload/injectenv.pt
PRELOAD_TESTS += tests/preload/handlers.pt tests/preload/sandbox.pt tests/preload/daemon.pt \
	tests/preload/forks.pt tests/preload/alloc.pt tests/preload/beside.pt \
	tests/preload/behind.pt tests/preload/clocks.pt tests/preload/deepbind.pt
PRELOAD_TESTS += tests/preload/turns.pt tests/preload/carry.pt tests/preload/stale.pt
EXTRA_DIST += tests/preload/turns.env tests/preload/carry.env tests/preload/stale.env
PRELOAD_TESTS += tests/preload/logs.pt tests/preload/crowd.pt tests/preload/wild.pt
PRELOAD_TESTS += tests/preload/gaps.pt tests/preload/sigwaits.pt
EXTRA_DIST += tests/preload/gaps.env tests/preload/sigwaits.env
EXTRA_DIST += tests/preload/logs.env tests/preload/crowd.env tests/preload/wild.env
EXTRA_DIST += tests/preload/handlers.env tests/preload/sandbox.env tests/preload/daemon.env \
	tests/preload/forks.env tests/preload/alloc.env tests/preload/beside.env \
	tests/preload/clocks.env tests/preload/behind.env tests/preload/deepbind.env
check_PROGRAMS += $(PRELOAD_TESTS)
PRELOAD_SH = tests/preload/cli.sh tests/preload/report.sh \
	tests/preload/doctor.sh tests/preload/explain.sh tests/preload/simulate.sh tests/preload/suggest.sh \
	tests/preload/order.sh
PRELOAD_SH += tests/preload/stats.sh tests/preload/deploy.sh
PRELOAD_SH += tests/preload/beside.sh tests/preload/bound.sh
EXTRA_DIST += tests/preload/alerts.yml tests/preload/exposition.py
# About sources and objects, not about what runs: a sanitizer adds nothing.
STATIC_SH = tests/preload/check-man.sh tests/preload/completion.sh tests/preload/pure.sh \
	tests/preload/symbols.sh tests/preload/guest-doc.sh tests/preload/recipes.sh
TESTS += $(PRELOAD_TESTS) $(PRELOAD_SH)
if !SANITIZED
TESTS += $(STATIC_SH) scripts/check-layers
endif
EXTRA_DIST += tests/preload/asked.env
EXTRA_DIST += tests/preload/inject.env tests/preload/injectenv.env
EXTRA_DIST += tests/preload/run.sh tests/preload/verdicts.sh tests/preload/bare.h $(PRELOAD_SH) $(STATIC_SH) tests/preload/collide.env \
	tests/preload/reload.env tests/preload/places.env tests/preload/timeout.env \
	tests/preload/stack.env tests/preload/lookup.env tests/preload/preinit.env \
	tests/preload/evloop.env tests/preload/evlife.env tests/preload/evset.env \
	tests/preload/evnow.env tests/preload/evfail.env \
	tests/preload/evreuse.env tests/preload/evbeside.env tests/preload/evsocks.h \
	tests/preload/evstress.env tests/preload/evstress.h \
	tests/preload/resets.env tests/preload/resetev.env \
	tests/preload/replay.env tests/preload/sends.env \
	tests/preload/resetmore.env tests/preload/replaymid.env

tests_preload_turns_pt_SOURCES = tests/preload/turns.c
tests_preload_turns_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_turns_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_turns_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_carry_pt_SOURCES = tests/preload/carry.c
tests_preload_carry_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_carry_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_carry_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_stale_pt_SOURCES = tests/preload/stale.c
tests_preload_stale_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_stale_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_stale_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_connect_pt_SOURCES = tests/preload/connect.c
tests_preload_connect_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_connect_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_connect_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_fds_pt_SOURCES = tests/preload/fds.c
tests_preload_fds_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_fds_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_fds_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_fdio_pt_SOURCES = tests/preload/fdio.c
tests_preload_fdio_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_fdio_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_fdio_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_midway_pt_SOURCES = tests/preload/midway.c
tests_preload_midway_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_midway_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_midway_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_signals_pt_SOURCES = tests/preload/signals.c
tests_preload_signals_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_signals_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_signals_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_errnos_pt_SOURCES = tests/preload/errnos.c
tests_preload_errnos_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_errnos_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_errnos_pt_LDADD = $(CHECK_LIBS) -lpthread
tests_preload_errnos_pt_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic

tests_preload_collide_pt_SOURCES = tests/preload/collide.c
tests_preload_collide_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_collide_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_collide_pt_LDADD = $(CHECK_LIBS) -lpthread
tests_preload_collide_pt_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic

tests_preload_reload_pt_SOURCES = tests/preload/reload.c
tests_preload_reload_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_reload_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_reload_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_asked_pt_SOURCES = tests/preload/asked.c
tests_preload_asked_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_asked_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_asked_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_places_pt_SOURCES = tests/preload/places.c
tests_preload_places_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_places_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_places_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_timeout_pt_SOURCES = tests/preload/timeout.c
tests_preload_timeout_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_timeout_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_timeout_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_stack_pt_SOURCES = tests/preload/stack.c
tests_preload_stack_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_stack_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_stack_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_lookup_pt_SOURCES = tests/preload/lookup.c
tests_preload_lookup_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_lookup_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_lookup_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_preinit_pt_SOURCES = tests/preload/preinit.c
tests_preload_preinit_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_preinit_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_preinit_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_evloop_pt_SOURCES = tests/preload/evloop.c
tests_preload_evloop_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_evloop_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_evloop_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_evlife_pt_SOURCES = tests/preload/evlife.c
tests_preload_evlife_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_evlife_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_evlife_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_evset_pt_SOURCES = tests/preload/evset.c
tests_preload_evset_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_evset_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_evset_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_evnow_pt_SOURCES = tests/preload/evnow.c
tests_preload_evnow_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_evnow_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_evnow_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_resets_pt_SOURCES = tests/preload/resets.c tests/preload/resets.h
tests_preload_resets_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_resets_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_resets_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_resetev_pt_SOURCES = tests/preload/resetev.c tests/preload/resets.h
tests_preload_resetev_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_resetev_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_resetev_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_replay_pt_SOURCES = tests/preload/replay.c tests/preload/resets.h
tests_preload_replay_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_replay_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_replay_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_sends_pt_SOURCES = tests/preload/sends.c tests/preload/resets.h
tests_preload_sends_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_sends_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_sends_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_resetmore_pt_SOURCES = tests/preload/resetmore.c tests/preload/resets.h
tests_preload_resetmore_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_resetmore_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_resetmore_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_replaymid_pt_SOURCES = tests/preload/replaymid.c tests/preload/resets.h
tests_preload_replaymid_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_replaymid_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_replaymid_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_evfail_pt_SOURCES = tests/preload/evfail.c
tests_preload_evfail_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_evfail_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_evfail_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_evreuse_pt_SOURCES = tests/preload/evreuse.c
tests_preload_evreuse_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_evreuse_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_evreuse_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_gaps_pt_SOURCES = tests/preload/gaps.c tests/unit/steps.h
tests_preload_gaps_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_gaps_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_gaps_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_evbeside_pt_SOURCES = tests/preload/evbeside.c
tests_preload_evbeside_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_evbeside_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_evbeside_pt_LDADD = $(CHECK_LIBS) -lpthread

# EVSTRESS_SECONDS=30: longer.
tests_preload_evstress_pt_SOURCES = tests/preload/evstress.c
tests_preload_evstress_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_evstress_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_evstress_pt_LDADD = src/base/libbase.a $(CHECK_LIBS) -lpthread

tests_preload_inject_pt_SOURCES = tests/preload/inject.c
tests_preload_inject_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_inject_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_inject_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_deepbind_pt_SOURCES = tests/preload/deepbind.c
tests_preload_deepbind_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_deepbind_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_deepbind_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_injectenv_pt_SOURCES = tests/preload/injectenv.c
tests_preload_injectenv_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_injectenv_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_injectenv_pt_LDADD = $(CHECK_LIBS) -lpthread

# Preloaded beside us, or loaded by them.
check_PROGRAMS += tests/preload/early.so tests/preload/deep.so
tests_preload_early_so_SOURCES = tests/preload/early.c
tests_preload_early_so_LDFLAGS = $(AM_LDFLAGS) -shared
tests_preload_deep_so_SOURCES = tests/preload/deep.c
tests_preload_deep_so_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,--enable-new-dtags \
	-Wl,-rpath,'$$ORIGIN'
check_PROGRAMS += tests/preload/bound.so tests/preload/kinds.so tests/preload/odd.so
tests_preload_bound_so_SOURCES = tests/preload/bound.c
tests_preload_bound_so_LDFLAGS = $(AM_LDFLAGS) -shared
tests_preload_kinds_so_SOURCES = tests/preload/kinds.c
tests_preload_kinds_so_CFLAGS = $(AM_CFLAGS) -fno-builtin -fno-sanitize=all
tests_preload_kinds_so_LDFLAGS = $(AM_LDFLAGS) -shared \
	-Wl,--version-script=$(srcdir)/tests/preload/kinds.map
tests_preload_odd_so_SOURCES = tests/preload/odd.c
tests_preload_odd_so_CFLAGS = $(AM_CFLAGS) -fno-builtin -fno-sanitize=all
tests_preload_odd_so_LDFLAGS = $(AM_LDFLAGS) -shared
EXTRA_DIST += tests/preload/kinds.map

tests_preload_handlers_pt_SOURCES = tests/preload/handlers.c
tests_preload_handlers_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_handlers_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_handlers_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_sandbox_pt_SOURCES = tests/preload/sandbox.c
tests_preload_sandbox_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_sandbox_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_sandbox_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_daemon_pt_SOURCES = tests/preload/daemon.c
tests_preload_daemon_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_daemon_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_daemon_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_wild_pt_SOURCES = tests/preload/wild.c
tests_preload_wild_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_wild_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_wild_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_forks_pt_SOURCES = tests/preload/forks.c
tests_preload_forks_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_forks_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_forks_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_alloc_pt_SOURCES = tests/preload/alloc.c
tests_preload_alloc_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_alloc_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_alloc_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_beside_pt_SOURCES = tests/preload/beside.c
tests_preload_beside_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_beside_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_beside_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_behind_pt_SOURCES = tests/preload/behind.c
tests_preload_behind_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_behind_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_behind_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_clocks_pt_SOURCES = tests/preload/clocks.c
tests_preload_clocks_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_clocks_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_clocks_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_logs_pt_SOURCES = tests/preload/logs.c
tests_preload_logs_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_logs_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_logs_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_crowd_pt_SOURCES = tests/preload/crowd.c
tests_preload_crowd_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_crowd_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_crowd_pt_LDADD = $(CHECK_LIBS) -lpthread

tests_preload_sigwaits_pt_SOURCES = tests/preload/sigwaits.c
tests_preload_sigwaits_pt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_preload_sigwaits_pt_CFLAGS = $(UNIT_CFLAGS)
tests_preload_sigwaits_pt_LDADD = $(CHECK_LIBS) -lpthread
