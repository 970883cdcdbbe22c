# rank 2: one line per event
noinst_LIBRARIES += src/log/liblog.a
src_log_liblog_a_SOURCES = \
	src/log/event.c src/log/event.h \
	src/log/flood.c src/log/flood.h \
	src/log/log.c src/log/log.h \
	src/log/render.c src/log/render.h \
	src/log/sink.c src/log/sink.h
