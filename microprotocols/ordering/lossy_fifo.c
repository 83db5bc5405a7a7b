/* SPDX-License-Identifier: MIT */
/*
 * lossy_fifo -- deliver in order, and wait a bounded time for missing messages.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.E.
 * Differs:   a gap costs at most `delay` from the arrival of the first message
 *            behind it; waiting messages are bounded, and delivered when the peer closes.
 */
#include <nopal/microprotocol.h>

struct lossy_fifo_parameters {
	int64_t delay_ns;
	int64_t waiting;
};

enum { LOSSY_FIFO_FIRST, LOSSY_FIFO_NEXT };		    /* attributes */
enum { LOSSY_FIFO_PLAYOUT_DELAY, LOSSY_FIFO_INITIAL_PEER }; /* shared */
enum { LOSSY_FIFO_TIMED_OUT };				    /* timers */

struct lossy_fifo_early {
	uint64_t first, next; /* the numbers that it covers */
	int64_t due_ns;	      /* it goes then, whatever is missing */
	struct nopal_handle message;
};

struct lossy_fifo {
	uint64_t expected; /* every number below was delivered or skipped */
	uint32_t head, count;
	struct lossy_fifo_early *ring; /* by number; allocated on first use */
};

static struct lossy_fifo_early *lossy_fifo_at(struct nopal_at at, struct lossy_fifo *self,
					      uint32_t place)
{
	const struct lossy_fifo_parameters *set = nopal_parameters(at);

	return &self->ring[(self->head + place) % (uint32_t)set->waiting];
}

/* Delivers from the front all messages below `number`, and those that follow without a gap.  All is
 * settled before each release: a delivery may come back to this session. */
static void lossy_fifo_deliver_below(struct nopal_at at, uint64_t number)
{
	const struct lossy_fifo_parameters *set = nopal_parameters(at);
	struct lossy_fifo *self = nopal_state(at);

	while (self->count) {
		struct lossy_fifo_early early = *lossy_fifo_at(at, self, 0);
		struct nopal_message *message;

		if (early.first >= number && early.first > self->expected)
			break;
		message = nopal_message_find(at.session, early.message);
		self->head = (self->head + 1) % (uint32_t)set->waiting;
		self->count--;
		if (early.first < self->expected) { /* it overlaps earlier ones */
			if (message)
				nopal_message_discard(at.session, message);
			continue;
		}
		self->expected = early.next;
		if (message)
			nopal_message_release(at, message);
	}
}

/* Puts a message in its place, most often the last; false: one with the same number waits already,
 * or there is no memory.  The timer stands at the earliest due time or before it: deliveries in the
 * meantime cost one expiry too many at most. */
static bool lossy_fifo_keep(struct nopal_at at, const struct lossy_fifo_early *early)
{
	const struct lossy_fifo_parameters *set = nopal_parameters(at);
	struct lossy_fifo *self = nopal_state(at);
	uint32_t place = self->count, last = place;

	if (!self->ring)
		self->ring = nopal_alloc(at.session, (size_t)set->waiting * sizeof(*self->ring));
	if (!self->ring)
		return false;
	while (place && lossy_fifo_at(at, self, place - 1)->first > early->first)
		place--;
	if (place && lossy_fifo_at(at, self, place - 1)->first == early->first)
		return false;
	for (self->count++; last > place; last--)
		*lossy_fifo_at(at, self, last) = *lossy_fifo_at(at, self, last - 1);
	*lossy_fifo_at(at, self, place) = *early;
	if (!nopal_timer_running(at, LOSSY_FIFO_TIMED_OUT))
		nopal_timer_start(at, LOSSY_FIFO_TIMED_OUT, early->due_ns);
	return true;
}

static void lossy_fifo_when_timed_out(struct nopal_at at)
{
	struct lossy_fifo *self = nopal_state(at);
	uint64_t timed_out = 0; /* one past the highest timed out number */
	int64_t next_ns = NOPAL_NEVER;

	for (uint32_t place = 0; place < self->count; place++)
		if (lossy_fifo_at(at, self, place)->due_ns <= at.session->now_ns)
			timed_out = lossy_fifo_at(at, self, place)->next;
	lossy_fifo_deliver_below(at, timed_out);
	for (uint32_t place = 0; place < self->count; place++) {
		int64_t due_ns = lossy_fifo_at(at, self, place)->due_ns;

		if (due_ns < next_ns)
			next_ns = due_ns;
	}
	if (next_ns != NOPAL_NEVER)
		nopal_timer_start(at, LOSSY_FIFO_TIMED_OUT, next_ns);
}

static enum nopal_verdict lossy_fifo_on_opened(struct nopal_at at, struct nopal_session *subject)
{
	struct lossy_fifo *self = nopal_state(at);

