/* SPDX-License-Identifier: MIT */
/* need.h - memory that is there, or the command ends with a message (status 4:
 * it could not tell what was asked). */
#ifndef LIBRETRY_CLI_NEED_H
#define LIBRETRY_CLI_NEED_H

/* <memory>, which is not NULL any more. */
void *need(void *memory);

/* A printf() into memory of its own. */
char *need_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
