/* SPDX-License-Identifier: MIT */
/*
 * path_memory -- measurements of earlier sessions, for a session to begin with.
 *
 * A session begins better with the findings of the last one between the same two hosts than with a
 * guess: how long to wait for an answer, how much the network takes, how long a datagram may be.
 * At the end of a session its measurements are kept by its world; at the opening of the next they
 * are offered as shared variables, which hold 0 where nothing is known.
 *
 * The bandwidth is the largest rate of delivery over a round trip, by our own clock and the bytes
 * acknowledged, whichever part controls congestion.  It makes the known one larger, and smaller
 * only where the session lost something or was told of congestion: a session that sent little did
 * not see how much the path takes.
 *
 * Paper:     Gu and Grossman, UDTv4, section 2.4 (connection record index); Touch,
 *            Welzl, Islam, TCP control block interdependence, RFC 9040 (temporal
 *            sharing).
 * Differs:   of UDT: what a peer remembers is not taken from it.  The first window is half of what
 *            the path took in a round trip, halved again for every `half_life` since, and never
 *            above `window_max`; the rate is that window in that round trip.  After a peer that
 *            vanished, nothing is known of the bandwidth.  Its variables are written before
 *            OPEN_SESSION, and never after.
 */
#include <nopal/microprotocol.h>

enum {
	PATH_MEMORY_RTT,
	PATH_MEMORY_VARIANCE,
	PATH_MEMORY_WINDOW,
	PATH_MEMORY_RATE,
	PATH_MEMORY_LIMIT,
	PATH_MEMORY_SMOOTHED,
	PATH_MEMORY_DEVIATION,
	PATH_MEMORY_FOUND,
	PATH_MEMORY_APP_LIMITED,
};

enum {
	PATH_MEMORY_SHARE = 2,	 /* one part of what was: the first window */
	PATH_MEMORY_FADE = 8,	 /* one part a round of what is too much */
	PATH_MEMORY_SILENCE = 4, /* round trips that no round lasts */
	PATH_MEMORY_SHIFT_MAX = 62,
};

struct path_memory_parameters {
	int64_t window_max, half_life_ns, expire_ns;
};

struct path_memory {
	int64_t bandwidth_bps; /* the largest of late; 0: no round ended */
	/* the round under way: a round trip or a little more */
	int64_t began_ns;
	uint64_t bytes;
	bool limited; /* the application had nothing to send */
	bool busy;    /* some round was not limited */
	bool lost;    /* the path refused something */
};

/* A fact that is known and not too old; 0: none. */
static int64_t path_memory_recall(struct nopal_at at, enum nopal_path_fact fact,
				  int64_t *ret_age_ns)
{
	const struct path_memory_parameters *set = nopal_parameters(at);
	int64_t value;

	if (!nopal_path_recall(at.session, fact, &value, ret_age_ns) ||
	    *ret_age_ns > set->expire_ns)
		return 0;
	return value;
}

/* ------------------------------------------------------------- the bandwidth */

static void path_memory_begin_round(struct nopal_at at)
{
	struct path_memory *self = nopal_state(at);

	self->began_ns = at.session->now_ns;
	self->bytes = 0;
	self->limited = nopal_shared_get(at, PATH_MEMORY_APP_LIMITED);
}

