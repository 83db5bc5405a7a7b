/* SPDX-License-Identifier: MIT */
/*
 * flood_raw -- raw UDP: the ceilings that everything else is held against.
 *
 *     raw        trains of 44 datagrams (UDP_SEGMENT) of 20 bytes of header and
 *                1400 of payload, copied into one block; UDP_GRO at the receiver,
 *                an ack each quarter of a window of 4 MiB
 *     raw-sg     the same, but the train is a list of 88 pieces
 *     raw-crc    as `raw`, with a CRC32C over each datagram, made and checked
 *     raw-crc-sg as `raw-sg`, likewise
 *     raw-hot    as `raw`, but one warm train is sent again and again
 *     raw-plain  as `raw`, but without window: what is lost is lost
 *     raw-single as `raw`, but each datagram by a call of its own, on both sides
 *
 * Nothing is resent or put in order.  An ack says the highest number that came, so a loss closes no
 * window; where a whole window is lost it is forgiven.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "flood.h"
#include "flood_crc.h"

enum {
	DATAGRAM = 20 + FLOOD_PAYLOAD,
	/* as much as the receiver's buffer takes, packet by packet: the fewer stops the better */
	WINDOW = 4 << 20,
	ACK_EACH = WINDOW / DATAGRAM / 4,
	BLOCK = 65536,
	LINE = 64, /* of a cache, bytes */
	BATCH = 32,
	QUIET_S = 1,	 /* the sender is gone */
	FORGIVE_MS = 20, /* nothing came back: the window was lost */
	FAREWELLS = 5,	 /* one of them will arrive */
	GATHERED = 2 * FLOOD_TRAIN,
	BAD_MODE = 2,
};

struct raw_header {
	uint32_t crc;
	uint64_t number;
	uint8_t rest[DATAGRAM - FLOOD_PAYLOAD - sizeof(uint64_t) - sizeof(uint32_t)];
} __attribute__((packed));

struct raw_mode {
	const char *name;
	bool windowed, gathers, hot, crc, singly;
};

struct raw {
	struct flood flood;
	const struct raw_mode *mode;
	int fd;
	uint64_t number; /* next to be sent, or behind the highest that came */
	uint64_t acked;	 /* by the receiver, or heard of by the sender */
	uint8_t *walk;
	uint8_t train[BLOCK];
	struct iovec pieces[GATHERED];
	struct raw_header headers[FLOOD_TRAIN];
};

static const struct raw_mode raw_modes[] = {
	{ "raw", .windowed = true },
	{ "raw-sg", .windowed = true, .gathers = true },
	{ "raw-crc", .windowed = true, .crc = true },
	{ "raw-crc-sg", .windowed = true, .gathers = true, .crc = true },
	{ "raw-hot", .windowed = true, .hot = true },
	{ "raw-plain", .windowed = false },
	{ "raw-single", .windowed = true, .singly = true },
};

static const struct raw_mode *raw_mode(const char *name)
{
	for (size_t i = 0; i < sizeof(raw_modes) / sizeof(raw_modes[0]); i++)
		if (strcmp(raw_modes[i].name, name) == 0)
			return &raw_modes[i];
	exit(BAD_MODE);
}

/* ------------------------------------------------------------------ receiver */

/* Of the payload, begun with the number, which is thereby covered too. */
static uint32_t raw_sum(const struct raw_header *header, const uint8_t *payload, size_t length)
{
	return flood_crc(payload, length, (uint32_t)header->number);
}

/* False for farewells: they are shorter than a header. */
static bool raw_take(struct raw *raw, const uint8_t *datagram, size_t length)
{
	struct raw_header header;

	if (length < sizeof(header))
		return false;
	memcpy(&header, datagram, sizeof(header));
	datagram += sizeof(header);
	length -= sizeof(header);
	if (raw->mode->crc && raw_sum(&header, datagram, length) != header.crc) {
		raw->flood.wrong += length;
		return true;
	}
	if (header.number >= raw->number)
		raw->number = header.number + 1;
	flood_datagram(&raw->flood, datagram, length);
	return true;
}

