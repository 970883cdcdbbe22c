# One suite per source file, or per family of files behind one function
# (config/load, engine/retry).
UNIT_TESTS = \
	tests/unit/test_addr \
	tests/unit/test_brief \
	tests/unit/test_duration \
	tests/unit/test_errname \
	tests/unit/test_fmt \
	tests/unit/test_filename tests/unit/test_glob \
	tests/unit/test_prng \
	tests/unit/test_string \
	tests/unit/test_backoff \
	tests/unit/test_window \
	tests/unit/test_budget \
	tests/unit/test_breaker \
	tests/unit/test_classify \
	tests/unit/test_decide \
	tests/unit/test_pace \
	tests/unit/test_match \
	tests/unit/test_inject \
	tests/unit/test_names \
	tests/unit/test_peers \
	tests/unit/test_options \
	tests/unit/test_replay \
	tests/unit/test_shm \
	tests/unit/test_shm_file \
	tests/unit/test_shm_crowd \
	tests/unit/test_tally \
	tests/unit/test_stats tests/unit/test_stats_file tests/unit/test_visits \
	tests/unit/test_fdtab \
	tests/unit/test_fdtab_threads \
	tests/unit/test_fdtab_watch \
	tests/unit/test_fdtab_young \
	tests/unit/test_fdtab_fork \
	tests/unit/test_event \
	tests/unit/test_render \
	tests/unit/test_logread \
	tests/unit/test_report \
	tests/unit/test_flood \
	tests/unit/test_sink \
	tests/unit/test_log \
	tests/unit/test_arena \
	tests/unit/test_env \
	tests/unit/test_locate \
	tests/unit/test_text \
	tests/unit/test_timeline \
	tests/unit/test_load \
	tests/unit/test_load_errors \
	tests/unit/test_load_inject \
	tests/unit/test_dropins \
	tests/unit/test_overrides \
	tests/unit/test_connect \
	tests/unit/test_layers \
	tests/unit/test_turns tests/unit/test_carry \
	tests/unit/test_pending_guard \
	tests/unit/test_guard \
	tests/unit/test_guard_quiet \
	tests/unit/test_resolve \
	tests/unit/test_walk \
	tests/unit/test_send \
	tests/unit/test_send_later \
	tests/unit/test_place \
	tests/unit/test_habit \
	tests/unit/test_tried \
	tests/unit/test_wait \
	tests/unit/test_pending \
	tests/unit/test_pending_attempts \
	tests/unit/test_pending_epoll \
	tests/unit/test_pending_fds \
	tests/unit/test_pending_places \
	tests/unit/test_pending_threads \
	tests/unit/test_sim_contention \
	tests/unit/test_sim_budget \
	tests/unit/test_sim_overload \
	tests/unit/test_elf \
	tests/unit/test_ldcache \
	tests/unit/test_target \
	tests/unit/test_probe \
	tests/unit/test_sim \
	tests/unit/test_sim_tables \
	tests/unit/test_epinfo \
	tests/unit/test_destarg tests/unit/test_foresee tests/unit/test_limits \
	tests/unit/test_why tests/unit/test_outages tests/unit/test_advise
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)

tests_unit_test_addr_SOURCES = tests/unit/test_addr.c
tests_unit_test_addr_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_addr_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_addr_LDADD = $(UNIT_BASE)

tests_unit_test_duration_SOURCES = tests/unit/test_duration.c
tests_unit_test_duration_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_duration_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_duration_LDADD = $(UNIT_BASE)

tests_unit_test_errname_SOURCES = tests/unit/test_errname.c
tests_unit_test_errname_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_errname_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_errname_LDADD = $(UNIT_BASE)

tests_unit_test_fmt_SOURCES = tests/unit/test_fmt.c
tests_unit_test_fmt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_fmt_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_fmt_LDADD = $(UNIT_BASE)

tests_unit_test_brief_SOURCES = tests/unit/test_brief.c
tests_unit_test_brief_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_brief_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_brief_LDADD = $(UNIT_BASE)

tests_unit_test_filename_SOURCES = tests/unit/test_filename.c
tests_unit_test_filename_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_filename_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_filename_LDADD = $(UNIT_BASE)

