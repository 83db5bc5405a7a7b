/* SPDX-License-Identifier: MIT */
/*
 * group.h -- one to many: the layer above destinations, copies for them, and the channel that
 * reaches many of them at once.
 */
#ifndef NOPAL_GROUP_H
#define NOPAL_GROUP_H

#include "session/endpoint_sessions.h"

/* The destinations of a group, oldest first; of each the top of its stack. */
struct nopal_group {
	struct nopal_composite **member;
	uint32_t count;
	size_t room;
	uint32_t ids;
	struct nopal_counters gone; /* datagrams of destinations that have ended */
	/* Destinations that ended by themselves, and not in good order: the first, and why. */
	uint32_t lost_count;
	char *lost; /* NULL: nobody */
	/* of the segment that leaves now, indices; all where nobody has chosen. While copies are
	 * given, one may leave again: its choice lies behind that of the one before. */
	uint32_t *choice;
	uint32_t choice_at, choice_count;
	size_t choice_room;
	bool chosen;
	bool channel; /* its peer is the channel's address; peer_id names it */
};

bool nopal__is_group(const struct nopal_composite *composite);
/* Of a group, or a listener's session, which has one: the layer below. */
struct nopal_composite *nopal__member_at(const struct nopal_composite *group, uint32_t index);
uint32_t nopal__member_count(const struct nopal_composite *group);
/* The index of the one with this id; the count: there is none. */
uint32_t nopal__member_find(const struct nopal_composite *group, uint64_t id);

/* ----------------------------------------- several streams to one host: hosts.c */

/* The youngest destination at this address that is not removed, or else any; NULL: none. */
struct nopal_composite *nopal__host_find(const struct nopal_composite *group,
					 const struct nopal_address *address);
bool nopal__host_takes_streams(const struct nopal_composite *group);
/* Before it is one of the members; and when it is none any more. */
void nopal__host_enter(const struct nopal_composite *group, struct nopal_composite *member);
void nopal__host_leave(struct nopal_destination *destination);
/* Is there another stream to its host, which is not removed? */
bool nopal__host_has_another(const struct nopal_destination *destination);

/* The top of a group, with the peer for its first destination, or without any. */
struct nopal_composite *nopal__group_open(const struct nopal_open *open);
/* Sums what its destinations count of datagrams. */
void nopal__group_count(struct nopal_composite *group);

/* -------------------------------------- copies for destinations: copies.c */

void nopal__copies_leave(struct nopal_composite *composite, struct nopal_segment *segment);
void nopal__copy_done(struct nopal_composite *member, struct nopal_handle above,
		      enum nopal_outcome outcome);
void nopal__copy_settle(struct nopal_composite *member, struct nopal_segment *segment,
			enum nopal_outcome outcome);

/* ------------------------------------- one transmission for many: channel.c */

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
