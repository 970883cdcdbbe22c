# What the tests of real programs run beside them.
check_PROGRAMS += tests/tools/flaky tests/tools/dnsd tests/tools/errno_main \
	tests/tools/connect_once tests/tools/caller
tests_tools_flaky_SOURCES = tests/tools/flaky.c tests/tools/flaky.h tests/tools/flaky_serve.c
tests_tools_flaky_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_tools_flaky_CFLAGS = $(UNIT_CFLAGS)
tests_tools_dnsd_SOURCES = tests/tools/dnsd.c
tests_tools_dnsd_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_tools_dnsd_CFLAGS = $(UNIT_CFLAGS)
tests_tools_errno_main_SOURCES = tests/tools/errno_main.c
tests_tools_errno_main_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_tools_errno_main_CFLAGS = $(UNIT_CFLAGS)
tests_tools_connect_once_SOURCES = tests/tools/connect_once.c
tests_tools_connect_once_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_tools_connect_once_CFLAGS = $(UNIT_CFLAGS)
tests_tools_caller_SOURCES = tests/tools/caller.c
tests_tools_caller_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_tools_caller_CFLAGS = $(UNIT_CFLAGS)
tests_tools_caller_LDADD = -lpthread -lm
