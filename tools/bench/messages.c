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
#include <unistd.h>
#include <sys/socket.h>

#include <nopal/microprotocol.h>
#include "bench/bench.h"
#include "frame/loop.h"
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

/* A row in a round, at both ends. */
struct messages {
	const struct bench_row *row;
	const struct bench_place *place;
	uint32_t size;
	int64_t begun_ns, end_ns; /* of the counting */
	uint64_t count;
};

/* Counts while it is time; false: it is over. */
static bool messages_count(struct messages *messages, uint64_t count)
{
	int64_t now_ns = clock_now_ns();

	if (now_ns >= messages->end_ns)
		return false;
	if (now_ns >= messages->begun_ns)
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
	struct messages_batch *batch = calloc(1, sizeof(*batch));

	for (int i = 0; batch && i < MESSAGES_BATCH; i++) {
		batch->vectors[i].iov_base = batch->bytes[i];
		batch->vectors[i].iov_len = size;
		batch->headers[i].msg_hdr.msg_iov = &batch->vectors[i];
		batch->headers[i].msg_hdr.msg_iovlen = 1;
	}
	return batch;
}

/* The first datagram says whom to flood. */
static void messages_raw_partner(const struct messages *messages, int tell)
{
	int fd = bench_partner_socket(messages->place, SOCK_DGRAM, tell);
	uint32_t size = messages->size;
	uint8_t byte;

	if (fd < 0 || bench_socket_meet(fd, &byte, sizeof(byte)) < 0)
		return;
	if (messages->row->plain == MESSAGES_GSO) {
		uint8_t *bytes = calloc(MESSAGES_BATCH, size);
		int segment = (int)size;

		setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment));
		while (bytes && (send(fd, bytes, (size_t)MESSAGES_BATCH * size, 0) > 0 ||
				 errno == ENOBUFS || errno == ECONNREFUSED))
			;
	} else {
		struct messages_batch *batch = messages_batch_new(size);

		while (batch && (sendmmsg(fd, batch->headers, MESSAGES_BATCH, 0) > 0 ||
				 errno == ENOBUFS || errno == ECONNREFUSED))
			;
	}
}

static void messages_raw(struct messages *messages, uint16_t port)
{
	int fd = bench_socket_connected(messages->place->address, SOCK_DGRAM, port);

	if (fd < 0)
		return;
	bench_socket_patience(fd, MESSAGES_SILENT_NS);
	bench_socket_buffers(fd);
	if (send(fd, "", 1, 0) == 1) {
		if (messages->row->plain == MESSAGES_GSO) {
			uint8_t *bytes = malloc(MESSAGES_BLOCK);
			uint32_t size = messages->size;
			ssize_t got;
			int on = 1;

			setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof(on));
			do
				got = bytes ? recv(fd, bytes, MESSAGES_BLOCK, 0) : -1;
			while (got > 0 && messages_count(messages, (uint64_t)got / size));
			free(bytes);
		} else {
			struct messages_batch *batch = messages_batch_new(MESSAGES_MAX_BYTES);
			int got;

			do
				got = batch ? recvmmsg(fd, batch->headers, MESSAGES_BATCH,
						       MSG_WAITFORONE, NULL)
					    : -1;
			while (got > 0 && messages_count(messages, (uint64_t)got));
			free(batch);
		}
	}
	close(fd);
}

/* -------------------------------------------------------------------- configs */

struct messages_side {
	struct messages *messages;
	bool sends; /* the partner */
	struct loop *loop;
	struct loop_event *step; /* partner: the next batch; here: the end */
	struct nopal_session *session;
	bool full;
};

/* A batch, and then the loop has its turn: acks, and other timers. */
static void messages_on_step(void *user)
{
	static const uint8_t bytes[MESSAGES_MAX_BYTES];
	struct messages_side *side = user;
	struct nopal_world *world = loop_world(side->loop);

	nopal_batch_start(world);
	for (int i = 0; i < MESSAGES_BATCH && !side->full; i++)
		side->full = nopal_send(side->session, bytes, side->messages->size, 0) != 0;
	nopal_batch_stop(world);
	if (!side->full)
		loop_event_start(side->step, 0);
}

