/* SPDX-License-Identifier: MIT */
/*
 * live_carrier.c -- packets on a link wait in a heap by the time at which they come out; an alarm
 * rings for the first of them.
 *
 * How late each transmission is, is counted: where the largest lateness comes near the link's own
 * delay, the figures speak of this machine and not of the link.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "io/live/live.h"
#include "io/sim/random.h"

enum {
	CARRIER_BATCH = 64, /* deliveries, then arrivals get a turn */
};

int64_t nopal__live_carrier_now(const struct live_carrier *carrier)
{
	return nopal__live_now_ns() - carrier->began_ns;
}

/* ----------------------------------------------------------------- leaving */

void nopal__live_carrier_turn(struct live_carrier *carrier)
{
	struct nopal__heap *heap = &carrier->heap;

	for (int i = 0; i < CARRIER_BATCH && heap->count > 0; i++) {
		const struct nopal__event first = heap->events[0];
		int64_t late_ns = nopal__live_carrier_now(carrier) - first.time_ns;
		struct live_packet *packet = first.packet;
		struct nopal_link_counters *counters;

		if (late_ns < 0)
			break;
		nopal__heap_pop(heap);
		counters = &carrier->engine[packet->direction].counters;
		if (late_ns > counters->late_peak_ns)
			counters->late_peak_ns = late_ns;
		counters->late_sum_ns += late_ns;
		if (!carrier->deliver(carrier->user, packet))
			counters->refused++;
		free(packet);
	}
	/* this also takes back that the alarm has rung */
	nopal__live_alarm_set(&carrier->alarm, heap->count
						       ? carrier->began_ns + heap->events[0].time_ns
						       : NOPAL_NEVER);
}

static void carrier_when_due(evutil_socket_t fd, short what, void *carrier)
{
	(void)fd;
	(void)what;
	nopal__live_carrier_turn(carrier);
}

/* ---------------------------------------------------------------- entering */

void nopal__live_carrier_enter(struct live_carrier *carrier, enum live_direction direction,
			       void *path, const uint8_t *bytes, uint32_t length, uint8_t ecn,
			       int64_t now_ns)
{
	const struct nopal__link_packet in = { .length = length, .ecn = ecn };
	struct nopal__link_copy copies[NOPAL__LINK_COPIES];
	unsigned count = nopal__link_carry(&carrier->engine[direction], &in, now_ns, copies);

	for (unsigned i = 0; i < count; i++) {
		struct live_packet *packet = malloc(sizeof(*packet) + length);
		const struct nopal__event event = { .time_ns = copies[i].at_ns,
						    .order = carrier->order++,
						    .packet = packet };

		if (!packet || !nopal__heap_push(&carrier->heap, &event)) {
			free(packet);
			return;
		}
		packet->path = path;
		packet->direction = direction;
		packet->ecn = copies[i].ecn;
		packet->length = length;
		memcpy(packet->bytes, bytes, length);
		if (copies[i].corrupt)
			nopal__link_flip(packet->bytes, length, copies[i].bit);
	}
}

/* ---------------------------------------------------------- open and close */

int nopal__live_carrier_open(struct live_carrier *carrier, struct event_base *base,
			     const struct nopal_link *const words[], uint32_t header_bytes,
			     uint64_t seed, live_deliver *deliver, void *user)
{
	int error = 0;

	memset(carrier, 0, sizeof(*carrier));
	carrier->alarm.fd = -1;
	carrier->deliver = deliver;
	carrier->user = user;
	carrier->began_ns = nopal__live_now_ns();
	for (unsigned i = 0; !error && i < LIVE_DIRECTIONS; i++)
		error = nopal__link_init(&carrier->engine[i], words[i], header_bytes,
					 nopal__random_seed(seed, i));
	if (!error)
		error = nopal__live_alarm_open(&carrier->alarm);
	if (error)
		return error;
	carrier->due =
		event_new(base, carrier->alarm.fd, EV_READ | EV_PERSIST, carrier_when_due, carrier);
	return !carrier->due || event_add(carrier->due, NULL) < 0 ? -ENOMEM : 0;
}

void nopal__live_carrier_close(struct live_carrier *carrier)
{
	while (carrier->heap.count > 0)
		free(carrier->heap.events[--carrier->heap.count].packet);
	free(carrier->heap.events);
	if (carrier->due)
		event_free(carrier->due);
	nopal__live_alarm_close(&carrier->alarm);
	for (unsigned i = 0; i < LIVE_DIRECTIONS; i++)
		nopal__link_fini(&carrier->engine[i]);
}
