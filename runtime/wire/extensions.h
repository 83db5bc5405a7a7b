/* SPDX-License-Identifier: MIT */
/*
 * extensions.h -- what openings say for the parts of a layer: extensions.c.
 */
#ifndef NOPAL_EXTENSIONS_H
#define NOPAL_EXTENSIONS_H

#include "engine/composite.h"

uint32_t nopal__extensions_bytes(const struct nopal_layer *layer);

#endif
