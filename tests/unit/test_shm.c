/* SPDX-License-Identifier: MIT */
#include "state/shm.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/sys.h"
#include "tests/unit/shm.h"

static struct shm_header *map_it(struct slot **slots)
{
	struct shm_header *h = shm_map(segment, true, slots);

	ck_assert_ptr_nonnull(h);
	return h;
}

static void text_is(const struct slot *s, const char *text, const char *policy)
{
	char there[SLOT_TEXT + SLOT_POLICY];

	for (unsigned i = 0; i < SLOT_TEXT / 8; i++)
		((uint64_t *)there)[i] = atomic_load(&s->text[i]);
	for (unsigned i = 0; i < SLOT_POLICY / 8; i++)
		((uint64_t *)(there + SLOT_TEXT))[i] = atomic_load(&s->policy[i]);
	ck_assert_int_eq(there[SLOT_TEXT - 1], 0);
	ck_assert_int_eq(there[sizeof(there) - 1], 0);
	ck_assert_str_eq(there, text);
	ck_assert_str_eq(there + SLOT_TEXT, policy);
}

START_TEST(one_name_one_slot)
{
	struct slot *a, *b;
	bool shared = true;

	open_folder();
	for (int scope = SCOPE_PROCESS; scope <= SCOPE_HOST; scope++) {
		a = shm_slot(scope, "db1:5432", "patient", &shared);
		ck_assert_ptr_nonnull(a);
		ck_assert_int_eq(shared, scope != SCOPE_PROCESS);
		text_is(a, "db1:5432", "patient");
		ck_assert_uint_ne(atomic_load(&a->key), 0);
		ck_assert_uint_eq(atomic_load(&a->tally[TALLY_CALLS]), 0);
		ck_assert_ptr_eq(shm_slot(scope, "db1:5432", "patient", &shared), a);
		b = shm_slot(scope, "db1:5432", "default", &shared);
		ck_assert(b && b != a);
		b = shm_slot(scope, "db1:5433", "patient", &shared);
		ck_assert(b && b != a);
	}
	/* One process's slots are not the segment's; without a group the host's are. */
	ck_assert_ptr_ne(shm_slot(SCOPE_PROCESS, "x", "y", &shared),
	                 shm_slot(SCOPE_USER, "x", "y", &shared));
	ck_assert_ptr_eq(shm_slot(SCOPE_HOST, "x", "y", &shared),
	                 shm_slot(SCOPE_USER, "x", "y", &shared));
	ck_assert_ptr_null(shm_trouble());
	close_folder();
}
END_TEST

START_TEST(own_slots_make_no_file)
{
	bool shared;

	open_folder();
	ck_assert_ptr_nonnull(shm_slot(SCOPE_PROCESS, "a:1", "default", &shared));
	ck_assert_uint_eq(inode_of(segment), 0);
	ck_assert(is_shared("a:1"));
	ck_assert_uint_ne(inode_of(segment), 0);
	close_folder();
}
END_TEST

START_TEST(texts_of_any_length)
{
	char text[SLOT_TEXT * 2], policy[SLOT_POLICY * 2];
	struct slot *s;
	bool shared;

	open_folder();
	memset(text, 't', sizeof(text));
	memset(policy, 'p', sizeof(policy));
	for (int cut = -1; cut <= 1; cut++) {
		char expected[SLOT_TEXT], name[SLOT_POLICY];

		text[SLOT_TEXT - 1 + cut] = '\0';
		policy[SLOT_POLICY - 1 + cut] = '\0';
		s = user_slot(text, &shared);
		ck_assert_ptr_eq(user_slot(text, &shared), s);
		s = shm_slot(SCOPE_USER, text, policy, &shared);
		snprintf(expected, sizeof(expected), "%s", text);
		snprintf(name, sizeof(name), "%s", policy);
		text_is(s, expected, name);
		text[SLOT_TEXT - 1 + cut] = 't';
		policy[SLOT_POLICY - 1 + cut] = 'p';
	}
	s = shm_slot(SCOPE_USER, "", "", &shared);
	ck_assert_ptr_eq(shm_slot(SCOPE_USER, NULL, NULL, &shared), s);
	text_is(s, "", "");
	close_folder();
}
END_TEST

