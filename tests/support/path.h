/* SPDX-License-Identifier: MIT */
/*
 * path.h -- a policy on the bench against one bottleneck: rate, queue, delay, random loss behind
 * the bottleneck in both directions.  Sends without end under the policy's window and rate; a
 * status is known by selective acks, a loss when three later packets have arrived.  Include it
 * after bench.h.
 *
 *     path = (struct path){ .rate_bps = 100000000, ... };
 *     bench_place(&nopal_x), bench_begin();
 *     path_run(20 * NOPAL_SECOND);
 */
#include "support/test.h"

#ifndef NOPAL_TEST_PATH_H
#define NOPAL_TEST_PATH_H

enum {
	PATH_PACKETS = 1 << 15, /* that may be out at once */
	PATH_THRESHOLD = 3,
	PATH_QUANTUM = 4 * BENCH_BODY,
	PATH_MILLION = 1000000,
};

static struct path {
	/* set by the test, and changed as it pleases */
	int64_t rate_bps, delay_ns;
	uint32_t limit;	   /* packets in the queue */
	uint32_t loss_ppm; /* each direction */
	bool down;	   /* nothing passes */
	bool idle;	   /* the application has nothing to send */

	/* what came of it */
	uint64_t delivered_bytes, lost, overflowed, timeouts;
	int64_t queue_sum_ns, queue_max_ns;
	uint64_t transmissions;

	/* how it works */
	int64_t in_flight, free_at_ns, credit_at_ns, heard_ns, srtt_ns, now_ns;
	int64_t min_rtt_ns;
	uint64_t received, acked, largest;
	bool any;
	struct path_packet {
		enum { PATH_NONE, PATH_OPEN, PATH_CLOSED } state;
		struct nopal_segment *segment;
	} packet[PATH_PACKETS];
	struct path_flying {
		int64_t at_ns;
		uint64_t packet, known;
	} data[PATH_PACKETS], ack[PATH_PACKETS];
	uint64_t data_first, data_end, ack_first, ack_end;
	uint64_t order[PATH_PACKETS]; /* packets as they were received */
} path;

static inline bool path_loses(void)
{
	return path.down || bench_draw() % PATH_MILLION < path.loss_ppm;
}

static inline struct path_packet *path_packet(uint64_t number)
{
	return &path.packet[number % PATH_PACKETS];
}

static inline void path_share(const char *name, int64_t value)
{
	const struct nopal_shared *shared = bench.microprotocol->shared;

	for (size_t i = 0; shared[i].name; i++)
		if (strcmp(shared[i].name, name) == 0)
			bench.shared[i] = value;
}

static inline int64_t path_shared(const char *name)
{
	const struct nopal_shared *shared = bench.microprotocol->shared;

	for (size_t i = 0; shared[i].name; i++)
		if (strcmp(shared[i].name, name) == 0)
			return bench.shared[i];
	return 0;
}

static inline void path_set_in_flight(int64_t bytes)
{
	path.in_flight = bytes;
	path_share("bytes_in_flight", bytes);
}

static inline void path_transmit(uint64_t number)
{
	int64_t start = path.free_at_ns > path.now_ns ? path.free_at_ns : path.now_ns;
	int64_t each = BENCH_BODY * 8 * NOPAL_SECOND / path.rate_bps;
	int64_t queue = start - path.now_ns;

	path.queue_sum_ns += queue;
	if (queue > path.queue_max_ns)
		path.queue_max_ns = queue;
	if (queue / each >= path.limit) {
		path.overflowed++;
		return;
	}
	path.free_at_ns = start + each;
	if (path_loses())
		return;
	path.data[path.data_end++ % PATH_PACKETS] =
		(struct path_flying){ path.free_at_ns + path.delay_ns, number, 0 };
}

