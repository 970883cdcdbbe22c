# What a call costs; not part of "make check". NAMES="send recv": only these.
EXTRA_PROGRAMS = bench/calls
bench_calls_SOURCES = bench/calls.c
CLEANFILES += bench/calls$(EXEEXT)
EXTRA_DIST += bench/counts.sh

bench: all bench/calls$(EXEEXT)
	$(srcdir)/bench/counts.sh bench/calls$(EXEEXT) $(abs_builddir)/libretry.so $(NAMES)
.PHONY: bench
