/* SPDX-License-Identifier: MIT */
/*
 * streams.c -- many to one: stacks of their own, the streams, that stand on one flow.
 *
 *      stream  stream  stream        a session each, to the application
 *          \     |     /
 *             flow                   one: handshake, numbers, losses, congestion
 *
 * A message of the flow says whose it is by the id of its stream: even ones were opened by who
 * opened the flow, odd ones by its peer.  The first message of an id that was never there opens it;
 * one that has ended is not opened again.
 *
 * The opener's flow opens with its first stream and closes with the last one.  Where the layer is
 * `shared`, sessions that are opened to the same peer with the same plan join the flow that is
 * there.
 */
#include <errno.h>

#include "layers/streams.h"
#include "engine/ring.h"
#include "engine/turn.h"
#include "session/session.h"
#include "session/stack.h"

enum {
	STREAMS_MAX = 1 << 16,	    /* of one flow, at once */
	STREAMS_ACCEPTED = 1 << 12, /* where the peer wants one more */
	STREAM_IDS = 1 << 23,	    /* of one side; three bytes on the wire */
	STREAM_IDS_OPEN = 1 << 16,  /* ahead of the first that is not there */
	STREAM_IDS_SKIP = 1 << 15,
};

static int streams_attach(struct nopal_composite *flow)
{
	flow->streams = calloc(1, sizeof(*flow->streams));
	if (!flow->streams)
		return -ENOMEM;
	return nopal_numbers_init(&flow->streams->accepted, 0, STREAM_IDS_OPEN);
}

/* Streams that are left end with the flow, or have ended: they have no flow any more. */
static void streams_detach(struct nopal_composite *flow)
{
	struct nopal_streams *streams = flow->streams;

	if (!streams)
		return;
	for (uint32_t i = 0; i < streams->by_id.room; i++)
		if (streams->by_id.slots[i].value)
			((struct nopal_composite *)streams->by_id.slots[i].value)->below = NULL;
	nopal_free(NULL, streams->by_id.slots);
	nopal_free(NULL, streams->waiting);
	free(streams);
}

/* ---------------------------------------------------------------- one stream */

static struct nopal_composite *stream_make(struct nopal_composite *flow, uint32_t id, bool ours)
{
	struct nopal_plan *plan = (struct nopal_plan *)(uintptr_t)flow->layer->plan;
	struct nopal_composite *bottom;

	if (flow->streams->by_id.used >= STREAMS_MAX)
		return NULL;
	bottom = nopal__stack_make(flow->endpoint, plan, 0, plan->flow, NULL, &flow->peer, ours);
	if (!bottom)
		return NULL;
	bottom->stream = id;
	if (nopal_map_put(NULL, &flow->streams->by_id, id, bottom) < 0) {
		nopal__session_unmake(bottom);
		return NULL;
	}
	bottom->below = flow;
	return bottom;
}

/* Streams take turns: whoever was asked for is asked for again most often. */
static struct nopal_composite *stream_of(const struct nopal_composite *flow, uint64_t id)
{
	struct nopal_streams *streams = flow->streams;

	if (!streams->latest || streams->latest->stream != id)
		streams->latest = nopal_map_get(&streams->by_id, id);
	return streams->latest;
}

static struct nopal_composite *stream_take(struct nopal_composite *flow, uint32_t id)
{
	flow->streams->latest = NULL;
	return nopal_map_take(&flow->streams->by_id, id);
}

/* An opener need not listen.  A stream that is refused ends as it begins, and its end tells the
 * peer, whose messages the flow has acknowledged.  Where there is no memory even for that, the flow
 * ends. */
static struct nopal_composite *stream_accept(struct nopal_composite *flow, uint32_t id)
{
	const struct nopal_callbacks *shared =
		nopal__callbacks_share(flow->endpoint, flow->callbacks);
	bool room = flow->streams->by_id.used < STREAMS_ACCEPTED;
	bool listens = (!flow->opener && !flow->rendezvous) || flow->callbacks->accepted;
	struct nopal_composite *bottom = shared ? stream_make(flow, id, false) : NULL, *top;

	if (!bottom || !room || !listens) {
		nopal__callbacks_unshare(flow->endpoint, shared);
		flow->awake->counters.rx_over_budget++;
		if (!bottom)
			nopal__session_end(flow, NOPAL_RESOURCE,
					   "no memory for a stream of the peer's");
		else
			nopal__session_end(bottom, NOPAL_RESOURCE,
					   room ? "nobody listens for streams here"
						: "too many streams");
		return NULL;
	}
	top = nopal__top(bottom);
	top->callbacks = shared;
	top->user = flow->user;
	if (top->callbacks->accepted)
		top->user = top->callbacks->accepted(&top->session, flow->user);
	nopal__session_start(bottom);
	return bottom;
}

/* A new one is the peer's, and was never there.  Of many peers each would have one of this id. */
struct nopal_composite *nopal__stream_for(struct nopal_composite *flow, uint64_t id)
{
	struct nopal_composite *stream = stream_of(flow, id);
	struct nopal_numbers *accepted = &flow->streams->accepted;
	uint64_t number = id / 2;

