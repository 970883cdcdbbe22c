/* SPDX-License-Identifier: MIT */
#include "preload/runtime.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/prng.h"
#include "base/sys.h"
#include "log/log.h"
#include "policy/match.h"
#include "preload/configure.h"
#include "preload/inject.h"
#include "preload/real.h"
#include "preload/signal.h"
#include "state/fdtab.h"
#include "state/shm.h"
#include "state/stats_file.h"

/* How often a changed file is looked for, and how many new versions one
 * process takes: an old one is never freed, a waiting thread may be using it. */
#define RELOAD_EVERY (2 * DUR_S)
#define RELOAD_MAX 100

/* The longest that a thread waits for another one's loading. */
#define LOAD_PATIENCE (2 * DUR_S)

_Atomic unsigned runtime_gate = GATE_UNINIT;
uintptr_t runtime_errno_at;

static struct env env;
static char config_path[512];
static bool config_exists;

static struct config *_Atomic current;
static const struct policy *_Atomic program_policy;
static _Atomic int program_mode = -1; /* -1: the program's rule says nothing */

/* Loading: one thread at a time, no lock that a fork could leave behind. */
static _Atomic uintptr_t loader; /* thread_key(), 0: nobody */
static _Atomic int64_t last_check;
static _Atomic uint64_t fingerprint;
static _Atomic unsigned reloads;

/* Set by the constructor and in each child of fork: only a vfork child, or one
 * of a raw clone, differs. */
static _Atomic pid_t owner;
static _Atomic bool load_forbidden; /* see runtime_postfork_child() */
static _Atomic bool confined;       /* see runtime_confine() */

/* A log descriptor is known by what it is now: later the program may have put
 * something else under its number. */
static void identify_log_fd(void)
{
	const char *to = env_get(&env, ENV_LOG);
	int fd = 0;

	if (!to || strncmp(to, "fd:", 3) != 0)
		return;
	for (to += 3; *to >= '0' && *to <= '9' && fd < 100000000; to++)
		fd = fd * 10 + (*to - '0');
	log_identify(fd);
}

/* A relative LIBRETRY_CONFIG is one of this folder, not of where the program
 * goes later. Too long a path stays as it is. */
static LR_NOINLINE void make_absolute(void)
{
	char dir[sizeof(config_path)];
	size_t have = strlen(config_path);
	size_t len;

	if (config_path[0] == '/' || !sys_getcwd(dir, sizeof(dir)))
		return;
	len = strlen(dir);
	if (len + 1 + have >= sizeof(config_path))
		return;
	memmove(config_path + len + 1, config_path, have + 1);
	memcpy(config_path, dir, len);
	config_path[len] = '/';
}

/* False: something replaces __errno_location(), as libraries do that make threads of their
 * own. By that libc does not go where it fails, and we would not learn why it did. */
static bool find_errno(void)
{
	runtime_errno_at = (uintptr_t)&errno - (uintptr_t)__builtin_thread_pointer();
	errno = 0;
	getauxval(ULONG_MAX); /* there is none of that number */
	return errno == ENOENT;
}

static void init(void)
{
	int saved = errno;
	unsigned gate = 0;
	struct utsname host;

	real_bind();
	/* A program's .preinit_array (AddressSanitizer's, for one) runs before
	 * libc's own constructor sets environ: pass through until it is there. */
	if (!environ) {
		errno = saved;
		return;
	}
	atomic_store(&owner, sys_getpid());
	env_snapshot(&env, environ, getauxval(AT_SECURE) != 0);
	if (!find_errno() || env_flag(&env, ENV_DISABLE)) {
		gate = GATE_OFF;
	} else {
		log_start();
		identify_log_fd();
		if (SYS_CALL(SYS_uname, &host) != 0)
			host.nodename[0] = '\0';
		config_exists = config_locate(&env, SYSCONFDIR, host.nodename, config_path,
		                              sizeof(config_path));
		if (config_exists)
			make_absolute();
		/* With a file, the policy of the very first attempt depends on
		 * it (attempt_timeout), so the first call reads it. Without one
		 * the variables can ask for the same, or for a log of what is
		 * passed through. */
		if (config_exists || env_get(&env, ENV_ATTEMPT_TIMEOUT) ||
		    env_get(&env, ENV_POLICY) || env_get(&env, ENV_LOG_LEVEL))
			gate = GATE_LOAD;
		if (env_get(&env, ENV_INJECT)) {
			gate = GATE_LOAD;
			inject_arm();
		}
		atfork_register();
	}
	atomic_store(&runtime_gate, gate);
	fdtab_lower(FDTAB_CLOSED);
	errno = saved;
}

/* A hook of ours may run before this: it then does the same by itself. */
__attribute__((constructor)) static void construct(void)
{
	runtime_init();
}

/* Nothing that hooks need goes away here: exit handlers still call them. */
__attribute__((destructor)) static void destruct(void)
{
	if (gate_now() & GATE_PASS)
		return;
	log_flush();
	if (stats_file_behind() && runtime_owns_process())
		stats_file_write(slot_now());
}

