/* SPDX-License-Identifier: MIT */
/*
 * findings.h - what speaks for and against a preload's reaching a program: one
 * table of everything that can be found, with what it means and what to do
 * about it. "run" warns of it and "doctor" reports it, in the same words.
 */
#ifndef LIBRETRY_CLI_FINDINGS_H
#define LIBRETRY_CLI_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

enum coverage { COVERED = 0, PARTLY, NOT_COVERED };

/* X(identifier, "word", what it makes of the verdict, "what is so", "what to do").
 * libretry-doctor(1) has one line for each word. */
#define FINDINGS(X) \
	X(STATIC, "static", NOT_COVERED, \
	  "statically linked: there is no loader that would preload anything", \
	  "use a dynamically linked build, or have a proxy retry for it") \
	X(ARCHITECTURE, "architecture", NOT_COVERED, \
	  "built for another architecture: the loader cannot use this libretry.so there", \
	  "install libretry.so for that architecture too and give \"run\" a --library path " \
	  "with $LIB in it") \
	X(DAMAGED, "damaged", NOT_COVERED, \
	  "the headers of the file are cut off or make no sense: it cannot start", \
	  "install the program again") \
	X(SET_USER_ID, "set-user-id", NOT_COVERED, \
	  "set-user-ID: the loader ignores preloads there", \
	  "have its owner run it, or preload into what it talks to instead") \
	X(SET_GROUP_ID, "set-group-id", NOT_COVERED, \
	  "set-group-ID: the loader ignores preloads there", \
	  "have somebody of its group (as the primary one) run it") \
	X(FILE_CAPABILITIES, "file-capabilities", NOT_COVERED, \
	  "file capabilities: the loader ignores preloads there", \
	  "give the capabilities to whoever starts it (ambient ones) and not to the file") \
	X(OTHER_LIBC, "other-libc", NOT_COVERED, \
	  "uses another C library than libretry.so, and would fail to start with it", \
	  "give it a libretry.so that was built for its C library; for musl see libretry(7)") \
	X(CLEARED, "environment-cleared", NOT_COVERED, \
	  "its first line clears the environment, and LD_PRELOAD with it", \
	  "take the -i out of its first line") \
	X(NOT_LOADED, "not-loaded", NOT_COVERED, \
	  "libretry.so is not mapped into it", \
	  "start it again under \"libretry run\"; LD_PRELOAD counts only when a program starts") \
	X(SECURE, "secure-mode", NOT_COVERED, \
	  "runs in secure mode (privileges beyond its user's): the loader ignored preloads", \
	  "start it without set-ID bits and file capabilities") \
	X(DISABLED, "disabled", NOT_COVERED, \
	  "LIBRETRY_DISABLE is set: the library does nothing", \
	  "unset LIBRETRY_DISABLE") \
	X(PROGRAM_DISABLED, "program-disabled", NOT_COVERED, \
	  "the configuration switches the library off for it", \
	  "change its entry in \"programs\"") \
	X(STRICT, "strict", NOT_COVERED, \
	  "the configuration has errors and LIBRETRY_STRICT is set: nothing is retried", \
	  "repair what \"libretry check\" reports") \
	X(LIBRARY_MISSING, "library-missing", NOT_COVERED, \
	  "libretry.so is not there or cannot be read", \
	  "install it, or name it with --library") \
	X(LIBRARY_PATH, "library-path", NOT_COVERED, \
	  "the path of libretry.so holds a space or a colon, where the loader would split it", \
	  "put libretry.so (or a link to it) elsewhere") \
	X(LIBRARY_UNUSABLE, "library-unusable", NOT_COVERED, \
	  "the loader cannot use libretry.so", \
	  "build or install it for this system") \
	X(SECCOMP_STRICT, "seccomp-strict", NOT_COVERED, \
	  "in seccomp's strict mode: no connect is possible at all", \
	  "nothing to do: it does not connect") \
	X(GO, "go", PARTLY, \
	  "a Go program: it makes its system calls itself and is not reached, " \
	  "except for lookups through the C library", \
	  "GODEBUG=netdns=cgo makes it look names up through the C library; " \
	  "for connects use its own retries or a proxy") \
	X(DEEPBIND, "deepbind", PARTLY, \
	  "PHP loads its extensions with RTLD_DEEPBIND, which hides every preload from them", \
	  "set process.deepbind = \"clear\" in the configuration; what PHP itself calls is " \
	  "covered") \
	X(IO_URING, "io-uring", PARTLY, \
	  "uses io_uring: what is submitted that way is not seen", \
	  "if it connects through io_uring, have it use epoll instead") \
	X(OWN_RESOLVER, "own-resolver", PARTLY, \
	  "looks names up with c-ares, whose lookups are not retried", \
	  "set c-ares' own retries: \"options attempts:\" in resolv.conf(5)") \
	X(DROPS, "drops-preload", PARTLY, \
	  "takes LD_PRELOAD out of the environment of what it starts", \
	  "put \"libretry run\" behind it, not in front of it") \
	X(ELSEWHERE, "starts-elsewhere", PARTLY, \
	  "has programs started by somebody else, who does not inherit the preload", \
	  "put \"libretry run\" into the command that is started there") \
	X(OBSERVE, "observe", PARTLY, \
	  "observe mode: failures are logged and nothing is retried", \
	  "set the mode to \"retry\"") \
	X(CONFINED, "confined", PARTLY, \
	  "a seccomp filter is in force, and it has libseccomp: if it has confined itself, " \
	  "nothing is retried", \
	  "if it should be, and its sandbox can be spared, switch that off") \
	X(CONFIG_ERRORS, "config-errors", PARTLY, \
	  "the configuration has errors: the built-in policy is used instead", \
	  "repair what \"libretry check\" reports") \
	X(CONFIG_UNREADABLE, "config-unreadable", PARTLY, \
	  "the configuration cannot be read: the built-in policy is used instead", \
	  "correct the path or its permissions, or unset LIBRETRY_CONFIG") \
	X(LOG, "log", PARTLY, \
	  "the log cannot be written: nothing will be logged", \
	  "correct the path or its permissions") \
	X(SHARED_FOLDER, "shared-folder", PARTLY, \
	  "/dev/shm cannot be used: nothing is shared, each process remembers for itself", \
	  "mount a tmpfs there that the user may write to (a container: --tmpfs /dev/shm)") \
	X(SHARED_ROOM, "shared-room", PARTLY, \
	  "/dev/shm has no room for the shared memory: each process remembers for itself", \
	  "make room there, or make it larger (a container: --shm-size)") \
	X(SHARED_SEGMENT, "shared-segment", PARTLY, \
	  "the shared memory cannot be used: each process remembers for itself", \
	  "find out who put it there and remove it; the next failure makes it anew") \
	X(SHARED_FULL, "shared-full", PARTLY, \
	  "the shared memory is full: further destinations are neither limited nor counted", \
	  "\"libretry stats --reset\" forgets those that are there") \
	X(SHARED_GROUP, "shared-group", PARTLY, \
	  "the user is not in the group of process.host_group, and shares nothing with it", \
	  "add the user to the group, and log in again") \
	X(GRACE, "grace", PARTLY, \
	  "SIGTERM does not end the waits, and they can take longer than the grace period", \
	  "put \"SIGTERM\" into process.stop_on, or set a shorter deadline") \
	X(SET_USER_ID_OWN, "set-user-id-own", COVERED, \
	  "set-user-ID: the loader ignores preloads there, but for its owner, as here", NULL) \
	X(SET_GROUP_ID_OWN, "set-group-id-own", COVERED, \
	  "set-group-ID: the loader ignores preloads there, but for its own group, as here", \
	  NULL) \
	X(FILE_CAPABILITIES_ROOT, "file-capabilities-root", COVERED, \
	  "file capabilities: the loader ignores preloads there, but for root, as here", NULL) \
	X(PRIVILEGES_VOID, "privileges-void", COVERED, \
	  "its set-ID bits or capabilities have no effect here (nosuid or no_new_privs)", NULL) \
	X(STALE, "stale", COVERED, \
	  "the libretry.so that it has loaded was replaced or deleted since", \
	  "restart it to have the new one") \
	X(OTHER_BUILD, "other-build", COVERED, \
	  "has loaded another libretry.so than the one that belongs to this command", NULL) \
	X(CONFIG_WARNINGS, "config-warnings", COVERED, \
	  "the configuration has warnings or unknown keys", \
	  "see \"libretry check\"") \
	X(SHARED_NO_GROUP, "shared-no-group", COVERED, \
	  "a policy has scope = \"host\", and process.host_group is not set: it is shared among " \
	  "the programs of one user only", \
	  "set process.host_group, or scope = \"user\"") \
	X(SHARED_DISK, "shared-disk", COVERED, \
	  "/dev/shm is no tmpfs: what is shared may be written to a disk, and outlive a restart", \
	  "mount a tmpfs there") \
	X(SHARED_VERSION, "shared-version", COVERED, \
	  "there is shared memory of another version of libretry: programs that use it share " \
	  "nothing with those of this one", \
	  "restart the programs that have the other one; then it can be removed") \
	X(SHARED_PRIVATE, "shared-private", COVERED, \
	  "this /dev/shm is not that of the whole machine: programs inside and outside of it " \
	  "share nothing", \
	  "to share, give the containers one (--ipc=host, or a volume at /dev/shm)") \
	X(DEEPBIND_CLEARED, "deepbind-cleared", COVERED, \
	  "PHP loads its extensions with RTLD_DEEPBIND, which process.deepbind takes out", \
	  NULL) \
	X(OTHER_PRELOAD, "other-preload", COVERED, "another library is preloaded too", NULL) \
	X(SYSTEM_PRELOAD, "system-preload", COVERED, \
	  "/etc/ld.so.preload preloads into every program", NULL) \
	X(ALREADY, "already-preloaded", COVERED, \
	  "LD_PRELOAD names libretry.so already: every program started here has it", NULL) \
	X(SECCOMP, "seccomp", COVERED, \
	  "a seccomp filter is in force: it may forbid calls that the library makes; a " \
	  "program that installed it itself is left alone", \
	  "if the filter was there before the program, allow in it what doc/guest.md lists " \
	  "(futex_waitv, rt_sigprocmask, getsockopt ...)") \
	X(NO_NEW_PRIVS, "no-new-privs", COVERED, \
	  "no_new_privs is set: set-ID bits of programs have no effect", NULL) \
	X(OTHER_NAMESPACE, "other-namespace", COVERED, \
	  "sees other files than this command: paths of its configuration are looked at here", \
	  NULL) \
	X(LAUNCHER, "launcher", COVERED, \
	  "what it starts inherits the preload, but is not looked at here", \
	  "ask about these programs by themselves") \
	X(RUNTIME, "runtime", COVERED, \
	  "runs programs of its own language: their calls go through the C library", NULL) \
	X(CONFINES, "confines", COVERED, \
	  "imports seccomp_load: if it confines itself, nothing is retried from then on", \
	  "ask again with the PID when it runs") \
	X(LOADS_LATER, "loads-later", COVERED, \
	  "may load libraries while it runs (dlopen): what those call cannot be seen here", \
	  "ask again with the PID when it runs") \
	X(NAMESPACES, "link-namespaces", COVERED, \
	  "may load libraries into namespaces of their own (dlmopen), where no preload is", \
	  NULL) \
	X(RAW_CALLS, "raw-calls", COVERED, \
	  "has an event loop and imports syscall(): what is called through that is not seen", \
	  NULL) \
	X(OTHER_LOOKUPS, "other-lookups", COVERED, \
	  "imports lookups that are not retried", NULL) \
	X(OWN_NAMES, "own-names", COVERED, \
	  "defines functions of these names itself: they come first, and ours only if they " \
	  "pass the call on", NULL) \
	X(MISSING, "missing-library", COVERED, \
	  "needs a library that was not found: it may fail to start", NULL) \
	X(NO_CALLS, "no-calls", COVERED, \
	  "neither it nor its libraries import connect or a lookup: there may be nothing " \
	  "to retry", NULL)

