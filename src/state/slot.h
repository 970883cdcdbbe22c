/* SPDX-License-Identifier: MIT */
/*
 * slot.h - what processes and threads remember together about one destination
 * under one policy: the words of budget, breaker and pace, and what is counted.
 *
 * A slot lies in this process's static memory or in a segment that others map
 * as well (state/shm), 32- and 64-bit ones, of which any may die at any
 * instruction. So: fixed offsets, only atomic words, each with a meaning of its
 * own that no other word has to agree with; a word is changed by compare-and-swap
 * through a transition of policy/, all of which accept any value; no lock, nobody
 * waits for anybody. All zero is a fresh slot. Counters may lose nothing but what
 * a killed process was about to add.
 */
#ifndef LIBRETRY_STATE_SLOT_H
#define LIBRETRY_STATE_SLOT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

/* Ends of a program's call, and of attempts. */
enum tally {
	TALLY_CALLS = 0,        /* first attempts, whatever came of them */
	TALLY_RETRIES,          /* attempts after the first */
	TALLY_RECOVERED,        /* calls that succeeded after retries */
	TALLY_GAVE_UP_ATTEMPTS, /* calls that ended with an error, by reason */
	TALLY_GAVE_UP_DEADLINE,
	TALLY_GAVE_UP_STOPPING, /* stopped, interrupted */
	TALLY_GAVE_UP_OTHER,
	TALLY_BUDGET_REFUSED,   /* ... because the budget was spent */
	TALLY_BREAKER_REFUSED,  /* ... because the breaker was open */
	TALLY_NOT_RETRYABLE,    /* failed by an error that is not retried */
	TALLY_ABANDONED,        /* the program closed the descriptor */
	TALLY_INJECTED,         /* attempts that were struck on purpose */
	TALLY_PARKED,           /* attempts that had to wait for another's result */
	TALLY_PROBES,           /* attempts that were made for all */
	TALLY_CONCURRENT_REFUSED, /* ended with an error because of others in a retry */
	TALLY_STALE,            /* look-ups that an old answer was handed out for */
	TALLY_COUNT = 16        /* room; none is left */
};

/* Calls by attempts: 1 (of failed ones only), 2, 3, 4, 5, 6-10, 11 and more. */
#define SLOT_ATTEMPTS 8
/* Retried calls by all their waits: up to 10 ms, 30 ms, 100 ms, 300 ms, 1 s, 3 s,
 * 10 s, 30 s, 100 s, more. */
#define SLOT_WAITS 12

#define SLOT_TEXT 192
#define SLOT_POLICY 48

struct slot {
	_Alignas(8) _Atomic uint64_t key; /* 0: free; hash of what is in .text, .policy */
	_Atomic uint64_t calls;      /* policy/budget */
	_Atomic uint64_t spent;      /* policy/budget */
	_Atomic uint64_t breaker;    /* policy/breaker: state, calls, failures */
	_Atomic uint64_t breaker_calls;
	_Atomic uint64_t breaker_failures;
	_Atomic uint64_t pace;       /* policy/pace */
	_Atomic uint64_t pace_more;  /* ns, what the quickest success took; 0: none yet */
	_Atomic uint64_t hold;       /* ns, CLOCK_MONOTONIC, until which nobody may try
	                              * ("libretry hold"); 0: no hold */
	_Atomic uint64_t last_error; /* errno of the last failure; of a look-up the EAI
	                              * code, negative, in 32 bits. 0: none yet */
	_Atomic uint64_t last_failure; /* ns, CLOCK_MONOTONIC; 0: never */
	_Atomic uint64_t sum_wait; /* us, all waits */
	_Atomic uint64_t tally[TALLY_COUNT];
	_Atomic uint64_t attempts[SLOT_ATTEMPTS];
	_Atomic uint64_t waits[SLOT_WAITS];
	_Atomic uint64_t sum_attempts; /* of the calls in .attempts */
	_Atomic uint64_t spare[10];
	/* Written once, by everybody who finds .named 0: always the same bytes. */
	_Atomic uint32_t named;
	_Atomic uint32_t op;       /* enum op, bits: which have been seen */
	_Atomic uint64_t text[SLOT_TEXT / 8];     /* "db1:5432", cut, NUL-filled */
	_Atomic uint64_t policy[SLOT_POLICY / 8]; /* its name */
};

/* The same in every process of the machine, whatever it was built for. */
#define SLOT_AT(member, offset) \
	_Static_assert(offsetof(struct slot, member) == (offset), "layout of struct slot")
SLOT_AT(key, 0);
SLOT_AT(calls, 8);
SLOT_AT(spent, 16);
SLOT_AT(breaker, 24);
SLOT_AT(breaker_calls, 32);
SLOT_AT(breaker_failures, 40);
SLOT_AT(pace, 48);
SLOT_AT(pace_more, 56);
SLOT_AT(hold, 64);
SLOT_AT(last_error, 72);
SLOT_AT(last_failure, 80);
SLOT_AT(sum_wait, 88);
SLOT_AT(tally, 96);
SLOT_AT(attempts, 224);
SLOT_AT(waits, 288);
SLOT_AT(sum_attempts, 384);
SLOT_AT(spare, 392);
SLOT_AT(named, 472);
SLOT_AT(op, 476);
SLOT_AT(text, 480);
SLOT_AT(policy, 672);
_Static_assert(sizeof(struct slot) == 720, "layout of struct slot");
_Static_assert(_Alignof(struct slot) == 8, "layout of struct slot");
#undef SLOT_AT

/* What one operation has of a slot; see engine/guard. */
struct guard {
	struct slot *slot;  /* NULL: none */
	struct slot *stats; /* where its outcomes are counted for all to see; NULL: where
	                     * the rest is */
	uint16_t breaker;   /* its ticket of the current attempt; 0: none */
	uint16_t pace;      /* the same of the pace */
	enum err_class paid; /* for what the budget gave the current retry; CLASS_NONE */
	bool parked;        /* it had to wait for others */
};

#endif
