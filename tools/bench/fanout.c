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

/* A row in a round, for a number of peers. */
struct fanout {
	const struct bench_place *place;
	struct nopal_plan *plan; /* NULL: plain UDP */
	int64_t peers;
	uint32_t size;
	int64_t for_ns, begun_ns, cpu_ns; /* of the counting */
	int64_t messages;		  /* to one peer each */
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
	fanout->messages = 0;
	fanout->begun_ns = clock_now_ns();
	fanout->cpu_ns = clock_cpu_ns();
}

/* ------------------------------------------------------------------- raw UDP */

struct fanout_raw {
	int fd;
	int64_t under_way, max;
	struct iovec payload, answer;
	struct sockaddr_storage to;
	socklen_t to_length;
	uint8_t byte;
	struct mmsghdr out[FANOUT_GSO_BATCH], in[FANOUT_GSO_BATCH];
};

/* An unconnected socket: to many peers each send names its own. */
static bool fanout_raw_open(struct fanout *fanout, uint16_t port, struct fanout_raw *raw)
{
	struct sockaddr nobody = { .sa_family = AF_UNSPEC };
	int segment = FANOUT_SEGMENT;

	raw->fd = bench_socket_connected(fanout->place->address, SOCK_DGRAM, port);
	raw->to_length = sizeof(raw->to);
	raw->payload = (struct iovec){ calloc(1, fanout->size), fanout->size };
	raw->max = fanout->peers * FANOUT_UNDER_WAY;
	if (raw->max > FANOUT_RAW_MAX)
		raw->max = FANOUT_RAW_MAX;
	if (raw->fd < 0 || !raw->payload.iov_base ||
	    getpeername(raw->fd, (struct sockaddr *)&raw->to, &raw->to_length) ||
	    connect(raw->fd, &nobody, sizeof(nobody)))
		return false;
	bench_socket_buffers(raw->fd);
	bench_socket_patience(raw->fd, FANOUT_LOST_NS);
	if (fanout->size > FANOUT_SEGMENT)
		setsockopt(raw->fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment));
	raw->answer = (struct iovec){ &raw->byte, sizeof(raw->byte) };
	for (int i = 0; i < FANOUT_GSO_BATCH; i++) {
		raw->out[i].msg_hdr = (struct msghdr){
			.msg_name = &raw->to,
			.msg_namelen = raw->to_length,
			.msg_iov = &raw->payload,
			.msg_iovlen = 1,
		};
		raw->in[i].msg_hdr = (struct msghdr){ .msg_iov = &raw->answer, .msg_iovlen = 1 };
	}
	return true;
}

static void fanout_raw(struct fanout *fanout, uint16_t port)
{
	struct fanout_raw raw = { .under_way = 0 };

	if (!fanout_raw_open(fanout, port, &raw))
		return;
	fanout_begin(fanout);
	do {
		int64_t left = fanout->peers;

		while (left > 0) {
			int64_t now = left < FANOUT_GSO_BATCH ? left : FANOUT_GSO_BATCH;
			int sent;

			/* One visit to up to so many peers, once their number may be under way. */
			while (raw.under_way > 0 && raw.under_way + now > raw.max) {
				int got = recvmmsg(raw.fd, raw.in, FANOUT_GSO_BATCH, MSG_WAITFORONE,
						   NULL);

				raw.under_way -= got > 0 ? got : raw.under_way;
			}
			sent = sendmmsg(raw.fd, raw.out, (unsigned)now, 0);
			if (sent > 0) {
				raw.under_way += sent;
				fanout->messages += sent;
			}
			left -= now;
		}
	} while (!fanout_over(fanout));
	free(raw.payload.iov_base);
	close(raw.fd);
}

/* -------------------------------------------------------------------- configs */

struct fanout_side {
	side_call *on;
	struct fanout *fanout; /* NULL: it is the partner */
	struct loop *loop;
	struct nopal_session **sessions;
	struct nopal_buffer *payload;
	int64_t open, under_way;
	bool begun, filling, over;
};

/* To everyone, as often as those under way allow.  Some configs know a message's outcome before the
 * call returns: they never leave this loop. */
static void fanout_fill(struct fanout_side *side)
{
	struct fanout *fanout = side->fanout;
	const struct nopal_outgoing message = { .buffer = side->payload, .length = fanout->size };
	int64_t max = (FANOUT_UNDER_WAY - 1) * fanout->peers;

	if (side->filling)
		return;
	side->filling = true;
	while (!side->over && side->under_way <= max) {
		side->over = fanout_over(fanout);
		for (int64_t i = 0; !side->over && i < fanout->peers; i++)
			side->under_way += nopal_send_message(side->sessions[i], &message) == 0;
	}
	if (side->over)
		loop_stop(side->loop);
	side->filling = false;
}

