/* SPDX-License-Identifier: MIT */
/* load_errors_rest.h - bad input and what is said about it: all but policies. */
#ifndef LIBRETRY_TESTS_LOAD_ERRORS_REST_H
#define LIBRETRY_TESTS_LOAD_ERRORS_REST_H

static const struct bad_input bad_rest[] = {
	{ "policy unknown",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ policy = \"patiant\"; }\n"
	  ");\n",
	  { "E D/main.conf:3: destinations[0].policy: \"patiant\": no such policy; did you "
	      "mean \"patient\"?", NULL } },
	{ "host",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ host = \"\"; }, { host = \"a/b\"; }, { host = [ ]; }, { host = [ \"a\", 1 "
	  "]; }, { host = \".\"; }\n"
	  ");\n",
	  { "E D/main.conf:3: destinations[0].host: \"\": is empty (a name or a pattern "
	      "such as \"*.example.net\")",
	    "E D/main.conf:3: destinations[1].host: \"a/b\": is not a host name (prefixes "
	      "belong in \"addr\", paths in \"unix\")",
	    "E D/main.conf:3: destinations[2].host: has 0 entries (1 to 256)",
	    "E D/main.conf:3: destinations[3].host[1]: 1: is a whole number (a text in "
	      "quotes is expected)",
	    "E D/main.conf:3: destinations[4].host: \".\": is empty (a name or a pattern "
	      "such as \"*.example.net\")", NULL } },
	{ "host with port",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ host = \"db1:5432\"; }\n"
	  ");\n",
	  { "W D/main.conf:3: destinations[0].host: \"db1:5432\": no host is called so "
	      "(the port belongs in \"port\")", NULL } },
	{ "addr",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ addr = \"10.0.0.1/8\"; },\n"
	  "{ addr = [ \"fd00::1/8\", \"x\" ]; },\n"
	  "{ addr = \"10.0.0.0/33\"; },\n"
	  "{ addr = \"1.2.3\"; },\n"
	  "{ addr = 5; }\n"
	  ");\n",
	  { "E D/main.conf:3: destinations[0].addr: \"10.0.0.1/8\": has host bits set "
	      "(write \"10.0.0.0/8\")",
	    "E D/main.conf:4: destinations[1].addr[0]: \"fd00::1/8\": has host bits set "
	      "(write \"fd00::/8\")",
	    "E D/main.conf:4: destinations[1].addr[1]: \"x\": is not an address (such as "
	      "\"192.0.2.1\", \"10.0.0.0/8\", \"fd00::/8\"; names belong in \"host\")",
	    "E D/main.conf:5: destinations[2].addr: \"10.0.0.0/33\": has a bad prefix "
	      "length (0 to 32, for IPv6 0 to 128)",
	    "E D/main.conf:6: destinations[3].addr: \"1.2.3\": is not an address (such as "
	      "\"192.0.2.1\", \"10.0.0.0/8\", \"fd00::/8\"; names belong in \"host\")",
	    "E D/main.conf:7: destinations[4].addr: 5: is a whole number (a text in "
	      "quotes, or a list of them, is expected)", NULL } },
	{ "port",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ port = 0; },\n"
	  "{ port = 65536; },\n"
	  "{ port = \"0\"; },\n"
	  "{ port = \"70000\"; },\n"
	  "{ port = \"10-5\"; },\n"
	  "{ port = \"5,\"; },\n"
	  "{ port = \"\"; },\n"
	  "{ port = \"a\"; },\n"
	  "{ port = \"1 2\"; },\n"
	  "{ port = [ 1 ]; },\n"
	  "{ port = \"1--2\"; },\n"
	  "{ port = 53.0; }\n"
	  ");\n",
	  { "E D/main.conf:3: destinations[0].port: 0: too small (1 to 65535)",
	    "E D/main.conf:4: destinations[1].port: 65536: too large (1 to 65535)",
	    "E D/main.conf:5: destinations[2].port: \"0\": is not a port (1 to 65535, such "
	      "as \"5432\" or \"5432,6432-6440\")",
	    "E D/main.conf:6: destinations[3].port: \"70000\": is not a port (1 to 65535, "
	      "such as \"5432\" or \"5432,6432-6440\")",
	    "E D/main.conf:7: destinations[4].port: \"10-5\": begins above its end "
	      "(low-high)",
	    "E D/main.conf:8: destinations[5].port: \"5,\": ends in a comma",
	    "E D/main.conf:9: destinations[6].port: \"\": is not a port (1 to 65535, such "
	      "as \"5432\" or \"5432,6432-6440\")",
	    "E D/main.conf:10: destinations[7].port: \"a\": is not a port (1 to 65535, "
	      "such as \"5432\" or \"5432,6432-6440\")",
	    "E D/main.conf:11: destinations[8].port: \"1 2\": is not a port (1 to 65535, "
	      "such as \"5432\" or \"5432,6432-6440\")",
	    "E D/main.conf:12: destinations[9].port: (...): is a list (a port such as 5432 "
	      "or \"5432,6432-6440\" is expected)",
	    "E D/main.conf:13: destinations[10].port: \"1--2\": is not a port (1 to 65535, "
	      "such as \"5432\" or \"5432,6432-6440\")",
	    "E D/main.conf:14: destinations[11].port: 53.0: is a number with a fraction (a "
	      "port such as 5432 or \"5432,6432-6440\" is expected)", NULL } },
	{ "unix",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ unix = \"run/x\"; }, { unix = \"@\"; }, { unix = \"\"; }\n"
	  ");\n",
	  { "E D/main.conf:3: destinations[0].unix: \"run/x\": is not an absolute path "
	      "(\"/run/x.sock\", or \"@name\" for an abstract one)",
	    "E D/main.conf:3: destinations[1].unix: \"@\": is not an absolute path "
	      "(\"/run/x.sock\", or \"@name\" for an abstract one)",
	    "E D/main.conf:3: destinations[2].unix: \"\": is not an absolute path "
	      "(\"/run/x.sock\", or \"@name\" for an abstract one)", NULL } },
	{ "proto",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ proto = \"tpc\"; }\n"
	  ");\n",
	  { "E D/main.conf:3: destinations[0].proto: \"tpc\": unknown (tcp, udp, unix); "
	      "did you mean \"tcp\"?", NULL } },
	{ "udp",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ proto = \"udp\"; }\n"
	  ");\n",
	  { NULL } },
	{ "unix and port",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ name = \"n\"; unix = \"/x\"; port = 5; },\n"
	  "{ unix = \"/y\"; proto = \"tcp\"; },\n"
	  "{ proto = \"unix\"; host = \"h\"; }\n"
	  ");\n",
	  { "W D/main.conf:3: destinations[0] (\"n\"): can never match: a Unix socket has "
	      "no host, address, port or other protocol",
	    "W D/main.conf:4: destinations[1]: can never match: a Unix socket has no host, "
	      "address, port or other protocol",
	    "W D/main.conf:5: destinations[2]: can never match: a Unix socket has no host, "
	      "address, port or other protocol", NULL } },
	{ "override",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ override = { inherit = \"patient\"; max_delay = \"1ms\"; }; },\n"
	  "{ override = 1; },\n"
	  "{ host = \"x\"; override = { base_delay = \"2m\"; unknown = 1; }; }\n"
	  ");\n",
	  { "E D/main.conf:3: destinations[0].override.inherit: \"patient\": belongs in a "
	      "policy (\"policy\" names the one to change)",
	    "E D/main.conf:3: destinations[0].override.max_delay: \"1ms\": is less than "
	      "base_delay (at least 100ms)",
	    "E D/main.conf:4: destinations[1].override: 1: is a whole number (a group { } "
	      "is expected)",
	    "K D/main.conf:5: destinations[2].override.unknown: unknown key (inherit, "
	      "base_delay, multiplier, max_delay, jitter, jitter_ratio, cap, first_retry, "
	      "schedule, base_delay_local, max_attempts, max_retries, deadline, "
	      "attempt_timeout, dns_attempt_timeout, retry_on, never_on, send, "
	      "replay_buffer, nonblocking, budget, breaker, coordinate, "
	      "max_concurrent_retries, carry, carry_for, layering, address_walk, stale_dns, socket)",
	    "E D/main.conf:5: destinations[2].override.base_delay: \"2m\": is more than "
	      "max_delay (at most 5s)",
	    "E D/main.conf:5: destinations[2].override.base_delay: \"2m\": is more than "
	      "deadline (at most 30s)",
	    "W D/main.conf:4: destinations[1]: can never match: destinations[0] already "
	      "takes everything",
	    "W D/main.conf:5: destinations[2]: can never match: destinations[0] already "
	      "takes everything", NULL } },
	{ "fallback",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ host = \"db\"; port = 5432; fallback = [ \"db:5432\", \"DB:5433\", \"db\", "
	  "\"x:0\", \"fd00::1:5\", \"[fd00::1]:5\", \"a:b\" ]; }\n"
	  ");\n",
	  { "E D/main.conf:3: destinations[0].fallback[2]: \"db\": is not host:port (such "
	      "as \"db2.example.net:5432\", \"192.0.2.7:5432\", \"[fd00::7]:5432\")",
	    "E D/main.conf:3: destinations[0].fallback[3]: \"x:0\": is not host:port (such "
	      "as \"db2.example.net:5432\", \"192.0.2.7:5432\", \"[fd00::7]:5432\")",
	    "E D/main.conf:3: destinations[0].fallback[4]: \"fd00::1:5\": is not host:port "
	      "(such as \"db2.example.net:5432\", \"192.0.2.7:5432\", \"[fd00::7]:5432\")",
	    "E D/main.conf:3: destinations[0].fallback[6]: \"a:b\": is not host:port (such "
	      "as \"db2.example.net:5432\", \"192.0.2.7:5432\", \"[fd00::7]:5432\")",
	    "E D/main.conf:3: destinations[0].fallback: \"db:5432\": is the destination "
	      "itself (another one)", NULL } },
	{ "what may have been a condition",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ hots = \"a\"; redirect = \"b:1\"; },\n"
	  "{ prot = 80; fallback = \"b:1\"; },\n"
	  "{ adr = \"10.0.0.1\"; override = { max_attempts = 9; }; },\n"
	  "{ host = \"c\"; comet = \"x\"; }\n"
	  ");\n"
	  "inject = { faults = ( { call = \"send\"; hots = \"a\"; reset = true; } ); };\n",
	  { "K D/main.conf:8: inject.faults[0].hots: unknown key; did you mean "
	      "\"host\"?",
	    "K D/main.conf:8: inject.faults[0]: strikes nothing: an unknown key may "
	      "have been a condition",
	    "K D/main.conf:3: destinations[0].hots: unknown key; did you mean "
	      "\"host\"?",
	    "K D/main.conf:3: destinations[0]: matches nothing: an unknown key may "
	      "have been a condition, and the entry has redirect",
	    "K D/main.conf:4: destinations[1].prot: unknown key; did you mean "
	      "\"port\"?",
	    "K D/main.conf:4: destinations[1]: matches nothing: an unknown key may "
	      "have been a condition, and the entry has fallback",
	    "K D/main.conf:5: destinations[2].adr: unknown key; did you mean "
	      "\"addr\"?",
	    "K D/main.conf:5: destinations[2]: matches nothing: an unknown key may "
	      "have been a condition, and the entry has override",
	    "N D/main.conf:5: destinations[2].override.max_attempts: 9: more than 5 "
	      "attempts seldom help and add load (5 is the default)",
	    "K D/main.conf:6: destinations[3].comet: unknown key; did you mean "
	      "\"comment\"?", NULL } },
	{ "places without a condition",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ port = 1; fallback_after = 2; },\n"
	  "{ host = \"a\"; port = 5; redirect = \"a:5\"; },\n"
	  "{ host = \"a\"; redirect = \"a:5\"; },\n"
	  "{ host = \"b\"; fallback = [ \"*.x:1\", \"a b:1\", \"a,b:1\" ]; },\n"
	  "{ host = [ \"a b\", \"c,d\" ]; },\n"
	  "{ proto = \"tcp\"; fallback = \"b:1\"; },\n"
	  "{ redirect = \"b:1\"; }\n"
	  ");\n",
	  { "W D/main.conf:3: destinations[0].fallback_after: does nothing without "
	      "fallback",
	    "E D/main.conf:4: destinations[1].redirect: \"a:5\": is the destination "
	      "itself (another one)",
	    "E D/main.conf:6: destinations[3].fallback[0]: \"*.x:1\": is not "
	      "host:port (such as \"db2.example.net:5432\", \"192.0.2.7:5432\", "
	      "\"[fd00::7]:5432\")",
	    "E D/main.conf:6: destinations[3].fallback[1]: \"a b:1\": is not "
	      "host:port (such as \"db2.example.net:5432\", \"192.0.2.7:5432\", "
	      "\"[fd00::7]:5432\")",
	    "E D/main.conf:6: destinations[3].fallback[2]: \"a,b:1\": is not "
	      "host:port (such as \"db2.example.net:5432\", \"192.0.2.7:5432\", "
	      "\"[fd00::7]:5432\")",
	    "W D/main.conf:7: destinations[4].host[0]: \"a b\": no host is called so "
	      "(a list is [ \"a\", \"b\" ])",
	    "W D/main.conf:7: destinations[4].host[1]: \"c,d\": no host is called so "
	      "(a list is [ \"a\", \"b\" ])",
	    "W D/main.conf:8: destinations[5].fallback: takes every connection: the "
	      "entry has no condition (host, addr, port)",
	    "W D/main.conf:9: destinations[6].redirect: takes every connection: the "
	      "entry has no condition (host, addr, port)", NULL } },
	{ "faults that never strike",
	  "version = 1;\n"
	  "inject = { faults = (\n"
	  "{ call = \"send\"; reset = true; probability = 0; },\n"
	  "{ call = \"send\"; reset = true; first = 2; every = 3; },\n"
	  "{ call = \"send\"; reset = true; unix = \"/x\"; port = 5; },\n"
	  "{ call = \"send\"; reset = true; proto = \"udp\"; }\n"
	  "); };\n",
	  { "W D/main.conf:3: inject.faults[0]: never strikes: probability is 0",
	    "W D/main.conf:4: inject.faults[1]: never strikes: first is 2, and every "
	      "3",
	    "W D/main.conf:5: inject.faults[2]: can never match: a Unix socket has "
	      "no host, address, port or other protocol",
	    "W D/main.conf:6: inject.faults[3]: never strikes: datagrams are neither "
	      "reset nor cut short", NULL } },
	{ "fallback itself",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ addr = [ \"192.0.2.1\", \"10.0.0.0/8\" ]; fallback = [ \"192.0.2.1:5\", "
	  "\"10.0.0.1:5\" ]; fallback_after = 0; }\n"
	  ");\n",
	  { "E D/main.conf:3: destinations[0].fallback_after: 0: too small (1 to 1000)",
	    "E D/main.conf:3: destinations[0].fallback: \"192.0.2.1:5\": is the "
	      "destination itself (another one)", NULL } },
	{ "fallback for nothing",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ host = \"a\"; fallback = \"b:1\"; fallback_after = 5; },\n"
	  "{ host = \"b\"; fallback = \"b2:1\"; override = { max_attempts = 1; }; },\n"
	  "{ unix = \"/run/x\"; fallback = \"b:1\"; },\n"
	  "{ host = \"c\"; proto = \"udp\"; redirect = \"b:1\"; },\n"
	  "{ host = \"d\"; redirect = \"[b]:1\"; }\n"
	  ");\n",
	  { "W D/main.conf:3: destinations[0].fallback: is never reached: attempts end after 5, "
	      "and fallback_after is 5",
	    "W D/main.conf:4: destinations[1].fallback: is never reached: attempts end after 1, "
	      "and fallback_after is 1",
	    "W D/main.conf:5: destinations[2].fallback: is for TCP only, and this entry is not",
	    "W D/main.conf:6: destinations[3].redirect: is for TCP only, and this entry is not",
	    "E D/main.conf:7: destinations[4].redirect: \"[b]:1\": is not host:port (such as "
	      "\"db2.example.net:5432\", \"192.0.2.7:5432\", \"[fd00::7]:5432\")", NULL } },
	{ "redirect",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ redirect = \"x\"; }, { redirect = 5; }\n"
	  ");\n",
	  { "E D/main.conf:3: destinations[0].redirect: \"x\": is not host:port (such as "
	      "\"db2.example.net:5432\", \"192.0.2.7:5432\", \"[fd00::7]:5432\")",
	    "E D/main.conf:3: destinations[1].redirect: 5: is a whole number (host:port in "
	      "quotes is expected)", NULL } },
	{ "name twice",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ name = \"a\"; host = \"x\"; },\n"
	  "{ name = \"b\"; host = \"y\"; },\n"
	  "{ name = \"a\"; host = \"z\"; }\n"
	  ");\n",
	  { "E D/main.conf:5: destinations[2].name: \"a\": already used at D/main.conf:3", NULL } },
	{ "dead entries",
	  "version = 1;\n"
	  "destinations = (\n"
	  "{ host = \"*.example.net\"; },\n"
	  "{ name = \"w\"; host = \"www.example.net\"; },\n"
	  "{ addr = \"10.0.0.0/8\"; port = \"80-90\"; },\n"
	  "{ addr = \"10.1.0.0/16\"; port = 80; },\n"
	  "{ unix = \"*\"; },\n"
	  "{ unix = \"/run/x\"; },\n"
	  "{ },\n"
	  "{ port = 1; },\n"
	  "{ proto = \"udp\"; }\n"
	  ");\n",
	  { "W D/main.conf:4: destinations[1] (\"w\"): can never match: destinations[0] "
	      "already takes *.example.net",
	    "W D/main.conf:6: destinations[3]: can never match: destinations[2] already "
	      "takes 10.0.0.0/8, port 80-90",
	    "W D/main.conf:8: destinations[5]: can never match: destinations[4] already "
	      "takes *",
	    "W D/main.conf:10: destinations[7]: can never match: destinations[6] already "
	      "takes everything",
	    "W D/main.conf:11: destinations[8]: can never match: destinations[6] already "
	      "takes everything", NULL } },
	{ "programs",
	  "version = 1;\n"
	  "programs = (\n"
	  "{ enabled = true; },\n"
	  "{ exe = \"\"; },\n"
	  "{ exe = \"bin/x\"; },\n"
	  "{ exe = 1; },\n"
	  "{ exe = \"x\"; policy = \"nope\"; },\n"
	  "{ exe = \"x\"; mode = \"look\"; },\n"
	  "{ exe = \"x\"; enabled = \"yes\"; }\n"
	  ");\n",
	  { "E D/main.conf:3: programs[0]: exe is missing (which program the entry is for)",
	    "E D/main.conf:4: programs[1].exe: \"\": is empty (a path or a pattern such as "
	      "\"*/backup-*\")",
	    "W D/main.conf:5: programs[2].exe: \"bin/x\": can never match: programs are "
	      "known by their absolute path (begin with \"/\" or \"*\")",
	    "E D/main.conf:6: programs[3].exe: 1: is a whole number (a text in quotes, or "
	      "a list of them, is expected)",
	    "E D/main.conf:7: programs[4].policy: \"nope\": no such policy",
	    "E D/main.conf:8: programs[5].mode: \"look\": unknown (retry, observe)",
	    "E D/main.conf:9: programs[6].enabled: \"yes\": is a text (true or false "
	      "without quotes is expected)", NULL } },
	{ "process",
	  "version = 1;\n"
	  "process = { stop_on = [ \"SIGKILL\", \"SIGSTOP\", \"SIGSEGV\", \"SIGABRT\", "
	  "\"SIGTRM\", \"TERM\", \"15\", 15 ];\n"
	  "reload = \"always\"; deepbind = \"kep\"; };\n",
	  { "E D/main.conf:2: process.stop_on[0]: \"SIGKILL\": cannot end a wait (SIGTERM, "
	      "SIGINT, SIGHUP, SIGQUIT, SIGUSR1, ...)",
	    "E D/main.conf:2: process.stop_on[1]: \"SIGSTOP\": cannot end a wait (SIGTERM, "
	      "SIGINT, SIGHUP, SIGQUIT, SIGUSR1, ...)",
	    "E D/main.conf:2: process.stop_on[2]: \"SIGSEGV\": cannot end a wait (SIGTERM, "
	      "SIGINT, SIGHUP, SIGQUIT, SIGUSR1, ...)",
	    "E D/main.conf:2: process.stop_on[3]: \"SIGABRT\": cannot end a wait (SIGTERM, "
	      "SIGINT, SIGHUP, SIGQUIT, SIGUSR1, ...)",
	    "E D/main.conf:2: process.stop_on[4]: \"SIGTRM\": unknown (SIGTERM, SIGINT, "
	      "SIGHUP, SIGQUIT, SIGUSR1, ...); did you mean \"SIGTERM\"?",
	    "E D/main.conf:2: process.stop_on[5]: \"TERM\": unknown (SIGTERM, SIGINT, "
	      "SIGHUP, SIGQUIT, SIGUSR1, ...); did you mean \"SIGTERM\"?",
	    "E D/main.conf:2: process.stop_on[6]: \"15\": unknown (SIGTERM, SIGINT, "
	      "SIGHUP, SIGQUIT, SIGUSR1, ...)",
	    "E D/main.conf:2: process.stop_on[7]: 15: is a whole number (the name of a "
	      "signal in quotes is expected)",
	    "E D/main.conf:3: process.reload: \"always\": unknown (on-failure, never)",
	    "E D/main.conf:3: process.deepbind: \"kep\": unknown (keep, clear); did you "
	      "mean \"keep\"?", NULL } },
	{ "host_group",
	  "version = 1;\n"
	  "process = { host_group = 100;\n};\n",
	  { "E D/main.conf:2: process.host_group: 100: is a whole number (the name or the "
	      "number of a group in quotes is expected)", NULL } },
	{ "host_group 2",
	  "version = 1;\n"
	  "process = { host_group = \"4294967295\";\n};\n",
	  { "E D/main.conf:2: process.host_group: \"4294967295\": too large a number (at most "
	      "4294967294)", NULL } },
	{ "host_group 3",
	  "version = 1;\n"
	  "process = { host_group = \"\";\n};\n",
	  { "E D/main.conf:2: process.host_group: \"\": is no name of a group", NULL } },
	{ "host_group 4",
	  "version = 1;\n"
	  "process = { host_group = \"no-such-group\";\n};\n",
	  { "W D/main.conf:2: process.host_group: \"no-such-group\": no such group in "
	      "/etc/group (others by their number): scope = \"host\" will be the same as "
	      "\"user\"", NULL } },
	{ "process 2",
	  "version = 1;\n"
	  "process = { stop_on = \"SIGTERM\"; };\n",
	  { "E D/main.conf:2: process.stop_on: \"SIGTERM\": is a text (a list of texts, "
	      "such as [ \"SIGTERM\", \"SIGINT\" ], is expected)", NULL } },
	{ "log",
	  "version = 1;\n"
	  "log = { to = \"file:x\"; level = \"warning\"; format = \"xml\"; burst = 0; "
	  "per = \"0s\"; };\n",
	  { "E D/main.conf:2: log.to: \"file:x\": needs an absolute path "
	      "(file:/var/log/libretry.log)",
	    "E D/main.conf:2: log.level: \"warning\": unknown (error, warn, info, debug)",
	    "E D/main.conf:2: log.format: \"xml\": unknown (text, logfmt, json)",
	    "E D/main.conf:2: log.burst: 0: too small (1 to 1000000)",
	    "E D/main.conf:2: log.per: \"0s\": must be more than 0", NULL } },
	{ "log.to",
	  "version = 1;\n"
	  "log = { to = \"stdout\"; };\n",
	  { "E D/main.conf:2: log.to: \"stdout\": unknown (stderr, syslog, file:PATH, "
	      "unix:PATH, fd:N, none)", NULL } },
	{ "log.to fd in a file",
	  "version = 1;\n"
	  "log = { to = \"fd:3\"; };\n",
	  { "W D/main.conf:2: log.to: \"fd:3\": nothing will be written (only LIBRETRY_LOG can "
	      "name a descriptor: what a program has there is not known from a file)", NULL } },
	{ "log.to fd",
	  "version = 1;\n"
	  "log = { to = \"fd:-1\"; };\n",
	  { "E D/main.conf:2: log.to: \"fd:-1\": unknown (stderr, syslog, file:PATH, "
	      "unix:PATH, fd:N, none)", NULL } },
	{ "log.to unix",
	  "version = 1;\n"
	  "log = { to = \"unix:\"; };\n",
	  { "E D/main.conf:2: log.to: \"unix:\": needs an absolute path "
	      "(file:/var/log/libretry.log)", NULL } },
	{ "log.to long",
	  "version = 1;\n"
	  "log = { to = \"file:/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"; };\n",
	  { "E D/main.conf:2: log.to: \"file:/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\": has too long a path "
	      "(at most 255 bytes)", NULL } },
	{ "log.to type",
	  "version = 1;\n"
	  "log = { to = 2; };\n",
	  { "E D/main.conf:2: log.to: 2: is a whole number (a text in quotes is expected)",
	    NULL } },
	{ "stats",
	  "version = 1;\n"
	  "stats = { to = \"shm\"; format = \"xml\"; every = \"999ms\"; timeline = "
	  "\"shm\"; };\n",
	  { "E D/main.conf:2: stats.format: \"xml\": unknown (prometheus, json)",
	    "E D/main.conf:2: stats.every: \"999ms\": too small (1s to 24h)",
	    "E D/main.conf:2: stats.timeline: \"shm\": unknown (none, file:PATH)", NULL } },
	{ "stats 2",
	  "version = 1;\n"
	  "stats = { to = \"file:rel\"; timeline = 1; };\n",
	  { "E D/main.conf:2: stats.to: \"file:rel\": needs an absolute path "
	      "(file:/var/log/libretry.log)",
	    "E D/main.conf:2: stats.timeline: 1: is a whole number (a text in quotes is "
	      "expected)", NULL } },
	{ "inject",
	  "version = 1;\n"
	  "inject = { faults = (\n"
	  "{ call = \"connect\"; error = \"EAI_AGAIN\"; },\n"
	  "{ call = \"getaddrinfo\"; error = \"ECONNREFUSED\"; },\n"
	  "{ call = \"connect\"; short_write = 1; },\n"
	  "{ error = \"ECONNREFUSED\"; },\n"
	  "{ call = \"send\"; },\n"
	  "{ call = \"connect\"; error = \"ENOPE\"; },\n"
	  "{ call = \"conect\"; error = \"ETIMEDOUT\"; },\n"
	  "{ call = \"connect\"; error = \"ETIMEDOUT\"; probability = 1.5; },\n"
	  "{ call = \"connect\"; delay = \"1s\"; outage = { min = \"2s\"; max = \"1s\"; "
	  "}; },\n"
	  "{ call = \"connect\"; delay = \"1s\"; port = \"x\"; }\n"
	  "); };\n",
	  { "E D/main.conf:3: inject.faults[0].error: \"EAI_AGAIN\": the call does not "
	      "return it (an errno name)",
	    "E D/main.conf:4: inject.faults[1].error: \"ECONNREFUSED\": getaddrinfo does "
	      "not return it (EAI_...)",
	    "E D/main.conf:5: inject.faults[2].short_write: 1: only send can be cut short "
	      "(call = \"send\")",
	    "E D/main.conf:6: inject.faults[3]: call is missing (connect, getaddrinfo, "
	      "send)",
	    "E D/main.conf:7: inject.faults[4]: does nothing (error, delay, short_write or "
	      "reset)",
	    "E D/main.conf:8: inject.faults[5].error: \"ENOPE\": unknown (such as "
	      "ECONNREFUSED or EAI_AGAIN)",
	    "E D/main.conf:9: inject.faults[6].call: \"conect\": unknown (connect, "
	      "getaddrinfo, send); did you mean \"connect\"?",
	    "E D/main.conf:10: inject.faults[7].probability: 1.5: too large (0 to 1)",
	    "E D/main.conf:11: inject.faults[8].outage: min is more than max",
	    "E D/main.conf:12: inject.faults[9].port: \"x\": is not a port (1 to 65535, "
	      "such as \"5432\" or \"5432,6432-6440\")", NULL } },
	{ "inject 2",
	  "version = 1;\n"
	  "inject = { enabled = true; faults = 1; };\n",
	  { "E D/main.conf:2: inject.faults: 1: is a whole number (a list ( ) of groups { "
	      "} is expected)", NULL } },
	{ "inject 3",
	  "version = 1;\n"
	  "inject = { faults = (\n"
	  "{ call = \"connect\"; error = \"EPIPE\"; },\n"
	  "{ call = \"connect\"; error = \"EINPROGRESS\"; },\n"
	  "{ call = \"send\"; error = \"ENOENT\"; },\n"
	  "{ call = \"getaddrinfo\"; error = \"EAI_SYSTEM\"; },\n"
	  "{ call = \"getaddrinfo\"; reset = true; },\n"
	  "{ call = \"send\"; error = \"EPIPE\"; reset = true; },\n"
	  "{ call = \"send\"; error = \"EPIPE\"; short_write = 1; },\n"
	  "{ call = \"send\"; reset = false; },\n"
	  "{ call = \"connect\"; reset = 1; },\n"
	  "{ call = \"connect\"; error = 5; }\n"
	  "); };\n",
	  { "E D/main.conf:3: inject.faults[0].error: \"EPIPE\": connect does not return it "
	      "(see connect(2))",
	    "E D/main.conf:4: inject.faults[1].error: \"EINPROGRESS\": says that the attempt "
	      "goes on, or has been made (an error that ends it)",
	    "E D/main.conf:5: inject.faults[2].error: \"ENOENT\": send does not return it "
	      "(see send(2))",
	    "E D/main.conf:6: inject.faults[3].error: \"EAI_SYSTEM\": would need an errno "
	      "with it (EAI_AGAIN, EAI_FAIL, ...)",
	    "E D/main.conf:7: inject.faults[4].reset: true: only a connection can be reset "
	      "(call = \"connect\" or \"send\")",
	    "E D/main.conf:8: inject.faults[5].error: \"EPIPE\": a reset has an error of its "
	      "own (leave one of the two out)",
	    "E D/main.conf:9: inject.faults[6].error: \"EPIPE\": nothing is sent then (leave "
	      "out error or short_write)",
	    "E D/main.conf:10: inject.faults[7]: does nothing (error, delay, short_write or "
	      "reset)",
	    "E D/main.conf:11: inject.faults[8].reset: 1: is a whole number (true or false "
	      "without quotes is expected)",
	    "E D/main.conf:12: inject.faults[9].error: 5: is a whole number (a text in quotes "
	      "is expected)", NULL } },
	{ "inject: when and where",
	  "version = 1;\n"
	  "inject = { faults = (\n"
	  "{ call = \"send\"; reset = true; outage = { min = \"1s\"; max = \"2s\"; }; },\n"
	  "{ call = \"send\"; reset = true; outage = { mean_gap = \"1s\"; }; },\n"
	  "{ call = \"send\"; reset = true; timeline = \"/x\"; },\n"
	  "{ call = \"send\"; reset = true; timeline = \"file:x\"; },\n"
	  "{ call = \"send\"; reset = true; timeline = \"file:/nowhere/x\"; },\n"
	  "{ call = \"send\"; reset = true; timeline = 1; },\n"
	  "{ call = \"send\"; reset = true; proto = \"sctp\"; },\n"
	  "{ call = \"send\"; reset = true; first = 0; after = -1; },\n"
	  "{ call = \"getaddrinfo\"; error = \"EAI_AGAIN\"; addr = \"192.0.2.1\"; }\n"
	  "); };\n",
	  { "E D/main.conf:3: inject.faults[0].outage: mean_gap is missing (mean_gap, min, "
	      "max)",
	    "E D/main.conf:4: inject.faults[1].outage: max is missing (mean_gap, min, max)",
	    "E D/main.conf:5: inject.faults[2].timeline: \"/x\": unknown (file:PATH)",
	    "E D/main.conf:6: inject.faults[3].timeline: \"file:x\": needs an absolute path "
	      "(file:/etc/libretry/outages)",
	    "W D/main.conf:7: inject.faults[4].timeline: \"file:/nowhere/x\": cannot be "
	      "opened: no such file (ENOENT)",
	    "E D/main.conf:8: inject.faults[5].timeline: 1: is a whole number (a text in "
	      "quotes is expected)",
	    "E D/main.conf:9: inject.faults[6].proto: \"sctp\": unknown (tcp, udp, unix)",
	    "E D/main.conf:10: inject.faults[7].first: 0: too small (1 to 1000000)",
	    "E D/main.conf:10: inject.faults[7].after: -1: too small (0 to 1000000)",
	    "W D/main.conf:11: inject.faults[8].addr: can never match: a look-up has no "
	      "address yet", NULL } },
	{ "everything at once",
	  "version = 1;\n"
	  "policies = { p = {\n"
	  "base_delay = 5s;\n"
	  "jitter = \"ful\";\n"
	  "}; };\n"
	  "destinations = ( { policy = \"q\"; }, );\n",
	  { "E D/main.conf:3: syntax error near \"5s\" (a duration needs quotes: \"5s\")",
	    "E D/main.conf:6: destinations: a comma behind the last element (leave it out)",
	    "E D/main.conf:4: policies.p.jitter: \"ful\": unknown (full, equal, "
	      "proportional, additive, decorrelated, none); did you mean \"full\"?",
	    "E D/main.conf:6: destinations[0].policy: \"q\": no such policy; did you mean "
	      "\"p\"?", NULL } },
};

#endif
