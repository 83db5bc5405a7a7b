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
 * from then on, data, acknowledgements and resends alike.  The other side takes what comes from
 * another address with the right session id and a good seal, and sends there only once the peer has
 * proved that it is there:
 *
 *   unknown --a segment--> asked --its 8 bytes come back in time--> open
 *
 * A challenge leaves only in answer to a segment, once a round trip at most, and is shorter than
 * three times the shortest of them: a forged address gets no more. Where nothing seals, who knows a
 * session id can have segments taken from any address: compose aead where that matters.
 *
 * Works in the lowest layer.  Congestion control counts a transmission once, however many datagrams
 * it is: each path must have room for all of it.  The path limit is that of the first path, and a
 * copy that the kernel has no room for is dropped.  Paths from one endpoint share its trains, which
 * are then a datagram long; paths from endpoints of their own (nopal_endpoint_share) do not.
 */
#include <string.h>

#include <nopal/microprotocol.h>

enum { PARALLEL_CHANNELS_CHALLENGE, PARALLEL_CHANNELS_RESPONSE }; /* kinds */
/* shared variables */
enum { PARALLEL_CHANNELS_SMOOTHED, PARALLEL_CHANNELS_BESIDE };
enum { PARALLEL_CHANNELS_BYTES = 8 }; /* of a proof */

static const int64_t PARALLEL_CHANNELS_ASK_NS = 100 * NOPAL_MILLISECOND;

/* What a path was asked.  The bytes are the same for NOPAL_PATH_SILENCE_NS, and good for no longer:
 * before that no other path can have its number. */
struct parallel_channels_proof {
	bool asked;
	uint8_t bytes[PARALLEL_CHANNELS_BYTES];
	int64_t made_ns, asked_ns;
};

struct parallel_channels {
	struct parallel_channels_proof proof[NOPAL_PATHS_MAX]; /* by path */
};

static void parallel_channels_send(struct nopal_at at, unsigned kind, unsigned path,
				   const uint8_t *proof)
{
	uint8_t *bytes;
	struct nopal_segment *segment =
		nopal_control_new(at, kind, PARALLEL_CHANNELS_BYTES, &bytes);

	if (!segment)
		return;
	memcpy(bytes, proof, PARALLEL_CHANNELS_BYTES);
	nopal_control_send_by(at.session, segment, PARALLEL_CHANNELS_BYTES, path);
}

static bool parallel_channels_is_good(const struct nopal_session *session,
				      const struct parallel_channels_proof *it)
{
	return it->asked && session->now_ns - it->made_ns < NOPAL_PATH_SILENCE_NS;
}

static void parallel_channels_ask(struct nopal_at at, unsigned path)
{
	struct parallel_channels *self = nopal_state(at);
	struct parallel_channels_proof *proof = &self->proof[path];
	int64_t every_ns = nopal_shared_get(at, PARALLEL_CHANNELS_SMOOTHED);

	if (every_ns == 0)
		every_ns = PARALLEL_CHANNELS_ASK_NS;
	if (proof->asked && at.session->now_ns - proof->asked_ns < every_ns)
		return;
	if (!parallel_channels_is_good(at.session, proof)) {
		nopal_random_bytes(at.session, proof->bytes, sizeof(proof->bytes));
		proof->made_ns = at.session->now_ns;
	}
	proof->asked = true;
	proof->asked_ns = at.session->now_ns;
	parallel_channels_send(at, PARALLEL_CHANNELS_CHALLENGE, path, proof->bytes);
}

static enum nopal_verdict parallel_channels_on_any(struct nopal_at at,
						   struct nopal_segment *segment)
{
	if (segment->path == 0)
		return NOPAL_CONTINUE;
	nopal_shared_set(at, PARALLEL_CHANNELS_BESIDE,
			 nopal_shared_get(at, PARALLEL_CHANNELS_BESIDE) + 1);
	if (segment->path != NOPAL_PATH_NONE &&
	    segment->kind != nopal_kind(at, PARALLEL_CHANNELS_RESPONSE) &&
	    !nopal_path_is_open(at.session, segment->path))
		parallel_channels_ask(at, segment->path);
	return NOPAL_CONTINUE;
}

/* The answer goes where the question came from, and is no longer. */
static enum nopal_verdict parallel_channels_on_challenge(struct nopal_at at,
							 struct nopal_segment *segment)
{
	if (segment->body.length == PARALLEL_CHANNELS_BYTES)
		parallel_channels_send(at, PARALLEL_CHANNELS_RESPONSE, segment->path,
				       segment->body.bytes);
	return NOPAL_STOP;
}

static enum nopal_verdict parallel_channels_on_response(struct nopal_at at,
							struct nopal_segment *segment)
{
	struct parallel_channels *self = nopal_state(at);
	const struct parallel_channels_proof *proof;

	if (segment->path >= NOPAL_PATHS_MAX || segment->body.length != PARALLEL_CHANNELS_BYTES)
		return NOPAL_STOP;
	proof = &self->proof[segment->path];
	if (parallel_channels_is_good(at.session, proof) &&
	    memcmp(proof->bytes, segment->body.bytes, sizeof(proof->bytes)) == 0)
		nopal_path_open(at.session, segment->path);
	return NOPAL_STOP;
}

static const struct nopal_binding parallel_channels_bindings[] = {
	NOPAL_ON(SEGMENT_FROM_NET, parallel_channels_on_any, .kinds = NOPAL_EVERY_KIND,
		 .before = "duplicate_filter"),
	NOPAL_ON(SEGMENT_FROM_NET, parallel_channels_on_challenge,
		 .kinds = NOPAL_OWN_KIND + PARALLEL_CHANNELS_CHALLENGE),
	NOPAL_ON(SEGMENT_FROM_NET, parallel_channels_on_response,
		 .kinds = NOPAL_OWN_KIND + PARALLEL_CHANNELS_RESPONSE),
	{ 0 },
};

static const struct nopal_relation parallel_channels_excludes[] = {
	{ "address_demux",
	  "where the address tells whose a datagram is, another address is another session" },
	{ 0 },
};

static const struct nopal_shared parallel_channels_shared[] = {
	[PARALLEL_CHANNELS_SMOOTHED] = { "smoothed_rtt_ns", NOPAL_READ_OPTIONAL, 0,
					 "how often a challenge may leave" },
	[PARALLEL_CHANNELS_BESIDE] = { "segments_beside", NOPAL_WRITE, 0,
				       "arrived by other paths than the first" },
	{ 0 },
};

static const struct nopal_kind parallel_channels_kinds[] = {
	[PARALLEL_CHANNELS_CHALLENGE] = { "path_challenge", NOPAL_KIND_CONTROL,
					  "asks a path for its bytes" },
	[PARALLEL_CHANNELS_RESPONSE] = { "path_response", NOPAL_KIND_CONTROL, "brings them back" },
	{ 0 },
};

const struct nopal_microprotocol nopal_parallel_channels = {
	.abi = NOPAL_ABI,
	.name = "parallel_channels",
	.family = "reliability",
	.summary = "send everything by several paths at once",
	.provides = NOPAL_ROLES({ "parallel_paths", true }),
	.needs = NOPAL_RELATIONS({ "network", "paths are those of datagrams" },
				 { "duplicate_filter", "each path brings a copy" }),
	.excludes = parallel_channels_excludes,
	.shared = parallel_channels_shared,
	.kinds = parallel_channels_kinds,
	.bindings = parallel_channels_bindings,
	.state_size = sizeof(struct parallel_channels),
};