/* Some open within nopal_open: then the last is not known yet. */
static void fanout_all_open(struct fanout_side *side)
{
	if (side->begun || side->open < side->fanout->peers ||
	    !side->sessions[side->fanout->peers - 1])
		return;
	side->begun = true;
	fanout_begin(side->fanout);
	fanout_fill(side);
}

/* The partner's sessions open, too. */
static void fanout_on(void *user, const struct side_event *event)
{
	struct fanout_side *side = user;

	if (!side->fanout)
		return;
	if (event->kind == SIDE_OPENED) {
		side->open++;
		fanout_all_open(side);
	} else if (event->kind == SIDE_SENT && !side->over) {
		side->under_way--;
		side->fanout->messages++;
		fanout_fill(side);
	}
}

static void fanout_config(struct fanout *fanout, uint16_t port)
{
	struct fanout_side side = {
		.on = fanout_on,
		.fanout = fanout,
		.loop = loop_new(NULL),
		.sessions = tool_need(calloc((size_t)fanout->peers, sizeof(*side.sessions))),
		.payload = tool_need(nopal_buffer_new(fanout->size)),
	};
	struct nopal_endpoint *endpoint = NULL;
	struct nopal_address peer;

	if (side.loop && bench_address(fanout->place->address, port, &peer))
		endpoint = loop_endpoint_to(side.loop, &peer);
	memset(nopal_buffer_bytes(side.payload), 0, fanout->size);
	if (endpoint) {
		/* all are known before the first is open */
		nopal_batch_start(loop_world(side.loop));
		for (int64_t i = 0; i < fanout->peers; i++)
			side.sessions[i] =
				nopal_open(endpoint, fanout->plan, &peer, &side_callbacks, &side);
		nopal_batch_stop(loop_world(side.loop));
		fanout_all_open(&side);
		if (side.sessions[fanout->peers - 1] && !side.over)
			side_wait(side.loop, fanout->for_ns + FANOUT_SETTLE_NS);
	}
	if (!side.begun)
		fanout->messages = 0;
	side.over = true;
	if (side.loop)
		loop_free(side.loop);
	nopal_buffer_free(side.payload);
	free(side.sessions);
}

/* --------------------------------------------------------------------- rounds */

static void fanout_partner(void *user, const struct bench_place *place, int tell)
{
	const struct fanout *fanout = user;
	struct fanout_side side = { .on = fanout_on };
	size_t room = FANOUT_MAX_SIZE + FANOUT_SEGMENT;
	uint8_t *bytes = malloc(room);
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);
	int fd, on = 1;

	if (fanout->plan) {
		side.loop = loop_new(NULL);
		if (side_listen(side.loop, place, fanout->plan, &side, tell))
			loop_run(side.loop);
		return;
	}
	/* Every message is answered by a datagram of one byte. */
	fd = bench_partner_socket(place, SOCK_DGRAM, tell);
	if (fd < 0 || !bytes)
		return;
	setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof(on));
	while (recvfrom(fd, bytes, room, 0, (struct sockaddr *)&from, &length) >= 0 &&
	       sendto(fd, bytes, 1, 0, (struct sockaddr *)&from, length) == 1)
		length = sizeof(from);
}

static enum tool_exit fanout_measure(struct bench *bench, const struct bench_row *row)
{
	struct fanout fanout = {
		.place = &bench->place,
		.plan = row->plan,
		.peers = *(const int64_t *)bench->state,
		.size = (uint32_t)bench->size,
		.for_ns = (int64_t)(bench->seconds * NOPAL_SECOND),
	};
	struct bench_partner partner;
	char path[FANOUT_PATH_ROOM];

	if (!bench_partner_start(&partner, &bench->place, fanout_partner, &fanout)) {
		bench_partner_end(&partner);
		return TOOL_ENVIRONMENT;
	}
	if (row->plan)
		fanout_config(&fanout, partner.port);
	else
		fanout_raw(&fanout, partner.port);
	bench_partner_end(&partner);
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
	if (bench->size > FANOUT_MAX_SIZE || bench->count > FANOUT_MAX_PEERS) {
		fprintf(stderr,
			"error: at most %d bytes of a message and %d peers\n"
			"  fix: say a smaller --size or --count\n",
			FANOUT_MAX_SIZE, FANOUT_MAX_PEERS);
		return false;
	}
	if (bench->size <= 0)
		bench->size = FANOUT_SIZE;
	for (int i = 0; i < bench->row_count; i++) {
		const struct nopal_plan *plan = bench->rows[i].plan;

		if (!plan || nopal_plan_info(plan)->message_limit >= (uint64_t)bench->size)
			continue;
		fprintf(stderr,
			"error: %s takes messages of at most %llu bytes\n"
			"  fix: say --size\n",
			bench->rows[i].name,
			(unsigned long long)nopal_plan_info(plan)->message_limit);
		return false;
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
