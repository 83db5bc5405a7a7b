/* SPDX-License-Identifier: MIT */
/* estimator -- round-trip estimate, the timeout by it, and its timer */
#include <nopal/microprotocol.h>

enum { ESTIMATOR_TIMEOUT }; /* its shared variables */
enum { ESTIMATOR_DUE };	    /* its timers */

#define ESTIMATOR_FIRST_NS (500 * NOPAL_MILLISECOND)
#define ESTIMATOR_LIMIT_NS (2 * NOPAL_SECOND)
enum { ESTIMATOR_ALPHA = 8, ESTIMATOR_BETA = 4, ESTIMATOR_DEVIATIONS = 4 };

struct estimator {
	bool sampled;
	int64_t estimate_ns, deviation_ns;
	struct nopal_handle away; /* the segment that the timer is for */
};

static void estimator_set_timeout(struct nopal_at at, int64_t timeout_ns)
{
	nopal_shared_set(at, ESTIMATOR_TIMEOUT,
			 timeout_ns < ESTIMATOR_LIMIT_NS ? timeout_ns : ESTIMATOR_LIMIT_NS);
}

static void estimator_take(struct nopal_at at, int64_t sample_ns)
{
	struct estimator *self = nopal_state(at);
	int64_t error_ns;

	if (!self->sampled) {
		self->sampled = true;
		self->estimate_ns = sample_ns;
		self->deviation_ns = sample_ns / 2;
	} else {
		self->estimate_ns += (sample_ns - self->estimate_ns) / ESTIMATOR_ALPHA;
		error_ns = sample_ns - self->estimate_ns;
		if (error_ns < 0)
			error_ns = -error_ns;
		self->deviation_ns += (error_ns - self->deviation_ns) / ESTIMATOR_BETA;
	}
	estimator_set_timeout(at, self->estimate_ns + ESTIMATOR_DEVIATIONS * self->deviation_ns);
}

static enum nopal_verdict estimator_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct estimator *self = nopal_state(at);

	self->away = segment->handle;
	nopal_timer_start(at, ESTIMATOR_DUE,
			  at.session->now_ns + nopal_shared_get(at, ESTIMATOR_TIMEOUT));
	return NOPAL_CONTINUE;
}

static enum nopal_verdict estimator_on_received(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_timer_stop(at, ESTIMATOR_DUE);
	if (segment->transmissions == 1)
		estimator_take(at, at.session->now_ns - segment->transmitted_ns);
	return NOPAL_CONTINUE;
}

static void estimator_when_due(struct nopal_at at)
{
	struct estimator *self = nopal_state(at);
	struct nopal_segment *segment = nopal_segment_find(at.session, self->away);

	if (!segment)
		return;
	estimator_set_timeout(at, 2 * nopal_shared_get(at, ESTIMATOR_TIMEOUT));
	nopal_segment_settle(at.session, segment);
	nopal_raise_SEGMENT_TIMEOUT(at.session, segment);
}

static int estimator_open(struct nopal_at at)
{
	estimator_set_timeout(at, ESTIMATOR_FIRST_NS);
	return 0;
}

const struct nopal_microprotocol nopal_estimator = {
	NOPAL_DESCRIBE(estimator, labs, "round-trip estimate, the timeout by it, and its timer"),
	.provides = NOPAL_ROLES({ "rtt", true }, { "retransmission_timer", true }),
	.needs = NOPAL_RELATIONS(
		{ "acknowledgement", "acks are its samples, and end its waits", NULL }),
	.shared = NOPAL_SHARED([ESTIMATOR_TIMEOUT] = { "timeout_ns", NOPAL_WRITE, 0,
						       "longest wait for an ack" }),
	.timers = NOPAL_TIMERS([ESTIMATOR_DUE] = { "due", estimator_when_due }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(SEND_SEGMENT, estimator_on_send),
				   NOPAL_ON(SEGMENT_RECEIVED, estimator_on_received)),
	.raises = NOPAL_RAISES("SEGMENT_TIMEOUT"),
	.state_size = sizeof(struct estimator),
	.open = estimator_open,
};
