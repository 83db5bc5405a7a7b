/* SPDX-License-Identifier: MIT */
/*
 * bind.h -- handlers bound at run time: bind.c.
 */
#ifndef NOPAL_BIND_H
#define NOPAL_BIND_H

#include "engine/composite.h"

const struct nopal_calls *nopal__custom_calls(struct nopal_composite *composite, int event);

#endif
