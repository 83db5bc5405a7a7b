/* SPDX-License-Identifier: MIT */
/*
 * fanout.c -- one sender, the same message to many sessions of one endpoint, against plain
 * UDP to as many peers.
 *
 *     nopal bench fanout [HERE_NETNS THERE_NETNS THERE_ADDRESS]
 *
 * The measure is the sender's processor time for a message to one peer. "raw" hands a train a
 * peer to sendmmsg, payload stored once, and gets a datagram of one byte for each; nothing is
 * resent.  A config stores the payload once, too.  Both keep a few messages under way.  Peers
 * (--count: so many only) are 1, 10, 100, 1000; messages have 14000 bytes (--size).
 */
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <nopal/microprotocol.h>
#include "bench/bench.h"
#include "load/clock.h"

enum {
	FANOUT_SIZE = 14000,
	FANOUT_MAX_SIZE = 60000, /* a train has to hold one */
	FANOUT_SEGMENT = 1400,
	FANOUT_MAX_PEERS = 10000,
	FANOUT_UNDER_WAY = 4, /* messages of a session */
	FANOUT_PATH_ROOM = 16,
	FANOUT_GSO_BATCH = 64, /* peers a sendmmsg */
	FANOUT_RAW_MAX = 128,  /* messages under way: buffers hold them */
	FANOUT_US = 1000,
};
#define FANOUT_LOST_NS	 (100 * NOPAL_MILLISECOND) /* then answers are lost */
#define FANOUT_SETTLE_NS (20 * NOPAL_SECOND)	   /* for all sessions to open */

/* One end of a row in a round. */
struct fanout {
	struct side side;
	struct nopal_plan *plan; /* NULL: plain UDP */
	int64_t peers;		 /* 0: it is the partner */
	uint32_t size;
	int64_t for_ns, begun_ns, cpu_ns; /* of the counting */
	int64_t messages;		  /* to one peer each */
	struct nopal_buffer *payload;
	/* of a config */
	struct nopal_session **sessions;
	int64_t open, under_way;
	bool begun, filling;
};

/* Time and processor of what was counted; false: there is time left. */
static bool fanout_over(struct fanout *fanout)
{
	if (clock_now_ns() - fanout->begun_ns < fanout->for_ns)
		return false;
	fanout->cpu_ns = clock_cpu_ns() - fanout->cpu_ns;
	return true;
}

static void fanout_begin(struct fanout *fanout)
{
	fanout->begun = true;
	fanout->begun_ns = clock_now_ns();
	fanout->cpu_ns = clock_cpu_ns();
}

/* ------------------------------------------------------------------- raw UDP */

/* An unconnected socket: to many peers each send names its own. */
static void fanout_raw(void *user, int fd)
{
	struct sockaddr nobody = { .sa_family = AF_UNSPEC };
	struct fanout *fanout = user;
	struct mmsghdr out[FANOUT_GSO_BATCH] = { 0 }, in[FANOUT_GSO_BATCH] = { 0 };
	struct iovec payload = { nopal_buffer_bytes(fanout->payload), fanout->size };
	struct sockaddr_storage to;
	socklen_t to_length = sizeof(to);
	uint8_t byte;
	struct iovec answer = { &byte, sizeof(byte) };
	int64_t under_way = 0, max = fanout->peers * FANOUT_UNDER_WAY, now;
	int segment = FANOUT_SEGMENT;

	if (max > FANOUT_RAW_MAX)
		max = FANOUT_RAW_MAX;
	if (getpeername(fd, (struct sockaddr *)&to, &to_length) ||
	    connect(fd, &nobody, sizeof(nobody)))
		return;
	bench_socket_buffers(fd);
	bench_socket_patience(fd, FANOUT_LOST_NS);
	if (fanout->size > FANOUT_SEGMENT)
		setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment));
	for (int i = 0; i < FANOUT_GSO_BATCH; i++) {
		in[i].msg_hdr = (struct msghdr){ .msg_iov = &answer, .msg_iovlen = 1 };
		out[i].msg_hdr = (struct msghdr){
			.msg_name = &to,
			.msg_namelen = to_length,
			.msg_iov = &payload,
			.msg_iovlen = 1,
		};
	}
	fanout_begin(fanout);
	do {
		for (int64_t left = fanout->peers; left > 0; left -= now) {
			int sent;

			now = left < FANOUT_GSO_BATCH ? left : FANOUT_GSO_BATCH;
			/* One visit to up to so many peers, once their number may be under way. */
			while (under_way > 0 && under_way + now > max) {
				int got = recvmmsg(fd, in, FANOUT_GSO_BATCH, MSG_WAITFORONE, NULL);

				under_way -= got > 0 ? got : under_way;
			}
			sent = sendmmsg(fd, out, (unsigned)now, 0);
			under_way += sent > 0 ? sent : 0;
			fanout->messages += sent > 0 ? sent : 0;
		}
	} while (!fanout_over(fanout));
}

