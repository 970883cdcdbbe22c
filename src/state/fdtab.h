/* SPDX-License-Identifier: MIT */
/*
 * fdtab.h - what is known of the program's descriptors: connects under way, and
 * the epoll sets that they are registered in.
 *
 * Two levels, by number: a table of chunks of slots, the first chunk static,
 * further ones mapped when a number in them is first used (one mmap() per
 * FDTAB_CHUNK numbers) and never given back. Nothing is sized by RLIMIT_NOFILE.
 * Numbers from FDTAB_FDS on, and what does not fit, are not remembered: to us
 * they do not exist. A connect under way is a note in its number's slot as long as
 * nothing happens to it (fdtab_note.h), then a record of its own, from a bounded pool,
 * because a dup shares it.
 *
 * Lock-free: a record is changed by whoever has claimed it, by one
 * compare-and-swap on its word (state and generation); nobody waits for
 * anybody, but close(), for at most FDTAB_PATIENCE. So everything here is safe
 * in threads, signal handlers and a forked child. No errno; no system call but
 * that mmap() and the yields of fdtab_wait_idle().
 *
 * A descriptor also dies unseen (a raw close, fclose). Nothing here may be
 * believed before the socket's identity has been looked at; see engine/pending.
 */
#ifndef LIBRETRY_STATE_FDTAB_H
#define LIBRETRY_STATE_FDTAB_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/compat.h"
#include "policy/policy.h"
#include "state/slot.h"
#include "state/turns.h"

#define FDTAB_CHUNK 256
#define FDTAB_CHUNKS 4096
#define FDTAB_FDS (FDTAB_CHUNK * FDTAB_CHUNKS)
#define FDTAB_PENDING 4096 /* connects under way at one time */
#define FDTAB_WATCHES 3    /* epoll sets of one descriptor */
#define FDTAB_SHARED 4     /* descriptors of one record */

/* How long fdtab_wait_idle() waits for another thread's few system calls. */
#define FDTAB_PATIENCE (100 * DUR_MS)

/* The number of records in use, and, in units of FDTAB_NOTED, of connects under way
 * that have but a note (bounded by FDTAB_NOTED_MANY); FDTAB_CLOSED besides, until the
 * preload has bound libc's functions. Besides, what only some wrappers are concerned with:
 * FDTAB_SENDS while every send is to be looked at, FDTAB_REPLAY while data that
 * were sent are kept (state/replay), FDTAB_PEERS once a socket was connected
 * (state/peers), FDTAB_OPTIONS once an option was set (state/options), FDTAB_VFORKED while
 * a thread may be a vfork child. Zero: every wrapper may go straight to libc. */
extern _Atomic uint32_t fdtab_gate LR_HIDDEN;
#define FDTAB_CLOSED UINT32_C(0x80000000)
#define FDTAB_SENDS UINT32_C(0x40000000)
#define FDTAB_REPLAY UINT32_C(0x20000000)
#define FDTAB_PEERS UINT32_C(0x10000000)
#define FDTAB_VFORKED UINT32_C(0x08000000)
#define FDTAB_OPTIONS UINT32_C(0x04000000)
#define FDTAB_NOTED_MANY UINT32_C(0x02000000)
#define FDTAB_NOTED UINT32_C(0x00002000)
/* Concern no call that goes to the kernel, but what becomes of its failure or of a number. */
#define FDTAB_NOTES (FDTAB_PEERS | FDTAB_OPTIONS | FDTAB_VFORKED)
#define FDTAB_ASIDE (FDTAB_SENDS | FDTAB_REPLAY | FDTAB_NOTES)

static inline uint32_t fdtab_word(void)
{
	return atomic_load_explicit(&fdtab_gate, memory_order_relaxed);
}

/* How many of them are more than a first attempt that goes on in the kernel: have
 * been claimed, or are due at some time. Where there are none, nothing has failed,
 * and there is nothing to do or to hide. FDTAB_CLOSED and FDTAB_VFORKED as in the gate. */
extern _Atomic uint32_t fdtab_aged LR_HIDDEN;

static inline bool fdtab_any_aged(void)
{
	return (atomic_load_explicit(&fdtab_aged, memory_order_relaxed) & ~FDTAB_VFORKED) != 0;
}

/* There is none, and nothing else that who only waits must mind. */
static inline bool fdtab_all_young(void)
{
	return atomic_load_explicit(&fdtab_aged, memory_order_relaxed) == 0;
}

/* Sets or takes marks of the gate, of FDTAB_ASIDE and FDTAB_CLOSED; of these what
 * fdtab_aged has is set or taken there too. */
