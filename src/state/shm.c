/* SPDX-License-Identifier: MIT */
#include "state/shm.h"

#include <string.h>
#include <sys/auxv.h>

#include "base/compat.h"
#include "base/duration.h"
#include "base/prng.h"
#include "base/sys.h"
#include "state/shm_file.h"

#define LOOK_EVERY DUR_S
#define PAGE 4096

/* A segment's place in this process. */
struct share {
	struct shm_header *_Atomic map;
	_Atomic int64_t looked;  /* when its name was looked at */
	_Atomic int64_t in_vain; /* when it was waited for, in vain; 0: never */
	_Atomic bool refused;    /* there is none, and there will be none */
	_Atomic uint32_t saying; /* enum saying, of .why */
	char why[SHM_WHY_MAX];
};

enum saying { SAY_NOTHING = 0, SAY_WRITING, SAY_READY, SAY_SAID };

static struct slot own[SHM_OWN_SLOTS];
static _Atomic uint64_t own_overflow;

/* The user's, and the group's. */
static struct share shares[2];
static _Atomic int64_t group = -1;

/* Places of segments that were let go of, the oldest next. */
static void *_Atomic former[SHM_FORMER];
static _Atomic unsigned formers;
static void *_Atomic spare;

/* Places that could not be laid over: nobody knows what is there now. There can be no
 * more: after the first nothing is attached. */
static void *_Atomic lost[SHM_FORMER];

struct slot_name {
	uint64_t key;
	uint64_t text[SLOT_TEXT / 8];
	uint64_t policy[SLOT_POLICY / 8];
};

static void cut_to(uint64_t *words, size_t size, const char *text)
{
	memset(words, 0, size);
	if (text)
		memcpy(words, text, strnlen(text, size - 1));
}

static void name_of(struct slot_name *n, const char *dest, const char *policy)
{
	cut_to(n->text, sizeof(n->text), dest);
	cut_to(n->policy, sizeof(n->policy), policy);
	n->key = hash_bytes(n->policy, sizeof(n->policy),
	                    hash_bytes(n->text, sizeof(n->text), 0));
	if (n->key == 0)
		n->key = 1;
}

static bool same_words(const _Atomic uint64_t *there, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (atomic_load_explicit(&there[i], memory_order_relaxed) != words[i])
			return false;
	return true;
}

static void put_words(_Atomic uint64_t *there, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		atomic_store_explicit(&there[i], words[i], memory_order_relaxed);
}

/* The slot has the key of <n>. False: it is another name's with the same key. */
static bool is_named(struct slot *s, const struct slot_name *n)
{
	if (atomic_load_explicit(&s->named, memory_order_acquire) == 0) {
		put_words(s->text, n->text, ARRAY_LEN(n->text));
		put_words(s->policy, n->policy, ARRAY_LEN(n->policy));
		atomic_store_explicit(&s->named, 1, memory_order_release);
		return true;
	}
	return same_words(s->text, n->text, ARRAY_LEN(n->text)) &&
	       same_words(s->policy, n->policy, ARRAY_LEN(n->policy));
}

/* The slot is the one of <n>, or free and from now on. */
static bool is_or_becomes(struct slot *s, const struct slot_name *n)
{
	uint64_t key = atomic_load_explicit(&s->key, memory_order_relaxed);

	if (key == 0 && atomic_compare_exchange_strong(&s->key, &key, n->key))
		key = n->key;
	return key == n->key && is_named(s, n);
}

/* *page: the last one that was asked for. */
static bool is_there(const struct slot *s, uintptr_t *page)
{
	const uintptr_t first = (uintptr_t)s;
	const uintptr_t last = (uintptr_t)(s + 1) - 8;

	if ((first / PAGE != *page && !sys_readable((const void *)first)) ||
	    (last / PAGE != first / PAGE && !sys_readable((const void *)last)))
		return false;
	*page = last / PAGE;
	return true;
}

/* NULL: no room, or, with *gone, the slots are not there any more; *gone NULL: they
 * cannot go. */
static struct slot *find(struct slot *slots, unsigned count, const struct slot_name *n,
                         bool *gone)
{
	unsigned at = (unsigned)(n->key ^ n->key >> 32) % count;
	uintptr_t page = 0;

	for (unsigned i = 0; i < count; i++) {
		struct slot *s = &slots[(at + i) % count];

		if (gone && !is_there(s, &page)) {
			*gone = true;
			return NULL;
		}
		if (is_or_becomes(s, n))
			return s;
	}
	return NULL;
}

