/* SPDX-License-Identifier: MIT */
/* stale.h - among the files of wrap_resolve: an answer of getaddrinfo() made of what the
 * process was answered before. */
#ifndef LIBRETRY_PRELOAD_STALE_H
#define LIBRETRY_PRELOAD_STALE_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Answers the question with the addresses that <node> had in the newest look-up of the
 * families asked for, if that is at most <oldest> ns ago; *age: how old they are. *res
 * is for freeaddrinfo(). Not if the canonical name is asked for, which nobody remembers.
 * Makes no look-up, but of a service's name. errno is not kept.
 */
bool stale_answer(const char *node, const char *service, const struct addrinfo *hints,
                  int64_t oldest, struct addrinfo **res, int64_t *age);

#endif
