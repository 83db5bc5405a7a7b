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
#include "frame/tool.h"
#include "load/clock.h"
#include "load/pair.h"

enum {
	FANOUT_SIZE = 14000,
	FANOUT_MAX_SIZE = 60000, /* a train has to hold one */
	FANOUT_SEGMENT = 1400,
	FANOUT_MAX_PEERS = 10000,
	FANOUT_UNDER_WAY = 4, /* messages of a session */
	FANOUT_SIZES = 4,
	FANOUT_PATH_ROOM = 16,
	FANOUT_GSO_BATCH = 64,	 /* peers a sendmmsg */
	FANOUT_RAW_MAX = 128,	 /* messages under way: buffers hold them */
	FANOUT_LOST_US = 100000, /* then answers are lost */
	FANOUT_US = 1000,
};
static const int64_t fanout_peers[FANOUT_SIZES] = { 1, 10, 100, 1000 };
#define FANOUT_SETTLE_NS (20 * NOPAL_SECOND) /* for all sessions to open */

struct fanout_row {
	const char *what;
	struct nopal_plan *plan; /* NULL: plain UDP */
};

struct fanout {
	struct bench_report *report;
	struct bench_place place;
	const struct fanout_row *row;
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
	struct timeval patience = { .tv_usec = FANOUT_LOST_US };
	int segment = FANOUT_SEGMENT;

	raw->fd = bench_socket_connected(fanout->place.address, SOCK_DGRAM, port);
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
	setsockopt(raw->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
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
	struct fanout *fanout; /* NULL: it is the partner */
	struct loop *loop;
	struct loop_event *late;
	struct nopal_session **sessions;
	struct nopal_buffer *payload;
	int64_t open, under_way;
	bool begun, filling, over;
};

static void fanout_stop(void *user)
{
	struct fanout_side *side = user;

	side->over = true;
	loop_stop(side->loop);
}

/* To everyone, as often as those under way allow.  Some configs know a message's outcome before the
 * call returns: they never leave this loop. */
static void fanout_fill(struct fanout_side *side)
{
	int64_t max = (FANOUT_UNDER_WAY - 1) * side->fanout->peers;

	if (side->filling)
		return;
	side->filling = true;
	while (!side->over && side->under_way <= max) {
		if (fanout_over(side->fanout)) {
			fanout_stop(side);
		} else {
			struct fanout *fanout = side->fanout;

			for (int64_t i = 0; i < fanout->peers; i++)
				side->under_way +=
					nopal_send_message(side->sessions[i],
							   &(struct nopal_outgoing){
								   .buffer = side->payload,
								   .length = fanout->size }) == 0;
		}
	}
	side->filling = false;
}

static void fanout_on_sent(struct nopal_session *session, uint64_t cookie,
			   enum nopal_outcome outcome, void *user)
{
	struct fanout_side *side = user;

	(void)session;
	(void)cookie;
	(void)outcome;
	if (!side->fanout || side->over)
		return;
	side->under_way--;
	side->fanout->messages++;
	fanout_fill(side);
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
static void fanout_on_opened(struct nopal_session *session, void *user)
{
	struct fanout_side *side = user;

	(void)session;
	if (!side->fanout)
		return;
	side->open++;
	fanout_all_open(side);
}

static void *fanout_on_accepted(struct nopal_session *session, void *user)
{
	(void)session;
	return user;
}

static const struct nopal_callbacks fanout_callbacks = {
	.accepted = fanout_on_accepted,
	.opened = fanout_on_opened,
	.sent = fanout_on_sent,
};

static bool fanout_open_all(struct fanout_side *side, const struct nopal_address *peer)
{
	struct fanout *fanout = side->fanout;
	struct nopal_endpoint *endpoint = loop_endpoint_to(side->loop, peer);

	side->sessions = calloc((size_t)fanout->peers, sizeof(*side->sessions));
	side->payload = nopal_buffer_new(fanout->size);
	side->late = loop_event_new(side->loop, LOOP_TIMER, -1, fanout_stop, side);
	if (!endpoint || !side->sessions || !side->payload || !side->late)
		return false;
	memset(nopal_buffer_bytes(side->payload), 0, fanout->size);
	/* all are known before the first is open */
	nopal_batch_start(loop_world(side->loop));
	for (int64_t i = 0; i < fanout->peers; i++)
		side->sessions[i] =
			nopal_open(endpoint, fanout->row->plan, peer, &fanout_callbacks, side);
	nopal_batch_stop(loop_world(side->loop));
	fanout_all_open(side);
	return side->sessions[fanout->peers - 1] != NULL;
}

static void fanout_config(struct fanout *fanout, uint16_t port)
{
	struct fanout_side side = { .fanout = fanout, .loop = loop_new(NULL) };
	struct nopal_address peer;

	if (!side.loop || !bench_address(fanout->place.address, port, &peer))
		return;
	if (fanout_open_all(&side, &peer)) {
		loop_event_start(side.late, fanout->for_ns + FANOUT_SETTLE_NS);
		if (!side.over)
			loop_run(side.loop);
	}
	if (!side.begun)
		fanout->messages = 0;
	side.over = true;
	loop_event_free(side.late);
	loop_free(side.loop);
	if (side.payload)
		nopal_buffer_free(side.payload);
	free(side.sessions);
}

/* --------------------------------------------------------------------- rounds */

static void fanout_partner(void *user, const struct bench_place *place, int tell)
{
	const struct fanout_row *row = user;

	if (row->plan) {
		struct fanout_side side = { .loop = loop_new(NULL) };

		if (bench_partner_listen(side.loop, place, row->plan, &fanout_callbacks, &side,
					 tell))
			loop_run(side.loop);
	} else {
		size_t room = FANOUT_MAX_SIZE + FANOUT_SEGMENT;
		uint8_t *bytes = malloc(room);
		uint16_t port = 0;
		int fd = bench_socket_bound(place->address, SOCK_DGRAM, &port);
		struct sockaddr_storage from;
		socklen_t length = sizeof(from);
		int on = 1;

		/* Every message is answered by a datagram of one byte. */
		if (fd < 0 || !bytes)
			return;
		setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof(on));
		bench_socket_buffers(fd);
		bench_partner_tell(tell, port);
		while (recvfrom(fd, bytes, room, 0, (struct sockaddr *)&from, &length) >= 0 &&
		       sendto(fd, bytes, 1, 0, (struct sockaddr *)&from, length) == 1)
			length = sizeof(from);
	}
}

static bool fanout_measure(struct fanout *fanout, struct fanout_row *row, int round)
{
	struct bench_partner partner;
	char path[FANOUT_PATH_ROOM];

	fanout->row = row;
	fanout->messages = 0;
	if (!bench_partner_start(&partner, &fanout->place, fanout_partner, row)) {
		bench_partner_end(&partner);
		return false;
	}
	if (row->plan)
		fanout_config(fanout, partner.port);
	else
		fanout_raw(fanout, partner.port);
	bench_partner_end(&partner);
	if (fanout->messages == 0) {
		fprintf(stderr, "%s: not all sessions opened, no value\n", row->what);
		return true;
	}
	snprintf(path, sizeof(path), "1:%lld", (long long)fanout->peers);
	bench_add(fanout->report,
		  &(struct bench_value){ .what = row->what,
					 .path = path,
					 .measure = "processor",
					 .class = BENCH_NONE,
					 .round = round,
					 .value = (double)fanout->cpu_ns /
						  (double)fanout->messages / FANOUT_US });
	return true;
}

static enum tool_exit fanout_rounds(struct fanout *fanout, struct fanout_row *rows, int count)
{
	int64_t asked = bench_options(fanout->report)->count;
	int order[BENCH_MAX_ROWS];

