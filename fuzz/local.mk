# What reads text of others is fed with any bytes. "make check" runs what is kept
# in fuzz/corpus; "make fuzz" lets libFuzzer (clang) look for more, FUZZ_SECONDS
# for each of FUZZ_TARGETS, and leaves what it finds in build-fuzz/new/NAME. A fault
# that it finds is kept in fuzz/corpus/NAME, so that it stays repaired.
FUZZ_SOURCES = fuzz/fuzz.h fuzz/arena.c fuzz/files.c fuzz/lines.c fuzz/match.c fuzz/targets.c fuzz/values.c
FUZZ_LIBS = src/cli/libcli.a src/log/liblog.a $(CONF_DIRECT) \
	src/policy/libpolicy.a src/base/libbase.a $(JANSSON_LIBS)
FUZZ_FLAGS = -std=gnu11 $(WARN_CFLAGS) $(SAN_CFLAGS)

check_PROGRAMS += fuzz/corpus_main
TESTS += fuzz/corpus_main
fuzz_corpus_main_SOURCES = fuzz/corpus_main.c $(FUZZ_SOURCES)
fuzz_corpus_main_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(LIBCONFIG_CFLAGS)
fuzz_corpus_main_CFLAGS = $(FUZZ_FLAGS)
fuzz_corpus_main_LDADD = $(FUZZ_LIBS)

EXTRA_PROGRAMS += fuzz/engine
fuzz_engine_SOURCES = fuzz/engine.c $(FUZZ_SOURCES)
fuzz_engine_CPPFLAGS = $(fuzz_corpus_main_CPPFLAGS)
fuzz_engine_CFLAGS = $(FUZZ_FLAGS)
fuzz_engine_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_engine_LDADD = $(FUZZ_LIBS)
CLEANFILES += fuzz/engine

EXTRA_DIST += fuzz/run.sh $(wildcard $(srcdir)/fuzz/corpus/*/*)

FUZZ_SECONDS = 60
FUZZ_TARGETS = addr conf duration env logline match timeline
fuzz:
	set -e; mkdir -p build-fuzz; cd build-fuzz; \
	test -f Makefile || $(abs_top_srcdir)/configure -q CC=clang --enable-asan --enable-ubsan \
		CFLAGS='-O1 -g -fsanitize=fuzzer-no-link'; \
	$(MAKE) -j$$(nproc) fuzz/engine >/dev/null; \
	$(abs_top_srcdir)/fuzz/run.sh $(FUZZ_SECONDS) $(FUZZ_TARGETS)
.PHONY: fuzz