START_TEST(errno_is_untouched)
{
	bool shared;

	open_folder();
	errno = 4711;
	user_slot("a:1", &shared);
	unlink(segment);
	errno = 4711;
	shm_reset(folder);
	user_slot("a:1", &shared);
	shm_reset("/nonexistent/folder");
	errno = 4711;
	ck_assert_ptr_nonnull(user_slot("a:1", &shared));
	ck_assert(!shared);
	shm_trouble();
	ck_assert_int_eq(errno, 4711);
	shm_reset(folder);
	close_folder();
}
END_TEST

static unsigned fill(enum scope scope, unsigned from, unsigned to)
{
	unsigned found = 0;
	char dest[32];
	bool shared;

	for (unsigned i = from; i < to; i++) {
		struct slot *s;

		snprintf(dest, sizeof(dest), "host%u:%u", i, i);
		s = shm_slot(scope, dest, "default", &shared);
		ck_assert(!s || shared == (scope != SCOPE_PROCESS));
		ck_assert(s || !shared);
		if (s) {
			text_is(s, dest, "default");
			atomic_fetch_add(&s->tally[TALLY_CALLS], 1);
			found++;
		}
	}
	return found;
}

START_TEST(full_tables)
{
	struct shm_header *h;
	struct slot *slots;

	open_folder();
	ck_assert_uint_eq(fill(SCOPE_PROCESS, 0, 3 * SHM_OWN_SLOTS), SHM_OWN_SLOTS);
	ck_assert_uint_eq(fill(SCOPE_USER, 0, SHM_SLOTS + 44), SHM_SLOTS);
	h = map_it(&slots);
	ck_assert_uint_eq(atomic_load(&h->overflow), 44);
	/* Those that are in it are still found. */
	ck_assert_uint_eq(fill(SCOPE_USER, 0, SHM_SLOTS), SHM_SLOTS);
	ck_assert_uint_eq(fill(SCOPE_PROCESS, 0, SHM_OWN_SLOTS), SHM_OWN_SLOTS);
	for (unsigned i = 0; i < SHM_SLOTS; i++)
		ck_assert_uint_eq(atomic_load(&slots[i].tally[TALLY_CALLS]), 2);
	for (unsigned i = 0; i < SHM_OWN_SLOTS; i++)
		ck_assert_uint_eq(atomic_load(&shm_own()[i].tally[TALLY_CALLS]), 2);
	shm_unmap(h);
	close_folder();
}
END_TEST

START_TEST(two_names_with_one_key)
{
	struct slot *first, *second;
	bool shared;

	open_folder();
	first = user_slot("a:1", &shared);
	/* As if another name had the same key. */
	atomic_fetch_xor(&first->text[0], 0x20);
	second = user_slot("a:1", &shared);
	ck_assert(second && second != first);
	ck_assert_uint_eq(atomic_load(&second->key), atomic_load(&first->key));
	text_is(second, "a:1", "default");
	ck_assert_ptr_eq(user_slot("a:1", &shared), second);
	atomic_fetch_xor(&second->policy[0], 0x20);
	ck_assert_ptr_ne(user_slot("a:1", &shared), second);
	close_folder();
}
END_TEST

START_TEST(a_slot_whose_maker_died)
{
	struct slot *s;
	bool shared;

	open_folder();
	s = user_slot("a:1", &shared);
	/* It was killed after it had the key, or in the middle of the name. */
	atomic_store(&s->named, 0);
	for (unsigned i = 0; i < SLOT_TEXT / 8; i++)
		atomic_store(&s->text[i], i == 0 ? 0 : UINT64_MAX);
	atomic_store(&s->policy[0], 0);
	ck_assert_ptr_eq(user_slot("a:1", &shared), s);
	text_is(s, "a:1", "default");
	ck_assert_uint_eq(atomic_load(&s->named), 1);
	close_folder();
}
END_TEST

