/* SPDX-License-Identifier: MIT */
/*
 * live_relay.c -- a UDP relay that treats datagrams as a link does.
 *
 *   client --> listen socket --forward engine--> heap --> path's socket --> target
 *   client <-- listen socket <-- heap <--reverse engine-- path's socket <-- target
 *
 * Every client has a path: a socket of its own towards the target, so that the
 * target tells clients apart.  All paths share the two engines: one link.  What
 * the link still carries waits in a heap by the time at which it comes out.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "link_engine.h"
#include "live.h"
#include "random.h"

enum {
	RELAY_PATHS = 256,	 /* clients at a time: each costs a socket */
	RELAY_FIRST_ROOM = 1024, /* packets of the heap at first */
	RELAY_NS_PER_US = 1000,
	RELAY_V4_BYTES = 12, /* of an address that all IPv4 ones share */
};

struct relay_path {
	struct nopal_relay *relay;
	struct relay_path *next;
	struct nopal_address client;
	struct live_socket sock;
	struct event *readable;
};

/* A datagram that the link carries. */
struct relay_packet {
	int64_t at_ns;
	uint64_t order; /* among those of one time */
	struct relay_path *path;
	bool to_target;
	uint32_t length;
	uint8_t bytes[];
};

struct nopal_relay {
	struct event_base *base;
	struct nopal_address local, target;
	struct live_socket sock;
	struct event *readable, *timer;
	struct relay_path *paths;
	uint32_t path_count;
	struct nopal__link_engine forward, reverse;
	struct relay_packet **heap;
	uint32_t count, room;
	uint64_t ordered;
};

static int64_t relay_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NOPAL_SECOND + now.tv_nsec;
}

/* -------------------------------------------------------------------- heap */

