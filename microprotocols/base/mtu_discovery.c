/* SPDX-License-Identifier: MIT */
/*
 * mtu_discovery -- find the longest datagram that the path takes.
 *
 *   asleep --data leave--> searching --nothing left to try--> found
 *     ^                        ^                                |
 *     |                        +---- `raise` passed, data left -+
 *     +---------------------- `raise` passed, and nothing left -+
 *
 * A probe is a control segment of the length that is tried, and the peer answers it.  Segments are
 * cut for what is known to pass: at first what an IP packet of 1200 bytes holds, or what earlier
 * sessions found, and that is tried at once.  Lengths are tried in this order: Ethernet's, the
 * composition's longest, the middle of the usual ones in question, then the middle of the rest,
 * until the interval in question is small.  A search that is not the first tries the present length
 * once more before it tries others.
 *
 * After a report of the network (ICMP) the search starts from the floor, with the length reported.
 *
 * Paper:     RFC 8899 (DPLPMTUD); RFC 4821.
 * Differs:   a probe waits for the timeout of the round trip, where it is known,
 *            and not for a second at least.  There is no state of errors: segments
 *            that prove longer than the path takes leave in fragments of IP.
 * Wire:      mtu_probe: zeros; mtu_probe_ack: the length of the probe's body, 2.
 */
#include <string.h>

#include <nopal/microprotocol.h>

struct mtu_discovery_parameters {
	int64_t probes, black_hole, raise_ns;
};

enum { MTU_DISCOVERY_PROBE, MTU_DISCOVERY_ANSWER }; /* kinds */
enum {
	MTU_DISCOVERY_TIMEOUT,
	MTU_DISCOVERY_KNOWN,
	MTU_DISCOVERY_FOUND_LIMIT,
};			      /* shared variables */
enum { MTU_DISCOVERY_CLOCK }; /* timers */

enum {
	MTU_DISCOVERY_ANSWER_BYTES = 2,
	MTU_DISCOVERY_IP_BYTES = 28, /* IPv4 and UDP headers */
	MTU_DISCOVERY_ETHERNET = 1500 - MTU_DISCOVERY_IP_BYTES,
	MTU_DISCOVERY_PART = 64, /* of the length that passes: a small interval */
};

/* Packets of IP, as links and tunnels have them: RFC 8200; IPv6 on the others takes 20 bytes more;
 * WireGuard, VXLAN, GRE, IP in IP, PPPoE, Ethernet; FDDI; jumbo frames. */
static const uint16_t mtu_discovery_usual[] = { 1260, 1280, 1400, 1420, 1450, 1472, 1476,
						1480, 1492, 1500, 4352, 8980, 9000 };

enum mtu_discovery_is {
	MTU_DISCOVERY_ASLEEP,
	MTU_DISCOVERY_SEARCHING,
	MTU_DISCOVERY_FOUND,
};

struct mtu_discovery {
	uint8_t is;	 /* enum mtu_discovery_is */
	bool used;	 /* data left since it was found */
	uint16_t tries;	 /* of the probe under way */
	uint16_t trying; /* UDP payload of that probe */
	uint16_t floor;	 /* the length that passes everywhere */
	uint16_t good;	 /* the longest that passes here; no less than the floor */
	uint32_t bad;	 /* the shortest that does not; one more than the most: unknown */
	uint32_t lost;	 /* long segments in a row */
};

/* The length to try: of the usual ones in question the middle one, or else the middle.  0: the
 * longest is found. */
static uint32_t mtu_discovery_next(const struct mtu_discovery *self, uint32_t max)
{
	const unsigned all = sizeof(mtu_discovery_usual) / sizeof(*mtu_discovery_usual);
	uint32_t good = self->good, bad = self->bad;
	unsigned from = 0, to;

	if (good < MTU_DISCOVERY_ETHERNET && MTU_DISCOVERY_ETHERNET < bad)
		return MTU_DISCOVERY_ETHERNET;
	if (bad > max)
		return good < max ? max : 0;
	while (from < all && mtu_discovery_usual[from] <= good + MTU_DISCOVERY_IP_BYTES)
		from++;
	for (to = from; to < all && mtu_discovery_usual[to] < bad + MTU_DISCOVERY_IP_BYTES;)
		to++;
	if (from < to)
		return mtu_discovery_usual[(from + to) / 2] - MTU_DISCOVERY_IP_BYTES;
	return bad - good > good / MTU_DISCOVERY_PART ? (good + bad) / 2 : 0;
}

/* ----------------------------------------------------------------- probing */

/* Header and trailer of a probe. */
static uint32_t mtu_discovery_overhead(struct nopal_at at)
{
	return nopal_path_limit(at.session) - nopal_control_limit(at, MTU_DISCOVERY_PROBE);
}

static void mtu_discovery_probe(struct nopal_at at)
{
	struct mtu_discovery *self = nopal_state(at);
	uint32_t length = self->trying - mtu_discovery_overhead(at);
	uint8_t *bytes;
	struct nopal_segment *segment = nopal_control_new(at, MTU_DISCOVERY_PROBE, length, &bytes);

	self->tries++;
	nopal_timer_start(at, MTU_DISCOVERY_CLOCK,
			  at.session->now_ns + nopal_shared_get(at, MTU_DISCOVERY_TIMEOUT));
	if (!segment)
		return;
	memset(bytes, 0, length);
	nopal_control_send(at.session, segment, length);
}