/* Only the first reason is kept. */
static void refuse(struct share *share, const char *why)
{
	uint32_t nothing = SAY_NOTHING;

	if (atomic_compare_exchange_strong(&share->saying, &nothing, SAY_WRITING)) {
		memcpy(share->why, why, strlen(why) + 1);
		atomic_store(&share->saying, SAY_READY);
	}
	atomic_store(&share->refused, true);
}

/* A mapping over <place> has failed, and may have left a hole there, or what the program
 * has put into it since: not to be touched, nor mapped over, any more. */
static void lose(void *place)
{
	refuse(&shares[0], "nothing is shared any more: no memory for what was");
	for (size_t i = 0; i < ARRAY_LEN(lost); i++) {
		void *none = NULL;

		if (atomic_compare_exchange_strong(&lost[i], &none, place) || none == place)
			return;
	}
}

static bool is_lost(uintptr_t at)
{
	for (size_t i = 0; i < ARRAY_LEN(lost); i++) {
		uintptr_t place = (uintptr_t)atomic_load_explicit(&lost[i], memory_order_relaxed);

		/* They were filled from the first on. */
		if (!place)
			return false;
		if (at - place < SHM_BYTES)
			return true;
	}
	return false;
}

/* From now on <place> is zeros of this process's own. False: it is lost. */
static bool lay_over(void *place)
{
	if (is_lost((uintptr_t)place))
		return false;
	if (sys_mmap(place, SHM_BYTES, PROT_READ | PROT_WRITE,
	             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1))
		return true;
	lose(place);
	return false;
}

/* Some may still be using its slots: so first it becomes memory that cannot go away.
 * (Should another thread have let go of it long ago, and the place be in use again, then
 * the one that is there now is found to be without a header.) */
static void let_go(struct share *share, struct shm_header *h)
{
	bool whole = lay_over(h);
	unsigned at;
	void *oldest;

	if (!atomic_compare_exchange_strong(&share->map, &h, NULL) || !whole)
		return;
	at = atomic_fetch_add(&formers, 1) % SHM_FORMER;
	oldest = atomic_exchange(&former[at], h);
	if (oldest)
		atomic_store(&spare, oldest);
}

static int64_t gid_of(const struct share *share)
{
	return share == &shares[0] ? -1 : atomic_load(&group);
}

static void give_back(void *place)
{
	if (lay_over(place))
		atomic_store(&spare, place);
}

static struct shm_header *publish(struct share *share, struct shm_header *h, void *place)
{
	struct shm_header *there = NULL;

	atomic_store(&share->looked, sys_monotonic());
	if (atomic_compare_exchange_strong(&share->map, &there, h))
		return h;
	/* Another thread was faster. */
	if (place)
		give_back(place);
	else
		sys_munmap(h, SHM_BYTES);
	return there;
}

static bool may_share(struct share *share)
{
	if (getauxval(AT_SECURE))
		refuse(share, "nothing is shared in secure mode");
	else if (ATOMIC_LLONG_LOCK_FREE != 2)
		refuse(share, "nothing is shared on this machine: its atomic words have locks");
	return !atomic_load(&share->refused);
}

static LR_NOINLINE struct shm_header *attach(struct share *share)
{
	struct shm_file file;
	struct shm_header *h;
	int64_t gid = gid_of(share);
	int64_t now = sys_monotonic();
	int64_t in_vain = atomic_load(&share->in_vain);
	bool patient = in_vain == 0 || now - in_vain > LOOK_EVERY;
	void *place;
	enum shm_answer answer;

	if (atomic_load(&share->refused) || atomic_load(&lost[0]) || !may_share(share))
		return NULL;
	shm_file_name(&file, gid);
	place = atomic_exchange(&spare, NULL);
	answer = shm_file_attach(&file, place, patient, &h);
	if (answer == SHM_NEVER)
		refuse(share, file.why);
	if (answer == SHM_LATER && patient)
		atomic_store(&share->in_vain, now);
	if (answer != SHM_MAPPED) {
		if (place && file.lost)
			lose(place);
		else if (place)
			give_back(place);
		return NULL;
	}
	h = publish(share, h, place);
	if (gid_of(share) == gid)
		return h;
	let_go(share, h);
	return NULL;
}

