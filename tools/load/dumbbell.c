/* SPDX-License-Identifier: MIT */
/*
 * dumbbell.c -- flows without end through one simulated bottleneck, and the state of its queue.
 */
#include "load/dumbbell.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "load/side.h"

enum {
	DUMBBELL_PORT = 9000,
	DUMBBELL_MESSAGE_BYTES = 64 << 10,
	DUMBBELL_UDP_IP_BYTES = 28,
	DUMBBELL_BYTE_BITS = 8,
	DUMBBELL_TAIL = 95, /* percent */
	DUMBBELL_PERCENT = 100,
};
#define DUMBBELL_SPAN_NS   (10 * NOPAL_MILLISECOND)
#define DUMBBELL_SECOND_NS NOPAL_SECOND

/* The sender of a flow. */
struct dumbbell_flow {
	side_call *on;
	struct dumbbell_run *run;
	int index;
	bool ended;
};

struct dumbbell_run {
	struct dumbbell *bell;
	struct nopal_world *world;
	struct dumbbell_flow from[DUMBBELL_FLOWS];
	struct side_sink to[DUMBBELL_FLOWS];
	uint8_t *message;
	double *spans_ms; /* mean queue delay of each span with packets */
	size_t span_count;
};

/* ------------------------------------------------------------------- traffic */

static void dumbbell_on_sender(void *user, const struct side_event *event)
{
	struct dumbbell_flow *from = user;

	from->ended |= event->kind == SIDE_ENDED;
	if (event->kind == SIDE_OPENED || event->kind == SIDE_WRITABLE)
		while (!nopal_send(event->session, from->run->message, DUMBBELL_MESSAGE_BYTES, 0))
			;
}

static void dumbbell_begin(void *user)
{
	struct dumbbell_flow *from = user;
	const struct dumbbell *bell = from->run->bell;
	int host = 2 * from->index, left = bell->connections[from->index];
	struct nopal_endpoint *endpoint = nopal_sim_endpoint(from->run->world, host, 0);
	struct nopal_address peer;

	nopal_sim_address(host + 1, DUMBBELL_PORT, &peer);
	do {
		if (!nopal_open(endpoint, bell->plans[from->index], &peer, &side_callbacks, from))
			from->ended = true;
	} while (--left > 0);
}

/* --------------------------------------------------------------- measurement */

static uint64_t dumbbell_queued(const struct nopal_link_counters *counters)
{
	return counters->entered - counters->overflowed - counters->too_big;
}

static double dumbbell_queue_ms(const struct nopal_link_counters *from,
				const struct nopal_link_counters *to)
{
	uint64_t packets = dumbbell_queued(to) - dumbbell_queued(from);

	return packets ? (double)(to->queue_delay_sum_ns - from->queue_delay_sum_ns) /
				 (double)packets / NOPAL_MILLISECOND
		       : 0;
}

