/* SPDX-License-Identifier: MIT */
#include "state/names.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "state/tried.h"
#include "tests/unit/names.h"
#include "tests/unit/unit.h"

static struct name_ip v4(unsigned char a, unsigned char b, unsigned char c, unsigned char d)
{
	struct name_ip ip = { .family = AF_INET, .ip = { a, b, c, d } };

	return ip;
}

static struct addr addr4(unsigned char a, unsigned char b, unsigned char c, unsigned char d)
{
	struct addr x;

	memset(&x, 0, sizeof(x));
	x.family = AF_INET;
	x.ip[0] = a;
	x.ip[1] = b;
	x.ip[2] = c;
	x.ip[3] = d;
	return x;
}

static void remember1(const char *name, struct name_ip ip, uintptr_t thread)
{
	remember(name, &ip, 1, thread);
}

START_TEST(remembers_and_finds)
{
	struct name_ip list[] = { v4(10, 0, 0, 1), v4(10, 0, 0, 2) };
	struct addr a = addr4(10, 0, 0, 2);
	struct addr other = addr4(10, 0, 0, 3);
	struct name_entry e;

	names_reset();
	ck_assert(!names_find(&a, 1, &e));
	remember("db1", list, 2, 1);
	ck_assert(names_find(&a, 1, &e));
	ck_assert_str_eq(e.name, "db1");
	ck_assert_uint_eq(e.count, 2);
	ck_assert_uint_eq(e.self, 1);
	ck_assert(names_find(&a, 2, &e)); /* another thread resolved it */
	ck_assert(!names_find(&other, 1, &e));
}
END_TEST

START_TEST(newest_wins_own_thread_first)
{
	struct addr a = addr4(10, 0, 0, 1);
	struct name_entry e;

	names_reset();
	remember1("mine", v4(10, 0, 0, 1), 1);
	remember1("theirs", v4(10, 0, 0, 1), 2);
	ck_assert(names_find(&a, 1, &e));
	ck_assert_str_eq(e.name, "mine");
	ck_assert(names_find(&a, 3, &e));
	ck_assert_str_eq(e.name, "theirs");
	remember1("mine2", v4(10, 0, 0, 1), 1);
	ck_assert(names_find(&a, 1, &e));
	ck_assert_str_eq(e.name, "mine2");
}
END_TEST

START_TEST(bounded)
{
	struct name_ip one = v4(11, 0, 0, 0);
	char name[300];
	struct addr a = addr4(10, 0, 0, 1);
	struct name_entry e;

	names_reset();
	for (unsigned i = 0; i < NAMES_LOOKUPS + 1; i++) {
		snprintf(name, sizeof(name), "host%u", i);
		remember1(name, v4(10, 0, (unsigned char)(i >> 8), (unsigned char)(i + 1)), 1);
	}
	/* The oldest has made room, the rest is there. */
	ck_assert(!names_find(&a, 1, &e));
	a = addr4(10, 0, 0, 2);
	ck_assert(names_find(&a, 1, &e));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	remember(name, &one, 1, 1); /* too long: not remembered */
	a = addr4(11, 0, 0, 0);
	ck_assert(!names_find(&a, 1, &e));
	remember("none", &one, 0, 1);
	remember("", &one, 1, 1);
	ck_assert(!names_find(&a, 1, &e));
}
END_TEST

/* Of a long list the first are kept in full, the others are known again; what is
 * beyond that is not. */
