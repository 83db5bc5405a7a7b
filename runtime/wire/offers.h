/* SPDX-License-Identifier: MIT */
/*
 * offers.h -- what openings say for the parts of a layer: offers.c.
 */
#ifndef NOPAL_OFFERS_H
#define NOPAL_OFFERS_H

#include "engine/composite.h"

uint32_t nopal__offers_bytes(const struct nopal_layer *layer);

#endif
