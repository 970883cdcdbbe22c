/* SPDX-License-Identifier: MIT */
/*
 * The life of most records: begun when connect() has answered EINPROGRESS, dropped when
 * the socket is connected. What a failure would need is not touched: it is zero from the
 * record's last life, or wiped if that one was longer (.clean).
 */
#include <string.h>

#include "state/fdtab_pool.h"

/* All that the shortest life does not write. */
static LR_NOINLINE void wipe(struct pending *p)
{
	for (unsigned i = 1; i < FDTAB_SHARED; i++)
		atomic_store_explicit(&p->fds[i], -1, memory_order_relaxed);
	atomic_store_explicit(&p->identity, 0, memory_order_relaxed);
	atomic_store_explicit(&p->due, DUR_NONE, memory_order_relaxed);
	memset(&p->sa, 0, sizeof(*p) - offsetof(struct pending, sa));
	p->expires = DUR_NONE;
	p->attempt = 1;
	atomic_store_explicit(&p->clean, true, memory_order_release);
}

/* A handler has forked in the middle of it, and this is the child. */
static LR_NOINLINE bool set_right(void)
{
	fdtab_postfork_child();
	return true;
}

/* What the last life left is wiped by an own short one. */
static LR_NOINLINE bool begin_wiped(int fd, const struct sockaddr *sa, socklen_t len,
                                    int64_t began, uintptr_t thread)
{
	uint32_t number = (uint32_t)fd % FDTAB_BLOCK;
	struct pending *p = fdtab_record(number);
	uint32_t word = atomic_load_explicit(&p->word, memory_order_relaxed);
	uint32_t forks = fdtab_forks_now();

	if ((word & 0xff) != PEND_FREE || !fdtab_take(p, number, &word))
		return false;
	wipe(p);
	atomic_store(&p->word, fdtab_next_life(word));
	atomic_fetch_sub(&fdtab_gate, 1);
	fdtab_since(forks);
	return fdtab_begin_young(fd, sa, len, began, thread);
}

/* The record <p> has begun. Its descriptor has been closed meanwhile, or has another
 * record as well, by the word <old>. */
static LR_NOINLINE bool begun_beside(uint32_t old, int fd, struct pending *p, uint32_t word)
{
	struct pend_ref ref = { p, word };
	uint32_t forks = fdtab_forks_now();

	if (old & FDTAB_LINK_NUMBER)
		fdtab_leave(old, fd);
	if (!fdtab_is_kept(&ref))
		fdtab_give_back(&ref);
	fdtab_since(forks);
	return true;
}

/* The records of the first block have the descriptors' numbers: no search. */
LR_NO_CANARY bool fdtab_begin_young(int fd, const struct sockaddr *sa, socklen_t len,
                                    int64_t began, uintptr_t thread)
{
	struct fdtab_slot *slot = fdtab_slot(fd);
	uint32_t number = (uint32_t)fd % FDTAB_BLOCK;
	struct pending *p = fdtab_record(number);
	/* Before .clean: a life that ended after it would go unseen. */
	uint32_t word = atomic_load_explicit(&p->word, memory_order_acquire);
	uint32_t link;
	uint32_t old;

	if (lr_unlikely((word & 0xff) != PEND_FREE) || lr_unlikely(!slot) ||
	    lr_unlikely(len > sizeof(p->sa)))
		return false;
	if (lr_unlikely(!atomic_load_explicit(&p->clean, memory_order_relaxed)))
		return begin_wiped(fd, sa, len, began, thread);
	if (lr_unlikely(!fdtab_take(p, number, &word)))
		return false;
	atomic_store_explicit(&p->fds[0], fd, memory_order_relaxed);
	if (lr_likely(len == sizeof(struct sockaddr_in)))
		memcpy(&p->sa, sa, sizeof(struct sockaddr_in));
	else
		memcpy(&p->sa, sa, len);
	p->len = len;
	p->thread = thread;
	p->began = began;
	p->attempt_began = began;
	link = fdtab_link(number, word);
	old = fdtab_relink(slot, link);
	if (lr_unlikely(!atomic_compare_exchange_strong(&p->word, &word,
	                                                word + PEND_CONNECTING - PEND_BUSY)))
		return set_right();
	if (lr_unlikely(old & FDTAB_LINK_NUMBER) ||
	    lr_unlikely((atomic_load(&slot->word) & FDTAB_LINK) != link))
		return begun_beside(old, fd, p, word + PEND_CONNECTING - PEND_BUSY);
	return true;
}

static LR_NOINLINE bool unlink_later(int fd, uint32_t link)
{
	fdtab_unlink(fd, link);
	fdtab_lower_free((link & FDTAB_LINK_NUMBER) - 1);
	return true;
}

LR_NO_CANARY bool fdtab_drop_young(int fd)
{
	struct fdtab_slot *slot = fdtab_slot(fd);
	uint32_t old = slot ? atomic_load(&slot->word) : 0;
	uint32_t number = (old & FDTAB_LINK_NUMBER) - 1;
	struct pending *p;
	uint32_t forks;
	uint32_t word;

	if (old == 0)
		return true;
	if (lr_unlikely(!(old & FDTAB_LINK_NUMBER)))
		return false;
	p = fdtab_record(number);
	word = atomic_load(&p->word);
	forks = fdtab_forks_now();
	if (lr_unlikely((word & 0xff) != PEND_CONNECTING) ||
	    lr_unlikely(fdtab_link(number, word) != (old & FDTAB_LINK)) ||
	    lr_unlikely(!atomic_load_explicit(&p->clean, memory_order_relaxed)) ||
	    lr_unlikely(!atomic_compare_exchange_strong(&p->word, &word, fdtab_next_life(word))))
		return false;
	atomic_fetch_sub(&fdtab_gate, 1);
	if (lr_unlikely(fdtab_forks_now() != forks))
		return set_right();
	if (lr_unlikely(!atomic_compare_exchange_strong(&slot->word, &old, old & ~FDTAB_LINK)))
		return unlink_later(fd, fdtab_link(number, word));
	fdtab_lower_free(number);
	return true;
}