static void mtu_discovery_try(struct nopal_at at, uint32_t length)
{
	struct mtu_discovery *self = nopal_state(at);

	self->is = MTU_DISCOVERY_SEARCHING;
	self->trying = (uint16_t)length;
	self->tries = 0;
	mtu_discovery_probe(at);
}

static void mtu_discovery_go_on(struct nopal_at at)
{
	const struct mtu_discovery_parameters *set = nopal_parameters(at);
	struct mtu_discovery *self = nopal_state(at);
	uint32_t next = mtu_discovery_next(self, nopal_path_max(at.session));

	if (next) {
		mtu_discovery_try(at, next);
		return;
	}
	self->is = MTU_DISCOVERY_FOUND;
	self->used = false;
	nopal_timer_start(at, MTU_DISCOVERY_CLOCK, at.session->now_ns + set->raise_ns);
}

/* From the start, with the length `first` where that is above the floor.  Rare beside the packets
 * that pass: not in the middle of what they run through. */
static __attribute__((noinline)) void mtu_discovery_search(struct nopal_at at, uint32_t first)
{
	struct mtu_discovery *self = nopal_state(at);

	self->bad = nopal_path_max(at.session) + 1;
	if (first > self->floor)
		mtu_discovery_try(at, first);
	else
		mtu_discovery_go_on(at);
}

static void mtu_discovery_set(struct nopal_at at, uint32_t length)
{
	struct mtu_discovery *self = nopal_state(at);

	self->good = (uint16_t)length;
	self->lost = 0;
	nopal_path_limit_set(at.session, length);
	nopal_shared_set(at, MTU_DISCOVERY_FOUND_LIMIT, length);
}

/* The probe is given up: of this length, or of the one that passed before. */
static void mtu_discovery_failed(struct nopal_at at)
{
	struct mtu_discovery *self = nopal_state(at);

	if (self->trying <= self->good)
		mtu_discovery_set(at, self->floor);
	self->bad = self->trying;
	mtu_discovery_go_on(at);
}

static void mtu_discovery_when_due(struct nopal_at at)
{
	const struct mtu_discovery_parameters *set = nopal_parameters(at);
	struct mtu_discovery *self = nopal_state(at);

	if (self->is == MTU_DISCOVERY_FOUND && !self->used)
		self->is = MTU_DISCOVERY_ASLEEP;
	else if (self->is == MTU_DISCOVERY_FOUND)
		mtu_discovery_search(at, self->good);
	else if (self->tries < set->probes)
		mtu_discovery_probe(at);
	else
		mtu_discovery_failed(at);
}

/* The length of earlier sessions; the first search shows whether it still passes. */
static enum nopal_verdict mtu_discovery_on_open_session(struct nopal_at at,
							struct nopal_session *subject)
{
	struct mtu_discovery *self = nopal_state(at);
	int64_t known = nopal_shared_get(at, MTU_DISCOVERY_KNOWN);

	(void)subject;
	if (known <= self->floor)
		return NOPAL_CONTINUE;
	nopal_path_limit_set(at.session, (uint32_t)known);
	self->good = (uint16_t)nopal_path_limit(at.session);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict mtu_discovery_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct mtu_discovery *self = nopal_state(at);

	(void)segment;
	self->used = true;
	if (self->is == MTU_DISCOVERY_ASLEEP)
		mtu_discovery_search(at, self->good);
	return NOPAL_CONTINUE;
}

/* ----------------------------------------------------------------- answers */

static enum nopal_verdict mtu_discovery_on_probe(struct nopal_at at, struct nopal_segment *segment)
{
	struct nopal_writer writer;
	struct nopal_segment *answer =
		nopal_control_begin(at, MTU_DISCOVERY_ANSWER, MTU_DISCOVERY_ANSWER_BYTES, &writer);

	if (!answer)
		return NOPAL_STOP;
	nopal_write(&writer, segment->body.length, MTU_DISCOVERY_ANSWER_BYTES);
	nopal_control_send(at.session, answer, MTU_DISCOVERY_ANSWER_BYTES);
	return NOPAL_STOP;
}

static enum nopal_verdict mtu_discovery_on_answer(struct nopal_at at, struct nopal_segment *segment)
{
	struct mtu_discovery *self = nopal_state(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t length = nopal_read(&reader, MTU_DISCOVERY_ANSWER_BYTES);

	if (!nopal_read_complete(&reader) || self->is != MTU_DISCOVERY_SEARCHING ||
	    length + mtu_discovery_overhead(at) != self->trying)
		return NOPAL_STOP;
	mtu_discovery_set(at, self->trying);
	mtu_discovery_go_on(at);
	return NOPAL_STOP;
}

/* ------------------------------------------------------------- black holes */

/* Longer than the floor, and no longer than the path is thought to take: segments cut for a longer
 * one leave in fragments. */
static bool mtu_discovery_is_long(const struct nopal_session *session,
				  const struct mtu_discovery *self,
				  const struct nopal_segment *segment)
{
	uint32_t length = segment->body.length + nopal_path_max(session) - nopal_body_max(session);

	return length > self->floor && length <= self->good;
}

static enum nopal_verdict mtu_discovery_on_received(struct nopal_at at,
						    struct nopal_segment *segment)
{
	struct mtu_discovery *self = nopal_state(at);