enum finding_code {
#define X(id, word, effect, text, advice) FINDING_##id,
	FINDINGS(X)
#undef X
	FINDING_COUNT
};

struct finding {
	enum finding_code code;
	char *file;   /* what it is about; NULL: the host */
	char *detail; /* goes behind the text, in parentheses; NULL: nothing */
};

struct findings {
	struct finding *list;
	size_t count;
};

/* The word, the clause and the advice (NULL: none) of a code. */
const char *finding_word(enum finding_code code);
const char *finding_text(enum finding_code code);
const char *finding_advice(enum finding_code code);
enum coverage finding_effect(enum finding_code code);

/* Adds one; the texts are copied. The same code for the same file is added once.
 * Memory that runs out ends the command. */
void findings_add(struct findings *f, enum finding_code code, const char *file,
                  const char *detail);
/* Every <from> is a <to> from now on. */
void findings_change(struct findings *f, enum finding_code from, enum finding_code to);
bool findings_have(const struct findings *f, enum finding_code code);
void findings_free(struct findings *f);

/* The worst of them, what is worst first within <f> from now on. */
enum coverage findings_verdict(struct findings *f);

/* "covered", "partly", "not-covered" */
const char *coverage_word(enum coverage c);

/* "FILE: text (detail)" for people, allocated. */
char *finding_line(const struct finding *f);

#endif