static bool raw_take_block(struct raw *raw, const uint8_t *block, size_t length)
{
	for (size_t at = 0; at < length; at += DATAGRAM)
		if (!raw_take(raw, block + at, length - at < DATAGRAM ? length - at : DATAGRAM))
			return false;
	return true;
}

/* A quarter of the window has come since the last ack. */
static void raw_ack(struct raw *raw, const struct sockaddr_in *peer)
{
	if (!raw->mode->windowed || raw->number - raw->acked < ACK_EACH)
		return;
	raw->acked = raw->number;
	sendto(raw->fd, &raw->number, sizeof(raw->number), 0, (const struct sockaddr *)peer,
	       sizeof(*peer));
}

/* Waits, and takes whatever has come by one call.  False: the sender said farewell, or is gone. */
static bool raw_batch(struct raw *raw)
{
	static uint8_t blocks[BATCH][BLOCK];
	struct mmsghdr messages[BATCH] = { 0 };
	struct iovec pieces[BATCH];
	struct sockaddr_in peer;
	int got, batch = raw->mode->singly ? 1 : BATCH;
	bool more = true;

	for (int i = 0; i < batch; i++) {
		pieces[i] = (struct iovec){ blocks[i], BLOCK };
		messages[i].msg_hdr.msg_iov = &pieces[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	messages[0].msg_hdr.msg_name = &peer;
	messages[0].msg_hdr.msg_namelen = sizeof(peer);
	got = recvmmsg(raw->fd, messages, (unsigned)batch, MSG_WAITFORONE, NULL);
	if (got <= 0)
		return raw->flood.first <= 0;
	flood_arrived(&raw->flood);
	for (int i = 0; i < got; i++)
		more = raw_take_block(raw, blocks[i], messages[i].msg_len) && more;
	raw_ack(raw, &peer);
	return more;
}

static void raw_recv(struct raw *raw)
{
	const struct timeval quiet = { QUIET_S, 0 };
	int merged = !raw->mode->singly;

	setsockopt(raw->fd, SOL_SOCKET, SO_RCVTIMEO, &quiet, sizeof(quiet));
	setsockopt(raw->fd, SOL_UDP, UDP_GRO, &merged, sizeof(merged));
	if (bind(raw->fd, (struct sockaddr *)&raw->flood.address, sizeof(raw->flood.address)) < 0)
		flood_fail("bind");
	flood_ready(&raw->flood);
	while (raw_batch(raw))
		;
}

/* -------------------------------------------------------------------- sender */

/* The next payload, and the one behind it is on its way into the cache: a copy that waits for
 * memory at every line would be no ceiling.  (Beyond the walk's end that is harmless.) */
static const uint8_t *raw_payload(struct raw *raw)
{
	size_t length;
	const uint8_t *next = flood_next(&raw->flood, raw->walk, FLOOD_PAYLOAD, &length);

	for (size_t at = 0; at < FLOOD_PAYLOAD; at += LINE)
		__builtin_prefetch(next + FLOOD_PAYLOAD + at);
	return next;
}

static void raw_copy_train(struct raw *raw)
{
	for (size_t i = 0; i < FLOOD_TRAIN; i++) {
		uint8_t *datagram = raw->train + i * DATAGRAM;
		struct raw_header header = { .number = raw->number++ };

		memcpy(datagram + sizeof(header), raw_payload(raw), FLOOD_PAYLOAD);
		if (raw->mode->crc)
			header.crc = raw_sum(&header, datagram + sizeof(header), FLOOD_PAYLOAD);
		memcpy(datagram, &header, sizeof(header));
	}
	raw->pieces[0] = (struct iovec){ raw->train, FLOOD_TRAIN * DATAGRAM };
}

static void raw_gather_train(struct raw *raw)
{
	for (size_t i = 0; i < FLOOD_TRAIN; i++) {
		struct raw_header *header = &raw->headers[i];
		const uint8_t *payload = raw_payload(raw);

		header->number = raw->number++;
		if (raw->mode->crc)
			header->crc = raw_sum(header, payload, FLOOD_PAYLOAD);
		raw->pieces[2 * i] = (struct iovec){ header, sizeof(*header) };
		raw->pieces[2 * i + 1] =
			(struct iovec){ (void *)(uintptr_t)payload, FLOOD_PAYLOAD };
	}
}

/* The payload of the first train, and its numbers alone anew. */
static void raw_warm_train(struct raw *raw)
{
	if (raw->number == 0) {
		raw_copy_train(raw);
		return;
	}
	for (size_t i = 0; i < FLOOD_TRAIN; i++, raw->number++)
		memcpy(raw->train + i * DATAGRAM + offsetof(struct raw_header, number),
		       &raw->number, sizeof(raw->number));
}

static size_t raw_make_train(struct raw *raw)
{
	if (raw->mode->gathers) {
		raw_gather_train(raw);
		return GATHERED;
	}
	if (raw->mode->hot)
		raw_warm_train(raw);
	else
		raw_copy_train(raw);
	return 1;
}

static bool raw_refused(void)
{
	if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR)
		flood_fail("sendmsg");
	return true;
}

static void raw_transmit_singly(struct raw *raw)
{
	raw_copy_train(raw);
	for (size_t i = 0; i < FLOOD_TRAIN; i++)
		while (send(raw->fd, raw->train + i * DATAGRAM, DATAGRAM, 0) < 0 && raw_refused())
			;
}

static void raw_transmit(struct raw *raw)
{
	char control[CMSG_SPACE(sizeof(uint16_t))] = { 0 };
	struct msghdr message = { .msg_iov = raw->pieces,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&message);
	uint16_t size = DATAGRAM;

	message.msg_iovlen = raw_make_train(raw);
	cmsg->cmsg_level = SOL_UDP;
	cmsg->cmsg_type = UDP_SEGMENT;
	cmsg->cmsg_len = CMSG_LEN(sizeof(size));
	memcpy(CMSG_DATA(cmsg), &size, sizeof(size));
	while (sendmsg(raw->fd, &message, 0) < 0 && raw_refused())
		;
}

static bool raw_has_room(const struct raw *raw)
{
	return (raw->number - raw->acked + FLOOD_TRAIN) * DATAGRAM <= WINDOW;
}

/* Acks are looked for when the window is full. */
static bool raw_may_send(struct raw *raw)
{
	struct pollfd wait = { raw->fd, POLLIN, 0 };
	uint64_t heard;

	if (!raw->mode->windowed || raw_has_room(raw))
		return true;
	while (recv(raw->fd, &heard, sizeof(heard), MSG_DONTWAIT) == sizeof(heard))
		if (heard > raw->acked)
			raw->acked = heard;
	if (raw_has_room(raw))
		return true;
	if (poll(&wait, 1, FORGIVE_MS) == 0)
		raw->acked = raw->number;
	return false;
}

static void raw_send(struct raw *raw)
{
	raw->walk = flood_walk();
	if (connect(raw->fd, (struct sockaddr *)&raw->flood.address, sizeof(raw->flood.address)) <
	    0)
		flood_fail("connect");
	while (!flood_over(&raw->flood))
		if (raw_may_send(raw))
			(raw->mode->singly ? raw_transmit_singly : raw_transmit)(raw);
	for (int i = 0; i < FAREWELLS; i++)
		send(raw->fd, "", 1, 0);
	free(raw->walk);
}

int main(int argc, char **argv)
{
	static struct raw raw; /* large */

	flood_begin(&raw.flood, argc, argv);
	raw.flood.alone = true;
	raw.mode = raw_mode(raw.flood.what);
	if (raw.mode->crc) {
		raw.flood.class_name = "crc";
		if (!flood_crc_is_here())
			return FLOOD_NOT_HERE;
	}
	snprintf(raw.flood.version, sizeof(raw.flood.version), "%s, window %d",
		 raw.mode->singly ? "a datagram a call" : "trains of 44, gro at the receiver",
		 raw.mode->windowed ? WINDOW : 0);
	raw.fd = socket(AF_INET, SOCK_DGRAM, 0);
	flood_buffers(&raw.flood, raw.fd);
	if (raw.flood.sends)
		raw_send(&raw);
	else
		raw_recv(&raw);
	flood_report(&raw.flood);
	return 0;
}