/* Whatever is in them: it is found out in one round that there is no slot, or a slot
 * is inside of the table. */
START_TEST(hostile_words)
{
	static const uint64_t words[] = { 0, 1, UINT64_MAX, UINT64_C(0x8000000000000000),
		                          UINT64_C(0x0101010101010101) };
	struct shm_header *h;
	struct slot *slots, *s;
	uint64_t key;
	bool shared;

	open_folder();
	s = user_slot("a:1", &shared);
	key = atomic_load(&s->key);
	h = map_it(&slots);
	for (unsigned w = 0; w < ARRAY_LEN(words); w++) {
		_Atomic uint64_t *word = (_Atomic uint64_t *)slots;

		for (unsigned i = 0; i < SHM_SLOTS * sizeof(struct slot) / 8; i++)
			atomic_store(&word[i], words[w]);
		s = user_slot("a:1", &shared);
		ck_assert(words[w] == 0 ? s != NULL : s == NULL);
		/* The right key, and never the right text. */
		for (unsigned i = 0; i < SHM_SLOTS; i++)
			atomic_store(&slots[i].key, key);
		s = user_slot("a:1", &shared);
		ck_assert((uint32_t)words[w] == 0 ? s != NULL : s == NULL);
	}
	shm_unmap(h);
	close_folder();
}
END_TEST

/* A header that changes under our hands is no header of ours. */
START_TEST(hostile_header)
{
	struct shm_header *h;
	struct slot *slots;
	bool shared;

	open_folder();
	ck_assert(is_shared("a:1"));
	h = map_it(&slots);
	atomic_store(&h->slot_count, UINT32_MAX);
	atomic_store(&h->slot_size, 1);
	ck_assert_ptr_nonnull(user_slot("a:1", &shared));
	ck_assert(!shared);
	ck_assert_ptr_nonnull(strstr(shm_trouble(), "its header is foreign"));
	shm_unmap(h);
	close_folder();
}
END_TEST

START_TEST(retired_segments)
{
	struct slot *before, *again;
	bool shared;

	open_folder();
	ck_assert_int_eq(shm_retire(segment), ENOENT);
	before = user_slot("a:1", &shared);
	/* Many times: the places are used again. */
	for (unsigned i = 0; i < 5 * SHM_FORMER; i++) {
		atomic_store(&before->tally[TALLY_CALLS], 7);
		ck_assert_int_eq(shm_retire(segment), 0);
		ck_assert_uint_eq(inode_of(segment), 0);
		again = user_slot("a:1", &shared);
		ck_assert(again && shared && again != before);
		ck_assert_uint_eq(atomic_load(&again->tally[TALLY_CALLS]), 0);
		ck_assert_uint_ne(inode_of(segment), 0);
		/* Who still had the old one does no harm, to himself or others. */
		atomic_store(&before->tally[TALLY_CALLS], 8);
		ck_assert_uint_eq(atomic_load(&again->tally[TALLY_CALLS]), 0);
		before = again;
	}
	ck_assert_ptr_null(shm_trouble());
	close_folder();
}
END_TEST

static unsigned mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned count = 0;

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		count++;
	fclose(f);
	return count;
}

START_TEST(mappings_are_bounded)
{
	unsigned before, after;

	open_folder();
	for (unsigned i = 0; i < 2 * SHM_FORMER; i++) {
		ck_assert(is_shared("a:1"));
		shm_retire(segment);
	}
	before = mappings();
	for (unsigned i = 0; i < 10 * SHM_FORMER; i++) {
		ck_assert(is_shared("a:1"));
		shm_retire(segment);
	}
	after = mappings();
	ck_assert_uint_le(after, before + 2);
	close_folder();
}
END_TEST

