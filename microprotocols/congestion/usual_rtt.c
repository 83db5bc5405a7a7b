/* SPDX-License-Identifier: MIT */
/*
 * usual_rtt -- round trip that most packets have, for BBR
 *
 * The round trip of a packet that jumped the queue is true, but no other has it: a sample is the
 * largest of four in a row.
 *
 * Where packets overtake, the newest of an ack is the one that did, and an ack may have overtaken
 * others itself.  Once that shows, all that was learned is void, startup begins again, and a sample
 * is the largest of 64 segments, each from the transmission that is known to have arrived.  Bytes
 * that an ack tells early, for it overtook, are then no bandwidth.
 *
 * Paper:     none; a modification of BBR (bbr_congestion).
 * Differs:   nothing.
 */
#include "bbr_model.h"

enum { USUAL_RTT_LATE }; /* attributes */
enum {
	USUAL_RTT_USUAL,
	USUAL_RTT_OVERTAKEN,
	USUAL_RTT_EARLY,
	USUAL_RTT_EARLY_MAX,
	USUAL_RTT_LATEST,
	USUAL_RTT_PATH,
	USUAL_RTT_BANDWIDTH,
};
enum {
	USUAL_RTT_SAMPLES = 4,
	USUAL_RTT_BATCH = 64,	  /* segments, where packets overtake */
	USUAL_RTT_PART = 32,	  /* of a round trip: less is no overtaking */
	USUAL_RTT_EARLY_PART = 8, /* of what is out */
	USUAL_RTT_EARLY_SEGMENTS = 16,
};

struct usual_rtt {
	bool overtakes;	  /* a later packet or ack came before an earlier */
	uint64_t largest; /* packet number that earlier acks reported */
	int64_t recent_ns[USUAL_RTT_SAMPLES];
	uint32_t newest;
	uint32_t batch;	  /* segments in it */
	int64_t batch_ns; /* their largest */
	int64_t whole_ns; /* of a whole batch, to be taken; or 0 */
};

/* A segment that was overtaken has a truer round trip than the samples before; `rtt_ns` is 0 where
 * an ack was. */
static void usual_rtt_overtaken(struct nopal_at at, int64_t rtt_ns)
{
	struct usual_rtt *usual = nopal_state(at);

	usual->overtakes = true;
	usual->batch = 0;
	usual->batch_ns = 0;
	usual->whole_ns = 0;
	nopal_shared_set(at, USUAL_RTT_OVERTAKEN, rtt_ns > 0 ? rtt_ns : 1);
}

static enum nopal_verdict usual_rtt_on_received(struct nopal_at at, struct nopal_segment *segment)
{
	struct usual_rtt *usual = nopal_state(at);
	int64_t latest_ns = nopal_shared_get(at, USUAL_RTT_LATEST);
	int64_t left_ns =
		nopal_has(at, USUAL_RTT_LATE) ? (int64_t)nopal_get(at, segment, USUAL_RTT_LATE) : 0;

	if (!left_ns && segment->transmissions == 1)
		left_ns = segment->transmitted_ns;
	if (left_ns) {
		int64_t rtt_ns = at.session->now_ns - left_ns;

		if (rtt_ns > usual->batch_ns)
			usual->batch_ns = rtt_ns;
		if (++usual->batch >= USUAL_RTT_BATCH) {
			usual->whole_ns = usual->batch_ns;
			usual->batch_ns = 0;
			usual->batch = 0;
		}
		if (!usual->overtakes && segment->packet_number < usual->largest)
			usual_rtt_overtaken(at, rtt_ns);
	}
	/* Acknowledged sooner after its transmission than is usual: by an ack that overtook. */
	if (usual->overtakes)
		nopal_shared_set(at, USUAL_RTT_EARLY, latest_ns - latest_ns / USUAL_RTT_PART);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict usual_rtt_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct usual_rtt *usual = nopal_state(at);
	int64_t rtt_ns = bbr_timed_rtt(ack, nopal_shared_get(at, USUAL_RTT_LATEST));
	uint64_t product;

	/* An ack that knows less than an earlier one: acks overtake.  A report in parts tells of
	 * its largest packet in each, and of the others in later ones. */
	if (ack->largest < usual->largest) {
		if (!usual->overtakes)
			usual_rtt_overtaken(at, 0);
	} else if (!ack->told_end) {
		usual->largest = ack->largest;
	}
	if (!usual->overtakes) {
		/* A round trip that others will have too; 0: not known now. */
		if (rtt_ns > 0) {
			usual->newest = (usual->newest + 1) % USUAL_RTT_SAMPLES;
			usual->recent_ns[usual->newest] = rtt_ns;
			for (unsigned i = 0; i < USUAL_RTT_SAMPLES; i++)
				if (usual->recent_ns[i] > rtt_ns)
					rtt_ns = usual->recent_ns[i];
		}
		nopal_shared_set(at, USUAL_RTT_USUAL, rtt_ns > 0 ? rtt_ns : 0);
		usual->whole_ns = 0;
		return NOPAL_CONTINUE;
	}
	nopal_shared_set(at, USUAL_RTT_USUAL, usual->whole_ns);
	usual->whole_ns = 0;
	/* So many bytes may be told early: other acks would tell of them in the same time. */
	product = nopal_rate_bytes((uint64_t)nopal_shared_get(at, USUAL_RTT_BANDWIDTH),
				   nopal_shared_get(at, USUAL_RTT_PATH));
	nopal_shared_set(at, USUAL_RTT_EARLY_MAX,
			 (int64_t)(product / USUAL_RTT_EARLY_PART) +
				 USUAL_RTT_EARLY_SEGMENTS * (int64_t)nopal_body_limit(at.session));
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_usual_rtt = {
	NOPAL_DESCRIBE(usual_rtt, congestion, "round trip that most packets have, for BBR"),
	BBR_MODIFIER,
	.attributes = NOPAL_ATTRIBUTES([USUAL_RTT_LATE] = { "late_left_ns", NOPAL_READ_OPTIONAL }),
	.shared = NOPAL_SHARED([USUAL_RTT_USUAL] = { BBR_USUAL_RTT(NOPAL_WRITE) },
			       [USUAL_RTT_OVERTAKEN] = { BBR_OVERTAKEN(NOPAL_WRITE) },
			       [USUAL_RTT_EARLY] = { BBR_EARLY_RTT(NOPAL_WRITE) },
			       [USUAL_RTT_EARLY_MAX] = { BBR_EARLY_MAX(NOPAL_WRITE) },
			       [USUAL_RTT_LATEST] = { "latest_rtt_ns", NOPAL_READ, 0, "samples" },
			       [USUAL_RTT_PATH] = { BBR_MODEL_MIN_RTT(NOPAL_READ) },
			       [USUAL_RTT_BANDWIDTH] = { BBR_MODEL_BANDWIDTH(NOPAL_READ) }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SEGMENT_RECEIVED, usual_rtt_on_received, .kinds = NOPAL_CARRIED,
			 .after = "loss_detection", .before = "path_model"),
		NOPAL_ON(ACK_PROCESSED, usual_rtt_on_ack, .after = "loss_detection")),
	.state_size = sizeof(struct usual_rtt),
};
