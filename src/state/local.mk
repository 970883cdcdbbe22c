# rank 2: what is remembered
noinst_LIBRARIES += src/state/libstate.a
src_state_libstate_a_SOURCES = src/state/names.c src/state/names.h src/state/names_slot.h \
	src/state/names_remember.c \
	src/state/options.c src/state/options.h \
	src/state/peers.c src/state/peers.h \
	src/state/replay.c src/state/replay.h \
	src/state/fdtab.c src/state/fdtab.h \
	src/state/fdtab_pool.c src/state/fdtab_pool.h \
	src/state/fdtab_note.c src/state/fdtab_note.h \
	src/state/habit.c src/state/habit.h \
	src/state/layers.c src/state/layers.h \
	src/state/shm.c src/state/shm.h src/state/slot.h \
	src/state/shm_file.c src/state/shm_file.h \
	src/state/stats_file.c src/state/stats_file.h \
	src/state/view.c src/state/view.h src/state/view_json.c src/state/view_prom.c \
	src/state/tally.c src/state/tally.h \
	src/state/tried.c src/state/tried.h \
	src/state/said.c src/state/said.h \
	src/state/turns.c src/state/turns.h \
	src/state/carry.c src/state/carry.h \
	src/state/literal.c src/state/literal.h \
	src/state/fdtab_slot.c src/state/fdtab_slot.h src/state/fdtab_watch.c
