/* SPDX-License-Identifier: MIT */
/*
 * peer_udt -- UDT 4 as a byte stream, in the language of its library.
 */
#include <cstdio>
#include <cstdlib>
#include <udt/udt.h>

#include "flood.h"

enum {
	OWN_HEADERS = 44, /* IP, UDP and UDT */
	FLIGHT = 32768,	  /* packets */
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

static UDTSOCKET udt_open(struct flood *flood)
{
	UDT::startup();
	UDTSOCKET socket = UDT::socket(AF_INET, SOCK_STREAM, 0);

	udt_set(socket, UDT_MSS, FLOOD_PAYLOAD + OWN_HEADERS);
	udt_set(socket, UDT_FC, FLIGHT);
	udt_set(socket, UDT_SNDBUF, FLIGHT * FLOOD_PAYLOAD);
	udt_set(socket, UDT_RCVBUF, FLIGHT * FLOOD_PAYLOAD);
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

static void udt_recv(struct flood *flood)
{
	static char block[FLOOD_WRITE];
	UDTSOCKET listener = udt_open(flood);
	struct sockaddr_storage peer;
	int length = sizeof(peer), got;

	udt_check(UDT::bind(listener, (struct sockaddr *)&flood->address,
			    sizeof(flood->address)),
		  "bind");
	udt_check(UDT::listen(listener, 1), "listen");
	flood_ready(flood);
	UDTSOCKET socket =
		UDT::accept(listener, (struct sockaddr *)&peer, &length);
	udt_note_buffers(flood, socket);
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
	UDTSOCKET socket = udt_open(flood);

	udt_check(UDT::connect(socket, (struct sockaddr *)&flood->address,
			       sizeof(flood->address)),
		  "connect");
	udt_note_buffers(flood, socket);
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

int main(int argc, char **argv)
{
	struct flood flood;

	flood_begin(&flood, argc, argv);
	if (flood.sends)
		udt_send(&flood);
	else
		udt_recv(&flood);
	UDT::cleanup();
	return 0;
}
