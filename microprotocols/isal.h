/* SPDX-License-Identifier: MIT */
/*
 * isal.h -- the call that follows each call of ISA-L's fast functions.
 *
 * They leave the upper halves of vector registers dirty; the next instruction that uses a lower
 * half, wherever that is, then waits long for them.
 */
#ifndef NOPAL_ISAL_H
#define NOPAL_ISAL_H

/* Only where the machine has such registers does ISA-L use any. */
static inline void nopal__isal_done(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroupper" ::: "memory");
#endif
}

#endif