START_TEST(long_lists)
{
	struct name_list list = { .count = 0 };
	uint32_t hashes[NAMES_MORE];
	struct name_entry e;
	struct name_ip ip;
	struct addr a;

	names_reset();
	for (unsigned i = 0; i < NAMES_ADDRS + NAMES_MORE + 5; i++) {
		ip = v4(11, 0, 0, (unsigned char)i);
		name_list_add(&list, &ip);
		name_list_add(&list, &ip);
	}
	ck_assert_uint_eq(list.count, NAMES_ADDRS);
	ck_assert_uint_eq(list.more, NAMES_MORE);
	names_remember("db", &list, 1, 0);
	for (unsigned i = 0; i < NAMES_ADDRS + NAMES_MORE; i++) {
		a = addr4(11, 0, 0, (unsigned char)i);
		ck_assert(names_find(&a, 1, &e));
		ck_assert_str_eq(e.name, "db");
		ck_assert_uint_eq(e.self, i);
		ck_assert_int_eq(e.ip.ip[3], i);
		ck_assert_uint_eq(e.count, NAMES_ADDRS);
		ck_assert_uint_eq(e.more, NAMES_MORE);
	}
	a = addr4(11, 0, 0, NAMES_ADDRS + NAMES_MORE);
	ck_assert(!names_find(&a, 1, &e));
	e.more = 1;
	ck_assert_uint_eq(names_more(&e, hashes), 0);
	a = addr4(11, 0, 0, 0);
	ck_assert(names_find(&a, 1, &e));
	ck_assert_uint_eq(names_more(&e, hashes), NAMES_MORE);
	ip = v4(11, 0, 0, NAMES_ADDRS);
	ck_assert_uint_eq(hashes[0], name_ip_hash(&ip));
}
END_TEST

/* One family after the other, as gethostbyname2() is called, are one list. */
START_TEST(families_looked_up_apart)
{
	struct name_list six = { .count = 1,
		                 .ips = { { .family = AF_INET6, .ip = { [15] = 1 } } } };
	struct name_list four = { .count = 1, .ips = { v4(127, 0, 0, 1) } };
	struct addr a = addr4(127, 0, 0, 1);
	struct name_entry e;

	for (unsigned late = 0; late < 2; late++) {
		names_reset();
		names_remember("db", &six, 1, 100);
		names_remember("db", &four, 1, 100 + NAMES_ROUND + late);
		ck_assert(names_find(&a, 1, &e));
		ck_assert_uint_eq(e.count, late ? 1 : 2);
		ck_assert_uint_eq(e.self, late ? 0 : 1);
		ck_assert_uint_eq(e.ips[0].family, late ? AF_INET : AF_INET6);
	}
	/* Another thread's, or another name's, is another list. */
	names_reset();
	names_remember("db", &six, 2, 100);
	names_remember("db2", &six, 1, 100);
	names_remember("db", &four, 1, 100);
	ck_assert(names_find(&a, 1, &e));
	ck_assert_uint_eq(e.count, 1);
}
END_TEST

/* Who has an address in digits means no name; until it looks one up again. */
START_TEST(literals)
{
	struct name_ip ip = v4(10, 0, 0, 1);
	struct addr a = addr4(10, 0, 0, 1);
	struct addr b = addr4(10, 0, 0, 2);
	struct name_ip list[] = { ip, v4(10, 0, 0, 2) };
	struct name_entry e;

	names_reset();
	remember("db", list, 2, 1);
	names_remember_literal(&ip, 1);
	ck_assert(!names_find(&a, 1, &e));
	ck_assert(!names_find(&a, 2, &e)); /* the newest of all */
	ck_assert(names_find(&b, 1, &e));
	remember("db", list, 2, 1);
	ck_assert(names_find(&a, 1, &e));
	/* What another thread does comes after what this one has done. */
	names_remember_literal(&ip, 2);
	ck_assert(names_find(&a, 1, &e));
	ck_assert(!names_find(&a, 3, &e));
}
END_TEST

START_TEST(addresses_and_their_age)
{
	struct name_list six = { .count = 1,
		                 .ips = { { .family = AF_INET6, .ip = { [15] = 1 } } } };
	struct name_list four = { .count = 1, .ips = { v4(127, 0, 0, 1) } };
	struct name_ip ips[NAMES_ADDRS];
	int64_t at = -1;

	names_reset();
	ck_assert_uint_eq(names_addresses("db", ips, &at), 0);
	names_remember("db", &six, 1, 100);
	names_remember("DB", &four, NAMES_OURS, 100 + 2 * NAMES_ROUND);
	ck_assert_uint_eq(names_addresses("db", ips, &at), 2);
	ck_assert_int_eq(at, 100);
	names_remember("db", &six, 1, 100 + 3 * NAMES_ROUND);
	ck_assert_uint_eq(names_addresses("db", ips, &at), 2);
	ck_assert_int_eq(at, 100 + 2 * NAMES_ROUND);
}
END_TEST

