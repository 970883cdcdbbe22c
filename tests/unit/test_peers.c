/* SPDX-License-Identifier: MIT */
#include "state/peers.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "state/fdtab.h"
#include "tests/unit/unit.h"

static struct sockaddr_in four(uint32_t ip, uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		                     .sin_port = htons(port),
		                     .sin_addr.s_addr = htonl(ip) };
}

static void note(int fd, uint32_t ip, uint16_t port)
{
	struct sockaddr_in in = four(ip, port);

	peers_note(fd, (struct sockaddr *)&in, sizeof(in), 42);
}

START_TEST(a_note_is_found_again)
{
	struct sockaddr_in in = four(0x7f000001, 80);
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = 81, .sin6_scope_id = 7 };
	struct peer peer;

	peers_reset();
	ck_assert_uint_eq(fdtab_word() & FDTAB_PEERS, 0);
	ck_assert(!peers_find(0, &peer));
	ck_assert(!peers_find(3, &peer));
	ck_assert(!peers_find(-1, &peer));
	note(3, 0x7f000001, 80);
	ck_assert_uint_ne(fdtab_word() & FDTAB_PEERS, 0);
	ck_assert(peers_find(3, &peer));
	ck_assert_uint_eq(peer.len, sizeof(in));
	ck_assert_mem_eq(&peer.to.in, &in, 8);
	ck_assert_uint_eq(peer.thread, 42);
	ck_assert_uint_eq(peer.identity, 0);
	ck_assert_uint_eq(peer.so_far.attempt, 0);
	/* A longer address than the family has. */
	memset(six.sin6_addr.s6_addr, 0x5a, 16);
	peers_note(0, (struct sockaddr *)&six, sizeof(six), 43);
	ck_assert(peers_find(0, &peer));
	ck_assert_uint_eq(peer.len, sizeof(six));
	ck_assert_mem_eq(&peer.to.in6, &six, sizeof(six));
	ck_assert(peers_find(3, &peer));
}
END_TEST

START_TEST(what_takes_a_note_away)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct sockaddr_in in = four(1, 1);
	struct peer peer;

	peers_reset();
	note(3, 1, 1);
	peers_note(3, &none, sizeof(none), 42);
	ck_assert(!peers_find(3, &peer));
	note(3, 1, 1);
	peers_note(3, (struct sockaddr *)&in, 8, 42);
	ck_assert(!peers_find(3, &peer));
	note(3, 1, 1);
	peers_forget(3);
	ck_assert(!peers_find(3, &peer));
	peers_forget(3);
	peers_forget(-1);
	/* Each number has its own. */
	note(3, 1, 1);
	peers_forget(3 + PEERS);
	ck_assert(peers_find(3, &peer));
	note(3 + PEERS, 2, 2);
	ck_assert(peers_find(3, &peer));
	ck_assert(peers_find(3 + PEERS, &peer));
	ck_assert_uint_eq(peer.to.in.sin_port, htons(2));
	note(FDTAB_FDS - 1, 3, 3);
	ck_assert(peers_find(FDTAB_FDS - 1, &peer));
	note(FDTAB_FDS, 3, 3);
	ck_assert(!peers_find(FDTAB_FDS, &peer));
}
END_TEST

START_TEST(progress_is_of_one_connect)
{
	struct so_far so_far = { .attempt = 3, .began = 10, .waited = 20, .previous_wait = 30 };
	struct peer peer;

	peers_reset();
	peers_progress(4, 9, &so_far);
	ck_assert(!peers_find(4, &peer));
	note(4, 1, 1);
	note(4 + PEERS, 1, 1);
	peers_progress(4 + PEERS, 9, &so_far);
	ck_assert(peers_find(4, &peer));
	ck_assert_uint_eq(peer.identity, 0);
	peers_progress(4, 9, &so_far);
	peers_copy(4, 5);
	for (int fd = 4; fd <= 5; fd++) {
		ck_assert(peers_find(fd, &peer));
		ck_assert_uint_eq(peer.identity, 9);
		ck_assert_uint_eq(peer.so_far.attempt, 3);
		ck_assert_int_eq(peer.so_far.began, 10);
		ck_assert_int_eq(peer.so_far.waited, 20);
		ck_assert_int_eq(peer.so_far.previous_wait, 30);
	}
	note(4, 1, 1);
	ck_assert(peers_find(4, &peer));
	ck_assert_uint_eq(peer.identity, 0);
	ck_assert_uint_eq(peer.so_far.attempt, 0);
	/* A dup of what nothing is known of. */
	peers_copy(77, 4);
	ck_assert(!peers_find(4, &peer));
	peers_copy(-1, 4);
	peers_copy(5, -1);
}
END_TEST

static _Atomic bool stop;

/* The same number in the address and the port: a mixture shows. */
static void *writer(void *arg)
{
	uint16_t n = (uint16_t)(uintptr_t)arg;

	while (!stop) {
		note(6, n, n);
		sched_yield();
	}
	return NULL;
}

START_TEST(what_is_read_is_whole)
{
	pthread_t threads[2];
	struct peer peer;
	unsigned found = 0;

	peers_reset();
	for (uintptr_t i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, writer, (void *)(i + 1)), 0);
	for (unsigned i = 0; i < 100000 || found < 100; i++) {
		if (!peers_find(6, &peer))
			continue;
		found++;
		ck_assert_uint_eq(ntohl(peer.to.in.sin_addr.s_addr), ntohs(peer.to.in.sin_port));
	}
	stop = true;
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	/* Neither of them has left the place unusable. */
	ck_assert(peers_find(6, &peer));
}
END_TEST

UNIT_MAIN("peers", &a_note_is_found_again, &what_takes_a_note_away, &progress_is_of_one_connect,
          &what_is_read_is_whole)
