# rank 1: pure decisions
noinst_LIBRARIES += src/policy/libpolicy.a
src_policy_libpolicy_a_SOURCES = \
	src/policy/backoff.c src/policy/backoff.h \
	src/policy/breaker.c src/policy/breaker.h \
	src/policy/budget.c src/policy/budget.h \
	src/policy/builtin.c src/policy/builtin.h \
	src/policy/classify.c src/policy/classify.h \
	src/policy/decide.c src/policy/decide.h \
	src/policy/inject.c src/policy/inject.h \
	src/policy/match.c src/policy/match.h \
	src/policy/pace.c src/policy/pace.h \
	src/policy/policy.h src/policy/settings.h \
	src/policy/window.c src/policy/window.h
