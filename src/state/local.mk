# rank 2: what is remembered
noinst_LTLIBRARIES += src/state/libstate.la
src_state_libstate_la_SOURCES = src/state/names.c src/state/names.h