/* What stands in until the shortened file is old enough to be taken away. */
START_TEST(truncated_while_mapped)
{
	static const off_t sizes[] = { 0, 8, 4096, 8192 };
	struct slot *s, *before;
	bool shared;

	/* It answers the call by which pages are tried itself. */
	if (unit_valgrind())
		return;
	open_folder();
	for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
		before = user_slot("a:1", &shared);
		ck_assert(before && shared);
		ck_assert_int_eq(truncate(segment, sizes[i]), 0);
		for (unsigned j = 0; j < 300; j++) {
			char dest[16];

			snprintf(dest, sizeof(dest), "b%u:1", j);
			s = user_slot(dest, &shared);
			ck_assert(s || j >= SHM_OWN_SLOTS);
			if (s)
				atomic_fetch_add(&s->tally[TALLY_CALLS], 1);
		}
		atomic_fetch_add(&before->tally[TALLY_CALLS], 1);
		/* With its header left it is no half-made one, and stays what it is. */
		shm_reset(folder);
		if (sizes[i] >= 8) {
			ck_assert(!is_shared("a:1"));
			ck_assert_ptr_nonnull(strstr(shm_trouble(), "its size is"));
		} else {
			ck_assert_int_eq(truncate(segment, 0), 0);
			ck_assert(!is_shared("a:1"));
			ck_assert_ptr_null(shm_trouble());
			age(segment, 2);
			ck_assert(is_shared("a:1"));
		}
		ck_assert_int_eq(unlink(segment), 0);
		shm_reset(folder);
	}
	close_folder();
}
END_TEST

/* Kept over a wait, as operations keep theirs. */
START_TEST(kept_slots_are_checked)
{
	struct slot *kept[40], *own;
	struct slot elsewhere;
	char dest[16];
	bool shared;

	/* It answers the call by which pages are tried itself. */
	if (unit_valgrind())
		return;
	open_folder();
	own = shm_slot(SCOPE_PROCESS, "own:1", "default", &shared);
	atomic_store(&own->tally[TALLY_CALLS], 6);
	for (unsigned i = 0; i < ARRAY_LEN(kept); i++) {
		snprintf(dest, sizeof(dest), "k%u:1", i);
		kept[i] = user_slot(dest, &shared);
		ck_assert(shared);
		atomic_store(&kept[i]->tally[TALLY_CALLS], 5);
		shm_check(kept[i]);
		ck_assert_uint_eq(atomic_load(&kept[i]->tally[TALLY_CALLS]), 5);
	}
	/* One page is left, and with it some of them. */
	ck_assert_int_eq(truncate(segment, 4096), 0);
	for (unsigned i = 0; i < ARRAY_LEN(kept); i++) {
		shm_check(kept[i]);
		atomic_fetch_add(&kept[i]->tally[TALLY_CALLS], 1);
		atomic_fetch_add(&kept[i]->policy[SLOT_POLICY / 8 - 1], 1);
	}
	shm_check(own);
	shm_check(&elsewhere);
	shm_check(NULL);
	ck_assert_uint_eq(atomic_load(&own->tally[TALLY_CALLS]), 6);
	ck_assert(!is_shared("a:1"));
	close_folder();
}
END_TEST

/* The look at the name is due once a second: a fresh attachment looks at once. */
/* Where the segment of slot <s> begins: on a page, and that is so of one only. */
static char *begin_of(struct slot *s)
{
	char *at = (char *)s - sizeof(struct shm_header);

	for (unsigned i = 0; i < SHM_SLOTS && (uintptr_t)at % 4096; i++)
		at -= sizeof(struct slot);
	ck_assert_uint_eq((uintptr_t)at % 4096, 0);
	return at;
}