static LR_NOINLINE bool name_leads_to(const struct share *share, const struct shm_header *h)
{
	struct shm_file file;

	shm_file_name(&file, gid_of(share));
	return shm_file_same(&file, h);
}

static bool is_good(struct share *share, struct shm_header *h)
{
	int64_t looked = atomic_load(&share->looked);
	int64_t now;

	if (!sys_readable(h) || !shm_file_known(h) || atomic_load(&h->retired))
		return false;
	now = sys_monotonic();
	return now - looked < LOOK_EVERY ||
	       !atomic_compare_exchange_strong(&share->looked, &looked, now) ||
	       name_leads_to(share, h);
}

static struct shm_header *segment(struct share *share)
{
	struct shm_header *h = atomic_load_explicit(&share->map, memory_order_acquire);

	if (h && is_good(share, h))
		return h;
	if (h)
		let_go(share, h);
	return attach(share);
}

static struct slot *find_own(const struct slot_name *n)
{
	struct slot *s = find(own, SHM_OWN_SLOTS, n, NULL);

	if (!s)
		atomic_fetch_add_explicit(&own_overflow, 1, memory_order_relaxed);
	return s;
}

struct slot *shm_slot(enum scope scope, const char *dest, const char *policy_name,
                      bool *shared)
{
	struct share *share = &shares[scope == SCOPE_HOST && atomic_load(&group) >= 0];
	struct shm_header *h;
	struct slot_name n;

	name_of(&n, dest, policy_name);
	*shared = false;
	/* Once more if it was truncated. */
	for (unsigned i = 0; scope != SCOPE_PROCESS && i < 2 && (h = segment(share)); i++) {
		bool gone = false;
		struct slot *s = find((struct slot *)(h + 1), SHM_SLOTS, &n, &gone);

		*shared = s != NULL;
		if (s)
			return s;
		if (!gone) {
			atomic_fetch_add_explicit(&h->overflow, 1, memory_order_relaxed);
			return NULL;
		}
		let_go(share, h);
	}
	return find_own(&n);
}

bool shm_check(const struct slot *s)
{
	if (lr_unlikely(is_lost((uintptr_t)s)))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		struct shm_header *h = atomic_load_explicit(&shares[i].map, memory_order_acquire);
		uintptr_t page = 0;

		if (!h || (uintptr_t)s - (uintptr_t)h >= SHM_BYTES || is_there(s, &page))
			continue;
		let_go(&shares[i], h);
		return !is_lost((uintptr_t)s);
	}
	return true;
}

void shm_set_group(int64_t gid)
{
	struct share *share = &shares[1];
	struct shm_header *h;

	if (atomic_exchange(&group, gid) == gid)
		return;
	h = atomic_load(&share->map);
	if (h)
		let_go(share, h);
	atomic_store(&share->refused, false);
	atomic_store(&share->saying, SAY_NOTHING);
}

const char *shm_trouble(void)
{
	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		uint32_t ready = SAY_READY;

		if (atomic_load_explicit(&shares[i].saying, memory_order_relaxed) == SAY_READY &&
		    atomic_compare_exchange_strong(&shares[i].saying, &ready, SAY_SAID))
			return shares[i].why;
	}
	return NULL;
}

static void forget(_Atomic uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		atomic_store_explicit(&words[i], 0, memory_order_relaxed);
}

void shm_postfork_child(void)
{
	forget(&own_overflow, 1);
	for (unsigned i = 0; i < SHM_OWN_SLOTS; i++) {
		forget(&own[i].sum_wait, 1);
		forget(&own[i].sum_attempts, 1);
		forget(own[i].tally, ARRAY_LEN(own[i].tally));
		forget(own[i].attempts, ARRAY_LEN(own[i].attempts));
		forget(own[i].waits, ARRAY_LEN(own[i].waits));
	}
}

struct slot *shm_own(void)
{
	return own;
}

uint64_t shm_own_overflow(void)
{
	return atomic_load_explicit(&own_overflow, memory_order_relaxed);
}

int64_t slot_now(void)
{
	return sys_monotonic();
}

void shm_reset(const char *folder)
{
	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		struct shm_header *h = atomic_load(&shares[i].map);

		if (h)
			let_go(&shares[i], h);
		atomic_store(&shares[i].refused, false);
		atomic_store(&shares[i].saying, SAY_NOTHING);
		atomic_store(&shares[i].in_vain, 0);
	}
	memset(own, 0, sizeof(own));
	atomic_store(&group, -1);
	shm_file_folder(folder);
}
