/* SPDX-License-Identifier: MIT */
/* report_model.h - the steps of report_model(). */
#ifndef LIBRETRY_CLI_REPORT_MODEL_H
#define LIBRETRY_CLI_REPORT_MODEL_H

#include "cli/report.h"

/* Fills .calls and the .call of each event; the events are in order. */
void report_find_calls(struct report *r);

/* Fills .outages; .by_dest and .calls are there. */
void report_find_outages(struct report *r);

#endif