/* mmap() at <place> fails from now on, in this process. */
static void no_mapping_at(const void *place)
{
	const size_t low = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4;
#ifdef __NR_mmap2
	const unsigned nr = __NR_mmap2;
#else
	const unsigned nr = __NR_mmap;
#endif
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]) + low),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(uintptr_t)place, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_LEN(code), code };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* Where a segment's place cannot be made this process's own memory nobody writes there any
 * more, and nothing is mapped there: it may be a hole, and then somebody else's. */
START_TEST(a_place_that_is_lost)
{
	struct slot *kept, *s;
	bool shared;

	if (getenv("CK_FORK") && strcmp(getenv("CK_FORK"), "no") == 0)
		return;
	open_folder();
	kept = user_slot("a:1", &shared);
	ck_assert(kept && shared && shm_check(kept));
	ck_assert_int_eq(shm_retire(segment), 0);
	no_mapping_at(begin_of(kept));
	s = user_slot("a:1", &shared);
	ck_assert(s && !shared && shm_check(s));
	ck_assert(!shm_check(kept));
	ck_assert_ptr_nonnull(shm_trouble());
	munmap(begin_of(kept), SHM_BYTES);
	ck_assert(!shm_check(kept));
	ck_assert(!is_shared("b:1"));
	close_folder();
}
END_TEST

START_TEST(a_name_that_became_anothers)
{
	char aside[SHM_PATH_MAX + 8];
	struct slot *before;
	bool shared;
	int64_t until;

	open_folder();
	before = user_slot("a:1", &shared);
	atomic_store(&before->tally[TALLY_CALLS], 5);
	snprintf(aside, sizeof(aside), "%s.aside", segment);
	ck_assert_int_eq(rename(segment, aside), 0);
	until = sys_monotonic() + 20 * DUR_S;
	while (inode_of(segment) == 0 && sys_monotonic() < until)
		ck_assert_ptr_nonnull(user_slot("a:1", &shared));
	ck_assert_uint_ne(inode_of(segment), 0);
	ck_assert_uint_eq(atomic_load(&user_slot("a:1", &shared)->tally[TALLY_CALLS]), 0);
	ck_assert(shared);
	close_folder();
}
END_TEST

static struct slot *inherited;

static void go_on_in_child(void)
{
	struct slot *own;
	bool shared;

	must(user_slot("a:1", &shared) == inherited && shared);
	atomic_fetch_add(&inherited->tally[TALLY_CALLS], 1);
	shm_postfork_child();
	must(user_slot("a:1", &shared) == inherited && shared);
	must(atomic_load(&inherited->tally[TALLY_CALLS]) == 2);
	own = shm_slot(SCOPE_PROCESS, "own:1", "default", &shared);
	must(own && atomic_load(&own->tally[TALLY_RETRIES]) == 0);
	must(atomic_load(&own->attempts[1]) == 0 && atomic_load(&own->waits[2]) == 0);
	must(atomic_load(&own->sum_wait) == 0);
	must(atomic_load(&own->breaker) == 77 && atomic_load(&own->hold) == 78);
}

START_TEST(fork_goes_on)
{
	struct slot *own;
	bool shared;

	open_folder();
	inherited = user_slot("a:1", &shared);
	atomic_fetch_add(&inherited->tally[TALLY_CALLS], 1);
	own = shm_slot(SCOPE_PROCESS, "own:1", "default", &shared);
	atomic_store(&own->tally[TALLY_RETRIES], 3);
	atomic_store(&own->attempts[1], 3);
	atomic_store(&own->waits[2], 3);
	atomic_store(&own->sum_wait, 3);
	atomic_store(&own->breaker, 77);
	atomic_store(&own->hold, 78);
	ck_assert_int_eq(in_child(go_on_in_child), 0);
	ck_assert_uint_eq(atomic_load(&inherited->tally[TALLY_CALLS]), 2);
	ck_assert_uint_eq(atomic_load(&own->tally[TALLY_RETRIES]), 3);
	close_folder();
}
END_TEST

