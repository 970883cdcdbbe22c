# Unit tests link the rooms at or below the rank of what they test, so that an
# upward call is a link error.
UNIT_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) -Wno-frame-larger-than -Wno-format-truncation
UNIT_CPPFLAGS = $(AM_CPPFLAGS) $(LIBCONFIG_CFLAGS) $(JANSSON_CFLAGS) -I$(top_srcdir) -DTOP_SRCDIR='"$(abs_top_srcdir)"'
UNIT_BASE = src/base/libbase.a $(CHECK_LIBS) -lpthread
UNIT_POLICY = src/policy/libpolicy.a $(UNIT_BASE)
UNIT_STATE = src/state/libstate.a $(UNIT_POLICY)
UNIT_LOG = src/log/liblog.a $(UNIT_POLICY)
UNIT_CONFIG = $(CONF_DIRECT) $(UNIT_POLICY)
UNIT_ENGINE = src/engine/libengine.a src/log/liblog.a $(UNIT_STATE)

EXTRA_DIST += tests/unit/unit.h tests/unit/steps.h tests/unit/world.h tests/unit/call.h tests/unit/json.h tests/unit/conf_world.h \
	tests/unit/load_errors_policy.h tests/unit/load_errors_rest.h \
	tests/unit/load_errors_syntax.h tests/preload/guest.h tests/preload/evloop.h

if HAVE_CHECK
include tests/unit/local.mk
include tests/preload/local.mk
endif
include tests/tools/local.mk

if SANITIZED
SANITIZED_FLAG = 1
endif

# The system's programs first: what a version manager puts before them (python3)
# takes ten times as long to start.
AM_TESTS_ENVIRONMENT = \
	PATH=/usr/bin:$$PATH; export PATH; \
	LIBRETRY_SO=$(abs_builddir)/libretry.so; export LIBRETRY_SO; \
	LIBRETRY=$(abs_builddir)/libretry; export LIBRETRY; \
	EARLY_SO=$(abs_builddir)/tests/preload/early.so; export EARLY_SO; \
	TOOLS=$(abs_builddir)/tests/tools; export TOOLS; \
	TOP_SRCDIR=$(abs_top_srcdir); export TOP_SRCDIR; \
	POLICY_OBJECTS='$(abs_builddir)/src/policy/*.o'; export POLICY_OBJECTS; \
	SANITIZER_RUNTIME='$(SANITIZER_RUNTIME)'; export SANITIZER_RUNTIME; \
	SANITIZED=$(SANITIZED_FLAG); export SANITIZED;

TEST_EXTENSIONS = .sh .pt
PT_LOG_COMPILER = $(srcdir)/tests/preload/run.sh

CLIENT_TESTS = addresses.sh badconf.sh blocking.sh eyeballs.sh fallback.sh guest.sh heartbeat.sh \
	lib.sh lookup.sh nonblocking.sh proxies.sh resets.sh run.sh same.sh shared.sh soak.sh \
	stories.sh strace.sh suites.sh twoaddr.sh wire.sh
EXTRA_DIST += $(CLIENT_TESTS:%=tests/clients/%) \
	tests/clients/src/JavaSocket.java tests/clients/src/NonBlocking.java \
	tests/clients/src/client.js tests/clients/src/family.py tests/clients/src/heartbeat.js \
	tests/clients/src/heartbeat.py tests/clients/src/epoll_loop.c tests/clients/src/pq_poll.c \
	tests/clients/src/crowd.py tests/clients/src/shared.py tests/clients/src/soak.py \
	tests/clients/src/suites.py tests/clients/src/tcp.rs \
	tests/clients/src/tcp_timeout.rs

# Real, unmodified programs; needs what scripts/setup installs, and root for
# the namespaces.
check-clients: all $(check_PROGRAMS)
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/tests/clients/run.sh $(CLIENTS)
# The long form of suites.sh, of which check-clients has the short one.
check-suites: all $(check_PROGRAMS)
	$(AM_TESTS_ENVIRONMENT) SUITES=$${SUITES:-all} JOBS=$${JOBS:-$$(nproc)} \
		$(srcdir)/tests/clients/run.sh suites
.PHONY: check-clients check-suites

# Half an hour of them, by default: SECONDS=n.
SECONDS = 1800
soak: all $(check_PROGRAMS)
	$(AM_TESTS_ENVIRONMENT) SOAK_SECONDS=$(SECONDS) SOAK_FIGURES=$(abs_builddir)/soak.txt \
		$(srcdir)/tests/clients/run.sh soak
	@cat soak.txt
.PHONY: soak

# For other architectures and for musl, in build-i386, build-aarch64 and build-musl.
EXTRA_DIST += scripts/foreign-libs scripts/debian-main scripts/musl-libs scripts/build-musl
EXTRA_DIST += tests/foreign/check.sh tests/foreign/client.sh tests/foreign/late.c
check-32: all tests/tools/flaky tests/tools/connect_once
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/tests/foreign/check.sh i386
check-aarch64: all tests/tools/flaky tests/tools/connect_once
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/tests/foreign/check.sh aarch64
check-musl: all tests/tools/flaky tests/tools/connect_once
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/tests/foreign/check.sh musl
.PHONY: check-32 check-aarch64 check-musl

