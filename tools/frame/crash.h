/* SPDX-License-Identifier: MIT */
/*
 * crash.h -- the last words of a program that dies.
 */
#ifndef NOPAL_CRASH_H
#define NOPAL_CRASH_H

/* From now on a crash says where it was, before the process dies of it. */
void crash_watch(void);

#endif
