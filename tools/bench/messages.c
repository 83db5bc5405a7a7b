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
#include <sys/time.h>

#include <nopal/microprotocol.h>
#include "bench/bench.h"
#include "frame/loop.h"
#include "frame/tool.h"
#include "load/clock.h"
#include "load/pair.h"

enum {
	MESSAGES_BYTES = 64,
	MESSAGES_BATCH = 64,
	MESSAGES_MAX_BYTES = 1000, /* a datagram has to hold one */
	MESSAGES_BLOCK = 64 << 10,
	MESSAGES_SILENT_MS = 500, /* then nobody sends any more */
	MESSAGES_MS = 1000,
};
#define MESSAGES_WARM_NS (200 * NOPAL_MILLISECOND) /* is not counted */

enum messages_kind { MESSAGES_RAW, MESSAGES_GSO, MESSAGES_CONFIG };

struct messages_row {
	const char *what;
	enum messages_kind kind;
	struct nopal_plan *plan;
	uint32_t size;
};

struct messages {
	const struct messages_row *row;
	struct bench_place place;
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
static void messages_raw_partner(const struct messages_row *row, const struct bench_place *place,
				 int tell)
{
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);
	uint8_t byte;
	uint16_t port = 0;
	int fd = bench_socket_bound(place->address, SOCK_DGRAM, &port);

	if (fd < 0)
		return;
	bench_partner_tell(tell, port);
	if (recvfrom(fd, &byte, sizeof(byte), 0, (struct sockaddr *)&from, &length) < 0 ||
	    connect(fd, (struct sockaddr *)&from, length))
		return;
	if (row->kind == MESSAGES_GSO) {
		uint32_t size = row->size;
		uint8_t *bytes = calloc(MESSAGES_BATCH, size);
		int segment = (int)size;

		setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment));
		while (bytes && (send(fd, bytes, (size_t)MESSAGES_BATCH * size, 0) > 0 ||
				 errno == ENOBUFS || errno == ECONNREFUSED))
			;
	} else {
		uint32_t size = row->size;
		struct messages_batch *batch = messages_batch_new(size);

		while (batch && (sendmmsg(fd, batch->headers, MESSAGES_BATCH, 0) > 0 ||
				 errno == ENOBUFS || errno == ECONNREFUSED))
			;
	}
}