# Every test, built before: side by side, and then alone those that measure time,
# the programs under the library.
check-side:
	@$(MAKE) -j$$(nproc) check-TESTS TESTS="$(filter-out %.pt,$(TESTS))"
check-timed:
	@$(MAKE) -j1 check-TESTS TESTS="$(filter %.pt,$(TESTS))" TEST_SUITE_LOG=test-suite-timed.log
check-fast:
	@bad=0; $(MAKE) check-side || bad=1; $(MAKE) check-timed || bad=1; exit $$bad
.PHONY: check-side check-timed check-fast
MOSTLYCLEANFILES = test-suite-timed.log soak.txt

# Builds of their own, in folders beside this one; the source folder itself
# must not be configured. The library and the command are optimised as far as
# the sanitizers are made for, the tests themselves not at all.
# $(1) folder, $(2) options, $(3) what is built of ours, $(4) of the tests.
SUBBUILD = set -e; mkdir -p $(1); cd $(1); \
	test -f Makefile || CONFIG_SHELL=$(SHELL) $(abs_top_srcdir)/configure -q \
		--cache-file=../sanitizers.cache $(2) CFLAGS="-O1 -g1"; \
	$(MAKE) -j$$(nproc) $(3) >/dev/null; \
	$(MAKE) -j$$(nproc) $(4) CFLAGS="-O0 -g1" >/dev/null

build-asan-tree:
	$(call SUBBUILD,build-asan,--enable-asan --enable-ubsan --enable-werror,all,check TESTS=)
# A process for each test of a unit takes longer than most of the tests, and is there for
# crashes and hangs; these end the program, too, or have ended check-fast.
ASAN = $(MAKE) -C build-asan LOG_COMPILER="env CK_FORK=no"
check-asan: build-asan-tree
	$(ASAN) check-fast
check-asan-side: build-asan-tree
	$(ASAN) check-side
check-asan-timed: build-asan-tree
	$(ASAN) check-timed

# Of the unit tests those with threads or handlers of signals. TSan slows the
# programs under the library beyond their time bounds, so of them the one that was
# made for it.
TSAN_TESTS = $$(cd $(srcdir) && grep -lE 'pthread_create|sigaction' tests/unit/test_*.c | \
	sed 's/\.c$$//' | tr '\n' ' ') tests/preload/evstress.pt
build-tsan-tree:
	@tests="$(TSAN_TESTS)"; \
	$(call SUBBUILD,build-tsan,--enable-tsan --enable-werror,libretry.so,$$tests)
check-tsan: build-tsan-tree
	@tests="$(TSAN_TESTS)"; $(MAKE) -C build-tsan check-TESTS check_PROGRAMS= TESTS="$$tests"

# Check's fork mode would hide leaks from valgrind. Left out: many processes and
# threads, of which it runs one at a time, and worlds that are simulated for their
# figures, a minute each.
VALGRIND = valgrind -q --error-exitcode=9 --read-inline-info=no --leak-check=full \
	--show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite
VALGRIND_TESTS = $(filter-out $(addprefix tests/unit/test_, shm_crowd advise sim_contention \
	sim_overload sim_tables), $(UNIT_TESTS))
check-valgrind: $(UNIT_TESTS)
	UNIT_VALGRIND=1 CK_FORK=no $(MAKE) -j$$(nproc) check-TESTS TESTS="$(VALGRIND_TESTS)" \
		LOG_COMPILER="$(VALGRIND)"

# The tarball: that it holds what the checkout does, builds and tests in a folder of
# its own beside sources that cannot be written, installs and uninstalls. Of the
# tests those that read the sources are built and run again; plain "make distcheck" does
# so with all.
DIST_TESTS = scripts/check-layers $(STATIC_SH) tests/preload/cli.sh tests/preload/simulate.sh \
	tests/unit/test_load tests/unit/test_load_errors tests/preload/order.sh
check-dist:
	$(MAKE) -j$$(nproc) distcheck TESTS="$(DIST_TESTS)" \
		check_PROGRAMS="$(filter $(check_PROGRAMS), $(DIST_TESTS)) tests/preload/early.so" \
		DISTCHECK_CONFIGURE_FLAGS='CFLAGS="-O0 -g0"'
	@test ! -e $(srcdir)/.git || { \
		xz -dc $(distdir).tar.xz | tar -tf - | sed 's,^[^/]*/,,' | sort >check-dist.tmp; \
		missing=$$(git -C $(srcdir) ls-files | grep -v '^\.' | sort | comm -23 - check-dist.tmp); \
		rm -f check-dist.tmp; \
		test -z "$$missing" || { echo "not in the tarball:" $$missing; exit 1; }; }
.PHONY: build-asan-tree build-tsan-tree check-asan check-asan-side check-asan-timed check-tsan \
	check-valgrind check-dist

clean-local:
	rm -rf build-asan build-tsan build-fuzz build-i386 build-aarch64 build-musl sanitizers.cache
