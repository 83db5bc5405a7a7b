/* SPDX-License-Identifier: MIT */
/*
 * live_relay.c -- a UDP relay that treats datagrams as a link does.
 *
 *   client --> listen socket --> carrier, forward --> path's socket --> target
 *   client <-- listen socket <-- carrier, reverse <-- path's socket <-- target
 *
 * Every client has a path: a socket of its own towards the target, so that the target tells clients
 * apart.  All paths share the carrier: one link.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "io/live/live.h"

enum {
	RELAY_PATHS = 256, /* clients at a time: each costs a socket */
};

/* A socket of the relay: of a client's path, or the one to which clients send. */
struct relay_path {
	struct nopal_relay *relay;
	struct relay_path *next;
	struct nopal_address client, local;
	struct live_socket sock;
	struct event *readable;
};

struct nopal_relay {
	struct event_base *base;
	struct nopal_address target;
	struct relay_path listen;
	struct relay_path *paths;
	uint32_t path_count;
	struct live_carrier carrier;
};

/* ----------------------------------------------------------------- leaving */

static bool relay_deliver(void *user, struct live_packet *packet)
{
	struct nopal_relay *relay = user;
	struct relay_path *path = packet->path;
	bool forward = packet->direction == LIVE_FORWARD;
	struct nopal_train train = {
		.to = forward ? &relay->target : &path->client,
		.bytes = packet->bytes,
		.length = packet->length,
		.stride = packet->length,
		.ecn = packet->ecn,
	};

	return nopal__live_socket_send(forward ? &path->sock : &relay->listen.sock, &train) ==
	       NOPAL_TRANSMITTED;
}

/* ------------------------------------------------------------------- paths */

static void relay_on_readable(evutil_socket_t fd, short what, void *argument);

/* Negative: errno value; to be closed in any case. */
static int relay_path_open(struct relay_path *path, struct nopal_relay *relay,
			   const struct nopal_address *local)
{
	int error;

	path->relay = relay;
	path->sock.fd = -1;
	error = nopal__live_socket_open(&path->sock, local, &path->local);
	if (error)
		return error;
	path->readable = event_new(relay->base, path->sock.fd, EV_READ | EV_PERSIST,
				   relay_on_readable, path);
	return path->readable && event_add(path->readable, NULL) == 0 ? 0 : -ENOMEM;
}

static void relay_path_close(struct relay_path *path)
{
	if (path->readable)
		event_free(path->readable);
	nopal__live_socket_close(&path->sock);
}

/* The path of a client, or a new one; NULL: there is no room. */
static struct relay_path *relay_path_of(struct nopal_relay *relay,
					const struct nopal_address *client)
{
	struct nopal_address any = { .port = 0 };
	struct relay_path *path;

	for (path = relay->paths; path; path = path->next)
		if (nopal_address_equal(&path->client, client))
			return path;
	path = relay->path_count < RELAY_PATHS ? calloc(1, sizeof(*path)) : NULL;
	if (!path)
		return NULL;
	path->client = *client;
	nopal_address_set_any(&any, &relay->target);
	if (relay_path_open(path, relay, &any)) {
		relay_path_close(path);
		free(path);
		return NULL;
	}
	path->next = relay->paths;
	relay->paths = path;
	relay->path_count++;
	return path;
}

/* ---------------------------------------------------------------- entering */

/* A batch of a socket: of the target for one path, or of clients. */
static void relay_on_readable(evutil_socket_t fd, short what, void *argument)
{
	struct relay_path *at = argument;
	struct nopal_relay *relay = at->relay;
	bool forward = at == &relay->listen;
	struct nopal_arrival arrivals[LIVE_BATCH_RECEIVES];
	size_t count = nopal__live_socket_gather(&at->sock, arrivals);
	int64_t now_ns = nopal__live_carrier_now(&relay->carrier);

	(void)fd;
	(void)what;
	for (size_t i = 0; i < count; i++) {
		const struct nopal_arrival *arrival = &arrivals[i];
		uint32_t stride = arrival->stride ? arrival->stride : arrival->length;
		struct relay_path *path = forward ? relay_path_of(relay, &arrival->from) : at;

		if (!path || (!forward && !nopal_address_equal(&arrival->from, &relay->target)))
			continue;
		for (uint32_t from = 0; from < arrival->length; from += stride) {
			uint32_t left = arrival->length - from;

			nopal__live_carrier_enter(
				&relay->carrier, forward ? LIVE_FORWARD : LIVE_REVERSE, path,
				arrival->bytes + from, left < stride ? left : stride, arrival->ecn,
				now_ns);
		}
	}
	nopal__live_socket_gave(&at->sock, arrivals, count);
	nopal__live_carrier_turn(&relay->carrier);
}

/* ----------------------------------------------------------- open and close */

void nopal_relay_close(struct nopal_relay *relay)
{
	while (relay->paths) {
		struct relay_path *path = relay->paths;

		relay->paths = path->next;
		relay_path_close(path);
		free(path);
	}
	relay_path_close(&relay->listen);
	nopal__live_carrier_close(&relay->carrier);
	free(relay);
}

struct nopal_relay *nopal_relay_open(struct event_base *base, const struct nopal_address *listen,
				     const struct nopal_address *target,
				     const struct nopal_link *forward,
				     const struct nopal_link *reverse, uint64_t seed,
				     struct nopal_problems *problems)
{
	const struct nopal_link *const words[] = { forward, reverse };
	struct nopal_relay *relay = calloc(1, sizeof(*relay));
	char text[NOPAL_ADDRESS_TEXT];
	int error;

	if (!relay)
		return NULL;
	relay->base = base;
	relay->target = *target;
	relay->listen.sock.fd = -1;
	error = nopal__live_carrier_open(&relay->carrier, base, words, NOPAL__UDP_HEADER_BYTES,
					 seed, relay_deliver, relay);
	if (!error)
		error = relay_path_open(&relay->listen, relay, listen);
	if (!error)
		return relay;
	nopal_problems_add(problems, NULL, 0, "choose another address or link",
			   "no relay at %s: %s", nopal_address_format(listen, text),
			   strerror(-error));
	nopal_relay_close(relay);
	return NULL;
}

void nopal_relay_local(const struct nopal_relay *relay, struct nopal_address *ret_address)
{
	*ret_address = relay->listen.local;
}

void nopal_relay_counters(const struct nopal_relay *relay, struct nopal_link_counters *ret_forward,
			  struct nopal_link_counters *ret_reverse)
{
	*ret_forward = relay->carrier.engine[LIVE_FORWARD].counters;
	*ret_reverse = relay->carrier.engine[LIVE_REVERSE].counters;
}