START_TEST(what_can_be_answered_again)
{
	struct name_list both = { .count = 2,
		                  .ips = { { .family = AF_INET6, .ip = { [15] = 1 } },
		                           v4(127, 0, 0, 1) } };
	struct name_list four = { .count = 2, .ips = { v4(127, 0, 0, 3), v4(127, 0, 0, 2) } };
	struct name_ip ips[NAMES_ADDRS];
	int64_t at = -1;

	names_reset();
	ck_assert_uint_eq(names_recall("db", AF_UNSPEC, ips, &at), 0);
	ck_assert_int_eq(at, -1);
	names_remember("db", &both, 1, 100);
	ck_assert_uint_eq(names_recall("DB", AF_UNSPEC, ips, &at), 2);
	ck_assert_int_eq(at, 100);
	ck_assert_int_eq(ips[0].family, AF_INET6);
	ck_assert_uint_eq(names_recall("db", AF_INET, ips, &at), 1);
	ck_assert_uint_eq(ips[0].ip[3], 1);
	/* The newest that has some, of whatever thread; but not our own look-ups. */
	names_remember("db", &four, 2, 100 + 2 * NAMES_ROUND);
	ck_assert_uint_eq(names_recall("db", AF_INET, ips, &at), 2);
	ck_assert_uint_eq(ips[0].ip[3], 3);
	ck_assert_uint_eq(ips[1].ip[3], 2);
	ck_assert_int_eq(at, 100 + 2 * NAMES_ROUND);
	ck_assert_uint_eq(names_recall("db", AF_INET6, ips, &at), 1);
	ck_assert_int_eq(at, 100);
	names_remember("db", &both, NAMES_OURS, 100 + 9 * NAMES_ROUND);
	ck_assert_uint_eq(names_recall("db", AF_INET, ips, &at), 2);
	ck_assert_int_eq(at, 100 + 2 * NAMES_ROUND);
}
END_TEST

START_TEST(one_slot_per_name_thread_and_families)
{
	struct name_ip six = { .family = AF_INET6, .ip = { [15] = 1 } };
	struct addr a = addr4(10, 0, 0, 1);
	struct addr b = addr4(10, 0, 0, 2);
	struct addr c;
	struct name_entry e;

	names_reset();
	remember1("db", v4(10, 0, 0, 1), 1);
	remember("db", &six, 1, 1);
	remember1("db", v4(10, 0, 0, 2), 1);
	ck_assert(names_find(&a, 1, &e)); /* the other family is as young */
	ck_assert_uint_eq(e.count, 2);
	remember1("db2", v4(10, 0, 0, 1), 1);
	remember1("db2", v4(10, 0, 0, 2), 1);
	ck_assert(names_find(&a, 1, &e)); /* replaced */
	ck_assert_str_eq(e.name, "db");
	ck_assert(names_find(&b, 1, &e));
	memset(&c, 0, sizeof(c));
	c.family = AF_INET6;
	c.ip[15] = 1;
	ck_assert(names_find(&c, 1, &e)); /* asked for apart, not replaced */
}
END_TEST