void fdtab_raise(uint32_t marks);
void fdtab_lower(uint32_t marks);

static inline uint32_t fdtab_busy(void)
{
	return fdtab_word() & ~FDTAB_ASIDE;
}

enum pend_state {
	PEND_FREE = 0,
	PEND_BUSY,       /* somebody has claimed it, for a few system calls */
	PEND_CONNECTING, /* an attempt goes on in the kernel */
	PEND_BACKOFF,    /* the socket is dissolved; the program sees it pending */
	PEND_FAILED,     /* failed with .error, which the kernel has told us and
	                  * we still owe to the program */
	PEND_REPORTED    /* failed, and the program reads the error itself */
};

/* One connect under way. */
struct pending {
	_Atomic uint32_t word;        /* enum pend_state, FDTAB_AGED, generation << 8 */
	_Atomic uint32_t number;      /* fdtab's own: which record of the pool */
	_Atomic int fds[FDTAB_SHARED]; /* [0]: the one to act on; -1 = none */
	_Atomic uint64_t identity;    /* 0: not looked at yet */
	_Atomic int64_t due;          /* ns, monotonic: when to look at it next */
	/* The rest belongs to whoever has claimed it. */
	struct sockaddr_storage sa;   /* where the attempts go */
	socklen_t len;
	struct sockaddr_in6 home;     /* what the program asked for, ... */
	socklen_t home_len;           /* ... if attempts go elsewhere; 0: .sa is it */
	bool redirected;              /* by the rule, from the first attempt on */
	unsigned place;               /* n: at the rule's n-th fallback */
	unsigned attempt;             /* the current one, from 1 */
	bool last;                    /* its failure is the program's */
	enum reason why;              /* last before max_attempts: why */
	bool observed;                /* observe mode: only say what would be done */
	enum op op;                   /* OP_SEND: a connection is made again */
	bool replay;                  /* with what was sent over it: see state/replay */
	enum mode mode;
	const struct policy *policy;  /* NULL: not looked up yet */
	const struct rule *rule;
	uintptr_t thread;             /* thread_key() of the caller of connect */
	int64_t began;                /* ns, monotonic; of the program's call. With
	                               * .policy NULL still by its entry clock */
	int64_t attempt_began;
	int64_t expires;              /* ns, end of attempt_timeout; DUR_NONE */
	int64_t taken;                /* ns; its error was found gone; 0: was not */
	unsigned hidden;              /* events of before it that were hidden */
	int64_t waited;
	int64_t previous_wait;
	unsigned carried;             /* waits of calls before: state/carry */
	int64_t backoff_began;
	int error;                    /* of the last failed attempt */
	struct guard guard;           /* what others know; see engine/guard */
	struct turn turn;             /* while it is in a retry: max_concurrent_retries */
	bool parked;                  /* that it waits for others has been logged */
};

/* In a record's word: it is counted in fdtab_aged. */
#define FDTAB_AGED UINT32_C(0x80)
/* What the program asked for, whatever the attempts go to: its address, and *len. */
static inline const struct sockaddr *pend_home(const struct pending *p, socklen_t *len)
{
	*len = p->home_len ? p->home_len : p->len;
	return p->home_len ? (const struct sockaddr *)&p->home : (const struct sockaddr *)&p->sa;
}

/* A record as it was when it was found. */
struct pend_ref {
	struct pending *p;
	uint32_t word;
};

static inline enum pend_state pend_state(const struct pend_ref *ref)
{
	return (enum pend_state)(ref->word & 0x7f);
}

/*
 * A new record for <fd>, claimed (BUSY), zeroed but for .fds[0] = fd; what <fd>
 * had before is unlinked from it, and given back if it has no other descriptor
 * (by whoever has claimed it, if somebody has). False if there is no room, or
 * <fd> is too large or negative. Raises the gate.
 */
bool fdtab_begin(int fd, struct pend_ref *ref);

/* The live record that <fd> belongs to, in any state but FREE. A connect that has but a
 * note gets its record by that: unclaimed, PEND_CONNECTING. */
bool fdtab_find(int fd, struct pend_ref *ref);

/* Whether there is one, or such a note; no record is made. */
bool fdtab_under_way(int fd);

/* Claims it if nothing has changed since it was found; not a BUSY one. */
bool fdtab_claim(struct pend_ref *ref);

/* Ends a claim: <to> is the state from now on; PEND_FREE gives the record back
 * and lowers the gate. <ref> is updated. A record that lost its last descriptor
 * while it was claimed is given back whatever <to> is. */
