/* SPDX-License-Identifier: MIT */
/* load_errors_syntax.h - bad input and what is said: syntax, integers, unknown keys, types. */
#ifndef LIBRETRY_TESTS_LOAD_ERRORS_SYNTAX_H
#define LIBRETRY_TESTS_LOAD_ERRORS_SYNTAX_H

static const struct bad_input bad_syntax[] = {
	{ "empty file",
	  "",
	  { "E D/main.conf: version: is missing (write \"version = 1;\")", NULL } },
	{ "wrong version",
	  "version = 2;\n",
	  { "E D/main.conf:1: version: 2: unknown format (1 is the only one)", NULL } },
	{ "version as text",
	  "version = \"1\";\n",
	  { "E D/main.conf:1: version: \"1\": is a text (1, without quotes, is expected)", NULL } },
	{ "version as float",
	  "version = 1.0;\n",
	  { "E D/main.conf:1: version: 1.0: is a number with a fraction (1, without "
	      "quotes, is expected)", NULL } },
	{ "unquoted duration",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "base_delay = 100ms;\n"
	  "}; };\n",
	  { "E D/main.conf:3: syntax error near \"100ms\" (a duration needs quotes: "
	      "\"100ms\")", NULL } },
	{ "unquoted text",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ policy = patient; }\n"
	  ");\n",
	  { "E D/main.conf:3: syntax error near \"patient\" (a text needs quotes: "
	      "\"patient\")", NULL } },
	{ "single quotes",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ policy = 'patient'; }\n"
	  ");\n",
	  { "E D/main.conf:3: syntax error near \"'patient'\" (a text needs quotes: "
	      "\"patient\")", NULL } },
	{ "percent",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "jitter_ratio = 20%;\n"
	  "}; };\n",
	  { "E D/main.conf:3: syntax error near \"20%\" (a ratio is a plain number: 0.2 "
	      "for 20%)", NULL } },
	{ "unquoted address",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ addr = 10.0.0.0/8; }\n"
	  ");\n",
	  { "E D/main.conf:3: syntax error near \"10.0.0.0/8\" (a text needs quotes: "
	      "\"10.0.0.0/8\")", NULL } },
	{ "trailing comma in a list",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ name = \"a\"; },\n"
	  ");\n",
	  { "E D/main.conf:3: destinations: a comma behind the last element (leave it out)",
	    NULL } },
	{ "trailing comma in an array",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "retry_on = [ \"refused\", ];\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.retry_on: a comma behind the last element (leave "
	      "it out)", NULL } },
	{ "comma missing",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ name = \"a\"; host = \"a\"; }\n"
	  "{ name = \"b\"; host = \"b\"; }\n"
	  ");\n",
	  { "E D/main.conf:4: destinations[1]: a comma is missing before it", NULL } },
	{ "no value",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "base_delay = ;\n"
	  "max_delay =\n"
	  "deadline = \"1s\"; cap = }; q = {\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.base_delay: has no value",
	    "E D/main.conf:5: policies.p.max_delay: has no value",
	    "E D/main.conf:5: policies.p.cap: has no value", NULL } },
	{ "no equals sign",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "base_delay \"1s\"; max_attempts 3;\n"
	  "socket { syn_count = 300; };\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.base_delay: \"=\" is missing behind the name",
	    "E D/main.conf:3: policies.p.max_attempts: \"=\" is missing behind the name",
	    "E D/main.conf:4: policies.p.socket: \"=\" is missing behind the name",
	    "E D/main.conf:4: policies.p.socket.syn_count: 300: too large (0 to 255)", NULL } },
	{ "set twice",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "max_attempts = 2;\n"
	  "max_attempts = 3;\n"
	  "}; };\n",
	  { "E D/main.conf:4: policies.p.max_attempts: is set twice (first at "
	      "D/main.conf:3)", NULL } },
	{ "group set twice",
	  "version = 1;\n"
	  "policies = {\n"
	  " p = { max_attempts = 2; };\n"
	  " p = {\n"
	  "  base_delay = 5;\n"
	  " };\n"
	  " q = { cap = \"mild\"; };\n"
	  "};\n",
	  { "E D/main.conf:4: policies.p: is set twice (first at D/main.conf:3)",
	    "E D/main.conf:7: policies.q.cap: \"mild\": unknown (hard, soft)", NULL } },
	{ "semicolon twice",
	  "version = 1;\n"
	  "log = { level = \"warn\";; };\n",
	  { "E D/main.conf:2: syntax error near \";\" (nothing stands before it)", NULL } },
	{ "quotes not closed",
	  "version = 1;\n"
	  "log = { level = \"warn; };\n"
	  "process = { reload = \"never\"; };\n",
	  { "E D/main.conf:2: the quotes of a text are not closed", NULL } },
	{ "comment not closed",
	  "version = 1;\n"
	  "/* log\n",
	  { "E D/main.conf:2: the comment is not closed", NULL } },
	{ "bracket not closed",
	  "version = 1;\n"
	  "policies = {\n"
	  " p = {\n"
	  " cap = \"hard\";\n"
	  "};\n",
	  { "E D/main.conf:2: policies: the bracket is not closed", NULL } },
	{ "wrong bracket",
	  "version = 1;\n"
	  "destinations = (\n"
	  " { name = \"x\" )\n"
	  ");\n",
	  { "E D/main.conf:3: syntax error near \")\" (another bracket is open here)",
	    "E D/main.conf:3: this \"{\" is not closed", NULL } },
	{ "bracket too many",
	  "version = 1;\n"
	  "};\n",
	  { "E D/main.conf:2: syntax error near \"}\" (nothing is open here)", NULL } },
	{ "stray at sign",
	  "version = 1;\n"
	  "  @import \"x\"\n"
	  "log = { level = \"loud\"; };\n",
	  { "E D/main.conf:2: syntax error near \"@import \\\"x\\\"\" (an include is "
	      "@include \"file\", alone at the start of a line)",
	    "E D/main.conf:3: log.level: \"loud\": unknown (error, warn, info, debug)", NULL } },
	{ "left to libconfig",
	  "version = 1;\n"
	  "base delay = 1;\n"
	  "log = { level = \"loud\"; };\n",
	  { "E D/main.conf:2: syntax error near \"base delay = 1;\"",
	    "E D/main.conf:3: log.level: \"loud\": unknown (error, warn, info, debug)", NULL } },
	{ "several left to libconfig",
	  "version = 1;\n"
	  "a b = 1;\n"
	  "log = { level = \"loud\"; };\n"
	  "c d e;\n"
	  "%\n",
	  { "E D/main.conf:2: syntax error near \"a b = 1;\"",
	    "E D/main.conf:4: syntax error near \"c d e;\"",
	    "E D/main.conf:5: syntax error near \"%\"",
	    "E D/main.conf:3: log.level: \"loud\": unknown (error, warn, info, debug)", NULL } },
	{ "left to libconfig, with a bracket",
	  "version = 1;\n"
	  "a b = { c = 1;\n"
	  "};\n"
	  "log = { level = \"loud\"; };\n",
	  { "E D/main.conf:2: syntax error near \"a b = { c = 1;\"", NULL } },
	{ "version line lost",
	  "version 1 2;\n"
	  "log = { level = \"loud\"; };\n",
	  { "E D/main.conf:1: version: \"=\" is missing behind the name",
	    "E D/main.conf:1: syntax error near \"version =1 2;\"",
	    "E D/main.conf:2: log.level: \"loud\": unknown (error, warn, info, debug)", NULL } },
	{ "policy line lost",
	  "version = 1;\n"
	  "policies = {\n"
	  " a b = { };\n"
	  "};\n"
	  "destinations = ( { policy = \"a\"; }, { policy = \"b\"; } );\n",
	  { "E D/main.conf:3: syntax error near \"a b = { };\"",
	    "E D/main.conf:5: destinations[1].policy: \"b\": no such policy",
	    "W D/main.conf:5: destinations[1]: can never match: destinations[0] already "
	      "takes everything", NULL } },
	{ "nested too deep",
	  "version = 1;\n"
	  "x = ((((((((((((((((((((((((((((((((()))))))))))))))))))))))))))))))));\n",
	  { "E D/main.conf:2: x[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]"
	      "[0][0][0][0][0][0][0][0][0][0][0][0]: nested too deep (at most 32)", NULL } },
	{ "integers that wrap",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "max_attempts = 4294967297;\n"
	  "base_delay = 3000000000; socket = { syn_count = 0x100000001; keepalive_count "
	  "= -2147483649; };\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.max_attempts: 4294967297: does not fit 32 bits "
	      "(-2147483648 to 2147483647)",
	    "E D/main.conf:4: policies.p.base_delay: 3000000000: does not fit 32 bits "
	      "(-2147483648 to 2147483647)",
	    "E D/main.conf:4: policies.p.socket.syn_count: 0x100000001: does not fit 32 "
	      "bits (-2147483648 to 2147483647)",
	    "E D/main.conf:4: policies.p.socket.keepalive_count: -2147483649: does not fit "
	      "32 bits (-2147483648 to 2147483647)", NULL } },
	{ "integers that wrap in lists",
	  "version = 1;\n"
	  "process = { stop_on = [ 4294967297 ]; };\n"
	  "destinations = ( { port = 4294967376; }, { port = 99999999999999999999L; } "
	  ");\n",
	  { "E D/main.conf:2: process.stop_on[0]: 4294967297: does not fit 32 bits "
	      "(-2147483648 to 2147483647)",
	    "E D/main.conf:3: destinations[0].port: 4294967376: does not fit 32 bits "
	      "(-2147483648 to 2147483647)",
	    "E D/main.conf:3: destinations[1].port: 99999999999999999999L: does not fit 64 "
	      "bits", NULL } },
	{ "large integers",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "max_attempts = 4294967297L; multiplier = 9223372036854775807L; jitter_ratio = "
	  "-1;\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.max_attempts: 4294967297: too large (1 to 1000)",
	    "E D/main.conf:3: policies.p.multiplier: 9223372036854775807: too large (1 to "
	      "100)",
	    "E D/main.conf:3: policies.p.jitter_ratio: -1: too small (0 to 1)", NULL } },
	{ "unknown keys",
	  "version = 1;\n"
	  "polices = { };\n"
	  "policies = { p = { base_dely = \"1s\"; zzz = 1; }; };\n"
	  "destinations = ( { hots = \"x\"; } );\n"
	  "log = { lvl = 1; };\n",
	  { "K D/main.conf:2: polices: unknown key; did you mean \"policies\"?",
	    "K D/main.conf:5: log.lvl: unknown key (to, level, format, burst, per)",
	    "K D/main.conf:3: policies.p.base_dely: unknown key; did you mean "
	      "\"base_delay\"?",
	    "K D/main.conf:3: policies.p.zzz: unknown key (inherit, base_delay, "
	      "multiplier, max_delay, jitter, jitter_ratio, cap, first_retry, schedule, "
	      "base_delay_local, max_attempts, max_retries, deadline, attempt_timeout, "
	      "dns_attempt_timeout, retry_on, never_on, send, replay_buffer, nonblocking, "
	      "budget, breaker, coordinate, max_concurrent_retries, carry, carry_for, "
	      "layering, address_walk, stale_dns, socket)",
	    "K D/main.conf:4: destinations[0].hots: unknown key; did you mean \"host\"?", NULL } },
	{ "unknown keys inside",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "budget = { ration = 1; }; breaker = { enable = true; }; socket = { keepalive "
	  "= 1; };\n"
	  "}; };\n",
	  { "K D/main.conf:3: policies.p.budget.ration: unknown key; did you mean "
	      "\"ratio\"?",
	    "K D/main.conf:3: policies.p.breaker.enable: unknown key; did you mean "
	      "\"enabled\"?",
	    "K D/main.conf:3: policies.p.socket.keepalive: unknown key (syn_count, "
	      "user_timeout, keepalive_idle, keepalive_interval, keepalive_count)", NULL } },
	{ "wrong types",
	  "version = 1;\n"
	  "policies = ( );\n"
	  "destinations = { };\n"
	  "programs = \"x\";\n"
	  "process = 1;\n"
	  "log = ( );\n"
	  "stats = true;\n"
	  "inject = 1.5;\n",
	  { "E D/main.conf:5: process: 1: is a whole number (a group { } is expected)",
	    "E D/main.conf:6: log: (...): is a list (a group { } is expected)",
	    "E D/main.conf:7: stats: true: is true or false (a group { } is expected)",
	    "E D/main.conf:8: inject: 1.5: is a number with a fraction (a group { } is "
	      "expected)",
	    "E D/main.conf:2: policies: (...): is a list (a group { } is expected)",
	    "E D/main.conf:3: destinations: {...}: is a group { } (a list ( ) of groups { "
	      "} is expected)",
	    "E D/main.conf:4: programs: \"x\": is a text (a list ( ) of groups { } is "
	      "expected)", NULL } },
	{ "wrong types of elements",
	  "version = 1;\n"
	  "policies = { p = 1; };\n"
	  "destinations = ( \"x\" );\n"
	  "programs = ( 1 );\n",
	  { "E D/main.conf:2: policies.p: 1: is a whole number (a group { } is expected)",
	    "E D/main.conf:3: destinations[0]: \"x\": is a text (a group { } is expected)",
	    "E D/main.conf:4: programs[0]: 1: is a whole number (a group { } is expected)",
	    NULL } },
	{ "wrong types of values",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "base_delay = 100; max_delay = 1.5; multiplier = \"2\"; jitter = 1; "
	  "jitter_ratio = true;\n"
	  "max_attempts = \"5\"; deadline = [ \"1s\" ]; carry = 1; replay_buffer = "
	  "true;\n"
	  "budget = 1; retry_on = \"refused\"; never_on = [ 1 ]; schedule = \"1s\"; "
	  "inherit = 1;\n"
	  "}; };\n",
	  { "E D/main.conf:5: policies.p.inherit: 1: is a whole number (the name of a "
	      "policy in quotes is expected)",
	    "E D/main.conf:3: policies.p.base_delay: 100: has no unit (write \"100ms\" or "
	      "\"100s\")",
	    "E D/main.conf:3: policies.p.max_delay: 1.5: has no unit (write \"1.5ms\" or "
	      "\"1.5s\")",
	    "E D/main.conf:3: policies.p.multiplier: \"2\": is a text (a number without "
	      "quotes is expected)",
	    "E D/main.conf:3: policies.p.jitter: 1: is a whole number (a word in quotes is "
	      "expected)",
	    "E D/main.conf:3: policies.p.jitter_ratio: true: is true or false (a number "
	      "without quotes is expected)",
	    "E D/main.conf:4: policies.p.max_attempts: \"5\": is a text (a whole number "
	      "without quotes is expected)",
	    "E D/main.conf:4: policies.p.deadline: (...): is a list (a duration in quotes, "
	      "such as \"100ms\", is expected)",
	    "E D/main.conf:4: policies.p.carry: 1: is a whole number (true or false "
	      "without quotes is expected)",
	    "E D/main.conf:4: policies.p.replay_buffer: true: is true or false (a size in "
	      "quotes, such as \"64KiB\", is expected)",
	    "E D/main.conf:5: policies.p.budget: 1: is a whole number (a group { } is "
	      "expected)",
	    "E D/main.conf:5: policies.p.retry_on: \"refused\": is a text (a list of "
	      "texts, such as [ \"refused\", \"ENOENT\" ], is expected)",
	    "E D/main.conf:5: policies.p.never_on[0]: 1: is a whole number (a text in "
	      "quotes is expected)",
	    "E D/main.conf:5: policies.p.schedule: \"1s\": is a text (a list of durations, "
	      "such as [ \"0s\", \"1s\" ], is expected)",
	    "E D/main.conf:5: policies.p.schedule: stands beside base_delay (use one or "
	      "the other)", NULL } },
	{ "float for a count",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "max_attempts = 5.0; replay_buffer = 64.0;\n"
	  "}; };\n",
	  { "E D/main.conf:3: policies.p.max_attempts: 5.0: is a number with a fraction (a "
	      "whole number without quotes is expected)",
	    "E D/main.conf:3: policies.p.replay_buffer: 64.0: is a number with a fraction "
	      "(a size in quotes, such as \"64KiB\", is expected)", NULL } },
};

#endif
