# rank 0: leaf helpers
noinst_LIBRARIES += src/base/libbase.a
src_base_libbase_a_SOURCES = \
	src/base/addr.c src/base/addr.h \
	src/base/brief.c src/base/brief.h \
	src/base/compat.h \
	src/base/duration.c src/base/duration.h \
	src/base/errname.c src/base/errname.h \
	src/base/filename.c src/base/filename.h \
	src/base/fmt.c src/base/fmt.h \
	src/base/glob.c src/base/glob.h \
	src/base/libc.h \
	src/base/quiet.c src/base/quiet.h \
	src/base/prng.c src/base/prng.h \
	src/base/sys.h
