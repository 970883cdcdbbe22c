# What a call costs, and a program. Not part of "make check".
EXTRA_PROGRAMS = bench/calls
bench_calls_SOURCES = bench/calls.c
CLEANFILES += bench/calls$(EXEEXT) bench/empty.so bench.json bench.md
EXTRA_DIST += bench/bench.py bench/calls_parts.py bench/check_counts.py bench/counts.py \
	bench/http_client.js bench/limits bench/limits.py bench/operations_part.py bench/paired.py \
	bench/process_parts.py bench/programs_part.py bench/rows.py bench/servers.py bench/tables.py
run_python = PATH=/usr/bin:$$PATH python3 -B

# Instructions against the limits in bench/limits. Without optimisation it says nothing.
check-counts: libretry.so bench/calls$(EXEEXT)
	$(if $(filter -O2 -O3,$(CFLAGS)),$(run_python) $(srcdir)/bench/check_counts.py \
		bench/calls$(EXEEXT) libretry.so $(srcdir)/bench/limits, \
		@echo "skip check-counts: not built with -O2")

bench/empty.so: Makefile
	@$(MKDIR_P) bench
	$(AM_V_CCLD)$(CC) $(CFLAGS) -shared -fPIC -o $@ -x c /dev/null

# PARTS="counts operations startup wall programs memory syscalls", NAMES="send,recv,wrk"
# (calls and programs), ROWS="bare again,libretry" (preloads), ROUNDS=n; SETUP=yes installs
# the others. Figures go to bench.json, tables to bench.md.
ROUNDS = 5
bench: libretry.so bench/calls$(EXEEXT) bench/empty.so
	$(if $(SETUP),$(top_srcdir)/scripts/setup --bench)
	$(run_python) $(srcdir)/bench/bench.py --calls bench/calls$(EXEEXT) \
		--library libretry.so --empty bench/empty.so --source $(srcdir) \
		--json bench.json --markdown bench.md --rounds $(ROUNDS) \
		--parts "$(PARTS)" --names "$(NAMES)" --rows "$(ROWS)"
.PHONY: bench check-counts
