/* SPDX-License-Identifier: MIT */
/*
 * peer_srt -- SRT: `srt` in file mode as a byte stream, `srt-live` in live mode with packets of
 * 1400 bytes, neither delayed nor dropped, at any rate.
 */
#include <srt/srt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flood.h"

enum {
	OWN_HEADERS = 44, /* IP, UDP and SRT */
	FLIGHT = 32768,	  /* packets */
	REFUSED = 3,
};

static void srt_check(int result, const char *what)
{
	if (result != SRT_ERROR)
		return;
	fprintf(stderr, "srt: %s: %s\n", what, srt_getlasterror_str());
	exit(REFUSED);
}

static void srt_set(SRTSOCKET socket, SRT_SOCKOPT option, int64_t value, int length)
{
	int narrow = (int)value;
	bool flag = value != 0;
	const void *bytes = &value;

	if (length == (int)sizeof(int))
		bytes = &narrow;
	else if (length == (int)sizeof(bool))
		bytes = &flag;
	srt_check(srt_setsockflag(socket, option, bytes, length), "option");
}

static void srt_set_live(SRTSOCKET socket)
{
	srt_set(socket, SRTO_TSBPDMODE, false, sizeof(bool));
	srt_set(socket, SRTO_TLPKTDROP, false, sizeof(bool));
	srt_set(socket, SRTO_PAYLOADSIZE, FLOOD_PAYLOAD, sizeof(int));
	srt_set(socket, SRTO_MAXBW, -1, sizeof(int64_t));
}

static SRTSOCKET srt_open(struct flood *flood)
{
	bool live = strcmp(flood->what, "srt-live") == 0;
	SRTSOCKET socket;
	uint32_t version = srt_getversion();

	srt_startup();
	socket = srt_create_socket();
	srt_set(socket, SRTO_TRANSTYPE, live ? SRTT_LIVE : SRTT_FILE, sizeof(int));
	srt_set(socket, SRTO_MSS, FLOOD_PAYLOAD + OWN_HEADERS, sizeof(int));
	srt_set(socket, SRTO_FC, FLIGHT, sizeof(int));
	srt_set(socket, SRTO_RCVBUF, FLIGHT * FLOOD_PAYLOAD, sizeof(int));
	srt_set(socket, SRTO_SNDBUF, FLIGHT * FLOOD_PAYLOAD, sizeof(int));
	srt_set(socket, SRTO_UDP_RCVBUF, FLOOD_SOCKET_BUFFER, sizeof(int));
	srt_set(socket, SRTO_UDP_SNDBUF, FLOOD_SOCKET_BUFFER, sizeof(int));
	if (live)
		srt_set_live(socket);
	snprintf(flood->version, sizeof(flood->version), "SRT %u.%u.%u %s",
		 version >> 16 & UINT8_MAX, version >> 8 & UINT8_MAX, version & UINT8_MAX,
		 live ? "live" : "file");
	return socket;
}

/* SRT sets its buffers without force: the kernel's limit applies. */
static void srt_note_buffers(struct flood *flood, SRTSOCKET socket)
{
	int length = sizeof(int);

	srt_getsockflag(socket, SRTO_UDP_RCVBUF, &flood->receive_buffer, &length);
	srt_getsockflag(socket, SRTO_UDP_SNDBUF, &flood->send_buffer, &length);
}

static void srt_receive(struct flood *flood)
{
	static char block[FLOOD_WRITE];
	SRTSOCKET listener = srt_open(flood), socket;
	int got;

	srt_check(srt_bind(listener, (struct sockaddr *)&flood->address, sizeof(flood->address)),
		  "bind");
	srt_check(srt_listen(listener, 1), "listen");
	flood_ready(flood);
	socket = srt_accept(listener, NULL, NULL);
	srt_check(socket, "accept");
	srt_note_buffers(flood, socket);
	while ((got = srt_recv(socket, block, sizeof(block))) > 0) {
		flood_arrived(flood);
		flood_stream(flood, block, (size_t)got);
	}
	flood_report(flood);
	srt_close(socket);
	srt_close(listener);
}

static void srt_push(SRTSOCKET socket, const uint8_t *next, size_t length)
{
	for (size_t done = 0; done < length;) {
		int sent = srt_send(socket, (const char *)next + done, (int)(length - done));

		srt_check(sent, "send");
		done += (size_t)sent;
	}
}

static void srt_flood(struct flood *flood)
{
	uint8_t *walk = flood_walk();
	SRTSOCKET socket = srt_open(flood);
	size_t max = strcmp(flood->what, "srt-live") == 0 ? FLOOD_PAYLOAD : FLOOD_WRITE;

	srt_check(srt_connect(socket, (struct sockaddr *)&flood->address, sizeof(flood->address)),
		  "connect");
	srt_note_buffers(flood, socket);
	while (!flood_over(flood)) {
		size_t length;
		const uint8_t *next = flood_next(flood, walk, max, &length);

		srt_push(socket, next, length);
	}
	srt_close(socket);
	flood_report(flood);
	free(walk);
}

int main(int argc, char **argv)
{
	struct flood flood;

	flood_begin(&flood, argc, argv);
	if (flood.sends)
		srt_flood(&flood);
	else
		srt_receive(&flood);
	srt_cleanup();
	return 0;
}