static inline void path_packet_leave(void)
{
	struct path_packet *packet = path_packet(bench.next_packet);

	assert_int_not_equal(packet->state, PATH_OPEN);
	if (!packet->segment)
		packet->segment = calloc(1, sizeof(*packet->segment) + BENCH_SLOTS * 8);
	packet->state = PATH_OPEN;
	packet->segment->body.length = BENCH_BODY;
	packet->segment->packet_number = bench.next_packet++;
	packet->segment->transmitted_ns = path.now_ns;
	packet->segment->transmissions = 1;
	if (!path.in_flight)
		path.heard_ns = path.now_ns;
	path_set_in_flight(path.in_flight + BENCH_BODY);
	path.transmissions++;
	bench_raise(NOPAL_SEND_SEGMENT, packet->segment);
	path_transmit(packet->segment->packet_number);
}

static inline bool path_has(const char *name)
{
	const struct nopal_shared *shared = bench.microprotocol->shared;

	for (size_t i = 0; shared[i].name; i++)
		if (strcmp(shared[i].name, name) == 0)
			return true;
	return false;
}

/* A bucket of two quanta, as rate_cc has it; a policy without a window has the rate alone. */
static inline void path_send_all(void)
{
	int64_t window = path_has("congestion_window_bytes")
				 ? path_shared("congestion_window_bytes")
				 : INT64_MAX;

	while (!path.idle && (path.in_flight == 0 || path.in_flight + BENCH_BODY <= window)) {
		int64_t rate = path_shared("sending_rate_bps");

		if (rate > 0) {
			int64_t bucket = 2 * PATH_QUANTUM * 8 * NOPAL_SECOND / rate;

			if (path.credit_at_ns > path.now_ns)
				return;
			if (path.credit_at_ns < path.now_ns - bucket)
				path.credit_at_ns = path.now_ns - bucket;
			path.credit_at_ns += BENCH_BODY * 8 * NOPAL_SECOND / rate;
		}
		path_packet_leave();
	}
}

/* The limit is known when a turn ends: the next transmissions see it. */
static inline void path_send(void)
{
	path_send_all();
	path_share("app_limited", path.idle);
}

static inline void path_close(uint64_t number, unsigned event)
{
	struct path_packet *packet = path_packet(number);

	if (packet->state != PATH_OPEN || packet->segment->packet_number != number)
		return;
	packet->state = PATH_CLOSED;
	path_set_in_flight(path.in_flight - BENCH_BODY);
	while (bench.oldest_packet < bench.next_packet &&
	       path_packet(bench.oldest_packet)->state != PATH_OPEN)
		bench.oldest_packet++;
	path.lost += event == NOPAL_SEGMENT_LOST;
	bench_raise(event, packet->segment);
}

static inline void path_sample(const struct path_flying *flying)
{
	int64_t rtt = path.now_ns - path_packet(flying->packet)->segment->transmitted_ns;

	path.srtt_ns = path.srtt_ns ? (7 * path.srtt_ns + rtt) / 8 : rtt;
	if (!path.min_rtt_ns || rtt < path.min_rtt_ns)
		path.min_rtt_ns = rtt;
	path_share("latest_rtt_ns", rtt);
	path_share("smoothed_rtt_ns", path.srtt_ns);
	path_share("minimum_rtt_ns", path.min_rtt_ns);
}

static inline void path_hear(struct path_flying flying)
{
	struct nopal_ack ack = { .largest = flying.packet, .selective = true };
	uint64_t before = path.acked;

	ack.largest_is_new = !path.any || flying.packet > path.largest;
	ack.largest_sent_ns = path_packet(flying.packet)->segment->transmitted_ns;
	if (ack.largest_is_new) {
		path_sample(&flying);
		path.largest = flying.packet;
		path.any = true;
	}
	path.heard_ns = path.now_ns;
	for (; path.acked < flying.known; path.acked++) {
		uint64_t number = path.order[path.acked % PATH_PACKETS];

		if (path_packet(number)->state == PATH_OPEN)
			ack.newly_acked_bytes += BENCH_BODY;
		path_close(number, NOPAL_SEGMENT_RECEIVED);
	}
	ack.newly_acked_segments = (uint32_t)(path.acked - before);
	for (uint64_t i = bench.oldest_packet; i + PATH_THRESHOLD <= path.largest; i++)
		path_close(i, NOPAL_SEGMENT_LOST);
	bench_raise(NOPAL_ACK_PROCESSED, &ack);
}