static int dumbbell_compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Runs the time that is measured, in spans. */
static void dumbbell_measure(struct dumbbell_run *run)
{
	struct dumbbell *bell = run->bell;
	int64_t begin = nopal_world_now(run->world);
	uint64_t before = run->to[0].bytes, second;
	struct nopal_link_counters from = { 0 }, last, now;
	double sum = 0, squares = 0, seconds = 0, mean, max_bytes;
	uint64_t entered, bytes;

	nopal_sim_link_counters(run->world, 0, 1, &from);
	last = now = from;
	for (int64_t at = 0; at < bell->run_ns; at += DUMBBELL_SPAN_NS) {
		nopal_sim_run(run->world, begin + at + DUMBBELL_SPAN_NS);
		nopal_sim_link_counters(run->world, 0, 1, &now);
		if (dumbbell_queued(&now) > dumbbell_queued(&last))
			run->spans_ms[run->span_count++] = dumbbell_queue_ms(&last, &now);
		last = now;
		if ((at + DUMBBELL_SPAN_NS) % DUMBBELL_SECOND_NS)
			continue;
		second = run->to[0].bytes - before;
		before = run->to[0].bytes;
		sum += (double)second;
		squares += (double)second * (double)second;
		seconds++;
	}
	mean = seconds > 0 ? sum / seconds : 0;
	bell->roughness = mean > 0 ? sqrt(fmax(squares / seconds - mean * mean, 0)) / mean : 0;
	entered = now.entered - from.entered;
	bytes = now.delivered_bytes - from.delivered_bytes +
		(now.delivered - from.delivered) * DUMBBELL_UDP_IP_BYTES;
	max_bytes = (double)bell->forward.rate_bps / DUMBBELL_BYTE_BITS * (double)bell->run_ns /
		    NOPAL_SECOND;
	bell->utilisation = max_bytes > 0 ? (double)bytes / max_bytes : 0;
	bell->loss = entered ? (double)(now.overflowed - from.overflowed) / (double)entered : 0;
	bell->queue_mean_ms = dumbbell_queue_ms(&from, &now);
	qsort(run->spans_ms, run->span_count, sizeof(*run->spans_ms), dumbbell_compare);
	bell->queue_p95_ms =
		run->span_count
			? run->spans_ms[(run->span_count - 1) * DUMBBELL_TAIL / DUMBBELL_PERCENT]
			: 0;
}

/* ----------------------------------------------------------------------- run */

/* SplitMix64 of the seed. */
int64_t dumbbell_draw(uint64_t seed, int64_t below_ns)
{
	uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	x ^= x >> 31;
	return below_ns > 0 ? (int64_t)(x % (uint64_t)below_ns) : 0;
}

bool dumbbell_run(struct dumbbell *bell)
{
	size_t spans = (size_t)(bell->run_ns / DUMBBELL_SPAN_NS) + 1;
	struct dumbbell_run run = {
		.bell = bell,
		.world = nopal_sim_new(bell->seed),
		.message = calloc(1, DUMBBELL_MESSAGE_BYTES),
		.spans_ms = calloc(spans, sizeof(*run.spans_ms)),
	};
	bool good = run.world && run.message && run.spans_ms &&
		    nopal_sim_dumbbell(run.world, bell->flows, NULL, &bell->forward,
				       &bell->reverse) >= 0;

	for (int i = 0; good && i < bell->flows; i++) {
		struct nopal_endpoint *to = nopal_sim_endpoint(run.world, 2 * i + 1, DUMBBELL_PORT);
		uint64_t seed = bell->seed * DUMBBELL_FLOWS + (uint64_t)i;

		run.from[i] = (struct dumbbell_flow){ dumbbell_on_sender, &run, i, false };
		run.to[i] = (struct side_sink){ .on = side_on_sink };
		good = to &&
		       nopal_endpoint_allow(to, bell->plans[i], NOPAL_ALLOW_CONNECTIONLESS,
					    &side_callbacks, &run.to[i]) == 0 &&
		       nopal_sim_at(run.world, dumbbell_draw(seed, bell->stagger_ns),
				    dumbbell_begin, &run.from[i]) >= 0;
	}
	if (good) {
		nopal_sim_run(run.world, bell->stagger_ns + bell->warm_ns);
		for (int i = 0; i < bell->flows; i++)
			bell->bytes[i] = run.to[i].bytes;
		dumbbell_measure(&run);
	}
	for (int i = 0; good && i < bell->flows; i++) {
		bell->bytes[i] = run.to[i].bytes - bell->bytes[i];
		good = !run.from[i].ended;
	}
	if (run.world)
		nopal_world_free(run.world);
	free(run.message);
	free(run.spans_ms);
	return good;
}

double dumbbell_share(const struct dumbbell *bell)
{
	double sum = 0;

	for (int i = 0; i < bell->flows; i++)
		sum += (double)bell->bytes[i];
	return sum > 0 ? (double)bell->bytes[0] / sum : 0;
}
