/* SPDX-License-Identifier: MIT */
/*
 * destinations.h -- one to many: how a layer above a layer with `multiplicity = per_destination`
 * sees the destinations below it, chooses among them, and sends through a channel that many of them
 * receive.  Part of microprotocol.h, which includes this page.
 */
#include "microprotocol.h" /* which includes this page in its place */

#ifndef NOPAL_DESTINATIONS_H
#define NOPAL_DESTINATIONS_H

#ifdef __cplusplus
extern "C" {
#endif

/* A destination of a layer with `multiplicity = per_destination`, as the layer above sees it: a
 * session of its own. */
struct nopal_destination {
	uint32_t id;	    /* counts from 1 in its group, and is not used again */
	uint32_t host;	    /* its id, or that of an older stream to the same host */
	bool open;	    /* it was reached; what is sent before waits for that */
	bool removed;	    /* by the application: nobody waits for it any more */
	bool paused;	    /* set by the role fan_out: it gets nothing meanwhile */
	bool ended;	    /* nothing reaches it any more */
	bool joined;	    /* data for all reaches it through the channel */
	enum nopal_end end; /* at DESTINATION_ENDED: why, and in words */
	const char *text;
	/* The next of the streams to this host, in a ring; itself, where it is the only one. */
	struct nopal_destination *next_stream;
	/* Bytes of bodies that left for it, once each, and of these, how many it is known to
	 * have. */
	uint64_t given_bytes, arrived_bytes;
	uint64_t note[4]; /* of the role destination_choice; 0 at first */
	/* Where the group has a channel: of the role channel_repair, and then of a congestion
	 * policy. */
	__extension__ uint64_t channel[];
};
enum { NOPAL_REPAIR_WORDS = 6, NOPAL_PACE_WORDS = 12 };
static inline uint64_t *nopal_repair(struct nopal_destination *destination)
{
	return destination->channel;
}
static inline uint64_t *nopal_pace(struct nopal_destination *destination)
{
	return destination->channel + NOPAL_REPAIR_WORDS;
}
static inline bool nopal_destination_takes(const struct nopal_destination *destination)
{
	return !destination->removed && !destination->paused && !destination->ended;
}
/* Argument of COPY_DONE.  `segment->copies` are those that are open after it. */
struct nopal_copy {
	struct nopal_segment *segment;
	struct nopal_destination *destination;
	enum nopal_outcome outcome; /* has it all of it? */
	int64_t took_ns;	    /* since the segment's last transmission */
	/* Set by the role host_streams: the stream that has the copy instead; its outcome counts. */
	struct nopal_destination *moved;
};

/* Argument of CHANNEL_REPORT: arrivals since the report before. */
struct nopal_channel_report {
	struct nopal_destination *destination;
	/* Segments, as they came by the channel, and in how many rows those went missing. */
	uint64_t arrived, missing, rows;
	int64_t rtt_ns; /* smoothed; 0: not known yet */
	/* The round trip of the newest that came, and when it left; 0: not known, for it left more
	 * than once. */
	int64_t sample_ns, left_ns;
};

/* -------------------------------------------------------- the destinations */

/* Above a layer of destinations: the destinations of now, by their age, and which of them get the
 * segment that leaves, in SEND_SEGMENT: the one that the application has named; those that were
 * chosen; else all that are not removed, paused or ended.  Bytes that a destination was given and
 * that have no outcome yet are its backlog. */
uint32_t nopal_destination_count(const struct nopal_session *session);
struct nopal_destination *nopal_destination_at(const struct nopal_session *session, uint32_t index);
uint64_t nopal_destination_backlog(const struct nopal_session *session, uint32_t index);
/* Ends the session with this destination. */
void nopal_destination_break(struct nopal_session *session, uint32_t index, enum nopal_end end,
			     const char *text);
void nopal_copies_choose(struct nopal_session *session, const uint32_t *indices, uint32_t count);
/* The index of the destination with this id; the count, where there is none. */
uint32_t nopal_destination_find(const struct nopal_session *session, uint64_t id);
/* Above such a layer: is this session one of the destinations, and not the group's sender? */
bool nopal_is_destination(const struct nopal_session *session);
/* At any height above such a layer: are there many below, and is this session their sender? */
bool nopal_is_group(const struct nopal_session *session);
/* Is a segment or message of ours for one peer alone: from a destination to the sender, or to the
 * destination that the application named?  Such an item takes no part in what is for all. */
#define nopal_is_for_one(session, item) nopal__is_for_one(session, (item)->attribute)
bool nopal__is_for_one(const struct nopal_session *session, const uint64_t *attribute);

/* Says to the application who the members of the group are from now on: callback `view`.  Ids ascend,
 * and are read during the call alone. */
void nopal_view_tell(struct nopal_session *session, uint32_t view, const uint32_t *members,
		     size_t count);

/* ---------------------------------------------------------------- a channel */

/* A channel, for the role `channel` of a layer above destinations: a multicast address to which
 * each segment that is carried and for all leaves once, for the destinations that joined; each of
 * the others gets a copy of its own.  The channel opens on the way to destination `index`, for
 * `hops` routers; opened once more, for others, it is the same.  Returns its id, which destinations
 * need to join; negative: errno value, -EAFNOSUPPORT where one is of IPv4 and the other of IPv6.
 * Segments that arrive by a channel have NOPAL_PATH_CHANNEL for their path. */
int64_t nopal_channel_open(struct nopal_session *session, uint32_t index,
			   const struct nopal_address *group, unsigned hops);
/* Is the channel open, and of this destination's address family? */
bool nopal_channel_reaches(const struct nopal_session *session, uint32_t index);
int nopal_channel_join(struct nopal_session *session, const struct nopal_address *group,
		       uint32_t id);
void nopal_destination_joined(struct nopal_session *session, uint32_t index, bool joined);
/* nopal_control_send through the channel alone; nowhere where there is none. */
void nopal_control_multicast(struct nopal_session *session, struct nopal_segment *segment,
			     uint32_t length);

/* For the role channel_repair: the copy that went through the channel has its outcome; and, for
 * host_streams, too: this destination gets one of its own, whose outcome counts instead. */
void nopal_copy_settle(struct nopal_session *session, struct nopal_segment *segment,
		       struct nopal_destination *destination, enum nopal_outcome outcome);
void nopal_copy_give(struct nopal_session *session, struct nopal_segment *segment, uint32_t index);

#ifdef __cplusplus
}
#endif

#endif
