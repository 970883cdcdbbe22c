/* SPDX-License-Identifier: MIT */
#include "state/peers.h"

/* What is kept is in words, so that who reads while another writes reads something, and
 * finds out afterwards that it is worth nothing. The low half of a head is the descriptor
 * + 1; 0: none; BUSY: being written. The other half counts. */
enum { NOTE = 0, /* FDTAB_NOTE_COUNT of the note that it is about */
       IDENTITY, ATTEMPT, BEGAN, WAITED, PREVIOUS_WAIT, WORDS };
#define BUSY UINT32_MAX
static struct {
	_Atomic uint64_t head;
	_Atomic uint64_t word[WORDS];
} places[PEERS];

static bool is_of(uint64_t head, int fd)
{
	return (uint32_t)head == (uint32_t)fd + 1;
}

static bool get(int fd, uint64_t words[WORDS])
{
	unsigned place = (unsigned)fd % PEERS;
	uint64_t head = atomic_load_explicit(&places[place].head, memory_order_acquire);

	if (!is_of(head, fd))
		return false;
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = atomic_load_explicit(&places[place].word[i], memory_order_acquire);
	return atomic_load_explicit(&places[place].head, memory_order_relaxed) == head;
}

static void put(int fd, const uint64_t words[WORDS])
{
	unsigned place = (unsigned)fd % PEERS;
	uint64_t head = atomic_load_explicit(&places[place].head, memory_order_relaxed);

	if ((uint32_t)head == BUSY ||
	    !atomic_compare_exchange_strong(&places[place].head, &head, head | BUSY))
		return;
	for (unsigned i = 0; i < WORDS; i++)
		atomic_store_explicit(&places[place].word[i], words[i], memory_order_release);
	atomic_store_explicit(&places[place].head,
	                      ((head >> 32) + 1) << 32 | ((uint32_t)fd + 1),
	                      memory_order_release);
}

/* The note of <fd> as a whole. */
static bool find(int fd, struct fdtab_note *note, uint64_t words[WORDS])
{
	if (fd < 0 || !fdtab_note_read(fd, FDTAB_NOTE_KEPT, note))
		return false;
	if (!get(fd, words) || words[NOTE] != (note->word & FDTAB_NOTE_COUNT))
		words[IDENTITY] = 0;
	return true;
}

bool peers_find(int fd, struct peer *out)
{
	uint64_t words[WORDS];
	struct fdtab_note note;

	if (!find(fd, &note, words))
		return false;
	memset(out, 0, sizeof(*out));
	memcpy(&out->to, &note.to, note.len);
	out->len = note.len;
	out->thread = note.thread;
	out->identity = words[IDENTITY];
	if (!out->identity)
		return true;
	out->so_far.attempt = (unsigned)words[ATTEMPT];
	out->so_far.began = (int64_t)words[BEGAN];
	out->so_far.waited = (int64_t)words[WAITED];
	out->so_far.previous_wait = (int64_t)words[PREVIOUS_WAIT];
	return true;
}

void peers_copy(int from, int to)
{
	uint64_t words[WORDS];
	struct fdtab_note note;
	struct fdtab_note copy;

	if (!find(from, &note, words)) {
		peers_forget(to);
		return;
	}
	peers_note(to, &note.to.sa, note.len, note.thread);
	if (!words[IDENTITY] || !fdtab_note_read(to, FDTAB_NOTE_KEPT, &copy))
		return;
	words[NOTE] = copy.word & FDTAB_NOTE_COUNT;
	put(to, words);
}

void peers_progress(int fd, uint64_t identity, const struct so_far *so_far)
{
	uint64_t words[WORDS] = { [IDENTITY] = identity,
		                  [ATTEMPT] = so_far->attempt,
		                  [BEGAN] = (uint64_t)so_far->began,
		                  [WAITED] = (uint64_t)so_far->waited,
		                  [PREVIOUS_WAIT] = (uint64_t)so_far->previous_wait };
	struct fdtab_note note;

	if (!fdtab_note_read(fd, FDTAB_NOTE_KEPT, &note))
		return;
	words[NOTE] = note.word & FDTAB_NOTE_COUNT;
	put(fd, words);
}

void peers_reset(void)
{
	for (unsigned fd = 0; fd < FDTAB_FDS; fd++) {
		if (fdtab_slot((int)fd))
			peers_forget((int)fd);
		else
			fd |= FDTAB_CHUNK - 1;
	}
	for (unsigned i = 0; i < PEERS; i++)
		atomic_store(&places[i].head, 0);
	fdtab_lower(FDTAB_PEERS);
}