/* The partner answers every message by a datagram of one byte. */
static void fanout_answer(void *user, int fd)
{
	size_t room = FANOUT_MAX_SIZE + FANOUT_SEGMENT;
	uint8_t *bytes = tool_need(malloc(room));
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);
	int on = 1;

	(void)user;
	setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof(on));
	while (recvfrom(fd, bytes, room, 0, (struct sockaddr *)&from, &length) >= 0 &&
	       sendto(fd, bytes, 1, 0, (struct sockaddr *)&from, length) == 1)
		length = sizeof(from);
	free(bytes);
}

/* -------------------------------------------------------------------- configs */

/* To everyone, as often as those under way allow.  Some configs know a message's outcome before the
 * call returns: they never leave this loop. */
static void fanout_fill(struct fanout *fanout)
{
	const struct nopal_outgoing message = { .buffer = fanout->payload, .length = fanout->size };
	int64_t max = (FANOUT_UNDER_WAY - 1) * fanout->peers;

	if (fanout->filling)
		return;
	fanout->filling = true;
	while (!fanout->side.over && fanout->under_way <= max) {
		if (fanout_over(fanout))
			side_over(&fanout->side);
		for (int64_t i = 0; !fanout->side.over && i < fanout->peers; i++)
			fanout->under_way += nopal_send_message(fanout->sessions[i], &message) == 0;
	}
	fanout->filling = false;
}

/* Some open within nopal_open: then the last is not known yet. */
static void fanout_all_open(struct fanout *fanout)
{
	if (fanout->begun || fanout->open < fanout->peers || !fanout->sessions[fanout->peers - 1])
		return;
	fanout_begin(fanout);
	fanout_fill(fanout);
}

static void fanout_on(void *user, const struct side_event *event)
{
	struct fanout *fanout = user;

	if (fanout->peers == 0)
		return;
	if (event->kind == SIDE_OPENED) {
		fanout->open++;
		fanout_all_open(fanout);
	} else if (event->kind == SIDE_SENT && !fanout->side.over) {
		fanout->under_way--;
		fanout->messages++;
		fanout_fill(fanout);
	}
}

static void fanout_drive(void *user, struct nopal_endpoint *endpoint,
			 const struct nopal_address *peer)
{
	struct fanout *fanout = user;
	struct side *side = &fanout->side;

	/* all are known before the first is open */
	nopal_batch_start(side->world);
	for (int64_t i = 0; i < fanout->peers; i++)
		fanout->sessions[i] =
			nopal_open(endpoint, fanout->plan, peer, &side_callbacks, fanout);
	nopal_batch_stop(side->world);
	fanout_all_open(fanout);
	if (fanout->sessions[fanout->peers - 1] && !side->over)
		side_wait(side->loop, fanout->for_ns + FANOUT_SETTLE_NS);
	if (!side->over) /* not all opened, or some stall */
		fanout_over(fanout);
}

/* --------------------------------------------------------------------- rounds */