static enum nopal_verdict path_memory_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct path_memory *self = nopal_state(at);
	int64_t rtt_ns = nopal_shared_get(at, PATH_MEMORY_SMOOTHED);
	int64_t elapsed_ns = at.session->now_ns - self->began_ns, rate_bps;

	if (rtt_ns <= 0)
		return NOPAL_CONTINUE;
	if (!self->began_ns || elapsed_ns / PATH_MEMORY_SILENCE > rtt_ns) {
		path_memory_begin_round(at);
		return NOPAL_CONTINUE;
	}
	self->bytes += ack->newly_acked_bytes;
	self->limited |= nopal_shared_get(at, PATH_MEMORY_APP_LIMITED) != 0;
	if (elapsed_ns < rtt_ns)
		return NOPAL_CONTINUE;
	rate_bps = (int64_t)nopal_rate_of(self->bytes, elapsed_ns);
	if (rate_bps > self->bandwidth_bps)
		self->bandwidth_bps = rate_bps;
	else if (!self->limited)
		self->bandwidth_bps -= (self->bandwidth_bps - rate_bps) / PATH_MEMORY_FADE;
	self->busy |= !self->limited;
	path_memory_begin_round(at);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict path_memory_on_missing(struct nopal_at at, struct nopal_segment *segment)
{
	struct path_memory *self = nopal_state(at);

	(void)segment;
	self->lost = true;
	return NOPAL_CONTINUE;
}

static enum nopal_verdict path_memory_on_marked(struct nopal_at at, struct nopal_session *subject)
{
	struct path_memory *self = nopal_state(at);

