/* SPDX-License-Identifier: MIT */
/*
 * multiplicity.h -- where one stack is not enough: the destinations of a group, below it (group.c),
 * and the streams of a flow, above it (streams.c).
 */
#ifndef NOPAL_MULTIPLICITY_H
#define NOPAL_MULTIPLICITY_H

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>

struct nopal_core;
struct nopal_endpoint;
struct nopal_arrival;

/* The destinations of a group, oldest first; of each the top of its stack. */
struct nopal_group {
	struct nopal_core **member;
	uint32_t count, room;
	uint32_t ids;
	struct nopal_counters gone; /* datagrams of those that have ended */
	/* Those that ended by themselves, and not in good order: who was the first, and why. */
	uint32_t lost_count;
	char *lost; /* NULL: nobody */
	/* of the segment that leaves now, indices; all where nobody has chosen. While copies are
	 * given, one may leave again: its choice lies behind that of the one before. */
	uint32_t *choice;
	uint32_t choice_at, choice_count, choice_room;
	bool chosen;
	bool channel; /* its peer is the channel's address; peer_id names it */
};

/* What a destination hears of its group's channel, and where (channel.c). */
struct nopal_channel {
	struct nopal_endpoint *door;
	uint32_t id;
	uint64_t key; /* in the door's table */
};

/* The streams of a flow: stacks of their own above one. */
struct nopal_streams {
	struct nopal_map by_id;	   /* of the lowest core of each */
	struct nopal_core *latest; /* that was asked for; NULL: none is there */
	/* ids of those that wait for their turn; a ring */
	uint32_t *waiting, first_waiting, count_waiting, room_waiting;
	uint32_t opened;	       /* by us */
	bool in_turn;		       /* one of them has its turn */
	struct nopal_numbers accepted; /* of the peer's, by half their id */
};

/* session.c */
/* The layers from `first` to before `end`; the uppermost stands below `above`, where there is one.
 * Where `end` is not the plan's, the last one is a group. */
struct nopal_core *nopal__stack_make(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
				     uint32_t first, uint32_t end, struct nopal_core *above,
				     const struct nopal_address *peer, bool opener);
/* Makes one of ours that stands on nothing, to be started; returns its bottom. */
struct nopal_core *nopal__stack_prepare(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
					uint32_t first, uint32_t end,
					const struct nopal_address *peer,
					const struct nopal_callbacks *callbacks, void *user);
/* Makes and starts it; returns its top. */
struct nopal_core *nopal__stack_open(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
				     uint32_t first, uint32_t end, const struct nopal_address *peer,
				     const struct nopal_callbacks *callbacks, void *user);

/* streams.c */
int nopal__streams_attach(struct nopal_core *flow);
void nopal__streams_free(struct nopal_core *flow);
void nopal__streams_start(struct nopal_core *flow);
void nopal__streams_end(struct nopal_core *flow, enum nopal_end end, const char *text);
/* The stream with this id; NULL: it is gone. */
struct nopal_core *nopal__stream_of(const struct nopal_core *flow, uint64_t id);
/* The same, or a new one of the peer's. */
struct nopal_core *nopal__stream_for(struct nopal_core *flow, uint64_t id);
/* At the end of the flow's turn: the next stream has its own. */
void nopal__flow_turn(struct nopal_core *flow);
/* Its stack is about to be freed. */
void nopal__stream_ended(struct nopal_core *stream);
/* The first stream of a flow of ours, which ends without one; NULL: it does. */
struct nopal_core *nopal__flow_begin(struct nopal_core *flow,
				     const struct nopal_callbacks *callbacks, void *user);
/* The flow is the peer's: what we took for our first stream is the peer's first. */
void nopal__streams_turn(struct nopal_core *flow);
struct nopal_session *nopal__flow_open(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
				       const struct nopal_address *peer,
				       const struct nopal_callbacks *callbacks, void *user);

/* copies.c */
void nopal__copies_leave(struct nopal_core *core, struct nopal_segment *segment);
void nopal__copy_done(struct nopal_core *member, struct nopal_handle above, enum nopal_fate fate);
void nopal__copy_settle(struct nopal_core *member, struct nopal_segment *segment,
			enum nopal_fate fate);

/* group.c */
/* Of a group, or a listener's session, which has one: the layer below. */
struct nopal_core *nopal__member_at(const struct nopal_core *group, uint32_t index);
uint32_t nopal__member_count(const struct nopal_core *group);
/* The index of the one with this id; the count: there is none. */
uint32_t nopal__member_find(const struct nopal_core *group, uint64_t id);
/* Of a stack that has no destination yet; its end frees it. */
int nopal__group_attach(struct nopal_core *core);
struct nopal_session *nopal__group_with_one(struct nopal_endpoint *endpoint,
					    struct nopal_plan *plan,
					    const struct nopal_address *peer,
					    const struct nopal_callbacks *callbacks, void *user);
void nopal__destination_opened(struct nopal_core *member);
/* Its stack is about to be freed. */
void nopal__destination_ended(struct nopal_core *member, enum nopal_end end, const char *text);
/* All destinations are asked to close, or end; the group follows the last one. */
void nopal__group_close(struct nopal_core *group);
void nopal__group_end(struct nopal_core *group, enum nopal_end end, const char *text);
void nopal__group_free(struct nopal_core *group);

/* closed_end.c */
enum { NOPAL_END_WORDS = 256 };
/* How a stack ends that closes.  Where that is not well, `words`, of NOPAL_END_WORDS bytes, get how
 * many messages did not arrive, and of many destinations who is lost. */
enum nopal_end nopal__closed_end(struct nopal_core *bottom, char *words);
/* The same for a group that breaks, as `text` says, since it has nobody any more. */
void nopal__lost_words(struct nopal_core *group, const char *text, char *words);
/* A destination ended by itself, and not in good order. */
void nopal__lost_note(struct nopal_group *group, const struct nopal_destination_info *info);

/* channel.c */
bool nopal__has_channel(const struct nopal_core *core);
/* Of the datagram that a segment of the group is in its channel. */
uint32_t nopal__cast_bytes(const struct nopal_core *group, const struct nopal_segment *segment);
void nopal__cast(struct nopal_core *group, struct nopal_segment *segment);
/* What came to the door of some channels. */
void nopal__cast_receive(struct nopal_endpoint *door, const struct nopal_arrival *arrival,
			 uint8_t *bytes, uint32_t length);
void nopal__channel_leave(struct nopal_core *core);

/* Sums what its destinations count of datagrams. */
void nopal__group_count(struct nopal_core *group);

#endif
