/* SPDX-License-Identifier: MIT */
/* leaving.h - among the files of preload: what is to be done if the program leaves a
 * call of ours by a jump, or its thread ends in it. */
#ifndef LIBRETRY_PRELOAD_LEAVING_H
#define LIBRETRY_PRELOAD_LEAVING_H

#include <pthread.h>

#include "state/turns.h"

/*
 * libc's older pair of cleanup functions: unlike those of pthread_cleanup_push()
 * they run not only when the thread is cancelled but also when longjmp() leaves
 * the frame. (Who leaves it by other means, as setcontext(), leaves what the
 * functions would put back.)
 */
#ifdef __GLIBC__
void _pthread_cleanup_push(struct _pthread_cleanup_buffer *buffer, void (*routine)(void *),
                           void *arg);
void _pthread_cleanup_pop(struct _pthread_cleanup_buffer *buffer, int execute);
#define LEAVING_PUSH(routine, arg) \
	struct _pthread_cleanup_buffer leaving; \
	_pthread_cleanup_push(&leaving, routine, arg)
#define LEAVING_POP(execute) _pthread_cleanup_pop(&leaving, execute)
#else
/* musl has one kind, and no longjmp() that runs it. */
#define LEAVING_PUSH(routine, arg) pthread_cleanup_push(routine, arg)
#define LEAVING_POP(execute) pthread_cleanup_pop(execute)
#endif

/* Of a struct turn: it is anybody's now. */
static inline void leave_turn(void *turn)
{
	turns_give(turn);
}

#endif
