/* SPDX-License-Identifier: MIT */
#include "state/replay.h"

#include <stdatomic.h>
#include <string.h>

#include "base/sys.h"
#include "state/fdtab.h"

enum use { FREE = 0, IDLE, IN_USE, SPOILT };

struct entry {
	_Atomic int use;
	_Atomic int fd;
	uint64_t identity;
	unsigned char *data; /* NULL: nothing was sent yet */
	size_t size;
	size_t len;          /* what is kept */
	size_t given;        /* of these, over the present connection */
	/* Read by those who do not use it, too. */
	_Atomic bool unfinished; /* .given < .len */
	_Atomic bool answered;   /* something was received: not kept once it is finished */
};

/* How often one that is in use is waited for. Who uses it makes one system call
 * that does not wait. */
#define PATIENCE 1000

static struct entry entries[REPLAY_SOCKETS];
static _Atomic unsigned live;

/* Whether sends, reads and closes are looked at. Whoever wrote it last looks
 * whether it is still true: another one may have begun or ended just then. */
static void update_gate(void)
{
	bool any;

	do {
		any = atomic_load(&live) != 0;
		if (any)
			fdtab_raise(FDTAB_REPLAY);
		else
			fdtab_lower(FDTAB_REPLAY);
	} while (any != (atomic_load(&live) != 0));
}

/* The caller uses it, or nobody can. */
static void give_back(struct entry *e)
{
	void *data = e->data;

	/* First, for the child of a fork just here. */
	e->data = NULL;
	if (data)
		sys_munmap(data, e->size);
	atomic_store(&e->unfinished, false);
	atomic_store(&e->fd, -1);
	atomic_store(&e->use, FREE);
	atomic_fetch_sub(&live, 1);
	update_gate();
}

static bool take(struct entry *e)
{
	int idle = IDLE;

	if (atomic_compare_exchange_strong(&e->use, &idle, IN_USE))
		return true;
	/* What goes on there is not in order with us: it is worth nothing. */
	idle = IN_USE;
	atomic_compare_exchange_strong(&e->use, &idle, SPOILT);
	return false;
}

/* The same for a question, which spoils nothing. */
static bool take_patiently(struct entry *e)
{
	for (unsigned i = 0; i < PATIENCE; i++) {
		int idle = IDLE;

		if (atomic_compare_exchange_strong(&e->use, &idle, IN_USE))
			return true;
		if (idle != IN_USE)
			return false;
		SYS_CALL(SYS_sched_yield);
	}
	return false;
}

/* False: it was spoilt, and is gone. */
static bool leave(struct entry *e)
{
	int in_use = IN_USE;
	bool whole = e->given == e->len;

	atomic_store(&e->unfinished, !whole);
	if (!atomic_compare_exchange_strong(&e->use, &in_use, IDLE)) {
		give_back(e);
		return false;
	}
	in_use = IDLE;
	if (whole && atomic_load(&e->answered) &&
	    atomic_compare_exchange_strong(&e->use, &in_use, IN_USE))
		give_back(e);
	return true;
}

/* The next entry of <fd> from *at on, in use by anybody; NULL. */
static struct entry *look(int fd, unsigned *at)
{
	while (*at < REPLAY_SOCKETS) {
		struct entry *e = &entries[(*at)++];

		if (atomic_load_explicit(&e->use, memory_order_acquire) != FREE &&
		    atomic_load_explicit(&e->fd, memory_order_relaxed) == fd)
			return e;
	}
	return NULL;
}

/* The entry of <fd>, in use by the caller; NULL if there is none. */
static struct entry *find(int fd, bool (*take_it)(struct entry *))
{
	struct entry *e;

	for (unsigned at = 0; (e = look(fd, &at));) {
		if (!take_it(e))
			return NULL;
		if (atomic_load(&e->fd) == fd)
			return e;
		leave(e);
	}
	return NULL;
}

static struct entry *new_entry(void)
{
	for (unsigned i = 0; i < REPLAY_SOCKETS; i++) {
		int none = FREE;

		if (atomic_compare_exchange_strong(&entries[i].use, &none, IN_USE))
			return &entries[i];
	}
	return NULL;
}

