/* SPDX-License-Identifier: MIT */
/*
 * steps.h - a program that steps through itself: from begin_steps() to end_steps() each
 * instruction is followed by SIGTRAP. A handler ends the steps by taking STEPS_FLAG from
 * the flags of its context. For x86-64; not under valgrind.
 */
#ifndef LIBRETRY_TESTS_STEPS_H
#define LIBRETRY_TESTS_STEPS_H

#define STEPS_FLAG 0x100

static inline void begin_steps(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq %0, (%%rsp);"
	                 "popfq; lea 128(%%rsp), %%rsp"
	                 : : "i"(STEPS_FLAG) : "cc", "memory");
}

static inline void end_steps(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq %0, (%%rsp);"
	                 "popfq; lea 128(%%rsp), %%rsp"
	                 : : "i"(~STEPS_FLAG) : "cc", "memory");
}

#endif
