/* SPDX-License-Identifier: MIT */
/*
 * jump.h - for the exported functions that are assembler, as they jump to libc's: where
 * an indirect jump may land, and what the linker is told of the file. Included first.
 */
#ifndef LIBRETRY_PRELOAD_JUMP_H
#define LIBRETRY_PRELOAD_JUMP_H

#include "base/compat.h"

#ifdef __CET__
#include <cet.h>
#else
#define _CET_ENDBR
#endif

#if defined(__aarch64__) && defined(__ARM_FEATURE_BTI_DEFAULT)
	.pushsection .note.gnu.property, "a"
	.balign	8
	.long	4, 16, 5
	.asciz	"GNU"
	.long	0xc0000000, 4, 1 /* GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI */
	.long	0
	.popsection
#endif
	.section .note.GNU-stack, "", %progbits
	.text

#endif