static void messages_on_writable(struct nopal_session *session, void *user)
{
	struct messages_side *side = user;

	(void)session;
	if (!side->sends)
		return;
	side->full = false;
	loop_event_start(side->step, 0);
}

static void messages_on_received(struct nopal_session *session, struct nopal_message *message,
				 void *user)
{
	struct messages_side *side = user;

	(void)message;
	if (side->sends && !side->session) {
		side->session = session;
		loop_event_start(side->step, 0);
	} else if (!side->sends && !messages_count(side->messages, 1)) {
		loop_stop(side->loop);
	}
}

static void messages_on_opened(struct nopal_session *session, void *user)
{
	struct messages_side *side = user;

	if (!side->sends)
		nopal_send(session, "", 1, 0); /* go */
}

static void messages_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			      void *user)
{
	struct messages_side *side = user;

	(void)session;
	(void)end;
	(void)text;
	loop_stop(side->loop);
}

static const struct nopal_callbacks messages_callbacks = {
	.accepted = bench_accepted,
	.opened = messages_on_opened,
	.received = messages_on_received,
	.writable = messages_on_writable,
	.ended = messages_on_ended,
};

static void messages_on_over(void *user)
{
	struct messages_side *side = user;

	loop_stop(side->loop);
}

/* --------------------------------------------------------------------- rounds */

static void messages_partner(void *user, const struct bench_place *place, int tell)
{
	struct messages *messages = user;
	struct messages_side side = { .messages = messages, .sends = true };

	if (!messages->row->plan) {
		messages_raw_partner(messages, tell);
		return;
	}
	side.loop = loop_new(NULL);
	if (side.loop)
		side.step = loop_event_new(side.loop, LOOP_TIMER, -1, messages_on_step, &side);
	if (bench_partner_listen(side.loop, place, messages->row->plan, &messages_callbacks, &side,
				 tell))
		loop_run(side.loop);
}

/* Counts what arrives in a session. */
static void messages_config(struct messages *messages, uint16_t port)
{
	struct messages_side side = { .messages = messages, .loop = loop_new(NULL) };

	if (!side.loop)
		return;
	side.step = loop_event_new(side.loop, LOOP_TIMER, -1, messages_on_over, &side);
	if (side.step && bench_partner_open(side.loop, messages->place, port, messages->row->plan,
					    &messages_callbacks, &side)) {
		loop_event_start(side.step, messages->end_ns - clock_now_ns());
		loop_run(side.loop);
	}
	loop_event_free(side.step);
	loop_free(side.loop);
}

static enum tool_exit messages_measure(struct bench *bench, const struct bench_row *row)
{
	int64_t for_ns = (int64_t)(bench->seconds * NOPAL_SECOND);
	struct messages messages = {
		.row = row,
		.place = &bench->place,
		.size = (uint32_t)bench->size,
	};
	struct bench_partner partner;
	bool good = bench_partner_start(&partner, &bench->place, messages_partner, &messages);

	messages.begun_ns = clock_now_ns() + MESSAGES_WARM_NS;
	messages.end_ns = messages.begun_ns + for_ns;
	if (good && row->plan)
		messages_config(&messages, partner.port);
	else if (good)
		messages_raw(&messages, partner.port);
	bench_partner_end(&partner);
	if (good)
		bench_add(bench, bench->place.here ? "netns" : "lo", row->name, "delivered",
			  (double)messages.count / ((double)for_ns / NOPAL_SECOND));
	return good ? TOOL_GOOD : TOOL_ENVIRONMENT;
}

static bool messages_begin(struct bench *bench)
{
	if (bench->size > MESSAGES_MAX_BYTES) {
		fprintf(stderr,
			"error: --size %lld is no short message\n"
			"  fix: say 1 to %d bytes\n",
			(long long)bench->size, MESSAGES_MAX_BYTES);
		return false;
	}
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