/* What libretry thinks of this program: its entry in "programs". */
static bool program_enabled(const struct config *c)
{
	char exe[512];
	ssize_t n;
	const struct program_rule *rule;

	atomic_store(&program_policy, NULL);
	atomic_store(&program_mode, -1);
	if (c->set.program_count == 0)
		return true;
	n = sys_readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (n <= 0)
		return true;
	exe[n] = '\0';
	rule = match_program(&c->set, exe);
	if (!rule)
		return true;
	atomic_store(&program_policy, rule->policy);
	if (rule->mode_set)
		atomic_store(&program_mode, (int)rule->mode);
	return rule->enabled;
}

static void close_for_good(void)
{
	atomic_store(&runtime_gate, GATE_OFF);
	/* What they stand for asks the kernel about sockets. */
	fdtab_lower(FDTAB_SENDS | FDTAB_PEERS);
}

static void publish(struct config *c)
{
	unsigned gate = GATE_REPORT;

	log_configure(&c->log);
	signal_stop_on(c->process.stop_on);
	shm_set_group(c->process.host_group);
	stats_file_configure(&c->stats);
	/* A report is still due when everything else is off. */
	if (!program_enabled(c) || (c->errors && env_flag(&env, ENV_STRICT)))
		gate |= GATE_OFF;
	if (c->before_connect)
		gate |= GATE_BEFORE_CONNECT;
	if (c->before_lookup)
		gate |= GATE_BEFORE_LOOKUP;
	if (c->after_lookup)
		gate |= GATE_AFTER_LOOKUP;
	if (inject_publish(gate & GATE_OFF ? NULL : &c->inject))
		gate |= GATE_INJECT;
	atomic_store(&current, c);
	atomic_store(&runtime_gate, gate);
	if (atomic_load(&confined))
		close_for_good();
}

/* <again>: a file that cannot be used changes nothing. */
static void load(bool again)
{
	struct config *c = configure_load(config_exists ? config_path : NULL, &env, again);

	if (c && again && c->errors)
		/* Reported; what was good stays in force. */
		config_free(c);
	else if (c)
		publish(c);
	atomic_store(&fingerprint, configure_fingerprint(atomic_load(&current), config_path));
}

/*
 * Loads and publishes, if no other thread does so at this moment (false).
 * Signals and cancellation wait meanwhile, and until the mark is gone: a
 * handler that jumped out would leave the mark, the dynamic linker and the
 * allocator in the middle of their work.
 */
static bool load_alone(bool again)
{
	const uint64_t all = SYS_SIGALL;
	uint64_t before = 0;
	int cancel;
	uintptr_t nobody = 0;
	bool mine;

	sys_sigmask(SIG_BLOCK, &all, &before);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	mine = atomic_compare_exchange_strong(&loader, &nobody, thread_key());
	if (mine) {
		if (again || !atomic_load(&current))
			load(again);
		atomic_store(&loader, 0);
	}
	pthread_setcancelstate(cancel, NULL);
	sys_sigmask(SIG_SETMASK, &before, NULL);
	return mine;
}

static void load_once(void)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	int64_t until = dur_add(sys_monotonic(), LOAD_PATIENCE);

	while (!atomic_load(&current) && !atomic_load(&load_forbidden) && !load_alone(false)) {
		if (atomic_load(&loader) == thread_key() || sys_monotonic() > until)
			return;
		/* Rare (two first calls at once) and short (a file is read). */
		sys_ppoll(NULL, 0, &moment);
	}
}

/* A failure is the moment to look: a program that is well needs no new rules. */
static void reload_if_changed(const struct config *c)
{
	int64_t now = sys_monotonic();
	int64_t last = atomic_load(&last_check);

	if (!c->process.reload || !config_exists || now - last < RELOAD_EVERY ||
	    atomic_load(&load_forbidden) || atomic_load(&reloads) >= RELOAD_MAX ||
	    !atomic_compare_exchange_strong(&last_check, &last, now))
		return;
	/* Not in what may be a signal handler; there is a next time. */
	if (last == 0 || configure_fingerprint(c, config_path) == atomic_load(&fingerprint) ||
	    signal_blocked_any() || sys_on_signal_stack())
		return;
	if (load_alone(true))
		atomic_fetch_add(&reloads, 1);
}

unsigned runtime_init(void)
{
	if (gate_now() & GATE_UNINIT)
		init();
	return gate_now();
}

unsigned runtime_enter(bool handler_safe)
{
	int saved = errno;
	unsigned gate = runtime_init();

	if ((gate & GATE_LOAD) && runtime_owns_process() &&
	    !(handler_safe && (signal_blocked_any() || sys_on_signal_stack())))
		load_once();
	errno = saved;
	return gate_now() & ~(unsigned)GATE_LOAD;
}

void runtime_report(void)
{
	if (atomic_fetch_and(&runtime_gate, ~(unsigned)GATE_REPORT) & GATE_REPORT)
		configure_report(atomic_load(&current), &env);
}

