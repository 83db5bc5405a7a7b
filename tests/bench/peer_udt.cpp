/* SPDX-License-Identifier: MIT */
/*
 * peer_udt -- UDT 4 as a byte stream, in the language of its library.  Several
 * connections share a UDP port on either side, and are asked by UDT's epoll; this
 * release has no flows that they could share.
 */
#include <cstdio>
#include <cstdlib>
#include <map>
#include <udt/udt.h>

#include "flood.h"

enum {
	OWN_HEADERS = 44, /* IP, UDP and UDT */
	FLIGHT = 32768,	  /* packets */
	FLIGHTS = 4,	  /* of all connections together; of one, the above */
	FLIGHT_MIN = 256,
	EVENTS = 64,
	PATIENCE_MS = 100,
	REFUSED = 3,
};

static void udt_check(int result, const char *what)
{
	if (result != UDT::ERROR)
		return;
	fprintf(stderr, "udt: %s: %s\n", what,
		UDT::getlasterror().getErrorMessage());
	exit(REFUSED);
}

static void udt_set(UDTSOCKET socket, UDT::SOCKOPT option, int value)
{
	udt_check(UDT::setsockopt(socket, 0, option, &value, sizeof(value)),
		  "option");
}

static int udt_flight(const struct flood *flood)
{
	int each = FLIGHTS * FLIGHT / flood->connections;

	if (each < FLIGHT_MIN)
		return FLIGHT_MIN;
	return each < FLIGHT ? each : FLIGHT;
}

static UDTSOCKET udt_open(struct flood *flood)
{
	int flight = udt_flight(flood);
	UDTSOCKET socket = UDT::socket(AF_INET, SOCK_STREAM, 0);

	udt_set(socket, UDT_MSS, FLOOD_PAYLOAD + OWN_HEADERS);
	udt_set(socket, UDT_FC, flight);
	udt_set(socket, UDT_SNDBUF, flight * FLOOD_PAYLOAD);
	udt_set(socket, UDT_RCVBUF, flight * FLOOD_PAYLOAD);
	udt_set(socket, UDP_SNDBUF, FLOOD_SOCKET_BUFFER);
	udt_set(socket, UDP_RCVBUF, FLOOD_SOCKET_BUFFER);
	snprintf(flood->version, sizeof(flood->version), "UDT 4");
	return socket;
}

/* It asks without force: the kernel's limit applies. */
static void udt_note_buffers(struct flood *flood, UDTSOCKET socket)
{
	int length = sizeof(int);

	UDT::getsockopt(socket, 0, UDP_RCVBUF, &flood->receive_buffer, &length);
	UDT::getsockopt(socket, 0, UDP_SNDBUF, &flood->send_buffer, &length);
}

static UDTSOCKET udt_listen(struct flood *flood)
{
	UDTSOCKET listener = udt_open(flood);

	udt_check(UDT::bind(listener, (struct sockaddr *)&flood->address,
			    sizeof(flood->address)),
		  "bind");
	udt_check(UDT::listen(listener, flood->connections), "listen");
	flood_ready(flood);
	return listener;
}

static UDTSOCKET udt_accept(struct flood *flood, UDTSOCKET listener)
{
	struct sockaddr_storage peer;
	int length = sizeof(peer);
	UDTSOCKET socket =
		UDT::accept(listener, (struct sockaddr *)&peer, &length);

	udt_note_buffers(flood, socket);
	return socket;
}

static UDTSOCKET udt_connect(struct flood *flood, UDTSOCKET socket)
{
	udt_check(UDT::connect(socket, (struct sockaddr *)&flood->address,
			       sizeof(flood->address)),
		  "connect");
	udt_note_buffers(flood, socket);
	return socket;
}

/* ------------------------------------------------------------- one connection */

static void udt_recv(struct flood *flood)
{
	static char block[FLOOD_WRITE];
	UDTSOCKET listener = udt_listen(flood),
		  socket = udt_accept(flood, listener);
	int got;

	while ((got = UDT::recv(socket, block, sizeof(block), 0)) > 0) {
		flood_arrived(flood);
		flood_stream(flood, block, (size_t)got);
	}
	flood_report(flood);
	UDT::close(socket);
	UDT::close(listener);
}

static void udt_send(struct flood *flood)
{
	uint8_t *walk = flood_walk();
	UDTSOCKET socket = udt_connect(flood, udt_open(flood));

	while (!flood_over(flood)) {
		size_t length;
		const char *next = (const char *)flood_next(
			flood, walk, FLOOD_WRITE, &length);

		for (size_t done = 0; done < length;) {
			int sent = UDT::send(socket, next + done,
					     (int)(length - done), 0);

			udt_check(sent, "send");
			done += (size_t)sent;
		}
	}
	UDT::close(socket);
	flood_report(flood);
	free(walk);
}

/* --------------------------------------------------------- several connections */

typedef std::map<UDTSOCKET, int> udt_numbers; /* of the connections */