	if (!stream && id % 2 == flow->opener && flow->life != NOPAL_LIFE_ENDED &&
	    !nopal_is_group(&flow->session)) {
		if (number >= accepted->floor + STREAM_IDS_OPEN)
			nopal_numbers_skip(accepted, number - STREAM_IDS_SKIP);
		if (nopal_numbers_mark(&flow->session, accepted, number) == NOPAL_NUMBER_NEW)
			stream = stream_accept(flow, (uint32_t)id);
	}
	return stream && stream->life != NOPAL_LIFE_ENDED ? stream : NULL;
}

/* ------------------------------------------------------------------- the flow */

static void stream_start(struct nopal_composite *flow, uint32_t id)
{
	struct nopal_composite *stream = nopal_map_get(&flow->streams->by_id, id);

	if (stream && stream->life == NOPAL_LIFE_OPENING)
		nopal__session_start(stream);
}

/* Starts the streams that waited for the flow; others that open meanwhile start by themselves. */
static void streams_start(struct nopal_composite *flow)
{
	uint32_t opened = flow->streams->opened;

	if (flow->rendezvous && !flow->opener)
		stream_start(flow, 0);
	for (uint32_t i = 0; i < opened; i++)
		stream_start(flow, 2 * i + !flow->opener);
}

static void streams_end(struct nopal_composite *flow, enum nopal_end end, const char *text)
{
	const struct nopal_map *map = &flow->streams->by_id;

	for (uint32_t i = 0; i < map->room; i++)
		if (map->slots[i].value && nopal__be_awake(map->slots[i].value))
			nopal__session_end(map->slots[i].value, end, text);
}

/* ---------------------------------------------------------------------- turns */

/* Whoever asks what the application has to send means all streams of the flow. */
static void say_more_waits(struct nopal_composite *flow)
{
	uint32_t idle = nopal__plan(flow)->flow_idle;

	if (idle)
		flow->session.shared[idle - 1] = 0;
}

void nopal_flow_wait(struct nopal_session *session)
{
	struct nopal_composite *stream = nopal__composite(session);
	struct nopal_composite *flow = stream->below;
	struct nopal_streams *streams = flow->streams;

	if (stream->waits)
		return;
	if (streams->in_turn)
		say_more_waits(flow);
	if (streams->count_waiting == streams->room_waiting &&
	    !nopal__ring_grow(NULL, &streams->waiting, &streams->first_waiting,
			      &streams->room_waiting, sizeof(*streams->waiting))) {
		nopal_session_break(session, NOPAL_RESOURCE, "no room to wait for a turn");
		return;
	}
	stream->waits = true;
	streams->waiting[(streams->first_waiting + streams->count_waiting++) %
			 streams->room_waiting] = stream->stream;
	nopal__touch(flow);
}

void nopal_flow_break(struct nopal_session *session, const char *text)
{
	struct nopal_composite *below = nopal__composite(session)->below;

	if (below)
		nopal__session_end(below, NOPAL_RESOURCE, text);
}

/* The turn of the first stream that waits, and has not ended meanwhile. */
static void flow_turn(struct nopal_composite *flow)
{
	struct nopal_streams *streams = flow->streams;
	uint32_t idle = flow->layer->plan->flow_idle;
	struct nopal_composite *stream = NULL;

	if (flow->life != NOPAL_LIFE_OPEN || (idle && !flow->session.shared[idle - 1]))
		return;
	while (!stream && streams->count_waiting) {
		uint32_t id = streams->waiting[streams->first_waiting];

		streams->first_waiting = (streams->first_waiting + 1) % streams->room_waiting;
		streams->count_waiting--;
		stream = nopal_map_get(&streams->by_id, id);
	}
	if (!stream)
		return;
	stream->waits = false;
	nopal__touch(flow); /* another one's may follow */
	nopal__touch(stream);
	if (stream->life == NOPAL_LIFE_ENDED)
		return;
	if (streams->count_waiting)
		say_more_waits(flow);
	streams->in_turn = true;
	nopal_raise_FLOW_TURN(&stream->session, &stream->session);
	streams->in_turn = false;
}

static void stream_ended(struct nopal_composite *stream)
{
	struct nopal_composite *flow = stream->below;

	if (!flow)
		return;
	stream_take(flow, stream->stream);
	if (flow->opener && !flow->streams->by_id.used && flow->life != NOPAL_LIFE_ENDED)
		nopal__session_close(flow);
}

/* ------------------------------------------------------------------- opening */

/* A stream of ours: the top of it. */
static struct nopal_composite *flow_begin(struct nopal_composite *flow,
					  const struct nopal_callbacks *callbacks, void *user)
{
	struct nopal_streams *streams = flow->streams;
	const struct nopal_callbacks *shared = nopal__callbacks_share(flow->endpoint, callbacks);
	struct nopal_composite *bottom = NULL, *top;

	nopal__touch(flow);
	if (shared && streams->opened < STREAM_IDS)
		bottom = stream_make(flow, 2 * streams->opened + !flow->opener, true);
	if (!bottom) {
		nopal__callbacks_unshare(flow->endpoint, shared);
		if (!streams->by_id.used)
			nopal__session_end(flow, NOPAL_RESOURCE, "out of memory");
		return NULL;
	}
	streams->opened++;
	top = nopal__top(bottom);
	top->callbacks = shared;
	top->user = user;
	if (flow->life == NOPAL_LIFE_OPEN)
		nopal__session_start(bottom);
	return top;
}

