/* SPDX-License-Identifier: MIT */
/*
 * arrive.h -- a datagram that belongs to a session: arrive.c.
 */
#ifndef NOPAL_ARRIVE_H
#define NOPAL_ARRIVE_H

#include "engine/composite.h"

void nopal__session_receive(struct nopal_composite *composite, uint8_t kind,
			    struct nopal_buffer *buffer, uint8_t *bytes, uint32_t length);

#endif