static void udt_watch(int epoll, UDTSOCKET socket, int what)
{
	bool wait = false;
	int events = what | UDT_EPOLL_ERR;

	UDT::setsockopt(socket, 0, UDT_SNDSYN, &wait, sizeof(wait));
	UDT::setsockopt(socket, 0, UDT_RCVSYN, &wait, sizeof(wait));
	udt_check(UDT::epoll_add_usock(epoll, socket, &events), "epoll");
}

/* Whatever is there of one of them; false: nothing more will be. */
static bool udt_take(struct flood *flood, UDTSOCKET socket, int index)
{
	static char block[FLOOD_WRITE];
	int got = UDT::recv(socket, block, sizeof(block), 0);

	if (got > 0) {
		flood_arrived(flood);
		flood_stream(flood_lane(flood, index), block, (size_t)got);
	}
	return got > 0 || UDT::getlasterror_code() == UDT::ERRORINFO::EASYNCRCV;
}

static void udt_end(int epoll, udt_numbers &number, UDTSOCKET socket)
{
	UDT::epoll_remove_usock(epoll, socket);
	UDT::close(socket);
	number.erase(socket);
}

/* UDT forgets to tell of what broke: those have an end, too. */
static void udt_sweep(struct flood *flood, int epoll, udt_numbers &number)
{
	for (udt_numbers::iterator at = number.begin(); at != number.end();) {
		UDTSOCKET socket = at->first;
		int index = (at++)->second;

		if (UDT::getsockstate(socket) != CONNECTED &&
		    !udt_take(flood, socket, index))
			udt_end(epoll, number, socket);
	}
}

static void udt_recv_many(struct flood *flood)
{
	UDTSOCKET listener = udt_listen(flood), ready[EVENTS];
	int epoll = UDT::epoll_create();
	udt_numbers number;

	for (int i = 0; i < flood->connections; i++) {
		UDTSOCKET socket = udt_accept(flood, listener);

		number[socket] = i;
		udt_watch(epoll, socket, UDT_EPOLL_IN);
	}
	while (!number.empty()) {
		int count = EVENTS;

		if (UDT::epoll_wait2(epoll, ready, &count, NULL, NULL,
				     PATIENCE_MS) <= 0)
			udt_sweep(flood, epoll, number);
		else
			for (int i = 0; i < count && i < EVENTS; i++)
				if (number.count(ready[i]) &&
				    !udt_take(flood, ready[i],
					      number[ready[i]]))
					udt_end(epoll, number, ready[i]);
	}
	flood_report(flood);
	UDT::close(listener);
}

static void udt_give(struct flood *flood, const uint8_t *walk, UDTSOCKET socket,
		     int index)
{
	struct flood *lane = flood_lane(flood, index);
	size_t length;
	const char *next =
		(const char *)flood_peek(lane, walk, FLOOD_WRITE, &length);
	int sent = UDT::send(socket, next, (int)length, 0);

	if (sent > 0)
		flood_gone(lane, (size_t)sent);
	else if (UDT::getlasterror_code() != UDT::ERRORINFO::EASYNCSND)
		udt_check(UDT::ERROR, "send");
}

/* All of them from one port, and so by one multiplexer. */
static void udt_connect_many(struct flood *flood, int epoll,
			     udt_numbers &number)
{
	struct sockaddr_in local = {};
	int length = sizeof(local);

	local.sin_family = AF_INET;
	for (int i = 0; i < flood->connections; i++) {
		UDTSOCKET socket = udt_open(flood);

		udt_check(UDT::bind(socket, (struct sockaddr *)&local,
				    sizeof(local)),
			  "bind");
		if (i == 0)
			UDT::getsockname(socket, (struct sockaddr *)&local,
					 &length);
		number[udt_connect(flood, socket)] = i;
		udt_watch(epoll, socket, UDT_EPOLL_OUT);
	}
}

/* Waiting bytes are sent first where sending blocks. */
static void udt_finish(int epoll, UDTSOCKET socket)
{
	bool wait = true;

	UDT::epoll_remove_usock(epoll, socket);
	UDT::setsockopt(socket, 0, UDT_SNDSYN, &wait, sizeof(wait));
	UDT::close(socket);
}

static void udt_send_many(struct flood *flood)
{
	uint8_t *walk = flood_walk();
	int epoll = UDT::epoll_create();
	UDTSOCKET ready[EVENTS];
	udt_numbers number;

	udt_connect_many(flood, epoll, number);
	while (!flood_over(flood)) {
		int count = EVENTS;

		if (UDT::epoll_wait2(epoll, NULL, NULL, ready, &count,
				     PATIENCE_MS) <= 0)
			continue;
		for (int i = 0; i < count && i < EVENTS; i++)
			udt_give(flood, walk, ready[i], number[ready[i]]);
	}
	for (udt_numbers::iterator at = number.begin(); at != number.end();
	     ++at)
		udt_finish(epoll, at->first);
	flood_report(flood);
	free(walk);
}

int main(int argc, char **argv)
{
	struct flood flood;

	flood_begin(&flood, argc, argv);
	UDT::startup();
	if (flood.connections > 1)
		(flood.sends ? udt_send_many : udt_recv_many)(&flood);
	else if (flood.sends)
		udt_send(&flood);
	else
		udt_recv(&flood);
	UDT::cleanup();
	return 0;
}