/* Bug of others: a newcomer says "closed". */
static void come_and_go(void)
{
	bool shared;
	struct slot *s;

	shm_reset(folder);
	s = user_slot("a:1", &shared);
	must(s && shared && atomic_load(&s->breaker) == 0x1234);
}

START_TEST(newcomers_change_nothing)
{
	static unsigned char before[SHM_BYTES], after[SHM_BYTES];
	struct slot *s;
	bool shared;
	int fd;

	open_folder();
	s = user_slot("a:1", &shared);
	atomic_store(&s->breaker, 0x1234);
	atomic_store(&s->tally[TALLY_CALLS], 9);
	fd = open(segment, O_RDONLY);
	ck_assert_int_eq(pread(fd, before, SHM_BYTES, 0), (ssize_t)SHM_BYTES);
	for (unsigned i = 0; i < 20; i++)
		ck_assert_int_eq(in_child(come_and_go), 0);
	ck_assert_int_eq(pread(fd, after, SHM_BYTES, 0), (ssize_t)SHM_BYTES);
	ck_assert_mem_eq(before, after, SHM_BYTES);
	close(fd);
	close_folder();
}
END_TEST

START_TEST(the_commands_view)
{
	struct shm_header *h;
	struct slot *slots, *s;
	uint64_t sum = 0;
	bool shared;

	open_folder();
	errno = 0;
	ck_assert_ptr_null(shm_map(segment, false, &slots));
	ck_assert_int_eq(errno, ENOENT);
	s = user_slot("a:1", &shared);
	atomic_store(&s->tally[TALLY_RETRIES], 12);
	h = shm_map(segment, false, &slots);
	ck_assert_ptr_nonnull(h);
	for (unsigned i = 0; i < SHM_SLOTS; i++)
		sum += atomic_load(&slots[i].tally[TALLY_RETRIES]);
	ck_assert_uint_eq(sum, 12);
	ck_assert_int_ge((int64_t)atomic_load(&h->created), sys_realtime() - 60 * DUR_S);
	ck_assert_int_le((int64_t)atomic_load(&h->created), sys_realtime());
	shm_unmap(h);
	ck_assert_int_eq(truncate(segment, SHM_BYTES - 1), 0);
	ck_assert_ptr_null(shm_map(segment, true, &slots));
	ck_assert_int_eq(errno, EPROTO);
	ck_assert_int_eq(shm_retire(segment), 0);
	ck_assert_int_eq(shm_retire(segment), ENOENT);
	ck_assert_ptr_null(shm_map(folder, false, &slots));
	ck_assert_int_eq(errno, EPROTO);
	ck_assert_int_eq(shm_retire(folder), EISDIR);
	close_folder();
}
END_TEST

START_TEST(names_of_files)
{
	char path[SHM_PATH_MAX];

	shm_reset(NULL);
	shm_path(path, sizeof(path), 1000, -1);
	ck_assert_int_eq(strncmp(path, "/dev/shm/libretry-v1", 20), 0);
	ck_assert_str_eq(path + strlen(path) - 6, "-u1000");
	shm_path(path, sizeof(path), 1000, 4294967294);
	ck_assert_str_eq(path + strlen(path) - 12, "-g4294967294");
}
END_TEST

UNIT_MAIN("shm", &one_name_one_slot, &own_slots_make_no_file, &texts_of_any_length,
          &errno_is_untouched, &full_tables, &two_names_with_one_key, &a_slot_whose_maker_died,
          &hostile_words, &hostile_header, &retired_segments, &mappings_are_bounded,
          &truncated_while_mapped, &kept_slots_are_checked,
          &a_place_that_is_lost, &a_name_that_became_anothers,
          &fork_goes_on, &newcomers_change_nothing, &the_commands_view, &names_of_files)
