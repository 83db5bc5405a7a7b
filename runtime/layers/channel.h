/* SPDX-License-Identifier: MIT */
/*
 * channel.h -- one transmission for many, to a multicast address: channel.c.
 */
#ifndef NOPAL_CHANNEL_H
#define NOPAL_CHANNEL_H

#include "session/endpoint_sessions.h"

/* The channel that a destination receives, and where (channel.c). */
struct nopal_channel {
	struct nopal_endpoint *alias;
	uint32_t id;
	uint64_t key; /* in the alias's table */
};

bool nopal__has_channel(const struct nopal_composite *composite);
/* Is there room in the train to the channel now, or is the kernel busy? */
bool nopal__channel_may_leave(struct nopal_composite *group, const struct nopal_segment *segment);
void nopal__multicast(struct nopal_composite *group, struct nopal_segment *segment);
/* At the end of a session that receives a channel. */
void nopal__channel_leave(struct nopal_composite *composite);

#endif
