/* SPDX-License-Identifier: MIT */
/*
 * live_carrier.c -- what a link carries waits in a heap by the time at which it comes out; a
 * timerfd says when that is.
 *
 * How late each transmission is, is counted: where the largest lateness comes near the link's own
 * delay, the figures speak of this machine and not of the link.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <nopal/microprotocol.h>
#include "io/live/live_carrier.h"
#include "io/sim/random.h"

enum {
	CARRIER_FIRST_ROOM = 1024, /* transmissions of the heap at first */
	CARRIER_BATCH = 64,	   /* deliveries, then arrivals get a turn */
	CARRIER_BITS_A_BYTE = 8,
};

struct live_transmission {
	int64_t at_ns;
	uint64_t order; /* among those of one time */
	struct live_packet *packet;
};

int64_t nopal__live_carrier_now(const struct live_carrier *carrier)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NOPAL_SECOND + now.tv_nsec - carrier->began_ns;
}

/* -------------------------------------------------------------------- heap */

static bool carrier_earlier(const struct live_transmission *a, const struct live_transmission *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static bool carrier_grow(struct live_carrier *carrier)
{
	uint32_t room = carrier->room ? 2 * carrier->room : CARRIER_FIRST_ROOM;
	void *heap = realloc(carrier->heap, room * sizeof(*carrier->heap));

	if (!heap)
		return false;
	carrier->heap = heap;
	carrier->room = room;
	return true;
}

/* The heap has room. */
static void carrier_put(struct live_carrier *carrier, struct live_transmission transmission)
{
	struct live_transmission *heap = carrier->heap;
	uint32_t at = carrier->count++;

	for (uint32_t parent; at > 0; at = parent) {
		parent = (at - 1) / 2;
		if (!carrier_earlier(&transmission, &heap[parent]))
			break;
		heap[at] = heap[parent];
	}
	heap[at] = transmission;
}

static struct live_transmission carrier_take(struct live_carrier *carrier)
{
	struct live_transmission *heap = carrier->heap, first = heap[0];
	struct live_transmission last = heap[--carrier->count];
	uint32_t at = 0, child;

	for (; (child = 2 * at + 1) < carrier->count; at = child) {
		if (child + 1 < carrier->count && carrier_earlier(&heap[child + 1], &heap[child]))
			child++;
		if (!carrier_earlier(&heap[child], &last))
			break;
		heap[at] = heap[child];
	}
	heap[at] = last;
	return first;
}

/* ----------------------------------------------------------------- leaving */

static void carrier_arm(struct live_carrier *carrier)
{
	struct itimerspec when = { 0 };

	if (carrier->count > 0) {
		int64_t at_ns = carrier->began_ns + carrier->heap[0].at_ns;

		when.it_value.tv_sec = at_ns / NOPAL_SECOND;
		when.it_value.tv_nsec = at_ns % NOPAL_SECOND;
	}
	/* this also takes back that it was due */
	timerfd_settime(carrier->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void carrier_transmit(struct live_carrier *carrier,
			     const struct live_transmission *transmission, int64_t now_ns)
{
	struct live_packet *packet = transmission->packet;
	struct nopal_link_counters *counters = &carrier->engine[packet->direction].counters;
	int64_t late_ns = now_ns - transmission->at_ns;

	if (late_ns > counters->late_peak_ns)
		counters->late_peak_ns = late_ns;
	counters->late_sum_ns += late_ns;
	if (!carrier->deliver(carrier->user, packet))
		counters->refused++;
	free(packet);
}

void nopal__live_carrier_turn(struct live_carrier *carrier)
{
	for (int i = 0; i < CARRIER_BATCH && carrier->count > 0; i++) {
		int64_t now_ns = nopal__live_carrier_now(carrier);
		struct live_transmission first;

		if (carrier->heap[0].at_ns > now_ns)
			break;
		first = carrier_take(carrier);
		carrier_transmit(carrier, &first, now_ns);
	}
	carrier_arm(carrier);
}

static void carrier_when_due(evutil_socket_t fd, short what, void *carrier)
{
	(void)fd;
	(void)what;
	nopal__live_carrier_turn(carrier);
}

/* ---------------------------------------------------------------- entering */

static struct live_packet *carrier_copy(const struct nopal__link_copy *copy, const uint8_t *bytes,
					uint32_t length)
{
	struct live_packet *packet = malloc(sizeof(*packet) + length);

	if (!packet)
		return NULL;
	memcpy(packet->bytes, bytes, length);
	if (copy->corrupt && length > 0) {
		uint64_t bit = copy->bit % (CARRIER_BITS_A_BYTE * (uint64_t)length);

		packet->bytes[bit / CARRIER_BITS_A_BYTE] ^=
			(uint8_t)(1u << (bit % CARRIER_BITS_A_BYTE));
	}
	packet->length = length;
	packet->ecn = copy->ecn;
	return packet;
}

void nopal__live_carrier_enter(struct live_carrier *carrier, enum live_direction direction,
			       void *path, const uint8_t *bytes, uint32_t length, uint8_t ecn,
			       int64_t now_ns)
{
	const struct nopal__link_packet in = { .length = length, .ecn = ecn };
	struct nopal__link_copy copies[NOPAL__LINK_COPIES];
	unsigned count = nopal__link_carry(&carrier->engine[direction], &in, now_ns, copies);

	for (unsigned i = 0; i < count; i++) {
		struct live_packet *packet = NULL;

		if (carrier->count < carrier->room || carrier_grow(carrier))
			packet = carrier_copy(&copies[i], bytes, length);
		if (!packet)
			return;
		packet->direction = direction;
		packet->path = path;
		carrier_put(carrier, (struct live_transmission){
					     .at_ns = copies[i].at_ns,
					     .order = carrier->ordered++,
					     .packet = packet,
				     });
	}
}

/* ---------------------------------------------------------- open and close */

static int carrier_start(struct live_carrier *carrier, struct event_base *base)
{
	carrier->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (carrier->timer < 0)
		return -errno;
	carrier->due =
		event_new(base, carrier->timer, EV_READ | EV_PERSIST, carrier_when_due, carrier);
	if (!carrier->due || event_add(carrier->due, NULL) < 0)
		return -ENOMEM;
	return 0;
}

int nopal__live_carrier_open(struct live_carrier *carrier, struct event_base *base,
			     const struct nopal_link *const words[], uint32_t header_bytes,
			     uint64_t seed, live_deliver *deliver, void *user)
{
	int error = 0;

	memset(carrier, 0, sizeof(*carrier));
	carrier->timer = -1;
	carrier->deliver = deliver;
	carrier->user = user;
	carrier->began_ns = nopal__live_carrier_now(carrier);
	for (unsigned i = 0; !error && i < LIVE_DIRECTIONS; i++)
		error = nopal__link_init(&carrier->engine[i], words[i], header_bytes,
					 nopal__random_seed(seed, i));
	return error ? error : carrier_start(carrier, base);
}

void nopal__live_carrier_close(struct live_carrier *carrier)
{
	while (carrier->count > 0)
		free(carrier->heap[--carrier->count].packet);
	free(carrier->heap);
	if (carrier->due)
		event_free(carrier->due);
	if (carrier->timer >= 0)
		close(carrier->timer);
	for (unsigned i = 0; i < LIVE_DIRECTIONS; i++)
		nopal__link_fini(&carrier->engine[i]);
}
