/* SPDX-License-Identifier: MIT */
#include "session/endpoint_sessions.h"
#include "support/pair.h"
#include "support/test.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	MESSAGES = 40,
	INSTANTS = 50000,
	LONGEST = 6000,
	BURST = 8,
	ANSWER_BYTES = 40,
	ANSWERED = 4, /* one in so many */
	OPENER_PORT = 1000,
	ACCEPTOR_PORT = 2000,
	SPARSE_LONGEST = 100,
	LONG_MESSAGES = 90000, /* most are a block of redundancy */
	LONG_INSTANTS = 10000000,
};
#define GAP_NS	      (60 * NOPAL_MILLISECOND)
#define SPARSE_GAP_NS (600 * NOPAL_MILLISECOND)

static void mix(uint64_t *hash, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;

	*hash = (*hash ^ length) * UINT64_C(1099511628211);
	for (size_t i = 0; i < length; i++)
		*hash = (*hash ^ at[i]) * UINT64_C(1099511628211);
}

static uint64_t draw(struct pair *pair)
{
	pair->random ^= pair->random << 13;
	pair->random ^= pair->random >> 7;
	pair->random ^= pair->random << 17;
	return pair->random;
}

/* ------------------------------------------------------------------- sending */

static int push_one(struct pair *pair)
{
	uint8_t bytes[LONGEST];
	size_t length = 1 + draw(pair) % pair->longest;

	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)(pair->pushed * 31 + i * 7 + (i >> 8));
	return nopal_send(pair->session[PAIR_OPENER], bytes, length, pair->pushed);
}

static void push(void *user);

static void push_later(struct pair *pair)
{
	uint64_t max_ns = pair->run->sparse ? SPARSE_GAP_NS : GAP_NS;

	nopal_sim_at(pair->world, nopal_world_now(pair->world) + (int64_t)(draw(pair) % max_ns),
		     push, pair);
}

static void push(void *user)
{
	struct pair *pair = user;
	uint64_t left = pair->run->sparse ? 1 : 1 + draw(pair) % BURST;

	if (!pair->session[PAIR_OPENER])
		return;
	for (; left && pair->pushed < pair->messages; left--, pair->pushed++)
		if (push_one(pair) == -EAGAIN || !pair->session[PAIR_OPENER])
			break;
	if (!pair->session[PAIR_OPENER])
		return;
	if (pair->pushed == pair->messages)
		nopal_session_close(pair->session[PAIR_OPENER]);
	else
		push_later(pair);
}

/* ----------------------------------------------------------------- callbacks */

static int side_of(const struct nopal_session *session)
{
	return nopal__composite(session)->opener ? PAIR_OPENER : PAIR_ACCEPTOR;
}

static void *on_accepted(struct nopal_session *session, void *user)
{
	struct pair *pair = user;

	pair->session[PAIR_ACCEPTOR] = session;
	return pair;
}

static void on_opened(struct nopal_session *session, void *user)
{
	struct pair *pair = user;

	pair->seen->opened++;
	if (side_of(session) != PAIR_OPENER)
		return;
	pair->session[PAIR_OPENER] = session;
	push(pair);
}

static void on_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	struct pair *pair = user;
	struct pair_seen *seen = pair->seen;
	uint8_t bytes[LONGEST + ANSWER_BYTES];
	size_t length = nopal_message_copy(message, 0, bytes, sizeof(bytes));

	mix(&seen->deliveries, bytes, length);
	seen->delivered_bytes += length;
	if (++seen->delivered % ANSWERED == 0 && side_of(session) == PAIR_ACCEPTOR)
		nopal_send(session, bytes, length < ANSWER_BYTES ? length : ANSWER_BYTES, 0);
}

static void on_sent(struct nopal_session *session, uint64_t cookie, enum nopal_outcome outcome,
		    void *user)
{
	struct pair *pair = user;

	(void)session;
	mix(&pair->seen->deliveries, &cookie, sizeof(cookie));
	pair->seen->outcomes[outcome]++;
}

static void on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
		     void *user)
{
	struct pair *pair = user;
	int side = side_of(session);

	(void)text;
	if (pair->run->look)
		pair->run->look(pair, session);
	pair->seen->counters[side] = *nopal_session_counters(session);
	pair->seen->ended[side] = 1 + (uint32_t)end;
	pair->session[side] = NULL;
}

static const struct nopal_callbacks callbacks = {
	.accepted = on_accepted,
	.opened = on_opened,
	.received = on_received,
	.sent = on_sent,
	.ended = on_ended,
};

/* --------------------------------------------------------------------- world */

static void on_wire(void *user, int64_t now_ns, const struct nopal_address *from,
		    const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	struct pair *pair = user;

	(void)to;
	mix(&pair->seen->wire, &now_ns, sizeof(now_ns));
	mix(&pair->seen->wire, &from->port, sizeof(from->port));
	mix(&pair->seen->wire, bytes, length);
	pair->seen->datagrams++;
}