tests_unit_test_glob_SOURCES = tests/unit/test_glob.c
tests_unit_test_glob_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_glob_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_glob_LDADD = $(UNIT_BASE)

tests_unit_test_prng_SOURCES = tests/unit/test_prng.c
tests_unit_test_prng_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_prng_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_prng_LDADD = $(UNIT_BASE)

tests_unit_test_string_SOURCES = tests/unit/test_string.c
tests_unit_test_string_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_string_CFLAGS = $(UNIT_CFLAGS) -fno-builtin
tests_unit_test_string_LDADD = $(UNIT_BASE) src/preload/libstring.a

tests_unit_test_backoff_SOURCES = tests/unit/test_backoff.c
tests_unit_test_backoff_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_backoff_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_backoff_LDADD = $(UNIT_POLICY)

tests_unit_test_classify_SOURCES = tests/unit/test_classify.c
tests_unit_test_classify_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_classify_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_classify_LDADD = $(UNIT_POLICY)

tests_unit_test_pace_SOURCES = tests/unit/test_pace.c
tests_unit_test_pace_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_pace_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_pace_LDADD = $(UNIT_POLICY)

tests_unit_test_decide_SOURCES = tests/unit/test_decide.c
tests_unit_test_decide_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_decide_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_decide_LDADD = $(UNIT_POLICY)

tests_unit_test_match_SOURCES = tests/unit/test_match.c
tests_unit_test_match_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_match_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_match_LDADD = $(UNIT_POLICY)

tests_unit_test_names_SOURCES = tests/unit/test_names.c
tests_unit_test_names_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_names_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_names_LDADD = $(UNIT_STATE)

tests_unit_test_fdtab_SOURCES = tests/unit/test_fdtab.c tests/unit/fdtab.h
tests_unit_test_fdtab_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_fdtab_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_fdtab_LDADD = $(UNIT_STATE)

tests_unit_test_fdtab_threads_SOURCES = tests/unit/test_fdtab_threads.c tests/unit/fdtab.h
tests_unit_test_fdtab_threads_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_fdtab_threads_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_fdtab_threads_LDADD = $(UNIT_STATE)

tests_unit_test_fdtab_fork_SOURCES = tests/unit/test_fdtab_fork.c tests/unit/fdtab.h \
	tests/unit/steps.h
tests_unit_test_fdtab_fork_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_fdtab_fork_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_fdtab_fork_LDADD = $(UNIT_STATE)

tests_unit_test_fdtab_young_SOURCES = tests/unit/test_fdtab_young.c tests/unit/fdtab.h
tests_unit_test_fdtab_young_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_fdtab_young_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_fdtab_young_LDADD = $(UNIT_STATE)

tests_unit_test_fdtab_watch_SOURCES = tests/unit/test_fdtab_watch.c tests/unit/fdtab.h
tests_unit_test_fdtab_watch_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_fdtab_watch_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_fdtab_watch_LDADD = $(UNIT_STATE)

tests_unit_test_event_SOURCES = tests/unit/test_event.c
tests_unit_test_event_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_event_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_event_LDADD = $(UNIT_LOG)

tests_unit_test_render_SOURCES = tests/unit/test_render.c
tests_unit_test_render_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_render_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_render_LDADD = $(UNIT_LOG)

tests_unit_test_flood_SOURCES = tests/unit/test_flood.c
tests_unit_test_flood_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_flood_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_flood_LDADD = $(UNIT_LOG)

tests_unit_test_sink_SOURCES = tests/unit/test_sink.c
tests_unit_test_sink_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sink_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sink_LDADD = $(UNIT_LOG)

tests_unit_test_log_SOURCES = tests/unit/test_log.c
tests_unit_test_log_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_log_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_log_LDADD = $(UNIT_LOG)

tests_unit_test_arena_SOURCES = tests/unit/test_arena.c
tests_unit_test_arena_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_arena_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_arena_LDADD = $(UNIT_CONFIG)

tests_unit_test_env_SOURCES = tests/unit/test_env.c
tests_unit_test_env_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_env_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_env_LDADD = $(UNIT_CONFIG)

tests_unit_test_locate_SOURCES = tests/unit/test_locate.c
tests_unit_test_locate_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_locate_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_locate_LDADD = $(UNIT_CONFIG)

