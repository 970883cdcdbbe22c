/* SPDX-License-Identifier: MIT */
/*
 * vfork(). It returns twice, and to a stack that the child has used in between: what
 * comes before must leave no frame, and a compiler cannot be asked for that. So the
 * exported function calls vfork_begins() and jumps to what that returns, libc's own,
 * with the stack as it was.
 */
#include "preload/jump.h"

#if LR_JUMPS
	.globl	vfork
	.type	vfork, %function
	.globl	__vfork
	.type	__vfork, %function
	.hidden	export_vfork
	.globl	export_vfork
	.hidden	vfork_begins
	.balign	16
vfork:
	.cfi_startproc
#if defined(__x86_64__)
	_CET_ENDBR
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	vfork_begins
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
#elif defined(__i386__)
	_CET_ENDBR
	subl	$12, %esp
	.cfi_adjust_cfa_offset 12
	call	vfork_begins
	addl	$12, %esp
	.cfi_adjust_cfa_offset -12
	jmp	*%eax
#elif defined(__aarch64__)
	hint	#34 /* bti c */
	stp	x29, x30, [sp, #-16]!
	.cfi_adjust_cfa_offset 16
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	bl	vfork_begins
	ldp	x29, x30, [sp], #16
	.cfi_restore x29
	.cfi_restore x30
	.cfi_adjust_cfa_offset -16
	mov	x16, x0
	br	x16
#endif
	.cfi_endproc
	.size	vfork, . - vfork
	.set	__vfork, vfork
	.set	export_vfork, vfork
#endif