	for (int round = 0; round < bench_options(fanout->report)->rounds; round++) {
		for (int size = 0; size < FANOUT_SIZES; size++) {
			fanout->peers = asked > 0 ? asked : fanout_peers[size];
			bench_shuffle(order, count);
			for (int i = 0; i < count; i++)
				if (!fanout_measure(fanout, &rows[order[i]], round))
					return TOOL_ENVIRONMENT;
			if (asked > 0)
				break;
		}
	}
	return TOOL_GOOD;
}

static bool fanout_row(const struct fanout *fanout, const char *what, struct fanout_row *row)
{
	*row = (struct fanout_row){ .what = what };
	if (strcmp(what, "raw") == 0)
		return true;
	row->plan = bench_plan(what);
	if (!row->plan || nopal_plan_message_limit(row->plan) >= fanout->size)
		return row->plan != NULL;
	fprintf(stderr,
		"error: %s takes messages of at most %llu bytes\n"
		"  fix: say --size\n",
		what, (unsigned long long)nopal_plan_message_limit(row->plan));
	return false;
}

int bench_fanout(int argc, char **argv, struct bench_report *report)
{
	char **words = bench_words(bench_options(report)->rows, "raw,bulk");
	struct fanout_row rows[BENCH_MAX_ROWS];
	struct fanout fanout = { .report = report };
	enum tool_exit exit = TOOL_BAD_INPUT;
	int count = 0;
	bool good;

	good = words;
	if (good) {
		const struct bench_options *options = bench_options(fanout.report);

		fanout.for_ns = (int64_t)(options->seconds * NOPAL_SECOND);
		fanout.size = FANOUT_SIZE;
		if (options->size > 0 && options->size <= FANOUT_MAX_SIZE)
			fanout.size = (uint32_t)options->size;
		if (options->size <= FANOUT_MAX_SIZE && options->count <= FANOUT_MAX_PEERS) {
			good = bench_place_of(argc, argv, &fanout.place);
		} else {
			fprintf(stderr,
				"error: at most %d bytes of a message and %d peers\n"
				"  fix: say a smaller --size or --count\n",
				FANOUT_MAX_SIZE, FANOUT_MAX_PEERS);
			good = false;
		}
	}
	for (char **word = words; good && *word && count < BENCH_MAX_ROWS; word++)
		good = fanout_row(&fanout, *word, &rows[count++]);
	if (good) {
		bench_measure(fanout.report, "processor", "us a message", BENCH_LESS_IS_BETTER);
		bench_reference(fanout.report, BENCH_NONE, "raw");
		bench_note(
			fanout.report,
			"the sender's processor time for a message of %u bytes to one of so many peers",
			fanout.size);
		bench_note(fanout.report,
			   "raw: a train a peer, sendmmsg for 64 of them; each message "
			   "is answered by one byte");
		exit = fanout_rounds(&fanout, rows, count);
	}
	for (int i = 0; i < count; i++)
		nopal_plan_unref(rows[i].plan);
	free(words);
	return (int)exit;
}
