/* SPDX-License-Identifier: MIT */
/*
 * messages.c -- how many short messages a second one session carries.
 *
 *     nopal bench messages [HERE_NETNS THERE_NETNS THERE_ADDRESS]
 *
 * The partner sends messages of 64 bytes (--size) as fast as it may; this process counts what
 * arrives.  "raw" is a datagram a message, 64 of them a sendmmsg and a recvmmsg; "raw-gso" sends
 * the same datagrams in trains and receives them so.  A config sends 64 messages a batch; with
 * "+coalesce" behind its name short messages share datagrams.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <nopal/microprotocol.h>
#include "bench/bench.h"
#include "load/clock.h"

enum {
	MESSAGES_BYTES = 64,
	MESSAGES_BATCH = 64,
	MESSAGES_MAX_BYTES = 1000, /* a datagram has to hold one */
	MESSAGES_BLOCK = 64 << 10,
};
#define MESSAGES_WARM_NS   (200 * NOPAL_MILLISECOND) /* is not counted */
#define MESSAGES_SILENT_NS (500 * NOPAL_MILLISECOND) /* then nobody sends any more */

enum { MESSAGES_RAW, MESSAGES_GSO };

/* One end of a row in a round: the opener counts, and the partner sends. */
struct messages {
	struct side side;
	int plain; /* MESSAGES_RAW or MESSAGES_GSO */
	uint32_t size;
	int64_t for_ns; /* of the counting */
	uint64_t count;
	struct loop_event *step; /* the next batch */
	bool full;
};

/* Counts while it is time; false: it is over. */
static bool messages_count(struct messages *messages, uint64_t count)
{
	int64_t past_ns = clock_now_ns() - messages->side.begun_ns - MESSAGES_WARM_NS;

	if (past_ns >= messages->for_ns)
		return false;
	if (past_ns >= 0)
		messages->count += count;
	return true;
}

/* ------------------------------------------------------------------- raw UDP */

struct messages_batch {
	struct mmsghdr headers[MESSAGES_BATCH];
	struct iovec vectors[MESSAGES_BATCH];
	uint8_t bytes[MESSAGES_BATCH][MESSAGES_MAX_BYTES];
};

static struct messages_batch *messages_batch_new(uint32_t size)
{
	struct messages_batch *batch = tool_need(calloc(1, sizeof(*batch)));

	for (int i = 0; i < MESSAGES_BATCH; i++) {
		batch->vectors[i].iov_base = batch->bytes[i];
		batch->vectors[i].iov_len = size;
		batch->headers[i].msg_hdr.msg_iov = &batch->vectors[i];
		batch->headers[i].msg_hdr.msg_iovlen = 1;
	}
	return batch;
}

/* The partner: the first datagram says whom to flood. */
static void messages_raw_send(void *user, int fd)
{
	const struct messages *messages = user;
	uint32_t size = messages->size;
	uint8_t byte;

	bench_socket_patience(fd, 0); /* it is killed in the end */
	if (bench_socket_meet(fd, &byte, sizeof(byte)) < 0)
		return;
	if (messages->plain == MESSAGES_GSO) {
		uint8_t *bytes = tool_need(calloc(MESSAGES_BATCH, size));
		int segment = (int)size;

		setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment));
		while (send(fd, bytes, (size_t)MESSAGES_BATCH * size, 0) > 0 || errno == ENOBUFS ||
		       errno == ECONNREFUSED)
			;
	} else {
		struct messages_batch *batch = messages_batch_new(size);

		while (sendmmsg(fd, batch->headers, MESSAGES_BATCH, 0) > 0 || errno == ENOBUFS ||
		       errno == ECONNREFUSED)
			;
	}
}

static void messages_raw_count(void *user, int fd)
{
	struct messages *messages = user;

	bench_socket_patience(fd, MESSAGES_SILENT_NS);
	bench_socket_buffers(fd);
	if (send(fd, "", 1, 0) != 1)
		return;
	if (messages->plain == MESSAGES_GSO) {
		uint8_t *bytes = tool_need(malloc(MESSAGES_BLOCK));
		ssize_t got;
		int on = 1;

		setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof(on));
		do
			got = recv(fd, bytes, MESSAGES_BLOCK, 0);
		while (got > 0 && messages_count(messages, (uint64_t)got / messages->size));
		free(bytes);
	} else {
		struct messages_batch *batch = messages_batch_new(MESSAGES_MAX_BYTES);
		int got;

		do
			got = recvmmsg(fd, batch->headers, MESSAGES_BATCH, MSG_WAITFORONE, NULL);
		while (got > 0 && messages_count(messages, (uint64_t)got));
		free(batch);
	}
}