static enum tool_exit fanout_measure(struct bench *bench, const struct bench_row *row)
{
	struct fanout partner = { .side = { .on = fanout_on } };
	struct fanout fanout = {
		.side = { .on = fanout_on },
		.plan = row->plan,
		.peers = *(const int64_t *)bench->state,
		.size = (uint32_t)bench->size,
		.for_ns = (int64_t)(bench->seconds * NOPAL_SECOND),
		.payload = tool_need(nopal_buffer_new((uint32_t)bench->size)),
	};
	struct side_work work = {
		.protocol = row->plan ? SIDE_CONFIG : SIDE_UDP,
		.plan = row->plan,
		.opener = &fanout.side,
		.listener = &partner.side,
		.ask = fanout_raw,
		.answer = fanout_answer,
		.drive = fanout_drive,
	};
	char path[FANOUT_PATH_ROOM];
	bool good;

	fanout.sessions = tool_need(calloc((size_t)fanout.peers, sizeof(*fanout.sessions)));
	memset(nopal_buffer_bytes(fanout.payload), 0, fanout.size);
	good = side_work(&work, &(struct side_place){ .live = true, .pair = bench->place });
	nopal_buffer_free(fanout.payload);
	free(fanout.sessions);
	if (!good)
		return TOOL_ENVIRONMENT;
	if (fanout.messages == 0) {
		fprintf(stderr, "%s: not all sessions opened, no value\n", row->name);
		return TOOL_GOOD;
	}
	snprintf(path, sizeof(path), "1:%lld", (long long)fanout.peers);
	bench_add(bench, path, row->name, "processor",
		  (double)fanout.cpu_ns / (double)fanout.messages / FANOUT_US);
	return TOOL_GOOD;
}

/* All rows for each number of peers, or for the one that was asked for. */
static enum tool_exit fanout_round(struct bench *bench)
{
	static const int64_t sizes[] = { 1, 10, 100, 1000 };
	enum tool_exit code = TOOL_GOOD;
	int64_t *peers = bench->state;

	*peers = bench->count;
	if (bench->count > 0)
		return bench_each_row(bench);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes) && code == TOOL_GOOD; i++) {
		*peers = sizes[i];
		code = bench_each_row(bench);
	}
	return code;
}

static bool fanout_check(struct bench *bench)
{
	if (bench->size > FANOUT_MAX_SIZE || bench->count > FANOUT_MAX_PEERS)
		return tool_error("at most %d bytes of a message and %d peers\n"
				  "  fix: say a smaller --size or --count",
				  FANOUT_MAX_SIZE, FANOUT_MAX_PEERS);
	if (bench->size <= 0)
		bench->size = FANOUT_SIZE;
	for (int i = 0; i < bench->row_count; i++) {
		const struct nopal_plan *plan = bench->rows[i].plan;

		if (!plan || nopal_plan_info(plan)->message_limit >= (uint64_t)bench->size)
			continue;
		return tool_error("%s takes messages of at most %llu bytes\n  fix: say --size",
				  bench->rows[i].name,
				  (unsigned long long)nopal_plan_info(plan)->message_limit);
	}
	bench->state = tool_need(calloc(1, sizeof(int64_t))); /* the number of peers */
	report_note(
		bench->report,
		"the sender's processor time for a message of %lld bytes to one of so many peers",
		(long long)bench->size);
	return true;
}

const struct bench_measurement bench_fanout = {
	.name = "fanout",
	.uses = BENCH_USE_SECONDS | BENCH_USE_ROWS | BENCH_USE_COUNT | BENCH_USE_SIZE,
	.words = BENCH_PLACE,
	.rows = "raw,bulk",
	.plain = (const char *const[]){ "raw", NULL },
	.columns = { { "processor", "us a message", REPORT_LESS_IS_BETTER } },
	.reference = "raw",
	.begin = fanout_check,
	.notes =
		(const char *const[]){
			"raw: a train a peer, sendmmsg for 64 of them; each message is answered by one "
			"byte",
			NULL,
		},
	.measure = fanout_measure,
	.round = fanout_round,
};