	(void)subject;
	self->lost = true;
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------------------ the end */

/* A value fades by its age. */
static int64_t path_memory_aged(const struct path_memory_parameters *set, int64_t value,
				int64_t age_ns)
{
	int64_t halvings = age_ns / set->half_life_ns;

	return halvings > PATH_MEMORY_SHIFT_MAX ? 0 : value >> halvings;
}

static void path_memory_remember_bandwidth(struct nopal_at at)
{
	const struct path_memory_parameters *set = nopal_parameters(at);
	const struct path_memory *self = nopal_state(at);
	int64_t age_ns = 0;
	int64_t before = path_memory_recall(at, NOPAL_PATH_BANDWIDTH_BPS, &age_ns);

	if (self->bandwidth_bps > path_memory_aged(set, before, age_ns) ||
	    (self->bandwidth_bps && self->busy && self->lost))
		nopal_path_remember(at.session, NOPAL_PATH_BANDWIDTH_BPS, self->bandwidth_bps);
}

/* All but the bandwidth; facts that were not measured stay as they were known. */
static void path_memory_remember(struct nopal_at at)
{
	int64_t rtt_ns = nopal_shared_get(at, PATH_MEMORY_SMOOTHED);
	int64_t limit = nopal_shared_get(at, PATH_MEMORY_FOUND);

	if (limit > 0)
		nopal_path_remember(at.session, NOPAL_PATH_LIMIT_BYTES, limit);
	if (rtt_ns <= 0)
		return;
	nopal_path_remember(at.session, NOPAL_PATH_RTT_NS, rtt_ns);
	nopal_path_remember(at.session, NOPAL_PATH_RTT_VARIANCE_NS,
			    nopal_shared_get(at, PATH_MEMORY_DEVIATION));
}

static enum nopal_verdict path_memory_on_closed(struct nopal_at at, struct nopal_session *subject)
{
	(void)subject;
	path_memory_remember(at);
	path_memory_remember_bandwidth(at);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict path_memory_on_broken(struct nopal_at at, struct nopal_failure *failure)
{
	path_memory_remember(at);
	if (failure->end == NOPAL_PEER_LOST || failure->end == NOPAL_GAVE_UP)
		nopal_path_remember(at.session, NOPAL_PATH_BANDWIDTH_BPS, 0);
	else
		path_memory_remember_bandwidth(at);
	return NOPAL_CONTINUE;
}

/* -------------------------------------------------------------- the opening */

static int path_memory_open(struct nopal_at at)
{
	const struct path_memory_parameters *set = nopal_parameters(at);
	int64_t age_ns = 0, bandwidth_bps, window;
	int64_t rtt_ns = path_memory_recall(at, NOPAL_PATH_RTT_NS, &age_ns);

	nopal_shared_set(at, PATH_MEMORY_RTT, rtt_ns);
	nopal_shared_set(at, PATH_MEMORY_VARIANCE,
			 path_memory_recall(at, NOPAL_PATH_RTT_VARIANCE_NS, &age_ns));
	nopal_shared_set(at, PATH_MEMORY_LIMIT,
			 path_memory_recall(at, NOPAL_PATH_LIMIT_BYTES, &age_ns));
	if (rtt_ns <= 0)
		return 0;
	age_ns = 0;
	bandwidth_bps = path_memory_recall(at, NOPAL_PATH_BANDWIDTH_BPS, &age_ns);
	bandwidth_bps = path_memory_aged(set, bandwidth_bps / PATH_MEMORY_SHARE, age_ns);
	window = (int64_t)nopal_rate_bytes((uint64_t)bandwidth_bps, rtt_ns);
	if (window > set->window_max)
		window = set->window_max;
	nopal_shared_set(at, PATH_MEMORY_WINDOW, window);
	nopal_shared_set(at, PATH_MEMORY_RATE, (int64_t)nopal_rate_of((uint64_t)window, rtt_ns));
	return 0;
}

static const struct nopal_shared path_memory_shared[] = {
	[PATH_MEMORY_RTT] = { "known_rtt_ns", NOPAL_WRITE, 0, "of earlier sessions; 0: not known" },
	[PATH_MEMORY_VARIANCE] = { "known_rtt_variance_ns", NOPAL_WRITE, 0,
				   "mean deviation of their samples" },
	[PATH_MEMORY_WINDOW] = { "known_window_bytes", NOPAL_WRITE, 0,
				 "the first window may be as large; 0: not known" },
	[PATH_MEMORY_RATE] = { "known_rate_bps", NOPAL_WRITE, 0, "the same in a round trip" },
	[PATH_MEMORY_LIMIT] = { "known_limit_bytes", NOPAL_WRITE, 0,
				"the longest datagram that passed; 0: not known" },
	[PATH_MEMORY_SMOOTHED] = { "smoothed_rtt_ns", NOPAL_READ_OPTIONAL, 0, "a round trip" },
	[PATH_MEMORY_DEVIATION] = { "rtt_variance_ns", NOPAL_READ_OPTIONAL, 0,
				    "its mean deviation" },
	[PATH_MEMORY_FOUND] = { "found_limit_bytes", NOPAL_READ_OPTIONAL, 0,
				"the longest datagram that passes" },
	[PATH_MEMORY_APP_LIMITED] = { "app_limited", NOPAL_READ_OPTIONAL, 0,
				      "1: the network takes more than there is" },
	{ 0 },
};

const struct nopal_microprotocol nopal_path_memory = {
	NOPAL_DESCRIBE(path_memory, status,
		       "measurements of earlier sessions, for a session to begin with"),
	.needs = NOPAL_RELATIONS({ "rtt|path_limit", "another part has to measure the path" }),
	.parameters_size = sizeof(struct path_memory_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(path_memory, window_max, "window_most", SIZE, "64seg", "1seg",
			     "1000seg", "the largest first window"),
		NOPAL_NUMBER(path_memory, half_life_ns, "half_life", TIME, "10min", "1s", "24h",
			     "age that halves the first window once more"),
		NOPAL_NUMBER(path_memory, expire_ns, "expire", TIME, "1h", "1s", "24h",
			     "facts that are older are not used")),
	.shared = path_memory_shared,
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SEGMENT_LOST, path_memory_on_missing, .kinds = NOPAL_CARRIED),
		NOPAL_ON(SEGMENT_TIMEOUT, path_memory_on_missing, .kinds = NOPAL_CARRIED),
		NOPAL_ON(CONGESTION_MARKED, path_memory_on_marked),
		NOPAL_ON(ACK_PROCESSED, path_memory_on_ack),
		NOPAL_ON(SESSION_CLOSED, path_memory_on_closed),
		NOPAL_ON(SESSION_BROKEN, path_memory_on_broken)),
	.state_size = sizeof(struct path_memory),
	.open = path_memory_open,
};
