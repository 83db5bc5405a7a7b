/* SPDX-License-Identifier: MIT */
/*
 * tail_probe -- tail loss probe (RFC 8985): the last segment leaves again for want of an ack.
 *
 * Behind the last segments of a train nothing comes that could overtake them: the peer has no
 * reason to report, and their loss would wait for a timeout.  So after two round trips without
 * progress and transmissions the newest that is outstanding leaves again.  Its ack tells which
 * segments are missing, and loss detection does the rest.  One probe: then the timeout.
 *
 *   7 ------>   8 --- x   9 --- x
 *   <-- ack 7
 *   (two round trips)
 *   9 again ------->
 *   <-- ack of 9, a hole at 8: lost
 *
 * Where the probe is the copy that arrived, the network lost the first copy, and no loss is
 * reported for it: that is told as a mark.
 *
 * Paper:     RFC 8985, section 7; Flach et al., Reducing web latency: the virtue
 *            of gentle aggression, SIGCOMM 2013.
 * Differs:   resends always, and never new data, which would have left by itself.
 */
#include <nopal/microprotocol.h>

struct tail_probe_parameters {
	int64_t delay_ns;
};

enum { TAIL_PROBE_SMOOTHED }; /* shared variables */
enum { TAIL_PROBE_DUE };      /* timers */
enum { TAIL_PROBE_ROUND_TRIPS = 2 };

struct tail_probe {
	int64_t since_ns; /* when something left or was acknowledged last */
	uint64_t probe;	  /* packet number of the probe that is out; 0: none */
	uint32_t asked;	  /* number of the segment that is to be it */
	bool filled;	  /* it is what arrived */
};

/* The newest data that is outstanding; NULL: none is. */
static struct nopal_segment *tail_probe_newest(struct nopal_session *session)
{
	uint64_t oldest = nopal_oldest_transmission(session);
	uint64_t at = nopal_next_packet_number(session);

	while (at-- > oldest) {
		const struct nopal_transmission *transmission =
			nopal_transmission_find(session, at);
		struct nopal_segment *segment;

		if (!transmission || !transmission->open)
			continue;
		segment = nopal_segment_find(session, transmission->segment);
		if (segment && !segment->kind)
			return segment;
	}
	return NULL;
}

/* When the probe is due, if the ack of what is out may not be delayed. */
static int64_t tail_probe_due(struct nopal_at at)
{
	const struct tail_probe *self = nopal_state(at);

	return self->since_ns + TAIL_PROBE_ROUND_TRIPS * nopal_shared_get(at, TAIL_PROBE_SMOOTHED);
}

/* The timer is not moved with every transmission; it looks when it fires. */
static void tail_probe_watch(struct nopal_at at, int64_t due_ns)
{
	if (nopal_shared_get(at, TAIL_PROBE_SMOOTHED) && !nopal_timer_running(at, TAIL_PROBE_DUE))
		nopal_timer_start(at, TAIL_PROBE_DUE, due_ns);
}

static enum nopal_verdict tail_probe_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct tail_probe *self = nopal_state(at);

	self->since_ns = at.session->now_ns;
	if (self->asked == segment->number) {
		self->asked = 0;
		self->probe = segment->packet_number;
		return NOPAL_CONTINUE;
	}
	self->probe = 0;
	tail_probe_watch(at, tail_probe_due(at));
	return NOPAL_CONTINUE;
}

static enum nopal_verdict tail_probe_on_received(struct nopal_at at, struct nopal_segment *segment)
{
	struct tail_probe *self = nopal_state(at);

	if (self->probe && segment->packet_number == self->probe)
		self->filled = true;
	return NOPAL_CONTINUE;
}

static enum nopal_verdict tail_probe_on_processed(struct nopal_at at, struct nopal_ack *ack)
{
	struct tail_probe *self = nopal_state(at);
	bool marked = self->filled && ack->largest >= self->probe;

	if (!ack->newly_acked_segments)
		return NOPAL_CONTINUE;
	self->since_ns = at.session->now_ns;
	self->probe = 0;
	self->filled = false;
	if (nopal_oldest_transmission(at.session) < nopal_next_packet_number(at.session))
		tail_probe_watch(at, tail_probe_due(at));
	else
		nopal_timer_stop(at, TAIL_PROBE_DUE);
	if (marked)
		nopal_raise_CONGESTION_MARKED(at.session, at.session);
	return NOPAL_CONTINUE;
}

static void tail_probe_when_due(struct nopal_at at)
{
	const struct tail_probe_parameters *set = nopal_parameters(at);
	struct tail_probe *self = nopal_state(at);
	struct nopal_segment *newest = tail_probe_newest(at.session);
	int64_t due_ns = tail_probe_due(at);

	if (!newest || self->probe || newest->wanted)
		return;
	if (nopal_oldest_transmission(at.session) + 1 >= nopal_next_packet_number(at.session))
		due_ns += set->delay_ns;
	if (due_ns > at.session->now_ns) {
		tail_probe_watch(at, due_ns);
		return;
	}
	self->asked = newest->number;
	nopal_segment_resend(at, newest);
}

const struct nopal_microprotocol nopal_tail_probe = {
	NOPAL_DESCRIBE(
		tail_probe, status,
		"tail loss probe (RFC 8985): the last segment leaves again for want of an ack"),
	.provides = NOPAL_ROLES({ "tail_probe", true }),
	.needs = NOPAL_RELATIONS({ "acknowledgement", "its ack is what a probe is for" },
				 { "loss_detection", "the ack of a probe must be judged" },
				 { "rtt", "a probe waits two round trips" },
				 { "retransmit", "the probe leaves as a resend" }),
	.parameters_size = sizeof(struct tail_probe_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(tail_probe, delay_ns, "delay", TIME, "25ms", "0ms", "1s",
			     "longest delay of the peer's ack of a single segment")),
	.shared = NOPAL_SHARED([TAIL_PROBE_SMOOTHED] = { "smoothed_rtt_ns", NOPAL_READ, 0,
							 "a round trip" }),
	.timers = NOPAL_TIMERS([TAIL_PROBE_DUE] = { "due", tail_probe_when_due }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SEND_SEGMENT, tail_probe_on_send),
		NOPAL_ON(SEGMENT_RECEIVED, tail_probe_on_received),
		NOPAL_ON(ACK_PROCESSED, tail_probe_on_processed, .after = "loss_detection")),
	.raises = NOPAL_RAISES("SEGMENT_RESEND", "CONGESTION_MARKED"),
	.state_size = sizeof(struct tail_probe),
};