/* Every second packet is acknowledged, and every one behind a gap. */
static inline void path_receive(uint64_t number)
{
	uint64_t before = path.received ? path.order[(path.received - 1) % PATH_PACKETS] : 0;

	path.order[path.received++ % PATH_PACKETS] = number;
	path.delivered_bytes += BENCH_BODY;
	if ((number == before + 1 && path.received % 2) || path_loses())
		return;
	path.ack[path.ack_end++ % PATH_PACKETS] =
		(struct path_flying){ path.now_ns + path.delay_ns, number, path.received };
}

static inline void path_time_out(void)
{
	uint64_t end = bench.next_packet;

	path.timeouts++;
	path.heard_ns = path.now_ns;
	for (uint64_t i = bench.oldest_packet; i < end; i++)
		path_close(i, NOPAL_SEGMENT_TIMEOUT);
}

static inline int64_t path_timeout_at(void)
{
	int64_t rtt = path.srtt_ns ? 2 * path.srtt_ns : NOPAL_SECOND;

	return path.in_flight ? path.heard_ns + rtt + 100 * NOPAL_MILLISECOND : NOPAL_NEVER;
}

static inline int64_t path_at(const struct path_flying *ring, uint64_t first, uint64_t end)
{
	return first < end ? ring[first % PATH_PACKETS].at_ns : NOPAL_NEVER;
}

static inline int64_t path_earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline void path_run(int64_t duration_ns)
{
	int64_t until = path.now_ns + duration_ns;

	while (path.now_ns < until) {
		int64_t data, ack, late, next = until;

		path_send();
		data = path_at(path.data, path.data_first, path.data_end);
		ack = path_at(path.ack, path.ack_first, path.ack_end);
		late = path_timeout_at();
		if (path.credit_at_ns > path.now_ns && !path.idle)
			next = path_earlier(next, path.credit_at_ns);
		next = path_earlier(path_earlier(next, late), path_earlier(data, ack));
		path.now_ns = next > path.now_ns ? next : path.now_ns;
		bench.session->now_ns = path.now_ns;
		if (data <= path.now_ns)
			path_receive(path.data[path.data_first++ % PATH_PACKETS].packet);
		else if (ack <= path.now_ns)
			path_hear(path.ack[path.ack_first++ % PATH_PACKETS]);
		else if (late <= path.now_ns)
			path_time_out();
	}
}

static inline void path_begin(int64_t rate_bps, int64_t delay_ns, uint32_t limit, uint32_t loss_ppm)
{
	memset(&path, 0, sizeof(path));
	path.rate_bps = rate_bps;
	path.delay_ns = delay_ns;
	path.limit = limit;
	path.loss_ppm = loss_ppm;
	path_share("app_limited", 0);
}

/* Percent of what the bottleneck and the loss allow, over the last `duration_ns` that are run
 * now. */
static inline int64_t path_percent(int64_t duration_ns)
{
	uint64_t before = path.delivered_bytes;
	double allowed;

	path_run(duration_ns);
	allowed = (double)path.rate_bps / 8 * (double)duration_ns / 1e9 *
		  (1 - path.loss_ppm / (double)PATH_MILLION);
	return (int64_t)(100 * (double)(path.delivered_bytes - before) / allowed + 0.5);
}

static inline int64_t path_mean_queue_ns(void)
{
	return path.queue_sum_ns / (int64_t)(path.transmissions + 1);
}

static inline void path_end(void)
{
	for (size_t i = 0; i < PATH_PACKETS; i++)
		free(path.packet[i].segment);
	bench_close();
}

#endif