tests_unit_test_text_SOURCES = tests/unit/test_text.c
tests_unit_test_text_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_text_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_text_LDADD = $(UNIT_CONFIG)

tests_unit_test_inject_SOURCES = tests/unit/test_inject.c
tests_unit_test_inject_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_inject_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_inject_LDADD = $(UNIT_POLICY)

tests_unit_test_timeline_SOURCES = tests/unit/test_timeline.c
tests_unit_test_timeline_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_timeline_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_timeline_LDADD = $(UNIT_CONFIG)

tests_unit_test_load_inject_SOURCES = tests/unit/test_load_inject.c
tests_unit_test_load_inject_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_load_inject_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_load_inject_LDADD = $(UNIT_CONFIG)

tests_unit_test_load_SOURCES = tests/unit/test_load.c
tests_unit_test_load_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_load_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_load_LDADD = $(UNIT_CONFIG)

tests_unit_test_load_errors_SOURCES = tests/unit/test_load_errors.c
tests_unit_test_load_errors_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_load_errors_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_load_errors_LDADD = $(UNIT_CONFIG)

tests_unit_test_dropins_SOURCES = tests/unit/test_dropins.c
tests_unit_test_dropins_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_dropins_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_dropins_LDADD = $(UNIT_CONFIG)

tests_unit_test_overrides_SOURCES = tests/unit/test_overrides.c
tests_unit_test_overrides_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_overrides_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_overrides_LDADD = $(UNIT_CONFIG)

tests_unit_test_guard_SOURCES = tests/unit/test_guard.c
tests_unit_test_guard_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_guard_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_guard_LDADD = $(UNIT_ENGINE)

tests_unit_test_guard_quiet_SOURCES = tests/unit/test_guard_quiet.c
tests_unit_test_guard_quiet_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_guard_quiet_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_guard_quiet_LDADD = $(UNIT_ENGINE)

tests_unit_test_pending_guard_SOURCES = tests/unit/test_pending_guard.c
tests_unit_test_pending_guard_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_pending_guard_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_pending_guard_LDADD = $(UNIT_ENGINE)

tests_unit_test_turns_SOURCES = tests/unit/test_turns.c
tests_unit_test_turns_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_turns_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_turns_LDADD = $(UNIT_ENGINE)

tests_unit_test_carry_SOURCES = tests/unit/test_carry.c
tests_unit_test_carry_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_carry_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_carry_LDADD = $(UNIT_ENGINE)

tests_unit_test_layers_SOURCES = tests/unit/test_layers.c
tests_unit_test_layers_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_layers_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_layers_LDADD = $(UNIT_ENGINE)

tests_unit_test_connect_SOURCES = tests/unit/test_connect.c
tests_unit_test_connect_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_connect_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_connect_LDADD = $(UNIT_ENGINE)

tests_unit_test_resolve_SOURCES = tests/unit/test_resolve.c
tests_unit_test_resolve_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_resolve_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_resolve_LDADD = $(UNIT_ENGINE)

tests_unit_test_options_SOURCES = tests/unit/test_options.c
tests_unit_test_options_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_options_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_options_LDADD = $(UNIT_STATE)

tests_unit_test_peers_SOURCES = tests/unit/test_peers.c
tests_unit_test_peers_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_peers_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_peers_LDADD = $(UNIT_STATE)

tests_unit_test_replay_SOURCES = tests/unit/test_replay.c
tests_unit_test_replay_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_replay_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_replay_LDADD = $(UNIT_STATE)

tests_unit_test_send_SOURCES = tests/unit/test_send.c tests/unit/sending.h tests/unit/under_way.h
tests_unit_test_send_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_send_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_send_LDADD = $(UNIT_ENGINE)

tests_unit_test_send_later_SOURCES = tests/unit/test_send_later.c tests/unit/sending.h \
	tests/unit/under_way.h
tests_unit_test_send_later_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_send_later_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_send_later_LDADD = $(UNIT_ENGINE)

tests_unit_test_walk_SOURCES = tests/unit/test_walk.c
tests_unit_test_walk_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_walk_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_walk_LDADD = $(UNIT_ENGINE)

