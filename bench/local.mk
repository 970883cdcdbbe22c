# What a call costs: bench/bench.py says what can be chosen. Not part of "make check".
EXTRA_PROGRAMS = bench/calls
bench_calls_SOURCES = bench/calls.c
CLEANFILES += bench/calls$(EXEEXT)
run_python = PATH=/usr/bin:$$PATH python3 -B
EXTRA_DIST += bench/check_counts.py bench/counts.py bench/limits bench/limits.py bench/rows.py

# Instructions against the limits in bench/limits. Without optimisation it says nothing.
check-counts: libretry.so bench/calls$(EXEEXT)
	$(if $(filter -O2 -O3,$(CFLAGS)),$(run_python) $(srcdir)/bench/check_counts.py \
		bench/calls$(EXEEXT) libretry.so $(srcdir)/bench/limits, \
		@echo "skip check-counts: not built with -O2")
.PHONY: check-counts

bench: check-counts
.PHONY: bench