const struct config *runtime_config(void)
{
	int saved = errno;
	const struct config *c = atomic_load(&current);

	if (c)
		reload_if_changed(c);
	/* What it has interrupted may be the allocator. (Blocked signals do not prove it.) */
	else if (!config_exists || !sys_on_signal_stack())
		load_once();
	errno = saved;
	return atomic_load(&current);
}

const struct policy *runtime_default_policy(const struct config *c)
{
	const struct policy *p = atomic_load(&program_policy);

	/* The environment stands above the file: LIBRETRY_POLICY is already in
	 * fallback_policy. */
	return p && !env_get(&env, ENV_POLICY) ? p : c->set.fallback_policy;
}

enum mode runtime_mode(const struct config *c)
{
	int mode = atomic_load(&program_mode);

	return mode >= 0 && !env_get(&env, ENV_MODE) ? (enum mode)mode : c->mode;
}

static void say_confined(void)
{
	struct event e;

	memset(&e, 0, sizeof(e));
	e.kind = EVENT_CONFIG;
	e.level = LOG_DEBUG_LEVEL;
	e.message = "the program confines itself by prctl(): nothing is retried from here on";
	e.left = DUR_NONE;
	log_emit(&e);
}

void runtime_confine(bool before)
{
	int saved = errno;

	atomic_store(&confined, true);
	close_for_good();
	signal_stop_for_good(before);
	if (before && log_wants(LOG_DEBUG_LEVEL))
		say_confined();
	errno = saved;
}

bool runtime_clears_deepbind(void)
{
	const struct config *c = atomic_load(&current);
	int saved = errno;

	if (!c && config_exists && !(gate_now() & GATE_PASS) && !atomic_load(&load_forbidden) &&
	    runtime_owns_process() && !sys_on_signal_stack())
		load_alone(false);
	errno = saved;
	c = atomic_load(&current);
	return c && c->process.clear_deepbind && !(gate_now() & GATE_PASS);
}

/* So many threads have has_vforked. */
static _Atomic unsigned vforked;

static void mark(enum thread_vforked how)
{
	bool was = thread_marks.has_vforked != VFORKED_NOT;

	thread_marks.has_vforked = (uint8_t)how;
	if (was)
		return;
	atomic_fetch_add(&vforked, 1);
	fdtab_raise(FDTAB_VFORKED);
}

/* A child that was made past libc is treated as one of vfork() from then on. */
bool runtime_owns_process(void)
{
	pid_t known = atomic_load(&owner);

	if (known == sys_getpid())
		return true;
	if (known && !thread_marks.has_vforked)
		mark(VFORKED_SEEN);
	return false;
}

/* A child made by another thread between the look and the mark's end is not known: what
 * lies between are a few instructions, and a vfork(). */
static LR_NOINLINE void unmark_vfork(void)
{
	thread_marks.has_vforked = VFORKED_NOT;
	if (atomic_fetch_sub(&vforked, 1) != 1)
		return;
	fdtab_lower(FDTAB_VFORKED);
	if (atomic_load(&vforked) != 0)
		fdtab_raise(FDTAB_VFORKED);
}

bool runtime_owns_confined(void)
{
	if (atomic_load(&owner) == sys_getpid())
		return true;
	if (thread_marks.has_vforked == VFORKED_SEEN)
		unmark_vfork();
	return false;
}

LR_NOINLINE bool runtime_in_vfork_child(void)
{
	if (gate_now() & GATE_PASS)
		return false;
	if (!runtime_owns_process())
		return true;
	unmark_vfork();
	return false;
}

/* What vfork.S calls, and then jumps to what it returns. The child has this thread's
 * memory, and so its mark. */
void *vfork_begins(void);
LR_HIDDEN __attribute__((used)) void *vfork_begins(void)
{
	runtime_init();
	mark(VFORKED_LIBC);
	return (void *)real.vfork;
}

bool runtime_seed(uint64_t *seed)
{
	const char *text = env_get(&env, ENV_SEED);

	if (!text)
		return false;
	*seed = hash_bytes(text, strlen(text), 0);
	return true;
}

void runtime_postfork_child(void)
{
	uintptr_t who = atomic_load(&loader);

	atomic_store(&owner, sys_getpid());
	/* The other threads are gone, and their marks. */
	atomic_store(&vforked, thread_marks.has_vforked != VFORKED_NOT);
	if (thread_marks.has_vforked)
		fdtab_raise(FDTAB_VFORKED);
	else
		fdtab_lower(FDTAB_VFORKED);
	if (!who || who == thread_key())
		return;
	atomic_store(&loader, 0);
	/* Built-in settings need no library. */
	if (!config_exists)
		return;
	/* Forked while another thread was loading: the dynamic linker's lock is
	 * held by a thread that does not exist here. This process goes on with
	 * what there is, and without us if there is nothing. */
	atomic_store(&load_forbidden, true);
	if (!atomic_load(&current))
		atomic_store(&runtime_gate, GATE_OFF);
}