# Brings a pending_due() of its own, so that no object of engine/pending is linked.
tests_unit_test_wait_SOURCES = tests/unit/test_wait.c
tests_unit_test_wait_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_wait_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_wait_LDADD = $(UNIT_ENGINE)

tests_unit_test_pending_SOURCES = tests/unit/test_pending.c tests/unit/under_way.h
tests_unit_test_pending_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_pending_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_pending_LDADD = $(UNIT_ENGINE)

tests_unit_test_pending_attempts_SOURCES = tests/unit/test_pending_attempts.c tests/unit/under_way.h
tests_unit_test_pending_attempts_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_pending_attempts_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_pending_attempts_LDADD = $(UNIT_ENGINE)

tests_unit_test_pending_epoll_SOURCES = tests/unit/test_pending_epoll.c tests/unit/under_way.h
tests_unit_test_pending_epoll_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_pending_epoll_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_pending_epoll_LDADD = $(UNIT_ENGINE)

tests_unit_test_pending_fds_SOURCES = tests/unit/test_pending_fds.c tests/unit/under_way.h
tests_unit_test_pending_fds_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_pending_fds_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_pending_fds_LDADD = $(UNIT_ENGINE)

tests_unit_test_pending_threads_SOURCES = tests/unit/test_pending_threads.c tests/unit/under_way.h
tests_unit_test_pending_threads_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_pending_threads_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_pending_threads_LDADD = $(UNIT_ENGINE)

# Rank 4 is one shared object: a file of it that stands alone is compiled again.
tests_unit_test_probe_SOURCES = tests/unit/test_probe.c src/preload/probe.c
tests_unit_test_probe_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_probe_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_probe_LDADD = $(UNIT_BASE)

tests_unit_test_epinfo_SOURCES = tests/unit/test_epinfo.c src/preload/epinfo.c
tests_unit_test_epinfo_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_epinfo_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_epinfo_LDADD = $(UNIT_STATE)

tests_unit_test_place_SOURCES = tests/unit/test_place.c
tests_unit_test_place_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_place_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_place_LDADD = $(UNIT_ENGINE)

tests_unit_test_tried_SOURCES = tests/unit/test_tried.c tests/unit/names.h
tests_unit_test_tried_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_tried_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_tried_LDADD = $(UNIT_STATE)

tests_unit_test_habit_SOURCES = tests/unit/test_habit.c
tests_unit_test_habit_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_habit_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_habit_LDADD = $(UNIT_STATE)

tests_unit_test_pending_places_SOURCES = tests/unit/test_pending_places.c tests/unit/under_way.h
tests_unit_test_pending_places_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_pending_places_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_pending_places_LDADD = $(UNIT_ENGINE)

tests_unit_test_shm_SOURCES = tests/unit/test_shm.c tests/unit/shm.h
tests_unit_test_shm_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_shm_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_shm_LDADD = $(UNIT_STATE)

tests_unit_test_shm_file_SOURCES = tests/unit/test_shm_file.c tests/unit/shm.h
tests_unit_test_shm_file_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_shm_file_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_shm_file_LDADD = $(UNIT_STATE)

tests_unit_test_shm_crowd_SOURCES = tests/unit/test_shm_crowd.c tests/unit/shm.h
tests_unit_test_shm_crowd_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_shm_crowd_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_shm_crowd_LDADD = $(UNIT_STATE)

tests_unit_test_tally_SOURCES = tests/unit/test_tally.c
tests_unit_test_tally_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_tally_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_tally_LDADD = $(UNIT_STATE)

tests_unit_test_stats_file_SOURCES = tests/unit/test_stats_file.c
tests_unit_test_stats_file_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_stats_file_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_stats_file_LDADD = $(UNIT_STATE)

