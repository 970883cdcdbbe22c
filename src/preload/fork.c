/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "base/brief.h"
#include "log/log.h"
#include "preload/configure.h"
#include "preload/inject.h"
#include "preload/runtime.h"
#include "preload/signal.h"
#include "state/fdtab.h"
#include "state/names.h"
#include "state/replay.h"
#include "state/shm.h"
#include "state/stats_file.h"
#include "state/tally.h"
#include "state/turns.h"

/* In rank order. None of them takes a lock or allocates: the child may have been
 * forked from a signal handler or a threaded program. */
static void child(void)
{
	fdtab_postfork_child();
	names_postfork_child();
	replay_postfork_child();
	tally_postfork_child();
	turns_postfork_child();
	shm_postfork_child();
	stats_file_postfork_child();
	log_postfork_child();
	/* Who has confined himself is asked nothing more. */
	if (!(gate_now() & GATE_OFF))
		brief_postfork_child();
	runtime_postfork_child();
	signal_postfork_child();
	thread_random_postfork_child();
	inject_postfork_child();
}

void atfork_register(void)
{
	pthread_atfork(NULL, NULL, child);
}