	(void)subject;
	self->expected = (uint64_t)nopal_shared_get(at, LOSSY_FIFO_INITIAL_PEER);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict lossy_fifo_on_msg_from_net(struct nopal_at at,
						     struct nopal_message *message)
{
	const struct lossy_fifo_parameters *set = nopal_parameters(at);
	struct lossy_fifo *self = nopal_state(at);
	struct lossy_fifo_early early = {
		.first = nopal_get(at, message, LOSSY_FIFO_FIRST),
		.next = nopal_get(at, message, LOSSY_FIFO_NEXT),
		.due_ns = at.session->now_ns + set->delay_ns,
		.message = message->handle,
	};
	bool is_sound = early.next > early.first;

	if (self->count == set->waiting) /* full: give up the first gap */
		lossy_fifo_deliver_below(at, lossy_fifo_at(at, self, 0)->next);
	if (is_sound && early.first == self->expected) {
		self->expected = early.next;
		nopal_message_release(at, message);
		lossy_fifo_deliver_below(at, 0);
		return NOPAL_CONTINUE;
	}
	if (is_sound && early.first > self->expected && lossy_fifo_keep(at, &early))
		return NOPAL_CONTINUE;
	nopal_message_discard(at.session, message);
	return NOPAL_STOP;
}

static enum nopal_verdict lossy_fifo_on_peer_closed(struct nopal_at at,
						    struct nopal_session *subject)
{
	(void)subject;
	lossy_fifo_deliver_below(at, UINT64_MAX);
	return NOPAL_CONTINUE;
}

static int lossy_fifo_open(struct nopal_at at)
{
	const struct lossy_fifo_parameters *set = nopal_parameters(at);

	nopal_shared_set(at, LOSSY_FIFO_PLAYOUT_DELAY, set->delay_ns);
	return 0;
}

static void lossy_fifo_idle(struct nopal_at at)
{
	struct lossy_fifo *self = nopal_state(at);

	if (self->count)
		return;
	nopal_free(at.session, self->ring);
	self->ring = NULL;
}

const struct nopal_microprotocol nopal_lossy_fifo = {
	NOPAL_DESCRIBE(lossy_fifo, ordering,
		       "deliver in order, and wait a bounded time for missing messages"),
	.provides = NOPAL_ROLES({ "order", true }, { "lossy_order" }),
	.needs = NOPAL_RELATIONS(
		{ "message_numbers|segment_numbers", "numbers say which message comes next" }),
	.excludes = NOPAL_RELATIONS({ "reliability", "a resent message would be skipped anyway" }),
	.promises = NOPAL_PROMISES(
		{ NOPAL_ORDER, NOPAL_ORDERING, NOPAL_GIVES, NOPAL_FORWARD | NOPAL_BY_TAG,
		  "a message that comes after its successors is dropped" },
		{ NOPAL_DELIVERY, NOPAL_TIMING, NOPAL_LOWERS, NOPAL_IN_TIME,
		  "a message that comes after its successors is dropped", .bound = "delay" },
		{ NOPAL_LATENESS, NOPAL_TIMING, NOPAL_GIVES, NOPAL_LATE_DROPPED,
		  "a gap is waited for so long", .bound = "delay" }),
	.parameters_size = sizeof(struct lossy_fifo_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(lossy_fifo, delay_ns, "delay", TIME, "100ms", "0ms", "5s",
			     "how long a message waits for its predecessors"),
		NOPAL_NUMBER(lossy_fifo, waiting, "waiting", COUNT, "1024", "1", "65536",
			     "messages that may wait")),
	.attributes = NOPAL_ATTRIBUTES([LOSSY_FIFO_FIRST] = { "order_first", NOPAL_READ },
				       [LOSSY_FIFO_NEXT] = { "order_next", NOPAL_READ }),
	.shared = NOPAL_SHARED([LOSSY_FIFO_PLAYOUT_DELAY] = { "playout_delay_ns", NOPAL_WRITE, 0,
							      "the parameter delay" },
			       [LOSSY_FIFO_INITIAL_PEER] = { "initial_peer", NOPAL_READ_OPTIONAL, 1,
							     "number of the first message" }),
	.holds = NOPAL_HOLDS({ "predecessors were delivered, or the delay has passed",
			       NOPAL_DELIVER, NOPAL_DATA }),
	.timers = NOPAL_TIMERS([LOSSY_FIFO_TIMED_OUT] = { "timed_out", lossy_fifo_when_timed_out }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(SESSION_OPENED, lossy_fifo_on_opened),
				   NOPAL_ON(MSG_FROM_NET, lossy_fifo_on_msg_from_net),
				   NOPAL_ON(PEER_CLOSED, lossy_fifo_on_peer_closed)),
	.state_size = sizeof(struct lossy_fifo),
	.idle = lossy_fifo_idle,
	.open = lossy_fifo_open,
};
