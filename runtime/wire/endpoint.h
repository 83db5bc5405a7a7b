/* SPDX-License-Identifier: MIT */
/*
 * endpoint.h -- arrivals, listeners and transmissions that wait: endpoint.c.
 */
#ifndef NOPAL_ENDPOINT_H
#define NOPAL_ENDPOINT_H

#include "session/endpoint_sessions.h"

void nopal__ready_push(struct nopal_composite *composite, const struct nopal_segment *segment);
void nopal__endpoint_forget(struct nopal_composite *bottom);
int nopal__endpoint_enter(struct nopal_composite *bottom);

#endif