static void messages_raw(struct messages *messages, uint16_t port)
{
	struct timeval silent = { .tv_usec = MESSAGES_SILENT_MS * MESSAGES_MS };
	int fd = bench_socket_connected(messages->place.address, SOCK_DGRAM, port);

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silent, sizeof(silent));
	bench_socket_buffers(fd);
	if (send(fd, "", 1, 0) == 1) {
		if (messages->row->kind == MESSAGES_GSO) {
			uint8_t *bytes = malloc(MESSAGES_BLOCK);
			uint32_t size = messages->row->size;
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
	struct messages *messages; /* NULL: it is the partner, and sends */
	uint32_t size;
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
		side->full = nopal_send(side->session, bytes, side->size, 0) != 0;
	nopal_batch_stop(world);
	if (!side->full)
		loop_event_start(side->step, 0);
}

static void messages_on_writable(struct nopal_session *session, void *user)
{
	struct messages_side *side = user;

	(void)session;
	if (side->messages)
		return;
	side->full = false;
	loop_event_start(side->step, 0);
}

static void messages_on_received(struct nopal_session *session, struct nopal_message *message,
				 void *user)
{
	struct messages_side *side = user;

	(void)message;
	if (!side->messages && !side->session) {
		side->session = session;
		loop_event_start(side->step, 0);
	} else if (side->messages && !messages_count(side->messages, 1)) {
		loop_stop(side->loop);
	}
}

static void messages_on_opened(struct nopal_session *session, void *user)
{
	struct messages_side *side = user;

	if (side->messages)
		nopal_send(session, "", 1, 0); /* go */
}

static void *messages_on_accepted(struct nopal_session *session, void *user)
{
	(void)session;
	return user;
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
	.accepted = messages_on_accepted,
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
	const struct messages_row *row = user;

	if (row->kind == MESSAGES_CONFIG) {
		struct messages_side side = { .size = row->size, .loop = loop_new(NULL) };

		if (side.loop)
			side.step =
				loop_event_new(side.loop, LOOP_TIMER, -1, messages_on_step, &side);
		if (bench_partner_listen(side.loop, place, row->plan, &messages_callbacks, &side,
					 tell))
			loop_run(side.loop);
	} else {
		messages_raw_partner(row, place, tell);
	}
}

static bool messages_measure(struct bench_report *report, struct messages *messages,
			     struct messages_row *row, int round)
{
	int64_t for_ns = (int64_t)(bench_options(report)->seconds * NOPAL_SECOND);
	struct bench_partner partner;
	bool good = bench_partner_start(&partner, &messages->place, messages_partner, row);

	messages->row = row;
	messages->count = 0;
	messages->begun_ns = clock_now_ns() + MESSAGES_WARM_NS;
	messages->end_ns = messages->begun_ns + for_ns;
	if (good && row->kind == MESSAGES_CONFIG) {
		struct messages_side side = { .messages = messages, .loop = loop_new(NULL) };

		if (side.loop) {
			side.step =
				loop_event_new(side.loop, LOOP_TIMER, -1, messages_on_over, &side);
			if (side.step &&
			    bench_partner_open(side.loop, &messages->place, partner.port,
					       messages->row->plan, &messages_callbacks, &side)) {
				loop_event_start(side.step, messages->end_ns - clock_now_ns());
				loop_run(side.loop);
			}
			loop_event_free(side.step);
			loop_free(side.loop);
		}
	} else if (good) {
		messages_raw(messages, partner.port);
	}
	bench_partner_end(&partner);
	if (good)
		bench_add(report,
			  &(struct bench_value){ .what = row->what,
						 .path = messages->place.here ? "netns" : "lo",
						 .measure = "delivered",
						 .class = BENCH_NONE,
						 .round = round,
						 .value = (double)messages->count /
							  ((double)for_ns / NOPAL_SECOND) });
	return good;
}

static enum tool_exit messages_rounds(struct bench_report *report, struct messages *messages,
				      struct messages_row *rows, int count)
{
	int order[BENCH_MAX_ROWS];

	for (int round = 0; round < bench_options(report)->rounds; round++) {
		bench_shuffle(order, count);
		for (int i = 0; i < count; i++)
			if (!messages_measure(report, messages, &rows[order[i]], round))
				return TOOL_ENVIRONMENT;
	}
	return TOOL_GOOD;
}

static bool messages_row(const char *what, int64_t size, struct messages_row *row)
{
	*row = (struct messages_row){ .what = what, .size = (uint32_t)size };
	if (strcmp(what, "raw") == 0)
		return true;
	row->kind = MESSAGES_GSO;
	if (strcmp(what, "raw-gso") == 0)
		return true;
	row->kind = MESSAGES_CONFIG;
	row->plan = bench_plan(what);
	return row->plan != NULL;
}

static bool messages_size(struct bench_report *report, int64_t *ret_size)
{
	int64_t size = bench_options(report)->size;

	*ret_size = size > 0 ? size : MESSAGES_BYTES;
	if (*ret_size <= MESSAGES_MAX_BYTES)
		return true;
	fprintf(stderr,
		"error: --size %lld is no short message\n"
		"  fix: say 1 to %d bytes\n",
		(long long)size, MESSAGES_MAX_BYTES);
	return false;
}

int bench_messages(int argc, char **argv, struct bench_report *report)
{
	char **words =
		bench_words(bench_options(report)->rows,
			    "raw,raw-gso,ctp_minimal,ctp_minimal+coalesce,bulk,bulk+coalesce");
	struct messages_row rows[BENCH_MAX_ROWS];
	struct messages messages = { .count = 0 };
	enum tool_exit exit = TOOL_BAD_INPUT;
	int64_t size = 0;
	int count = 0;
	bool good = words && bench_place_of(argc, argv, &messages.place) &&
		    messages_size(report, &size);

	for (char **word = words; good && *word && count < BENCH_MAX_ROWS; word++)
		good = messages_row(*word, size, &rows[count++]);
	if (good) {
		bench_measure(report, "delivered", "1/s", BENCH_MORE_IS_BETTER);
		bench_reference(report, BENCH_NONE, "raw");
		bench_note(report,
			   "messages of %lld bytes that arrived in a second, sent in batches of %d",
			   (long long)size, MESSAGES_BATCH);
		exit = messages_rounds(report, &messages, rows, count);
	}
	for (int i = 0; i < count; i++)
		nopal_plan_unref(rows[i].plan);
	free(words);
	return (int)exit;
}
