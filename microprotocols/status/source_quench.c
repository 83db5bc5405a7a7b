/* SPDX-License-Identifier: MIT */
/*
 * source_quench -- a receiver that holds too much asks the sender for less.
 *
 * While the receiver holds more than the mark (whole messages that arrived and were not consumed),
 * each arrival is answered by a quench, at most one a round trip.  At the sender each is a mark of
 * congestion: policies reduce as for a loss, and nothing has to be lost for it.  A quench only
 * asks: that nothing overflows is the matter of flow control.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.D (b): policies by ICMP
 *            source quench; RFC 792, source quench.
 * Differs:   comes from the receiver, before anything is dropped; no gateway can
 *            say it (RFC 6633).
 * Wire:      quench: its number, 4.
 */
#include "../base/held.h"
#include "../flow/flow_number.h"

enum { SOURCE_QUENCH_SMOOTHED }; /* shared variables */
enum { SOURCE_QUENCH_QUENCH };	 /* kinds */

struct source_quench_parameters {
	int64_t mark, interval_ns;
};

struct source_quench {
	struct held held;
	int64_t next_ns; /* no quench before */
	uint32_t sent;	 /* quenches; the number of the last */
	uint32_t heard;	 /* the largest number */
	bool arrived;	 /* something did in this turn */
};

/* A quench that comes twice or late was heeded already. */
static enum nopal_verdict source_quench_on_quench(struct nopal_at at, struct nopal_segment *segment)
{
	struct source_quench *self = nopal_state(at);
	uint32_t number;

	if (!flow_number_low(segment, &number) || !flow_number_is_newer(number, self->heard))
		return NOPAL_CONTINUE;
	self->heard = number;
	nopal_raise_CONGESTION_MARKED(at.session, at.session);
	return NOPAL_CONTINUE;
}

/* ----------------------------------------------------------- the receiver */

static enum nopal_verdict source_quench_on_verified(struct nopal_at at,
						    struct nopal_segment *segment)
{
	struct source_quench *self = nopal_state(at);

	(void)segment;
	self->arrived = true;
	return NOPAL_CONTINUE;
}

static enum nopal_verdict source_quench_on_turn_end(struct nopal_at at,
						    struct nopal_session *subject)
{
	const struct source_quench_parameters *set = nopal_parameters(at);
	struct source_quench *self = nopal_state(at);
	int64_t rtt_ns = nopal_shared_get(at, SOURCE_QUENCH_SMOOTHED);
	bool arrived = self->arrived;

	(void)subject;
	self->arrived = false;
	if (!arrived || self->held.bytes <= set->mark || at.session->now_ns < self->next_ns ||
	    !nopal_session_is_open(at.session))
		return NOPAL_CONTINUE;
	if (flow_number_say(at, SOURCE_QUENCH_QUENCH, self->sent + 1)) {
		self->sent++;
		self->next_ns = at.session->now_ns + (rtt_ns ? rtt_ns : set->interval_ns);
	}
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_source_quench = {
	NOPAL_DESCRIBE(source_quench, status,
		       "a receiver that holds too much asks the sender for less"),
	.provides = NOPAL_ROLES({ "congestion_marks" }),
	.needs = NOPAL_RELATIONS({ "congestion_policy", "a policy has to reduce" }),
	.parameters_size = sizeof(struct source_quench_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(source_quench, mark, "mark", SIZE, "1MiB", "1KiB", "1GiB",
			     "bytes held, above which it quenches"),
		NOPAL_NUMBER(source_quench, interval_ns, "interval", TIME, "100ms", "1ms", "10s",
			     "between quenches, where no round trip is known")),
	.attributes = NOPAL_ATTRIBUTES([HELD_CHARGE] = { "quench_charge", NOPAL_WRITE,
							 "bytes that the message holds" }),
	.shared = NOPAL_SHARED([SOURCE_QUENCH_SMOOTHED] = { "smoothed_rtt_ns", NOPAL_READ_OPTIONAL,
							    0, "a round trip" }),
	.kinds = NOPAL_KINDS([SOURCE_QUENCH_QUENCH] = { "quench", NOPAL_KIND_CONTROL,
							"asks for less" }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON_OWN(SOURCE_QUENCH_QUENCH, source_quench_on_quench),
		NOPAL_ON(SEGMENT_VERIFIED, source_quench_on_verified, .before = "message_segments"),
		HELD_BINDINGS, NOPAL_ON(TURN_END, source_quench_on_turn_end)),
	.raises = NOPAL_RAISES("CONGESTION_MARKED"),
	.state_size = sizeof(struct source_quench),
};