void fdtab_release(struct pend_ref *ref, enum pend_state to);

/* The same, for who has a last word to say: false if the last descriptor is lost.
 * The record is still claimed then, and to be released to PEND_FREE. */
bool fdtab_settle(struct pend_ref *ref, enum pend_state to);

/* Gives the record back if nothing has changed since it was found and nobody has
 * claimed it: claim and release in one step, with nothing to jump out of. */
bool fdtab_drop(struct pend_ref *ref);

/* Reads the word again: what <ref> shows is then the present state. False if
 * the record is another's by now, or free. */
bool fdtab_refresh(struct pend_ref *ref);

/* All live records: start with *at = 0, until false. What begins or ends
 * meanwhile may be missed. Connects that have but a note have no record, unless
 * fdtab_record_all() has just made them one. */
bool fdtab_next(unsigned *at, struct pend_ref *ref);
void fdtab_record_all(void);

/* Waits until nobody has claimed <ref> (then it is refreshed), at most
 * FDTAB_PATIENCE (then it shows PEND_BUSY still): a descriptor's number must not
 * become another's while a thread acts on it. False if the record is gone. */
bool fdtab_wait_idle(struct pend_ref *ref);

/* The earliest .due of all records; DUR_NONE if there is none. */
int64_t fdtab_next_due(void);

/* <fd> is a dup of a descriptor of <ref>; false if there is no room. */
bool fdtab_attach(const struct pend_ref *ref, int fd);

/* The same for one that was found to be a dup. Not if it has a live record: since
 * then its number has become another socket's. <marked>: nor if it is not marked as
 * a dup (any more), as it is until somebody closes it. */
bool fdtab_join(const struct pend_ref *ref, int fd, bool marked);

/* <fd> was closed unseen, and its number is another socket's: it belongs to <ref> no
 * more. Its registrations stay. */
void fdtab_part(const struct pend_ref *ref, int fd);

/* What is known of one number; fdtab's own. */
struct fdtab_watch {
	_Atomic uint64_t head;
	_Atomic uint64_t data;
	_Atomic uint32_t events;
	_Atomic uint32_t age;
};
struct fdtab_slot {
	_Atomic uint64_t word; /* link to a record, marks, the state of the note */
	struct fdtab_watch watches[FDTAB_WATCHES];
	/* The note. The address as it is in memory, up to IPv6's scope. */
	_Atomic uint64_t to[3];
	_Atomic uint32_t scope;
	_Atomic uint32_t age;      /* of .watches */
	_Atomic uint64_t thread;   /* thread_key() of the caller of connect */
	_Atomic int64_t began;     /* ns, clock at entry; while under way */
};
extern struct fdtab_slot fdtab_first[FDTAB_CHUNK] LR_HIDDEN;
extern void *_Atomic fdtab_chunks[FDTAB_CHUNKS] LR_HIDDEN; /* but the first */

/* In a slot's word. The note is of the last connect() of the number. */
#define FDTAB_LINK_NUMBER UINT64_C(0x1fff) /* of a record, + 1 */
#define FDTAB_MARK_DUP UINT64_C(0x2000)    /* other numbers may name the same file */
#define FDTAB_NOTE_OPEN UINT64_C(0x10000) /* it is under way, and has no record */
#define FDTAB_NOTE_KEPT UINT64_C(0x20000) /* where it went to is known */
#define FDTAB_NOTE_BUSY UINT64_C(0x40000) /* being written */
#define FDTAB_NOTE_ONE (UINT64_C(1) << 48) /* from here on: counts the changes */
#define FDTAB_NOTE_COUNT (~(FDTAB_NOTE_ONE - 1))

/* The slot of <fd>; NULL if it was never used, or <fd> can have none. */
static inline struct fdtab_slot *fdtab_slot(int fd)
{
	struct fdtab_slot *chunk;

	if (lr_likely((unsigned)fd < FDTAB_CHUNK))
		return &fdtab_first[(unsigned)fd];
	if ((unsigned)fd >= FDTAB_FDS)
		return NULL;
	chunk = atomic_load_explicit(&fdtab_chunks[(unsigned)fd / FDTAB_CHUNK],
	                             memory_order_acquire);
	return chunk ? &chunk[(unsigned)fd % FDTAB_CHUNK] : NULL;
}

/* Of a slot's word: a link, marks, or a connect under way. */
static inline bool fdtab_word_knows(uint64_t word)
{
	return (word & (2 * FDTAB_NOTE_OPEN - 1)) != 0;
}