START_TEST(exhausted_and_pending)
{
	struct addr a = addr4(10, 0, 0, 1);
	struct name_entry e;
	struct name_entry gone;
	unsigned attempts;
	int64_t waited;

	names_reset();
	remember1("db", v4(10, 0, 0, 1), 1);
	names_find(&a, 1, &e);
	ck_assert_int_eq(names_exhausted_at(&e, 80), 0);
	names_set_exhausted(&e, 80, 77);
	ck_assert_int_eq(names_exhausted_at(&e, 80), 77);
	ck_assert_int_eq(names_exhausted_at(&e, 81), 0);
	ck_assert(names_exhausted_walk(&e, false));
	ck_assert(!names_exhausted_walk(&e, true));
	ck_assert(!names_exhausted_walk(&e, false));
	ck_assert(!names_any_pending());
	names_set_pending(&e, 80, 3, 500);
	ck_assert(names_any_pending());
	ck_assert(!names_take_pending(&e, 81, &attempts, &waited));
	ck_assert(names_any_pending());
	ck_assert(names_take_pending(&e, 80, &attempts, &waited));
	ck_assert_uint_eq(attempts, 3);
	ck_assert_int_eq(waited, 500);
	ck_assert(!names_take_pending(&e, 80, &attempts, &waited));
	ck_assert(!names_any_pending());
	/* A look-up that was overwritten answers like none. */
	gone = e;
	gone.id = 12345;
	names_set_pending(&gone, 80, 1, 1);
	ck_assert(!names_any_pending());
}
END_TEST

/* An answer of getaddrinfo(): each of the addresses in <text> <types> times. */
static const struct addrinfo *answer_of(const char *const *text, unsigned types)
{
	static struct addrinfo ai[12];
	static struct sockaddr_storage sa[12];
	unsigned n = 0;

	for (; *text; text++)
		for (unsigned i = 0; i < types; i++, n++) {
			struct addr a;

			memset(&a, 0, sizeof(a));
			a.family = strchr(*text, ':') ? AF_INET6 : AF_INET;
			ck_assert_int_eq(inet_pton(a.family, *text, a.ip), 1);
			ai[n] = (struct addrinfo){ .ai_addrlen = addr_to_sockaddr(&a, &sa[n]),
				                   .ai_addr = (struct sockaddr *)&sa[n] };
			if (n > 0)
				ai[n - 1].ai_next = &ai[n];
		}
	return ai;
}

static void answer_with(const char *name, const char *const *text, unsigned types, int64_t now)
{
	names_remember_answer(name, answer_of(text, types), 1, now);
}

/* The same answer once more is a newer look-up, of which nothing else is new. */
START_TEST(the_same_again)
{
	static const char *const both[] = { "10.0.0.1", "10.0.0.2", NULL };
	static const char *const second[] = { "10.0.0.2", NULL };
	struct addr a = addr4(10, 0, 0, 1);
	struct name_ip ips[NAMES_ADDRS];
	struct name_entry e, again;
	unsigned attempts;
	int64_t at, waited;

	names_reset();
	for (unsigned types = 1; types <= 3; types += 2) {
		answer_with("db", both, types, 1);
		ck_assert(names_find(&a, 1, &e));
		names_set_exhausted(&e, 80, 7);
		names_set_pending(&e, 80, 2, 3);
		answer_with("db", both, types, 5);
		ck_assert(names_find(&a, 1, &again));
		ck_assert_uint_gt(again.id, e.id);
		ck_assert_uint_eq(again.count, 2);
		ck_assert_int_eq(names_exhausted_at(&again, 80), 7);
		ck_assert(!names_take_pending(&again, 80, &attempts, &waited));
		ck_assert_uint_eq(names_addresses("db", ips, &at), 2);
		ck_assert_int_eq(at, 5);
	}
	answer_with("db", second, 3, 6);
	ck_assert(!names_find(&a, 1, &e));
	answer_with("db", both, 3, 7);
	ck_assert(names_find(&a, 1, &e));
	ck_assert_uint_eq(e.self, 0);
}
END_TEST