tests_unit_test_stats_SOURCES = tests/unit/test_stats.c
tests_unit_test_stats_CPPFLAGS = $(UNIT_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_stats_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_stats_LDADD = src/cli/libcli.a src/state/libstate.a $(UNIT_CONFIG) $(JANSSON_LIBS)

tests_unit_test_visits_SOURCES = tests/unit/test_visits.c
tests_unit_test_visits_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_visits_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_visits_LDADD = src/cli/libcli.a $(UNIT_STATE)

tests_unit_test_logread_SOURCES = tests/unit/test_logread.c
tests_unit_test_logread_CPPFLAGS = $(UNIT_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_logread_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_logread_LDADD = src/cli/libcli.a $(UNIT_LOG) $(JANSSON_LIBS)

tests_unit_test_window_SOURCES = tests/unit/test_window.c
tests_unit_test_window_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_window_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_window_LDADD = $(UNIT_POLICY)

tests_unit_test_budget_SOURCES = tests/unit/test_budget.c
tests_unit_test_budget_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_budget_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_budget_LDADD = $(UNIT_POLICY)

tests_unit_test_breaker_SOURCES = tests/unit/test_breaker.c
tests_unit_test_breaker_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_breaker_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_breaker_LDADD = $(UNIT_POLICY)

# The worlds of "simulate", and what of the command they stand on.

tests_unit_test_sim_contention_SOURCES = tests/unit/test_sim_contention.c
tests_unit_test_sim_contention_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sim_contention_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sim_contention_LDADD = src/cli/libcli.a $(UNIT_ENGINE) -lm

tests_unit_test_sim_budget_SOURCES = tests/unit/test_sim_budget.c
tests_unit_test_sim_budget_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sim_budget_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sim_budget_LDADD = src/cli/libcli.a $(UNIT_ENGINE) -lm

tests_unit_test_sim_overload_SOURCES = tests/unit/test_sim_overload.c
tests_unit_test_sim_overload_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sim_overload_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sim_overload_LDADD = src/cli/libcli.a $(UNIT_ENGINE) -lm

tests_unit_test_destarg_SOURCES = tests/unit/test_destarg.c
tests_unit_test_destarg_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_destarg_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_destarg_LDADD = src/cli/libcli.a $(UNIT_BASE)

tests_unit_test_foresee_SOURCES = tests/unit/test_foresee.c
tests_unit_test_foresee_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_foresee_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_foresee_LDADD = src/cli/libcli.a $(UNIT_POLICY)

tests_unit_test_limits_SOURCES = tests/unit/test_limits.c
tests_unit_test_limits_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_limits_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_limits_LDADD = src/cli/libcli.a $(UNIT_BASE)

tests_unit_test_why_SOURCES = tests/unit/test_why.c
tests_unit_test_why_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_why_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_why_LDADD = src/cli/libcli.a $(UNIT_CONFIG)

tests_unit_test_outages_SOURCES = tests/unit/test_outages.c
tests_unit_test_outages_CPPFLAGS = $(UNIT_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_outages_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_outages_LDADD = src/cli/libcli.a $(UNIT_LOG) $(JANSSON_LIBS)

tests_unit_test_advise_SOURCES = tests/unit/test_advise.c
tests_unit_test_advise_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_advise_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_advise_LDADD = src/cli/libcli.a $(UNIT_ENGINE) -lm

tests_unit_test_sim_SOURCES = tests/unit/test_sim.c
tests_unit_test_sim_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sim_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sim_LDADD = src/cli/libcli.a $(CONF_DIRECT) $(UNIT_ENGINE) -lm

tests_unit_test_sim_tables_SOURCES = tests/unit/test_sim_tables.c
tests_unit_test_sim_tables_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sim_tables_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sim_tables_LDADD = src/cli/libcli.a $(CONF_DIRECT) $(UNIT_ENGINE) -lm

tests_unit_test_elf_SOURCES = tests/unit/test_elf.c
tests_unit_test_elf_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_elf_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_elf_LDADD = src/cli/libcli.a $(UNIT_BASE)

tests_unit_test_ldcache_SOURCES = tests/unit/test_ldcache.c
tests_unit_test_ldcache_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_ldcache_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_ldcache_LDADD = src/cli/libcli.a $(UNIT_BASE)

tests_unit_test_target_SOURCES = tests/unit/test_target.c
tests_unit_test_target_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_target_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_target_LDADD = src/cli/libcli.a $(UNIT_BASE)

tests_unit_test_report_SOURCES = tests/unit/test_report.c
tests_unit_test_report_CPPFLAGS = $(UNIT_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_report_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_report_LDADD = src/cli/libcli.a $(UNIT_LOG) $(JANSSON_LIBS) -lm