static void links(struct pair *pair, const char *words, bool change)
{
	struct nopal_link forward, reverse;
	struct nopal_problems problems = { 0 };

	assert_int_equal(nopal_link_parse(words, &forward, &reverse, &problems), 0);
	nopal_problems_fini(&problems);
	if (change) {
		nopal_sim_change(pair->world, 0, 1, &forward);
		nopal_sim_change(pair->world, 1, 0, &reverse);
	} else {
		nopal_sim_connect(pair->world, 0, 1, &forward, &reverse);
	}
}

static void calm(void *user)
{
	struct pair *pair = user;

	links(pair, pair->run->calm_link, true);
}

static void meddle(void *user)
{
	struct pair *pair = user;

	pair->run->meddle(pair);
}

static void build(struct pair *pair)
{
	const struct pair_run *run = pair->run;

	pair->world = nopal_sim_new(run->seed);
	nopal_trace_start(pair->world, NULL, NOPAL_TRACE_EVENTS);
	nopal_sim_host(pair->world);
	nopal_sim_host(pair->world);
	links(pair, run->link, false);
	nopal_sim_tap(pair->world, on_wire, pair);
	if (run->calm_link)
		nopal_sim_at(pair->world, run->calm_ns, calm, pair);
	if (run->meddle)
		nopal_sim_at(pair->world, run->meddle_ns, meddle, pair);
}

static void open_both(struct pair *pair)
{
	struct nopal_endpoint *from = nopal_sim_endpoint(pair->world, 0, OPENER_PORT);
	struct nopal_endpoint *to = nopal_sim_endpoint(pair->world, 1, ACCEPTOR_PORT);
	struct nopal_address peer;

	nopal_sim_address(1, ACCEPTOR_PORT, &peer);
	nopal_endpoint_allow(to, pair->run->plan, NOPAL_ALLOW_CONNECTIONLESS, &callbacks, pair);
	nopal_open(from, pair->run->plan, &peer, &callbacks, pair);
}

struct pair_run pair_run_over(const struct suite_network *network, uint64_t seed)
{
	return (struct pair_run){
		.link = network->link,
		.calm_link = network->calm_link,
		.calm_ns = network->calm_ns,
		.seed = seed,
	};
}

struct pair_run pair_long_run(void)
{
	return (struct pair_run){
		.link = "delay 20ms loss 20%",
		.seed = 1,
		.messages = LONG_MESSAGES,
		.sparse = true,
		.instants = LONG_INSTANTS,
	};
}

void pair_run(const struct pair_run *run, struct pair_seen *ret_seen)
{
	uint64_t limit = nopal_plan_info(run->plan)->message_limit;
	size_t longest = run->sparse ? SPARSE_LONGEST : LONGEST;
	uint32_t left = run->instants ? run->instants : INSTANTS;
	struct pair pair = {
		.run = run,
		.seen = ret_seen,
		.messages = run->messages ? run->messages : MESSAGES,
		.longest = limit < longest ? (size_t)limit : longest,
		.random = run->seed * 2 + 1,
	};

	memset(ret_seen, 0, sizeof(*ret_seen));
	build(&pair);
	open_both(&pair);
	while (left && nopal_sim_step(pair.world))
		left--;
	ret_seen->trace = nopal_trace_hash(pair.world);
	nopal_world_free(pair.world);
}

/* ---------------------------------------------------------------- comparison */

static char text[128];

static bool differs(const char *what, uint64_t a, uint64_t b)
{
	if (a != b)
		snprintf(text, sizeof(text), "%s: %" PRIu64 " and %" PRIu64, what, a, b);
	return a != b;
}

static bool counters_differ(const struct nopal_counters *a, const struct nopal_counters *b)
{
#define DIFFERS(name, doc)                                                                         \
	if (differs(#name, a->name, b->name))                                                      \
		return true;
	NOPAL_COUNTERS(DIFFERS)
#undef DIFFERS
	return false;
}

/* The difference that a person understands first comes first, the hash of all comes last. */
const char *pair_difference(const struct pair_seen *a, const struct pair_seen *b)
{
	if (differs("opened", a->opened, b->opened) ||
	    differs("delivered", a->delivered, b->delivered) ||
	    differs("bytes delivered", a->delivered_bytes, b->delivered_bytes) ||
	    counters_differ(&a->counters[PAIR_OPENER], &b->counters[PAIR_OPENER]) ||
	    counters_differ(&a->counters[PAIR_ACCEPTOR], &b->counters[PAIR_ACCEPTOR]))
		return text;
	for (int i = 0; i < PAIR_SIDES; i++)
		if (differs("end", a->ended[i], b->ended[i]))
			return text;
	for (int i = 0; i < 3; i++)
		if (differs("outcomes", a->outcomes[i], b->outcomes[i]))
			return text;
	if (differs("datagrams", a->datagrams, b->datagrams) ||
	    differs("hash of deliveries", a->deliveries, b->deliveries) ||
	    differs("hash of the wire", a->wire, b->wire) ||
	    differs("hash of the trace", a->trace, b->trace))
		return text;
	return NULL;
}