/* Whether something is known of <fd>, but where it is connected to: two loads. */
static inline bool fdtab_knows(int fd)
{
	const struct fdtab_slot *slot = fdtab_slot(fd);

	return slot && fdtab_word_knows(atomic_load_explicit(&slot->word,
	                                                     memory_order_relaxed));
}

/* The same for a range of numbers, both included. */
bool fdtab_knows_range(unsigned first, unsigned last);
/* The first number from *fd to <last> of which something is known, in *fd; false
 * if there is none. Steps over chunks that are not mapped. */
bool fdtab_next_known(unsigned *fd, unsigned last);

/*
 * <fd> is closed, or becomes another: all that is known of it goes, its note too. If it
 * belonged to a record (in any state), *ref is that record and true is
 * returned; *alone: no other descriptor of the record is left. One that
 * remains has moved to .fds[0]. If <fd> is an epoll set, the registrations in
 * it go too.
 */
bool fdtab_forget(int fd, struct pend_ref *ref, bool *alone);

/* dup: <to> shares the socket of <from>. Marks both; if <from> has a record,
 * <to> joins it. Forgets nothing: do that before, for dup2. */
void fdtab_dup(int from, int to);
/* <fd> was dup'ed, or is a dup: another number may name the same socket. */
bool fdtab_is_dup(int fd);

/* One registration in an epoll set, as the program wants it. */
struct watch {
	int epfd;
	uint32_t events;
	uint64_t data;
	unsigned parked; /* 0: armed in the kernel as here; see engine/pending.
	                  * At most 255 */
};

/* The program registered (or modified) <fd> in <epfd>. A full slot loses its
 * oldest entry. Keeps .parked of an entry that exists. 0, and so is the next: they
 * are what a wrapper does last. */
int fdtab_watch_set(int fd, int epfd, uint32_t events, uint64_t data);
int fdtab_watch_del(int fd, int epfd);
/* Entry <i> < FDTAB_WATCHES of <fd>; false if it is empty. */
bool fdtab_watch_get(int fd, unsigned i, struct watch *w);
/* The entry of <fd> for <epfd>; false if there is none. */
bool fdtab_watch_of(int fd, int epfd, struct watch *w);
/* Sets .parked of the entry for <epfd>, if it is there. */
void fdtab_watch_park(int fd, int epfd, unsigned parked);

/*
 * Which descriptor an event of <epfd> with <data> belongs to: -1 if no
 * registration of that kind was seen. If several share <data>, one with a
 * live record comes before others. <thorough>: look at all records if the
 * quick answer has none. The quick answer may miss one that was seen.
 */
int fdtab_watch_find(int epfd, uint64_t data, bool thorough);

/*
 * <epfd> has reported <events> of <data>, without an error: the connect of whose
 * registration that is, is over. False: it is no such connect as fdtab_drop_young() is for.
 */
bool fdtab_watch_connected(int epfd, uint64_t data, uint32_t events);

/* The first descriptor from *fd on that is registered in <epfd> with <data>, in
 * *fd; false if there is none. Looks at all: for the rare question whether one
 * event may be of several. */
bool fdtab_watch_next(int epfd, uint64_t data, unsigned *fd);

/*
 * Whether a registration in <epfd> with <data> was seen to go (deleted, closed,
 * modified to other data) after <since>, a time that fdtab_watch_time() told: an
 * event of it that was fetched before that says nothing any more. May miss one.
 */
uint32_t fdtab_watch_time(void);
bool fdtab_watch_gone(int epfd, uint64_t data, uint32_t since);

/*
 * In the child after fork: connects under way stay the parent's. Those in
 * backoff have failed here (PEND_FAILED with their last error), those that had
 * failed still owe their error; both are due at once. Others are forgotten; the
 * registrations stay. Only where no other thread exists.
 */
void fdtab_postfork_child(void);

/*
 * A handler may fork in the middle of a change. In the child fdtab_postfork_child() has
 * set all of it right by then; and who goes on with the change does so once more, at the
 * end, if he finds that this number, of the children in this process's ancestry, is another.
 */
extern _Atomic uint32_t fdtab_forks LR_HIDDEN;

/* That: ends what is not this process's, and counts anew. */
void fdtab_set_right(void);

static inline uint32_t fdtab_forks_now(void)
{
	return atomic_load_explicit(&fdtab_forks, memory_order_relaxed);
}

static inline void fdtab_since(uint32_t forks)
{
	if (lr_unlikely(fdtab_forks_now() != forks))
		fdtab_set_right();
}

/* Forgets everything, chunks stay mapped (tests). The gate becomes 0. */
void fdtab_reset(void);

#endif
