# rank 3: the retry loops, over an ops table
noinst_LIBRARIES += src/engine/libengine.a
src_engine_libengine_a_SOURCES = \
	src/engine/connect.c src/engine/connect.h \
	src/engine/guard.c src/engine/guard.h src/engine/guard_quiet.c \
	src/engine/ops.h \
	src/engine/pending.c src/engine/pending.h src/engine/pending_due.h \
	src/engine/pending_act.c src/engine/pending_act.h \
	src/engine/pending_attempt.c src/engine/pending_begin.c src/engine/pending_end.c \
	src/engine/pending_place.c \
	src/engine/pending_watch.c \
	src/engine/place.c src/engine/place.h \
	src/engine/resolve.c src/engine/resolve.h \
	src/engine/retry.c src/engine/retry.h \
	src/engine/send.c src/engine/send.h \
	src/engine/wait.c src/engine/wait.h \
	src/engine/walk.c src/engine/walk.h
