/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/compat.h"
#include "base/glob.h"
#include "cli/known.h"

#define JAVA "the JVM", "../lib/libnet.so ../lib/libnio.so"

/* No name of a program with a version behind it is another program's. */
static const struct known_program programs[] = {
	{ "java", FINDING_RUNTIME, JAVA },
	{ "node", FINDING_RUNTIME, "Node.js", NULL },
	{ "nodejs", FINDING_RUNTIME, "Node.js", NULL },
	{ "python[23]", FINDING_RUNTIME, "Python", NULL },
	{ "python[23].*", FINDING_RUNTIME, "Python", NULL },
	{ "python", FINDING_RUNTIME, "Python", NULL },
	{ "ruby", FINDING_RUNTIME, "Ruby", NULL },
	{ "ruby[23]*", FINDING_RUNTIME, "Ruby", NULL },
	{ "perl", FINDING_RUNTIME, "Perl", NULL },
	{ "perl5*", FINDING_RUNTIME, "Perl", NULL },
	{ "lua*", FINDING_RUNTIME, "Lua", NULL },
	{ "beam.smp", FINDING_RUNTIME, "Erlang", NULL },
	{ "php*", FINDING_RUNTIME, "PHP", NULL },
	{ "sh", FINDING_LAUNCHER, "a shell", NULL },
	{ "bash", FINDING_LAUNCHER, "a shell", NULL },
	{ "dash", FINDING_LAUNCHER, "a shell", NULL },
	{ "ash", FINDING_LAUNCHER, "a shell", NULL },
	{ "busybox", FINDING_LAUNCHER, "its shell", NULL },
	{ "zsh", FINDING_LAUNCHER, "a shell", NULL },
	{ "ksh*", FINDING_LAUNCHER, "a shell", NULL },
	{ "fish", FINDING_LAUNCHER, "a shell", NULL },
	{ "env", FINDING_LAUNCHER, "env(1)", NULL },
	{ "nice", FINDING_LAUNCHER, "nice(1)", NULL },
	{ "nohup", FINDING_LAUNCHER, "nohup(1)", NULL },
	{ "timeout", FINDING_LAUNCHER, "timeout(1)", NULL },
	{ "xargs", FINDING_LAUNCHER, "xargs(1)", NULL },
	{ "make", FINDING_LAUNCHER, "make(1)", NULL },
	{ "git", FINDING_LAUNCHER, "git(1), which connects in programs of its own", NULL },
	{ "sudo", FINDING_DROPS, "sudo(8)", NULL },
	{ "sudoedit", FINDING_DROPS, "sudo(8)", NULL },
	{ "doas", FINDING_DROPS, "doas(1)", NULL },
	{ "pkexec", FINDING_DROPS, "pkexec(1)", NULL },
	{ "docker", FINDING_ELSEWHERE, "the Docker daemon", NULL },
	{ "podman", FINDING_ELSEWHERE, "containers have an environment of their own", NULL },
	{ "flatpak", FINDING_ELSEWHERE, "sandboxes have an environment of their own", NULL },
	{ "systemctl", FINDING_ELSEWHERE, "systemd", NULL },
	{ "systemd-run", FINDING_ELSEWHERE, "systemd", NULL },
	{ "at", FINDING_ELSEWHERE, "atd", NULL },
	{ "batch", FINDING_ELSEWHERE, "atd", NULL },
};

static const struct known_name names[] = {
	{ "io_uring_*", FINDING_IO_URING, false },
	{ "ares_*", FINDING_OWN_RESOLVER, false },
	{ "getaddrinfo_a", FINDING_OTHER_LOOKUPS, false },
	{ "res_query", FINDING_OTHER_LOOKUPS, false },
	{ "res_nquery", FINDING_OTHER_LOOKUPS, false },
	{ "res_search", FINDING_OTHER_LOOKUPS, false },
	{ "res_nsearch", FINDING_OTHER_LOOKUPS, false },
	{ "res_send", FINDING_OTHER_LOOKUPS, false },
	{ "res_nsend", FINDING_OTHER_LOOKUPS, false },
	{ "__res_query", FINDING_OTHER_LOOKUPS, false },
	{ "__res_nquery", FINDING_OTHER_LOOKUPS, false },
	{ "__res_search", FINDING_OTHER_LOOKUPS, false },
	{ "__res_nsearch", FINDING_OTHER_LOOKUPS, false },
	{ "__res_send", FINDING_OTHER_LOOKUPS, false },
	{ "__res_nsend", FINDING_OTHER_LOOKUPS, false },
	{ "seccomp_load", FINDING_CONFINES, false },
	{ "dlopen", FINDING_LOADS_LATER, false },
	{ "dlmopen", FINDING_NAMESPACES, false },
	{ "syscall", FINDING_RAW_CALLS, false },
	{ "php_module_startup", FINDING_DEEPBIND, true },
};

const struct known_program *known_program(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		if (glob_match(programs[i].name, name, strlen(name), 0))
			return &programs[i];
	}
	return NULL;
}

const struct known_name *known_name(const char *symbol, bool defined)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (names[i].defined == defined &&
		    glob_match(names[i].name, symbol, strlen(symbol), 0))
			return &names[i];
	}
	return NULL;
}
