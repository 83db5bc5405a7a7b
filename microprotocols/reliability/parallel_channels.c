/* SPDX-License-Identifier: MIT */
/*
 * parallel_channels -- send everything by several paths at once.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section II.A (parallel channels);
 *            RFC 9000, section 8.2 for the proof of an address.
 * Differs:   the paper names it and no more.  RFC 9000 validates a path before a
 *            session moves to it; here it is used beside the others.  Challenges
 *            are not padded: whether a path takes long datagrams is not asked.
 * Wire:      path_challenge, path_response: 8 bytes.
 *
 * One side's application gives paths (nopal_session_add_path); its datagrams leave by each of them
 * from then on, data, acknowledgements and resends alike.  The other side takes segments from
 * another address with the right session id and a good seal, and sends there only once the peer has
 * proved that it is there:
 *
 *   unknown --a segment--> asked --its 8 bytes come back in time--> open
 *
 * A challenge leaves only in answer to a segment, once a round trip at most, and is shorter than
 * three times the shortest of them: a forged address gets no more. Without a seal, a host that
 * knows a session id can have segments taken from any address: compose aead where that matters.
 *
 * Works in the lowest layer.  Congestion control counts a transmission once, however many datagrams
 * it is: each path must have room for all of it.  The path limit is that of the first path, and a
 * copy that the kernel has no room for is dropped.  Paths from one endpoint share its trains, which
 * are then a datagram long; paths from endpoints of their own (nopal_endpoint_share) do not.
 */
#include <string.h>

#include "../base/path_question.h"

enum { PARALLEL_CHANNELS_CHALLENGE, PARALLEL_CHANNELS_RESPONSE }; /* kinds */
/* shared variables */
enum { PARALLEL_CHANNELS_SMOOTHED, PARALLEL_CHANNELS_BESIDE };

struct parallel_channels {
	struct path_question question[NOPAL_PATHS_MAX]; /* by path */
};

static void parallel_channels_send(struct nopal_at at, unsigned kind, unsigned path,
				   const void *proof)
{
	uint8_t *bytes;
	struct nopal_segment *segment = nopal_control_new(at, kind, PATH_QUESTION_BYTES, &bytes);

	if (!segment)
		return;
	memcpy(bytes, proof, PATH_QUESTION_BYTES);
	nopal_control_send_by(at.session, segment, PATH_QUESTION_BYTES, path);
}

static enum nopal_verdict parallel_channels_on_any(struct nopal_at at,
						   struct nopal_segment *segment)
{
	struct parallel_channels *self = nopal_state(at);
	struct path_question *question = &self->question[segment->path % NOPAL_PATHS_MAX];

	if (segment->path == 0)
		return NOPAL_CONTINUE;
	nopal_shared_get(at, PARALLEL_CHANNELS_BESIDE)++;
	if (segment->path != NOPAL_PATH_NONE &&
	    segment->kind != nopal_kind(at, PARALLEL_CHANNELS_RESPONSE) &&
	    !nopal_path_is_open(at.session, segment->path) &&
	    path_question_ask(at.session, question,
			      nopal_shared_get(at, PARALLEL_CHANNELS_SMOOTHED)))
		parallel_channels_send(at, PARALLEL_CHANNELS_CHALLENGE, segment->path,
				       &question->bytes);
	return NOPAL_CONTINUE;
}

/* The answer goes where the question came from, and is no longer. */
static enum nopal_verdict parallel_channels_on_challenge(struct nopal_at at,
							 struct nopal_segment *segment)
{
	if (segment->body.length == PATH_QUESTION_BYTES)
		parallel_channels_send(at, PARALLEL_CHANNELS_RESPONSE, segment->path,
				       segment->body.bytes);
	return NOPAL_STOP;
}

static enum nopal_verdict parallel_channels_on_response(struct nopal_at at,
							struct nopal_segment *segment)
{
	struct parallel_channels *self = nopal_state(at);
	const struct path_question *question;

	if (segment->path >= NOPAL_PATHS_MAX || segment->body.length != PATH_QUESTION_BYTES)
		return NOPAL_STOP;
	question = &self->question[segment->path];
	if (path_question_is_good(at.session, question) &&
	    memcmp(&question->bytes, segment->body.bytes, sizeof(question->bytes)) == 0)
		nopal_path_open(at.session, segment->path);
	return NOPAL_STOP;
}

const struct nopal_microprotocol nopal_parallel_channels = {
	NOPAL_DESCRIBE(parallel_channels, reliability, "send everything by several paths at once"),
	.provides = NOPAL_ROLES({ "parallel_paths", true }),
	.needs = NOPAL_RELATIONS({ "network", "paths are those of datagrams" },
				 { "duplicate_filter", "each path brings a copy" }),
	.excludes = NOPAL_RELATIONS(
		{ "address_demux",
		  "where addresses tell sessions apart, another address is another session" }),
	.shared = NOPAL_SHARED(
		[PARALLEL_CHANNELS_SMOOTHED] = { "smoothed_rtt_ns", NOPAL_READ_OPTIONAL, 0,
						 "how often a challenge may leave" },
		[PARALLEL_CHANNELS_BESIDE] = { "segments_beside", NOPAL_WRITE, 0,
					       "arrived by other paths than the first" }),
	.kinds = NOPAL_KINDS([PARALLEL_CHANNELS_CHALLENGE] = { "path_challenge", NOPAL_KIND_CONTROL,
							       "asks a path for its bytes" },
			     [PARALLEL_CHANNELS_RESPONSE] = { "path_response", NOPAL_KIND_CONTROL,
							      "brings them back" }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SEGMENT_FROM_NET, parallel_channels_on_any, .kinds = NOPAL_EVERY_KIND,
			 .before = "duplicate_filter"),
		NOPAL_ON_OWN(PARALLEL_CHANNELS_CHALLENGE, parallel_channels_on_challenge),
		NOPAL_ON_OWN(PARALLEL_CHANNELS_RESPONSE, parallel_channels_on_response)),
	.state_size = sizeof(struct parallel_channels),
};