/* -------------------------------------------------------------------- configs */

/* A batch, and then the loop has its turn: acks, and other timers. */
static void messages_on_step(void *user)
{
	static const uint8_t bytes[MESSAGES_MAX_BYTES];
	struct messages *messages = user;
	struct side *side = &messages->side;

	nopal_batch_start(side->world);
	for (int i = 0; i < MESSAGES_BATCH && !messages->full; i++)
		messages->full = nopal_send(side->session, bytes, messages->size, 0) != 0;
	nopal_batch_stop(side->world);
	if (!messages->full)
		loop_event_start(messages->step, 0);
}

/* The partner sends without end as soon as it is asked to. */
static void messages_on_sender(void *user, const struct side_event *event)
{
	struct messages *messages = user;
	struct side *side = &messages->side;

	if (event->kind == SIDE_ENDED)
		loop_stop(side->loop);
	if (event->kind == SIDE_RECEIVED && !side->session) {
		side->session = event->session;
		messages->step =
			loop_event_new(side->loop, LOOP_TIMER, -1, messages_on_step, messages);
	} else if (event->kind != SIDE_WRITABLE) {
		return;
	}
	messages->full = false;
	if (messages->step)
		loop_event_start(messages->step, 0);
}

static void messages_on_counter(void *user, const struct side_event *event)
{
	struct messages *messages = user;

	if (event->kind == SIDE_OPENED)
		nopal_send(event->session, "", 1, 0); /* go */
	if (event->kind == SIDE_ENDED ||
	    (event->kind == SIDE_RECEIVED && !messages_count(messages, 1)))
		side_over(&messages->side);
}

/* --------------------------------------------------------------------- rounds */

static enum tool_exit messages_measure(struct bench *bench, const struct bench_row *row)
{
	int64_t for_ns = (int64_t)(bench->seconds * NOPAL_SECOND);
	struct messages sender = {
		.side = { .on = messages_on_sender },
		.plain = row->plain,
		.size = (uint32_t)bench->size,
	};
	struct messages counter = sender;
	struct side_work work = {
		.protocol = row->plan ? SIDE_CONFIG : SIDE_UDP,
		.plan = row->plan,
		.opener = &counter.side,
		.listener = &sender.side,
		.ask = messages_raw_count,
		.answer = messages_raw_send,
	};

	counter.side.on = messages_on_counter;
	counter.side.patience_ns = MESSAGES_WARM_NS + for_ns;
	counter.for_ns = for_ns;
	if (!side_work(&work, &(struct side_place){ .live = true, .pair = bench->place }))
		return TOOL_ENVIRONMENT;
	bench_add(bench, bench->place.here ? "netns" : "lo", row->name, "delivered",
		  (double)counter.count / ((double)for_ns / NOPAL_SECOND));
	return TOOL_GOOD;
}

static bool messages_begin(struct bench *bench)
{
	if (bench->size > MESSAGES_MAX_BYTES)
		return tool_error("--size %lld is no short message\n  fix: say 1 to %d bytes",
				  (long long)bench->size, MESSAGES_MAX_BYTES);
	if (bench->size <= 0)
		bench->size = MESSAGES_BYTES;
	report_note(bench->report,
		    "messages of %lld bytes that arrived in a second, sent in batches of %d",
		    (long long)bench->size, MESSAGES_BATCH);
	return true;
}

const struct bench_measurement bench_messages = {
	.name = "messages",
	.uses = BENCH_USE_SECONDS | BENCH_USE_ROWS | BENCH_USE_SIZE,
	.words = BENCH_PLACE,
	.rows = "raw,raw-gso,ctp_minimal,ctp_minimal+coalesce,bulk,bulk+coalesce",
	.plain = (const char *const[]){ "raw", "raw-gso", NULL },
	.columns = { { "delivered", "1/s", REPORT_MORE_IS_BETTER } },
	.reference = "raw",
	.begin = messages_begin,
	.measure = messages_measure,
};
