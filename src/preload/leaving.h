/* SPDX-License-Identifier: MIT */
/* leaving.h - among the files of preload: what is to be done if the program leaves a
 * call of ours by a jump, or its thread ends in it. */
#ifndef LIBRETRY_PRELOAD_LEAVING_H
#define LIBRETRY_PRELOAD_LEAVING_H

#include <pthread.h>

#include "policy/policy.h"
#include "state/turns.h"

/*
 * libc's older pair of cleanup functions: unlike those of pthread_cleanup_push()
 * they run not only when the thread is cancelled but also when longjmp() leaves
 * the frame. Who leaves it by other means, as setcontext(), leaves what the
 * functions would put back, and libc with a list that leads to a frame which is no more:
 * so they are only where something has to be put back.
 */
#ifdef __GLIBC__
typedef struct _pthread_cleanup_buffer leaving_buffer;
void _pthread_cleanup_push(leaving_buffer *buffer, void (*routine)(void *), void *arg);
void _pthread_cleanup_pop(leaving_buffer *buffer, int execute);
#define LEAVING_BY_JUMPS true
#else
/* musl has one kind, and no longjmp() that runs it. */
typedef struct __ptcb leaving_buffer;
#define LEAVING_BY_JUMPS false
#endif

#define LEAVING_PUSH_IF(wanted, routine, arg) \
	leaving_buffer leaving; \
	const bool leaves = (wanted); \
	if (leaves) \
		_pthread_cleanup_push(&leaving, routine, arg)
#define LEAVING_PUSH(routine, arg) LEAVING_PUSH_IF(true, routine, arg)
#define LEAVING_POP(execute) \
	do { \
		if (leaves) \
			_pthread_cleanup_pop(&leaving, execute); \
	} while (0)

/* A place that is not given back is free when its time is over. */
static inline bool leaves_turn(const struct policy *p)
{
	return LEAVING_BY_JUMPS && p->max_concurrent_retries > 0;
}

/* Of a struct turn: it is anybody's now. */
static inline void leave_turn(void *turn)
{
	turns_give(turn);
}

#endif