void replay_begin(int fd, uint64_t identity, size_t size)
{
	struct entry *e;

	if (fd < 0)
		return;
	replay_drop(fd);
	e = size ? new_entry() : NULL;
	if (!e)
		return;
	e->identity = identity;
	e->data = NULL;
	e->size = size;
	e->len = 0;
	e->given = 0;
	atomic_store(&e->unfinished, false);
	atomic_store(&e->answered, false);
	atomic_store(&e->fd, fd);
	atomic_fetch_add(&live, 1);
	leave(e);
	update_gate();
}

static bool map_data(struct entry *e)
{
	if (!e->data)
		e->data = sys_mmap(NULL, e->size, PROT_READ | PROT_WRITE,
		                   MAP_PRIVATE | MAP_ANONYMOUS, -1);
	return e->data;
}

static void copy(struct entry *e, const struct iovec *iov, size_t count, size_t n)
{
	for (size_t i = 0; i < count && n > 0; i++) {
		size_t part = iov[i].iov_len < n ? iov[i].iov_len : n;

		if (part == 0)
			continue;
		memcpy(e->data + e->len, iov[i].iov_base, part);
		e->len += part;
		e->given += part;
		n -= part;
	}
}

bool replay_knows(int fd)
{
	unsigned at = 0;

	return look(fd, &at) != NULL;
}

bool replay_unfinished(int fd)
{
	unsigned at = 0;
	struct entry *e = look(fd, &at);

	return e && atomic_load(&e->unfinished);
}

static bool drop(struct entry *e)
{
	bool whole = e->given == e->len;

	give_back(e);
	return whole;
}

bool replay_add(int fd, const struct iovec *iov, size_t count, size_t n)
{
	bool unfinished = replay_unfinished(fd);
	struct entry *e = find(fd, take);

	if (!e)
		return !unfinished;
	if (e->given < e->len || n > e->size - e->len || !map_data(e))
		return drop(e);
	copy(e, iov, count, n);
	leave(e);
	return true;
}

bool replay_drop(int fd)
{
	struct entry *e = find(fd, take);

	return !e || drop(e);
}

void replay_answered(int fd)
{
	unsigned at = 0;
	struct entry *e = look(fd, &at);
	int idle = IDLE;

	if (!e)
		return;
	atomic_store(&e->answered, true);
	/* Else whoever uses it sees to it. */
	if (atomic_compare_exchange_strong(&e->use, &idle, IN_USE))
		leave(e);
}

bool replay_given(int fd, uint64_t identity, uint64_t *given)
{
	struct entry *e = find(fd, take_patiently);

	if (!e)
		return false;
	if (e->identity != identity) {
		give_back(e);
		return false;
	}
	*given = e->given;
	leave(e);
	return true;
}

void replay_restart(int fd)
{
	struct entry *e = find(fd, take_patiently);

	if (!e)
		return;
	e->given = 0;
	leave(e);
}

long replay_step(int fd, uint64_t identity, replay_out *out, void *arg)
{
	struct entry *e = find(fd, take_patiently);
	long n = 0;
	bool whole;

	/* Another thread has it for longer than a call takes: it has no processor. */
	if (!e)
		return replay_knows(fd) ? -EBUSY : -ENOENT;
	if (e->identity != identity) {
		give_back(e);
		return -ENOENT;
	}
	if (e->given < e->len)
		n = out(arg, e->data + e->given, e->len - e->given, e->given);
	if (n > 0)
		e->given += (size_t)n;
	whole = e->given == e->len;
	/* What came in between came after all of it, if there was nothing left to send. */
	if (!leave(e) && !(whole && n == 0))
		return -ECANCELED;
	return whole ? 0 : n;
}

void replay_postfork_child(void)
{
	/* Also those that another thread was using, which is not here to leave them. */
	for (unsigned i = 0; i < REPLAY_SOCKETS; i++)
		if (atomic_load(&entries[i].use) != FREE)
			give_back(&entries[i]);
	atomic_store(&live, 0);
	update_gate();
}
