/* SPDX-License-Identifier: MIT */
/*
 * train.h -- trains of datagrams on their way out: train.c.
 */
#ifndef NOPAL_TRAIN_H
#define NOPAL_TRAIN_H

#include "session/endpoint_sessions.h"
#include "wire/paths.h"

void nopal__endpoint_flush(struct nopal_endpoint *endpoint);
/* Sends the train away where this datagram begins another; false: the kernel is busy. */
bool nopal__train_ready(struct nopal_composite *composite, uint32_t bytes);
/* Sends a train to another address away; false: the kernel is busy. */
bool nopal__train_turn(struct nopal_way way);
/* Room for a datagram in the session's train on its way; NULL: none. */
uint8_t *nopal__train_room(struct nopal_composite *composite, struct nopal_way way, uint32_t bytes);
void nopal__train_add(struct nopal_composite *composite, struct nopal_endpoint *endpoint,
		      uint32_t bytes);
/* The same, to be sealed before it leaves. */
void nopal__train_add_open(struct nopal_composite *composite, struct nopal_endpoint *endpoint,
			   uint32_t bytes);
/* The datagram that was added is longer than its path is thought to take: none joins it.
 * `fragments`: it may leave in several packets. */
void nopal__train_end_long(struct nopal_endpoint *endpoint, bool fragments);
/* Seals the session's datagram of the train that is not sealed yet. */
void nopal__train_finish(struct nopal_composite *composite);
void nopal__endpoint_answer(struct nopal_endpoint *endpoint, const struct nopal_address *to,
			    const uint8_t *bytes, uint32_t length);

#endif