/* None of them has started, so that nobody knows their ids. */
static void streams_turned(struct nopal_composite *flow)
{
	struct nopal_streams *streams = flow->streams;
	struct nopal_composite *first = nopal_map_get(&streams->by_id, 0);

	for (struct nopal_composite *composite = first; composite;
	     composite = nopal__over(composite))
		composite->opener = false;
	if (first && first->life != NOPAL_LIFE_ENDED)
		nopal_numbers_mark(&flow->session, &streams->accepted, 0);
	for (uint32_t i = 1; i < streams->opened; i++) {
		struct nopal_composite *stream = stream_take(flow, 2 * i);

		if (!stream)
			continue;
		stream->stream = 2 * i - 1;
		if (nopal_map_put(NULL, &streams->by_id, stream->stream, stream) < 0) {
			stream->below = NULL;
			nopal_session_break(&stream->session, NOPAL_RESOURCE, "out of memory");
		}
	}
	if (streams->opened)
		streams->opened--;
}

static bool may_join(const struct nopal_composite *flow)
{
	return flow->life == NOPAL_LIFE_OPENING || flow->life == NOPAL_LIFE_OPEN;
}

struct nopal_composite *nopal__flow_of(const struct nopal_session *session)
{
	struct nopal_composite *flow = nopal__stack_bottom(nopal__composite(session))->below;

	if (!flow || !nopal__is_flow(flow) || !may_join(flow))
		return NULL;
	/* one of many destinations opens none: the others would not know of it */
	return !flow->layer->plan->destinations || nopal_is_group(&flow->session) ? flow : NULL;
}

/* The session that was opened last is looked at first, and most often stands on the flow. */
static struct nopal_composite *flow_among(struct nopal_composite *bottom,
					  const struct nopal_plan *plan,
					  const struct nopal_address *peer)
{
	for (; bottom; bottom = bottom->next) {
		struct nopal_composite *flow = bottom->below ? bottom->below : nopal__top(bottom);

		if (nopal__is_flow(flow) && flow->layer->plan == plan && may_join(flow) &&
		    nopal_address_equal(&flow->peer, peer))
			return flow;
	}
	return NULL;
}

struct nopal_composite *nopal__flow_find(const struct nopal_open *open)
{
	struct nopal_composite *flow;

	if (!open->plan->flow_shared || !open->peer || open->rendezvous)
		return NULL;
	flow = flow_among(open->endpoint->sessions, open->plan, open->peer);
	if (!flow)
		flow = flow_among(open->endpoint->idle, open->plan, open->peer);
	return flow && nopal__be_awake(flow) ? flow : NULL;
}

/* -------------------------------------------------------------------- ports */

static struct nopal_composite *streams_taker(struct nopal_composite *flow,
					     const uint64_t *attribute)
{
	return nopal__stream_for(flow, attribute[flow->layer->plan->stream_slot]);
}

static struct nopal_composite *streams_waiting(const struct nopal_composite *flow,
					       const uint64_t *attribute)
{
	return stream_of(flow, attribute[flow->layer->plan->stream_slot]);
}

static bool streams_in_use(const struct nopal_composite *flow)
{
	return flow->streams->by_id.used != 0;
}

static bool streams_idle(const struct nopal_composite *flow)
{
	const struct nopal_map *map = &flow->streams->by_id;

	for (uint32_t i = 0; i < map->room; i++) {
		const struct nopal_composite *stream = map->slots[i].value;

		if (stream && stream->awake)
			return false;
	}
	return true;
}

static const struct nopal_up streams_up = {
	.name = "streams",
	.attach = streams_attach,
	.detach = streams_detach,
	.opened = streams_start,
	.taker = streams_taker,
	.waiting = streams_waiting,
	.pop = nopal__stack_up,
	.outcome = nopal__stack_outcome,
	.segment_outcome = nopal__stack_segment_outcome,
	.left = nopal__stack_left,
	.peer_closed = nopal__session_close,
	.begin = flow_begin,
	.turned = streams_turned,
	.turn_end = flow_turn,
	.end = streams_end,
	.in_use = streams_in_use,
	.idle = streams_idle,
};

static bool flow_push(struct nopal_composite *stream, struct nopal_segment *segment)
{
	segment->attribute[stream->layer->plan->stream_slot] = stream->stream;
	return nopal__stack_down(stream, segment);
}

static const struct nopal_down flow_down = {
	.name = "flow",
	.push = flow_push,
	.closed = nopal__session_closed_well,
	.ended = stream_ended,
};

const struct nopal_junction nopal__streams = {
	.down = &flow_down,
	.whole_down = &flow_down,
	.up = &streams_up,
	.whole_up = &streams_up,
};

bool nopal__is_flow(const struct nopal_composite *composite)
{
	return composite->up == &streams_up;
}
