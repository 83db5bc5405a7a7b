/* SPDX-License-Identifier: MIT */
/*
 * crash.h -- the last message of a program that dies.
 */
#ifndef NOPAL_CRASH_H
#define NOPAL_CRASH_H

/* From now on a crash prints the microprotocol at work before the process dies. */
void crash_watch(void);

#endif
