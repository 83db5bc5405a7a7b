/* SPDX-License-Identifier: MIT */
/*
 * memory.h -- memory of a session, charged to its budget: memory.c.
 */
#ifndef NOPAL_MEMORY_H
#define NOPAL_MEMORY_H

#include "engine/composite.h"

void nopal__memory_release(struct nopal_composite *composite);
bool nopal__charge(struct nopal_composite *composite, uint64_t bytes);
void nopal__credit(struct nopal_composite *composite, uint64_t bytes);

#endif