static bool relay_earlier(const struct relay_packet *a,
			  const struct relay_packet *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void relay_swap(struct nopal_relay *relay, uint32_t a, uint32_t b)
{
	struct relay_packet *packet = relay->heap[a];

	relay->heap[a] = relay->heap[b];
	relay->heap[b] = packet;
}

static bool relay_heap_put(struct nopal_relay *relay,
			   struct relay_packet *packet)
{
	uint32_t at = relay->count, parent;

	if (relay->count == relay->room) {
		uint32_t room =
			relay->room ? 2 * relay->room : RELAY_FIRST_ROOM;
		void *heap = realloc(relay->heap, room * sizeof(packet));

		if (!heap)
			return false;
		relay->heap = heap;
		relay->room = room;
	}
	relay->heap[relay->count++] = packet;
	for (; at > 0; at = parent) {
		parent = (at - 1) / 2;
		if (!relay_earlier(relay->heap[at], relay->heap[parent]))
			break;
		relay_swap(relay, at, parent);
	}
	return true;
}

static struct relay_packet *relay_heap_take(struct nopal_relay *relay)
{
	struct relay_packet *first = relay->heap[0];
	uint32_t at = 0, child;

	relay->heap[0] = relay->heap[--relay->count];
	for (; (child = 2 * at + 1) < relay->count; at = child) {
		if (child + 1 < relay->count &&
		    relay_earlier(relay->heap[child + 1], relay->heap[child]))
			child++;
		if (!relay_earlier(relay->heap[child], relay->heap[at]))
			break;
		relay_swap(relay, at, child);
	}
	return first;
}

/* ----------------------------------------------------------------- leaving */

static void relay_deliver(struct nopal_relay *relay,
			  const struct relay_packet *packet)
{
	struct relay_path *path = packet->path;
	struct nopal_train train = {
		.to = packet->to_target ? &relay->target : &path->client,
		.bytes = packet->bytes,
		.length = packet->length,
		.stride = packet->length,
	};

	/* what the kernel does not take now is lost, as on any busy host */
	nopal__live_socket_send(packet->to_target ? &path->sock : &relay->sock,
				&train);
}

static void relay_arm(struct nopal_relay *relay, int64_t now_ns)
{
	struct timeval wait = { 0 };
	int64_t ns;

	if (relay->count == 0)
		return;
	ns = relay->heap[0]->at_ns - now_ns;
	if (ns > 0) {
		wait.tv_sec = ns / NOPAL_SECOND;
		wait.tv_usec = ns % NOPAL_SECOND / RELAY_NS_PER_US;
	}
	event_add(relay->timer, &wait);
}

static void relay_when_due(evutil_socket_t fd, short what, void *argument)
{
	struct nopal_relay *relay = argument;
	int64_t now_ns = relay_now();

	(void)fd;
	(void)what;
	while (relay->count > 0 && relay->heap[0]->at_ns <= now_ns) {
		struct relay_packet *packet = relay_heap_take(relay);

		relay_deliver(relay, packet);
		free(packet);
	}
	relay_arm(relay, now_ns);
}

/* ---------------------------------------------------------------- entering */

static void relay_carry(struct nopal_relay *relay, struct relay_path *path,
			bool to_target, const uint8_t *bytes, uint32_t length,
			const struct nopal__link_copy *copy)
{
	struct relay_packet *packet = malloc(sizeof(*packet) + length);

	if (!packet)
		return;
	*packet = (struct relay_packet){
		.at_ns = copy->at_ns,
		.order = relay->ordered++,
		.path = path,
		.to_target = to_target,
		.length = length,
	};
	memcpy(packet->bytes, bytes, length);
	if (copy->corrupt && length > 0) {
		uint64_t bit = copy->bit % (8 * (uint64_t)length);

		packet->bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	}
	if (!relay_heap_put(relay, packet))
		free(packet);
}

static void relay_enter(struct nopal_relay *relay, struct relay_path *path,
			bool to_target, const struct nopal_arrival *arrival,
			int64_t now_ns)
{
	struct nopal__link_engine *engine =
		to_target ? &relay->forward : &relay->reverse;
	struct nopal__link_copy copies[NOPAL__LINK_COPIES];
	uint32_t stride = arrival->stride ? arrival->stride : arrival->length;

	for (uint32_t at = 0; at < arrival->length; at += stride) {
		uint32_t left = arrival->length - at;
		uint32_t length = left < stride ? left : stride;
		unsigned count =
			nopal__link_enter(engine, length, now_ns, copies);

		for (unsigned i = 0; i < count; i++)
			relay_carry(relay, path, to_target, arrival->bytes + at,
				    length, &copies[i]);
	}
}

static void relay_path_on_readable(evutil_socket_t fd, short what,
				   void *argument)
{
	struct relay_path *path = argument;
	struct nopal_relay *relay = path->relay;
	struct nopal_arrival arrivals[LIVE_BATCH_RECEIVES];
	size_t count = nopal__live_socket_gather(&path->sock, arrivals);
	int64_t now_ns = relay_now();

	(void)fd;
	(void)what;
	for (size_t i = 0; i < count; i++)
		if (nopal_address_equal(&arrivals[i].from, &relay->target))
			relay_enter(relay, path, false, &arrivals[i], now_ns);
	nopal__live_socket_gave(&path->sock, arrivals, count);
	relay_arm(relay, now_ns);
}

/* ------------------------------------------------------------------- paths */

/* Any address of the target's family. */
static void relay_any(const struct nopal_address *target,
		      struct nopal_address *ret_any)
{
	memset(ret_any, 0, sizeof(*ret_any));
	if (nopal__live_address_is_v4(target))
		memcpy(ret_any->ip, target->ip, RELAY_V4_BYTES);
}

static void relay_path_free(struct relay_path *path)
{
	if (path->readable)
		event_free(path->readable);
	nopal__live_socket_close(&path->sock);
	free(path);
}

static struct relay_path *relay_path_new(struct nopal_relay *relay,
					 const struct nopal_address *client)
{
	struct relay_path *path = calloc(1, sizeof(*path));
	struct nopal_address any, local;

	if (!path)
		return NULL;
	relay_any(&relay->target, &any);
	if (nopal__live_socket_open(&path->sock, &any, &local) < 0) {
		free(path);
		return NULL;
	}
	path->relay = relay;
	path->client = *client;
	path->readable =
		event_new(relay->base, path->sock.fd, EV_READ | EV_PERSIST,
			  relay_path_on_readable, path);
	if (!path->readable || event_add(path->readable, NULL) < 0) {
		relay_path_free(path);
		return NULL;
	}
	path->next = relay->paths;
	relay->paths = path;
	relay->path_count++;
	return path;
}

static struct relay_path *relay_path_of(struct nopal_relay *relay,
					const struct nopal_address *client)
{
	for (struct relay_path *path = relay->paths; path; path = path->next)
		if (nopal_address_equal(&path->client, client))
			return path;
	return relay->path_count < RELAY_PATHS ? relay_path_new(relay, client)
					       : NULL;
}

static void relay_on_readable(evutil_socket_t fd, short what, void *argument)
{
	struct nopal_relay *relay = argument;
	struct nopal_arrival arrivals[LIVE_BATCH_RECEIVES];
	size_t count = nopal__live_socket_gather(&relay->sock, arrivals);
	int64_t now_ns = relay_now();

	(void)fd;
	(void)what;
	for (size_t i = 0; i < count; i++) {
		struct relay_path *path =
			relay_path_of(relay, &arrivals[i].from);

		if (path)
			relay_enter(relay, path, true, &arrivals[i], now_ns);
	}
	nopal__live_socket_gave(&relay->sock, arrivals, count);
	relay_arm(relay, now_ns);
}

/* ----------------------------------------------------------- open and close */

static int relay_start(struct nopal_relay *relay)
{
	relay->timer = event_new(relay->base, -1, 0, relay_when_due, relay);
	relay->readable =
		event_new(relay->base, relay->sock.fd, EV_READ | EV_PERSIST,
			  relay_on_readable, relay);
	if (!relay->timer || !relay->readable)
		return -ENOMEM;
	return event_add(relay->readable, NULL) < 0 ? -ENOMEM : 0;
}

void nopal_relay_close(struct nopal_relay *relay)
{
	while (relay->count > 0)
		free(relay->heap[--relay->count]);
	free(relay->heap);
	while (relay->paths) {
		struct relay_path *path = relay->paths;

		relay->paths = path->next;
		relay_path_free(path);
	}
	if (relay->readable)
		event_free(relay->readable);
	if (relay->timer)
		event_free(relay->timer);
	if (relay->sock.fd >= 0)
		nopal__live_socket_close(&relay->sock);
	nopal__link_fini(&relay->forward);
	nopal__link_fini(&relay->reverse);
	free(relay);
}

struct nopal_relay *nopal_relay_open(struct event_base *base,
				     const struct nopal_address *listen,
				     const struct nopal_address *target,
				     const struct nopal_link *forward,
				     const struct nopal_link *reverse,
				     uint64_t seed,
				     struct nopal_problems *problems)
{
	struct nopal_relay *relay = calloc(1, sizeof(*relay));
	char text[NOPAL_ADDRESS_TEXT];
	int error;

	if (!relay)
		return NULL;
	relay->base = base;
	relay->target = *target;
	relay->sock.fd = -1;
	error = nopal__link_init(&relay->forward, forward,
				 NOPAL__UDP_HEADER_BYTES,
				 nopal__random_seed(seed, 0));
	if (!error)
		error = nopal__link_init(&relay->reverse, reverse,
					 NOPAL__UDP_HEADER_BYTES,
					 nopal__random_seed(seed, 1));
	if (!error)
		error = nopal__live_socket_open(&relay->sock, listen,
						&relay->local);
	if (!error)
		error = relay_start(relay);
	if (!error)
		return relay;
	nopal_problems_add(problems, NULL, 0, "choose another address or link",
			   "no relay at %s: %s",
			   nopal_address_format(listen, text),
			   strerror(-error));
	nopal_relay_close(relay);
	return NULL;
}

void nopal_relay_local(const struct nopal_relay *relay,
		       struct nopal_address *ret_address)
{
	*ret_address = relay->local;
}

void nopal_relay_counters(const struct nopal_relay *relay,
			  struct nopal_link_counters *ret_forward,
			  struct nopal_link_counters *ret_reverse)
{
	*ret_forward = relay->forward.counters;
	*ret_reverse = relay->reverse.counters;
}
