/* SPDX-License-Identifier: MIT */
/* load_errors_policy.h - bad input and what is said about it: policies. */
#ifndef LIBRETRY_TESTS_LOAD_ERRORS_POLICY_H
#define LIBRETRY_TESTS_LOAD_ERRORS_POLICY_H

static const struct bad_input bad_policy[] = {
	{ "base_delay",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "base_delay = \"0s\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.base_delay: \"0s\": must be more than 0", NULL } },
	{ "base_delay empty",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "base_delay = \"\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.base_delay: \"\": is empty (a duration such as "
	      "\"100ms\", \"2s\", \"5m\")", NULL } },
	{ "base_delay no unit",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "base_delay = \"100\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.base_delay: \"100\": has no unit (write \"100ms\" "
	      "or \"100s\")", NULL } },
	{ "base_delay unit",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "base_delay = \"1 sec\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.base_delay: \"1 sec\": has an unknown unit (a "
	      "duration such as \"100ms\", \"2s\", \"5m\")", NULL } },
	{ "base_delay negative",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "base_delay = \"-1s\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.base_delay: \"-1s\": is not a duration (a "
	      "duration such as \"100ms\", \"2s\", \"5m\")", NULL } },
	{ "base_delay tiny",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "base_delay = \"10ns\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.base_delay: \"10ns\": is too small (1us to 24h)", NULL } },
	{ "base_delay huge",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "base_delay = \"25h\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.base_delay: \"25h\": is too large (1us to 24h)", NULL } },
	{ "base_delay none",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "base_delay = \"none\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.base_delay: \"none\": is not a duration (a "
	      "duration such as \"100ms\", \"2s\", \"5m\")", NULL } },
	{ "base above max",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "base_delay = \"10s\";\n"
	  "max_delay = \"1s\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.base_delay: \"10s\": is more than max_delay (at "
	      "most 1s)", NULL } },
	{ "max below base",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "inherit = \"patient\";\n"
	  "max_delay = \"500ms\";\n"
	  "}; };\n",
	  { "E D/main.conf:4: policies.p.max_delay: \"500ms\": is less than base_delay (at "
	      "least 1s)", NULL } },
	{ "base above deadline",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "deadline = \"50ms\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.deadline: \"50ms\": is less than base_delay (at "
	      "least 100ms)", NULL } },
	{ "multiplier small",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "multiplier = 0.5;\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.multiplier: 0.5: too small (1 to 100)", NULL } },
	{ "multiplier large",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "multiplier = 100.5;\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.multiplier: 100.5: too large (1 to 100)", NULL } },
	{ "multiplier infinite",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "multiplier = 1e999;\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.multiplier: a huge number: too large (1 to 100)", NULL } },
	{ "jitter_ratio",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "jitter_ratio = 1.01;\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.jitter_ratio: 1.01: too large (0 to 1)", NULL } },
	{ "jitter_ratio unused",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "jitter = \"full\"; jitter_ratio = 0.1;\n"
	  "}; };\n",
	  { "W D/main.conf:3: policies.p.jitter_ratio: 0.1: has no effect with this jitter "
	      "(only with proportional or additive)", NULL } },
	{ "jitter none",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "jitter = \"none\";\n"
	  "}; };\n",
	  { "W D/main.conf:3: policies.p.jitter: \"none\": clients that failed together "
	      "come back together (proportional is usual)", NULL } },
	{ "jitter",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "jitter = \"ful\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.jitter: \"ful\": unknown (full, equal, "
	      "proportional, additive, decorrelated, none); did you mean \"full\"?", NULL } },
	{ "cap",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "cap = \"none\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.cap: \"none\": unknown (hard, soft)", NULL } },
	{ "first_retry",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "first_retry = \"now\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.first_retry: \"now\": unknown (wait, immediate)", NULL } },
	{ "max_attempts 0",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "max_attempts = 0;\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.max_attempts: 0: too small (1 to 1000)", NULL } },
	{ "max_attempts 1001",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "max_attempts = 1001;\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.max_attempts: 1001: too large (1 to 1000)", NULL } },
	{ "max_attempts 6",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "max_attempts = 6;\n"
	  "}; };\n",
	  { "N D/main.conf:3: policies.p.max_attempts: 6: more than 5 attempts seldom help "
	      "and add load (5 is the default)", NULL } },
	{ "max_retries too",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "max_attempts = 3; max_retries = 2;\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.max_retries: 2: stands beside max_attempts, which "
	      "counts one more (use one of them)", NULL } },
	{ "max_retries",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "max_retries = 1000;\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.max_retries: 1000: too large (0 to 999)", NULL } },
	{ "max_retries 5",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "max_retries = 5;\n"
	  "}; };\n",
	  { "N D/main.conf:3: policies.p.max_retries: 5: more than 5 attempts seldom help "
	      "and add load (5 is the default)", NULL } },
	{ "no deadline",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "deadline = \"none\"; max_attempts = 11;\n"
	  "}; };\n",
	  { "N D/main.conf:3: policies.p.max_attempts: 11: more than 5 attempts seldom "
	      "help and add load (5 is the default)",
	    "W D/main.conf:3: policies.p.deadline: \"none\": no deadline and more than 10 "
	      "attempts: a call may take very long", NULL } },
	{ "attempt_timeout above",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "attempt_timeout = \"31s\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.attempt_timeout: \"31s\": is more than deadline "
	      "(at most 30s)", NULL } },
	{ "attempt_timeout short",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "attempt_timeout = \"9ms\";\n"
	  "}; };\n",
	  { "W D/main.conf:3: policies.p.attempt_timeout: \"9ms\": is very short: healthy "
	      "connections may be cut (at least 10ms is usual)", NULL } },
	{ "deadline below attempt_timeout",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "inherit = \"patient\"; deadline = \"4s\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.deadline: \"4s\": is less than attempt_timeout "
	      "(at least 5s)", NULL } },
	{ "dns not whole",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "dns_attempt_timeout = \"1500ms\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.dns_attempt_timeout: \"1500ms\": is not a whole "
	      "number of seconds", NULL } },
	{ "dns small",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "dns_attempt_timeout = \"500ms\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.dns_attempt_timeout: \"500ms\": too small (1s to "
	      "30s, or \"none\")", NULL } },
	{ "dns large",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "dns_attempt_timeout = \"31s\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.dns_attempt_timeout: \"31s\": too large (1s to "
	      "30s, or \"none\")", NULL } },
	{ "budget",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "budget = { kind = \"rate\"; ratio = 10.1; min_retries_per_second = -1; ttl = "
	  "\"61s\"; scope = \"world\"; };\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.budget.kind: \"rate\": unknown (ratio, tokens, "
	      "none)",
	    "E D/main.conf:3: policies.p.budget.ratio: 10.1: too large (0 to 10)",
	    "E D/main.conf:3: policies.p.budget.min_retries_per_second: -1: too small (0 "
	      "to 1000000)",
	    "E D/main.conf:3: policies.p.budget.ttl: \"61s\": too large (1s to 1m)",
	    "E D/main.conf:3: policies.p.budget.scope: \"world\": unknown (process, user, "
	      "host)", NULL } },
	{ "budget ttl",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "budget = { ttl = \"999ms\"; };\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.budget.ttl: \"999ms\": too small (1s to 1m)", NULL } },
	{ "budget of nothing",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "budget = { ratio = 0; min_retries_per_second = 0; };\n"
	  "}; };\n",
	  { "W D/main.conf:3: policies.p.budget: ratio and min_retries_per_second are both "
	      "0: no retries at all", NULL } },
	{ "breaker",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "breaker = { consecutive_failures = 0; };\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.breaker: nothing can open it "
	      "(consecutive_failures at least 1, or failure_ratio more than 0)", NULL } },
	{ "breaker at once, and coordinate",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "breaker = { enabled = true; consecutive_failures = 1; };\n"
	  "coordinate = true;\n"
	  "}; q = { breaker = { enabled = true; consecutive_failures = 2; };\n"
	  "coordinate = true; }; };\n",
	  { "W D/main.conf:4: policies.p.coordinate: the breaker opens at the first failure, "
	      "so coordinate has nothing to do (consecutive_failures at least 2, or 0)", NULL } },
	{ "breaker of many, and coordinate",
	  "version = 1;\n"
	  "policies = { p = { coordinate = true; };\n"
	  "q = { inherit = \"p\"; breaker = { enabled = true; consecutive_failures = 0;\n"
	  "failure_ratio = 0.5; minimum_calls = 100; window = \"10s\"; }; };\n"
	  "r = { inherit = \"q\"; breaker = { window = \"30s\"; }; }; };\n",
	  { "W D/main.conf:3: policies.q.breaker: the breaker will hardly open: with coordinate "
	      "some 38 attempts fail in a window (minimum_calls is 100)", NULL } },
	{ "breaker times",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "breaker = { open_for = \"10m\"; window = \"999ms\"; };\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.breaker.window: \"999ms\": too small (1s to 24h)",
	    NULL } },
	{ "breaker order",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "breaker = { open_for = \"10m\"; };\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.breaker.open_for: \"10m\": is more than "
	      "max_open_for (at most 5m)", NULL } },
	{ "breaker order 2",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "breaker = { max_open_for = \"1s\"; failure_ratio = 1; minimum_calls = 1; };\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.breaker.max_open_for: \"1s\": is less than "
	      "open_for (at least 5s)", NULL } },
	{ "schedule and formula",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "schedule = [ \"1s\" ]; max_delay = \"2s\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.schedule: stands beside max_delay (use one or the "
	      "other)", NULL } },
	{ "schedule empty",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "schedule = [ ];\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.schedule: has 0 entries (1 to 64)", NULL } },
	{ "schedule long",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "schedule = [ \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", "
	  "\"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", "
	  "\"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", "
	  "\"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", "
	  "\"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", "
	  "\"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", "
	  "\"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", \"1s\", "
	  "\"1s\", \"1s\", \"1s\" ];\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.schedule: has 65 entries (1 to 64)", NULL } },
	{ "schedule entries",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "schedule = [ \"0s\", \"x\", 5, \"25h\" ];\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.schedule[1]: \"x\": is not a duration (a duration "
	      "such as \"100ms\", \"2s\", \"5m\")",
	    "E D/main.conf:3: policies.p.schedule[2]: 5: has no unit (write \"5ms\" or "
	      "\"5s\")",
	    "E D/main.conf:3: policies.p.schedule[3]: \"25h\": is too large (1us to 24h)", NULL } },
	{ "socket",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "socket = { syn_count = 256; user_timeout = \"10us\"; keepalive_idle = "
	  "\"1500ms\"; keepalive_interval = \"10h\"; keepalive_count = 128; };\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.socket.syn_count: 256: too large (0 to 255)",
	    "E D/main.conf:3: policies.p.socket.user_timeout: \"10us\": too small (1ms to "
	      "24h, or \"none\")",
	    "E D/main.conf:3: policies.p.socket.keepalive_idle: \"1500ms\": is not a whole "
	      "number of seconds",
	    "E D/main.conf:3: policies.p.socket.keepalive_interval: \"10h\": too large (1s "
	      "to 32767s, or \"none\")",
	    "E D/main.conf:3: policies.p.socket.keepalive_count: 128: too large (0 to 127)",
	    NULL } },
	{ "sizes",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "replay_buffer = \"2MiB\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.replay_buffer: \"2MiB\": too large (0 to 1MiB)", NULL } },
	{ "sizes 2",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "replay_buffer = \"64KB\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.replay_buffer: \"64KB\": is not a size (such as "
	      "\"64KiB\", \"1MiB\")", NULL } },
	{ "errors",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "retry_on = [ \"refuse\", \"ECONREFUSED\", \"EACCES\", \"EINTR\", "
	  "\"EAI_BADFLAGS\", \"zzzzz\", \"\" ];\n"
	  "never_on = [ \"EACCES\", \"tmeout\" ];\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.retry_on[0]: \"refuse\": unknown (refused, "
	      "timeout, unreachable, reset, local-resource, dns-temporary, dns-missing, "
	      "unix-missing, or an error name such as ENOENT or EAI_FAIL); did you mean "
	      "\"refused\"?",
	    "E D/main.conf:3: policies.p.retry_on[1]: \"ECONREFUSED\": unknown (refused, "
	      "timeout, unreachable, reset, local-resource, dns-temporary, dns-missing, "
	      "unix-missing, or an error name such as ENOENT or EAI_FAIL); did you mean "
	      "\"ECONNREFUSED\"?",
	    "E D/main.conf:3: policies.p.retry_on[2]: \"EACCES\": is never retried: "
	      "waiting does not cure it (leave it out)",
	    "E D/main.conf:3: policies.p.retry_on[3]: \"EINTR\": is never retried: waiting "
	      "does not cure it (leave it out)",
	    "E D/main.conf:3: policies.p.retry_on[4]: \"EAI_BADFLAGS\": is never retried: "
	      "waiting does not cure it (leave it out)",
	    "E D/main.conf:3: policies.p.retry_on[5]: \"zzzzz\": unknown (refused, "
	      "timeout, unreachable, reset, local-resource, dns-temporary, dns-missing, "
	      "unix-missing, or an error name such as ENOENT or EAI_FAIL)",
	    "E D/main.conf:3: policies.p.retry_on[6]: \"\": unknown (refused, timeout, "
	      "unreachable, reset, local-resource, dns-temporary, dns-missing, unix-missing, "
	      "or an error name such as ENOENT or EAI_FAIL)",
	    "E D/main.conf:4: policies.p.never_on[1]: \"tmeout\": unknown (refused, "
	      "timeout, unreachable, reset, local-resource, dns-temporary, dns-missing, "
	      "unix-missing, or an error name such as ENOENT or EAI_FAIL); did you mean "
	      "\"timeout\"?", NULL } },
	{ "errors empty",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "retry_on = [ ];\n"
	  "}; };\n",
	  { "W D/main.conf:3: policies.p.retry_on: is empty: nothing is retried "
	      "(max_attempts = 1 says so plainly)", NULL } },
	{ "inherit nobody",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "inherit = \"nobody\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.inherit: \"nobody\": no such policy", NULL } },
	{ "inherit near",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "inherit = \"pateint\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.inherit: \"pateint\": no such policy; did you "
	      "mean \"patient\"?", NULL } },
	{ "inherit itself",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "inherit = \"p\";\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.inherit: \"p\": inherits from itself (a circle)", NULL } },
	{ "inherit circle",
	  "version = 1;\n"
	  "policies = {\n"
	  " a = { inherit = \"b\"; };\n"
	  " b = { inherit = \"c\"; };\n"
	  " c = { inherit = \"a\"; };\n"
	  " d = { inherit = \"a\"; };\n"
	  "};\n",
	  { "E D/main.conf:3: policies.a.inherit: \"b\": inherits from itself (a circle)",
	    "E D/main.conf:4: policies.b.inherit: \"c\": inherits from itself (a circle)",
	    "E D/main.conf:5: policies.c.inherit: \"a\": inherits from itself (a circle)", NULL } },
	{ "inherit depth",
	  "version = 1;\n"
	  "policies = {\n"
	  " p0 = { inherit = \"p1\"; };\n"
	  " p1 = { inherit = \"p2\"; };\n"
	  " p2 = { inherit = \"p3\"; };\n"
	  " p3 = { inherit = \"p4\"; };\n"
	  " p4 = { inherit = \"p5\"; };\n"
	  " p5 = { inherit = \"p6\"; };\n"
	  " p6 = { inherit = \"p7\"; };\n"
	  " p7 = { inherit = \"p8\"; };\n"
	  " p8 = { inherit = \"p9\"; };\n"
	  " p9 = { inherit = \"p10\"; };\n"
	  " p10 = { };\n"
	  "};\n",
	  { "E D/main.conf:4: policies.p1.inherit: \"p2\": inherits over too many steps "
	      "(at most 8)", NULL } },
};

#endif
