/* SPDX-License-Identifier: MIT */
/*
 * dlopen(). It looks at where it returns to, for the RUNPATH and the namespace of who
 * calls: so the exported function calls dlopen_begins() with the place of the flags, and
 * jumps to what that returns, libc's own, with the stack as it was.
 */
#include "preload/jump.h"

#if LR_JUMPS
	.globl	dlopen
	.type	dlopen, %function
	.hidden	export_dlopen
	.globl	export_dlopen
	.hidden	dlopen_begins
	.balign	16
dlopen:
	.cfi_startproc
#if defined(__x86_64__)
	_CET_ENDBR
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	movq	%rsp, %rdi
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	dlopen_begins
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
#elif defined(__i386__)
	_CET_ENDBR
	leal	8(%esp), %eax
	subl	$8, %esp
	.cfi_adjust_cfa_offset 8
	pushl	%eax
	.cfi_adjust_cfa_offset 4
	call	dlopen_begins
	addl	$12, %esp
	.cfi_adjust_cfa_offset -12
	jmp	*%eax
#elif defined(__aarch64__)
	hint	#34 /* bti c */
	stp	x29, x30, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	stp	x0, x1, [sp, #16]
	add	x0, sp, #24
	bl	dlopen_begins
	mov	x16, x0
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_restore x29
	.cfi_restore x30
	.cfi_adjust_cfa_offset -32
	br	x16
#endif
	.cfi_endproc
	.size	dlopen, . - dlopen
	.set	export_dlopen, dlopen
#endif