	if (self->lost && mtu_discovery_is_long(at.session, self, segment))
		self->lost = 0;
	return NOPAL_CONTINUE;
}

static enum nopal_verdict mtu_discovery_on_missing(struct nopal_at at,
						   struct nopal_segment *segment)
{
	const struct mtu_discovery_parameters *set = nopal_parameters(at);
	struct mtu_discovery *self = nopal_state(at);

	if (!mtu_discovery_is_long(at.session, self, segment) || ++self->lost < set->black_hole)
		return NOPAL_CONTINUE;
	mtu_discovery_set(at, self->floor);
	mtu_discovery_search(at, self->good);
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------ reports of the network */

/* A report may be forged: nothing is believed below the floor, and the length reported is probed.
 * A probe that was too long need not wait for its timeout. */
static enum nopal_verdict mtu_discovery_on_narrowed(struct nopal_at at,
						    struct nopal_session *subject)
{
	struct mtu_discovery *self = nopal_state(at);
	uint32_t hint = nopal_path_hint(at.session);

	(void)subject;
	if (hint >= self->good && self->is == MTU_DISCOVERY_SEARCHING && self->trying > hint) {
		mtu_discovery_failed(at);
	} else if (hint < self->good && self->good > self->floor) {
		mtu_discovery_set(at, self->floor);
		mtu_discovery_search(at, hint);
	}
	return NOPAL_CONTINUE;
}

static int mtu_discovery_open(struct nopal_at at)
{
	struct mtu_discovery *self = nopal_state(at);

	nopal_path_limit_set(at.session, 0);
	self->floor = self->good = (uint16_t)nopal_path_limit(at.session);
	return 0;
}

const struct nopal_microprotocol nopal_mtu_discovery = {
	NOPAL_DESCRIBE(mtu_discovery, base, "find the longest datagram that the path takes"),
	.provides = NOPAL_ROLES({ "path_limit", true }),
	.needs = NOPAL_RELATIONS({ "network", "the longest datagram is that of a path" }),
	.parameters_size = sizeof(struct mtu_discovery_parameters),
	.parameters = NOPAL_PARAMETERS(
		/* RFC 8899, section 5.1.2: MAX_PROBES */
		NOPAL_NUMBER(mtu_discovery, probes, "probes", COUNT, "3", "1", "100",
			     "of one length, before it is given up"),
		NOPAL_NUMBER(
			mtu_discovery, black_hole, "black_hole", COUNT, "6", "1", "1000",
			"long segments that are lost in a row before the path is taken for shorter"),
		/* RFC 8899, section 5.1.1: PMTU_RAISE_TIMER */
		NOPAL_NUMBER(mtu_discovery, raise_ns, "raise", TIME, "10min", "1s", "24h",
			     "until a longer one is tried again")),
	.kinds = NOPAL_KINDS([MTU_DISCOVERY_PROBE] = { "mtu_probe", NOPAL_KIND_CONTROL,
						       "as long as the datagram that is tried" },
			     [MTU_DISCOVERY_ANSWER] = { "mtu_probe_ack", NOPAL_KIND_CONTROL,
							"a probe of this length arrived" }),
	.shared = NOPAL_SHARED(
		[MTU_DISCOVERY_TIMEOUT] = { "timeout_ns", NOPAL_READ_OPTIONAL, NOPAL_SECOND,
					    "how long a probe waits" },
		[MTU_DISCOVERY_KNOWN] = { "known_limit_bytes", NOPAL_READ_OPTIONAL, 0,
					  "of earlier sessions" },
		[MTU_DISCOVERY_FOUND_LIMIT] = { "found_limit_bytes", NOPAL_WRITE, 0,
						"the longest datagram that passed; 0: none did yet" }),
	.timers = NOPAL_TIMERS([MTU_DISCOVERY_CLOCK] = { "clock", mtu_discovery_when_due }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(OPEN_SESSION, mtu_discovery_on_open_session, .before = "connection"),
		NOPAL_ON(SEND_SEGMENT, mtu_discovery_on_send),
		NOPAL_ON_OWN(MTU_DISCOVERY_PROBE, mtu_discovery_on_probe),
		NOPAL_ON_OWN(MTU_DISCOVERY_ANSWER, mtu_discovery_on_answer),
		NOPAL_ON(SEGMENT_RECEIVED, mtu_discovery_on_received),
		NOPAL_ON(SEGMENT_TIMEOUT, mtu_discovery_on_missing),
		NOPAL_ON(SEGMENT_LOST, mtu_discovery_on_missing),
		NOPAL_ON(PATH_NARROWED, mtu_discovery_on_narrowed)),
	.state_size = sizeof(struct mtu_discovery),
	.open = mtu_discovery_open,
};
