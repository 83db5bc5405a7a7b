/* SPDX-License-Identifier: MIT */
/*
 * peer_usrsctp -- SCTP in user space, over UDP: messages of 44 chunks of 1400 bytes on one stream,
 * in order.  Its CRC32C cannot be left out.
 *
 * Its UDP socket has the buffer that it gives itself, 256 KiB; its own queues get what the others'
 * sockets get.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <usrsctp.h>
#include <unistd.h>

#include "flood.h"

enum {
	SENDER_PORT = 9899, /* of the encapsulation (RFC 6951) */
	OWN_BUFFER = 256 << 10,
	MESSAGE = FLOOD_PAYLOAD * FLOOD_TRAIN,
	PATIENCE_MS = 3000,
	CHUNK_HEADERS = 16 + 12, /* data chunk and common header */
};

/* The port of the command line is the receiver's, of encapsulation and of SCTP. */
static struct socket *sctp_open(struct flood *flood)
{
	uint16_t port = flood->sends ? SENDER_PORT : ntohs(flood->address.sin_port);
	struct socket *socket;
	struct sctp_assoc_value segment = { .assoc_value = FLOOD_PAYLOAD + CHUNK_HEADERS };
	int on = 1;

	usrsctp_init(port, NULL, NULL);
	usrsctp_sysctl_set_sctp_blackhole(2);
	usrsctp_sysctl_set_sctp_ecn_enable(0);
	usrsctp_sysctl_set_sctp_sendspace(FLOOD_SOCKET_BUFFER);
	usrsctp_sysctl_set_sctp_recvspace(FLOOD_SOCKET_BUFFER);
	socket = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	if (!socket)
		flood_fail("usrsctp_socket");
	usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof(on));
	usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_MAXSEG, &segment, sizeof(segment));
	flood->receive_buffer = flood->send_buffer = OWN_BUFFER;
	flood->class_name = "crc";
	snprintf(flood->version, sizeof(flood->version), "usrsctp 0.9");
	return socket;
}

static void sctp_encapsulate(struct socket *socket, uint16_t port)
{
	struct sctp_udpencaps encaps = { 0 };

	encaps.sue_address.ss_family = AF_INET;
	encaps.sue_port = htons(port);
	usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps,
			   sizeof(encaps));
}

static ssize_t sctp_take(struct socket *socket, void *block, size_t room)
{
	struct sockaddr_in peer;
	struct sctp_rcvinfo info;
	socklen_t length = sizeof(peer), info_length = sizeof(info);
	unsigned int kind = 0;
	int flags = 0;

	return usrsctp_recvv(socket, block, room, (struct sockaddr *)&peer, &length, &info,
			     &info_length, &kind, &flags);
}

static void sctp_recv(struct flood *flood)
{
	static uint8_t block[FLOOD_WRITE];
	struct socket *listener = sctp_open(flood), *socket;
	ssize_t got;

	if (usrsctp_bind(listener, (struct sockaddr *)&flood->address, sizeof(flood->address)) <
		    0 ||
	    usrsctp_listen(listener, 1) < 0)
		flood_fail("usrsctp_bind");
	flood_ready(flood);
	socket = usrsctp_accept(listener, NULL, NULL);
	if (!socket)
		flood_fail("usrsctp_accept");
	while ((got = sctp_take(socket, block, sizeof(block))) > 0) {
		flood_arrived(flood);
		flood_stream(flood, block, (size_t)got);
	}
	flood_report(flood);
	usrsctp_close(socket);
	usrsctp_close(listener);
}

static void sctp_send(struct flood *flood)
{
	uint8_t *walk = flood_walk();
	struct socket *socket = sctp_open(flood);

	sctp_encapsulate(socket, ntohs(flood->address.sin_port));
	if (usrsctp_connect(socket, (struct sockaddr *)&flood->address, sizeof(flood->address)) < 0)
		flood_fail("usrsctp_connect");
	while (!flood_over(flood)) {
		size_t length;
		const uint8_t *next = flood_next(flood, walk, MESSAGE, &length);

		if (usrsctp_sendv(socket, next, length, NULL, 0, NULL, 0, SCTP_SENDV_NOINFO, 0) < 0)
			flood_fail("usrsctp_sendv");
	}
	flood_report(flood);
	usrsctp_shutdown(socket, SHUT_WR);
	/* what is queued leaves before the end is seen */
	sctp_take(socket, walk, FLOOD_WRITE);
	usrsctp_close(socket);
	free(walk);
}

int main(int argc, char **argv)
{
	struct flood flood;

	flood_begin(&flood, argc, argv);
	if (flood.sends)
		sctp_send(&flood);
	else
		sctp_recv(&flood);
	/* its threads may still hold the association: the kernel cleans up */
	_exit(0);
}
