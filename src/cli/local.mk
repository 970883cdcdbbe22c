# rank 4: the command; a library, for its unit tests.
bin_PROGRAMS += libretry
libretry_SOURCES = src/cli/main.c
noinst_LIBRARIES += src/cli/libcli.a
src_cli_libcli_a_SOURCES = \
	src/cli/advise.c src/cli/advise.h \
	src/cli/destarg.c src/cli/destarg.h \
	src/cli/explain.c src/cli/explain.h src/cli/explain_guard.c src/cli/explain_say.c src/cli/explain_time.c \
	src/cli/foresee.c src/cli/foresee.h \
	src/cli/inuse.c src/cli/inuse.h \
	src/cli/limits.c src/cli/limits.h \
	src/cli/outages.c src/cli/outages.h \
	src/cli/suggest.h src/cli/suggest_say.c \
	src/cli/why.c src/cli/why.h \
	src/cli/cli.c src/cli/cli.h \
	src/cli/cmd_check.c src/cli/cmd_doctor.c src/cli/cmd_explain.c \
	src/cli/cmd_report.c src/cli/cmd_run.c src/cli/cmd_simulate.c src/cli/cmd_suggest.c \
	src/cli/elf.c src/cli/elf.h \
	src/cli/findings.c src/cli/findings.h \
	src/cli/imports.c src/cli/imports.h \
	src/cli/known.c src/cli/known.h \
	src/cli/ldcache.c src/cli/ldcache.h \
	src/cli/logline.c src/cli/logline.h src/cli/logread.c src/cli/logread.h \
	src/cli/logvalue.c src/cli/logvalue.h \
	src/cli/need.c src/cli/need.h \
	src/cli/out.c src/cli/out.h \
	src/cli/preload_path.c src/cli/preload_path.h \
	src/cli/process.c src/cli/process.h \
	src/cli/searchpath.c src/cli/searchpath.h \
	src/cli/report.h src/cli/report_bins.c src/cli/report_calls.c \
	src/cli/report_chart.c src/cli/report_chart.h src/cli/report_dest.c \
	src/cli/report_html.c src/cli/report_html.h src/cli/report_json.c \
	src/cli/report_model.c src/cli/report_model.h src/cli/report_page.c \
	src/cli/report_read.c src/cli/report_style.c \
	src/cli/show.c src/cli/show.h src/cli/show_limits.c \
	src/cli/sim.h src/cli/sim_budget.c src/cli/sim_budget.h src/cli/sim_budget_main.c \
	src/cli/sim_call.c src/cli/sim_contention.c src/cli/sim_contention.h \
	src/cli/sim_heap.c src/cli/sim_heap.h \
	src/cli/sim_herd.c src/cli/sim_host.c src/cli/sim_host.h \
	src/cli/sim_legacy.c src/cli/sim_legacy.h src/cli/sim_legacy_main.c \
	src/cli/sim_options.c src/cli/sim_options.h \
	src/cli/sim_outage.c src/cli/sim_outage_main.c \
	src/cli/sim_overload.c src/cli/sim_overload.h src/cli/sim_overload_main.c \
	src/cli/sim_policies.c src/cli/sim_policies.h \
	src/cli/sim_retry.c src/cli/sim_retry.h \
	src/cli/sim_show.c src/cli/sim_study.c src/cli/sim_study.h \
	src/cli/sim_svg.c src/cli/sim_svg.h src/cli/sim_times.c src/cli/sim_worlds.c \
	src/cli/surroundings.c src/cli/surroundings.h \
	src/cli/target.c src/cli/target.h src/cli/wrapped.h
nodist_src_cli_libcli_a_SOURCES = src/cli/wrapped.c
libretry_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) -DPKG_LIBDIR='"$(libdir)"'
libretry_CFLAGS = -std=gnu11 $(WARN_CFLAGS) $(SAN_CFLAGS) $(TOOL_CFLAGS)
src_cli_libcli_a_CPPFLAGS = $(libretry_CPPFLAGS)
src_cli_libcli_a_CFLAGS = $(libretry_CFLAGS)
libretry_LDFLAGS = $(AM_LDFLAGS) $(TOOL_LDFLAGS)
libretry_LDADD = src/cli/libcli.a \
	src/engine/libengine.a src/state/libstate.a src/log/liblog.a \
	$(CONF_DIRECT) \
	src/policy/libpolicy.a src/base/libbase.a $(JANSSON_LIBS) -lm

# The wrapped functions, for the doctor.
CLEANFILES += src/cli/wrapped.c
src/cli/wrapped.c: $(top_srcdir)/src/preload/symbols.def $(top_srcdir)/scripts/gen-wrapped
	$(AM_V_GEN)$(MKDIR_P) src/cli && \
	$(top_srcdir)/scripts/gen-wrapped $(top_srcdir)/src/preload/symbols.def >$@.tmp && mv $@.tmp $@

# stats, hold and release
src_cli_libcli_a_SOURCES += \
	src/cli/cmd_hold.c src/cli/cmd_stats.c \
	src/cli/httpd.c src/cli/httpd.h \
	src/cli/segment.c src/cli/segment.h src/cli/shared.c src/cli/shared.h \
	src/cli/stats.h src/cli/stats_prom.c src/cli/stats_serve.c src/cli/stats_show.c \
	src/cli/stats_take.c src/cli/stats_watch.c src/cli/visits.c src/cli/visits.h
# Opened when it is needed; see httpd.h.
libretry_CPPFLAGS += $(MICROHTTPD_CFLAGS) -DMICROHTTPD_SONAME='"$(MICROHTTPD_SONAME)"'