/* Nothing is new but the time, if it is the newest of all. */
START_TEST(the_newest_again)
{
	static const char *const one[] = { "10.0.0.1", NULL };
	static const char *const both[] = { "10.0.0.1", "fd00::1", NULL };
	static const char *const other[] = { "10.0.0.2", NULL };
	struct addr a = addr4(10, 0, 0, 1);
	struct name_ip ips[NAMES_ADDRS];
	struct name_entry e, again;
	int64_t at;

	for (unsigned types = 1; types <= 3; types += 2) {
		const char *const *text = types == 1 ? one : both;

		names_reset();
		ck_assert(!names_remember_same("db", answer_of(text, types), 1, 1));
		answer_with("db", text, types, 1);
		ck_assert(names_find(&a, 1, &e));
		ck_assert(names_remember_same("db", answer_of(text, types), 1, 5));
		ck_assert(names_find(&a, 1, &again));
		ck_assert_uint_eq(again.id, e.id);
		ck_assert_uint_gt(names_addresses("db", ips, &at), 0);
		ck_assert_int_eq(at, 5);
		/* Another answer, name, thread. */
		ck_assert(!names_remember_same("db", answer_of(other, types), 1, 6));
		ck_assert(!names_remember_same("db2", answer_of(text, types), 1, 6));
		ck_assert(!names_remember_same("d", answer_of(text, types), 1, 6));
		ck_assert(!names_remember_same("db", answer_of(text, types), 2, 6));
		ck_assert(!names_remember_same("db", NULL, 1, 6));
		/* Somebody watches; a newer one, also one of digits. */
		names_set_pending(&e, 80, 2, 3);
		ck_assert(!names_remember_same("db", answer_of(text, types), 1, 6));
		atomic_store(&names_gate, 0);
		ck_assert(names_remember_same("db", answer_of(text, types), 1, 6));
		names_remember_literal(&(struct name_ip){ .family = AF_INET }, 1);
		ck_assert(!names_remember_same("db", answer_of(text, types), 1, 6));
		answer_with("db", text, types, 7);
		ck_assert(names_remember_same("db", answer_of(text, types), 1, 7));
		answer_with("db2", other, types, 7);
		ck_assert(!names_remember_same("db", answer_of(text, types), 1, 8));
	}
}
END_TEST

/* ... unless the other family was asked for in between: that is joined. */
START_TEST(the_same_after_the_other_family)
{
	static const char *const four[] = { "10.0.0.1", NULL };
	static const char *const six[] = { "fd00::1", NULL };
	static const char *const other[] = { "fd00::2", NULL };
	struct addr a = addr4(10, 0, 0, 1);
	struct name_entry e;

	names_reset();
	answer_with("db", four, 1, 1);
	answer_with("db", six, 1, 2);
	answer_with("db", four, 1, 3);
	ck_assert(names_find(&a, 1, &e));
	ck_assert_uint_eq(e.count, 2);
	ck_assert_uint_eq(e.self, 1);
	answer_with("db", other, 1, 4);
	ck_assert_uint_eq(names_find(&a, 1, &e), 1);
	ck_assert_int_eq(e.ips[1].ip[15], 2);
}
END_TEST

static void *hammer(void *arg)
{
	uintptr_t thread = (uintptr_t)arg;
	struct name_entry e;

	for (unsigned i = 0; i < 20000; i++) {
		unsigned char k = (unsigned char)(i % 200);
		char name[16];
		struct addr a = addr4(10, k, k, k);

		snprintf(name, sizeof(name), "n%u", k);
		remember1(name, v4(10, k, k, k), thread);
		if (i % 3 == 0)
			remember1(name, v4(10, k, k, k), thread);
		/* Whatever is found belongs together. */
		if (names_find(&a, thread, &e)) {
			ck_assert_str_eq(e.name, name);
			tried_failed(&e, 80, 0, 0);
			names_set_exhausted(&e, 80, i);
		}
	}
	return NULL;
}

START_TEST(threads_see_whole_entries)
{
	pthread_t t[4];

	names_reset();
	for (uintptr_t i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, hammer, (void *)(i + 1)), 0);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}
END_TEST

UNIT_MAIN("names", &remembers_and_finds, &newest_wins_own_thread_first, &bounded,
          &long_lists, &families_looked_up_apart, &literals, &addresses_and_their_age,
          &what_can_be_answered_again, &the_same_again, &the_newest_again, &the_same_after_the_other_family,
          &one_slot_per_name_thread_and_families, &exhausted_and_pending,
          &threads_see_whole_entries)
