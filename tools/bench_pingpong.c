/* SPDX-License-Identifier: MIT */
/*
 * bench_pingpong.c -- round trips of 64 bytes: plain UDP, the kernel's TCP, and
 * configs, each asleep while it waits and spinning.
 *
 *     nopal bench pingpong [HERE_NETNS THERE_NETNS THERE_ADDRESS]
 *
 * Two processes, one a core.  "sleep" is a blocking receive, for a config its
 * loop; "spin" asks again and again without blocking, for a config
 * nopal_live_poll; "linger" is its loop that polls for a while after each arrival.
 * Plain UDP is connected on both sides: the least that the kernel does for a
 * datagram.  A value is a round's median or tail; "over raw" is the difference of
 * medians to plain UDP of the same way and round.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "bench.h"
#include "bench_pair.h"
#include "loop.h"
#include "microprotocol.h"
#include "tool.h"

enum {
	PING_BYTES = 64,
	PING_WARM = 2000, /* round trips that are not counted */
	PING_COUNT = 20000,
	PING_PARTS_THOUSAND = 1000,
	PING_ASK_AFTER = 1 << 16, /* polls between looks at the clock */
};
#define PING_LINGER_NS (50 * NOPAL_MICROSECOND)
#define PING_LOST_NS   (2 * NOPAL_SECOND) /* no answer comes any more */

enum ping_kind { PING_UDP, PING_TCP, PING_CONFIG };
enum ping_way { PING_SLEEP, PING_SPIN, PING_LINGER, PING_WAYS };
static const char *const ping_ways[PING_WAYS] = { "sleep", "spin", "linger" };

struct ping_row {
	const char *what;
	enum ping_kind kind;
	enum ping_way way;
	struct nopal_plan *plan;
	double p50_us; /* of this round; 0: it failed */
};

struct ping {
	struct bench_report *report;
	struct bench_place place;
	const struct ping_row *row; /* that runs */
	int64_t *trips_ns;
	int64_t count, done; /* `done` begins at -PING_WARM */
	int round;
};

/* ------------------------------------------------------------ plain sockets */

static bool ping_again(bool spin)
{
	return spin && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* A whole message; false: the other side is gone, or silent for too long. */
static bool ping_receive(int fd, uint8_t *bytes, bool spin)
{
	int flags = spin ? MSG_DONTWAIT : 0;
	int64_t asked_ns = 0;
	size_t got = 0;

	for (unsigned polls = 1; got < PING_BYTES; polls++) {
		ssize_t more = recv(fd, bytes + got, PING_BYTES - got, flags);

		if (more > 0) {
			got += (size_t)more;
			continue;
		}
		if (more == 0 || !ping_again(spin))
			return false;
		if (polls % PING_ASK_AFTER)
			continue;
		if (asked_ns == 0)
			asked_ns = bench_now_ns();
		else if (bench_now_ns() - asked_ns > PING_LOST_NS)
			return false;
	}
	return true;
}

static bool ping_send(int fd, const uint8_t *bytes)
{
	return send(fd, bytes, PING_BYTES, MSG_NOSIGNAL) == PING_BYTES;
}

static void ping_patience(int fd)
{
	struct timeval patience = { .tv_sec = PING_LOST_NS / NOPAL_SECOND };
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* The first datagram says whom to answer. */
static int pong_meet_udp(int fd)
{
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);
	uint8_t bytes[PING_BYTES];

	if (recvfrom(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from,
		     &length) != PING_BYTES ||
	    connect(fd, (struct sockaddr *)&from, length) ||
	    !ping_send(fd, bytes))
		return -1;
	return fd;
}

static void pong_socket(const struct ping_row *row,
			const struct bench_place *place, int tell)
{
	bool tcp = row->kind == PING_TCP;
	uint8_t bytes[PING_BYTES];
	uint16_t port = 0;
	int fd = bench_socket_bound(place->address,
				    tcp ? SOCK_STREAM : SOCK_DGRAM, &port);

	if (fd < 0 || (tcp && listen(fd, 1)))
		return;
	bench_partner_tell(tell, port);
	fd = tcp ? accept(fd, NULL, NULL) : pong_meet_udp(fd);
	if (fd < 0)
		return;
	ping_patience(fd);
	while (ping_receive(fd, bytes, row->way == PING_SPIN) &&
	       ping_send(fd, bytes))
		;
}

/* Takes note of a round trip; false: it was the last one. */
static bool ping_note(struct ping *ping, int64_t trip_ns)
{
	if (ping->done >= 0)
		ping->trips_ns[ping->done] = trip_ns;
	return ++ping->done < ping->count;
}

static void ping_socket(struct ping *ping, uint16_t port)
{
	bool tcp = ping->row->kind == PING_TCP;
	int fd = bench_socket_connected(ping->place.address,
					tcp ? SOCK_STREAM : SOCK_DGRAM, port);
	uint8_t bytes[PING_BYTES] = { 0 };
	int64_t begun_ns, now_ns;

	if (fd < 0)
		return;
	ping_patience(fd);
	begun_ns = bench_now_ns();
	do {
		if (!ping_send(fd, bytes) ||
		    !ping_receive(fd, bytes, ping->row->way == PING_SPIN))
			break;
		now_ns = bench_now_ns();
		if (!ping_note(ping, now_ns - begun_ns))
			break;
		begun_ns = now_ns;
	} while (true);
	close(fd);
}

/* ------------------------------------------------------------------ configs */

/* One side of a config's ping-pong. */
struct ping_side {
	struct ping *ping; /* NULL: it answers */
	struct loop *loop;
	struct loop_event *tick;
	struct nopal_session *session;
	int64_t begun_ns, progress;
	bool over;
};

static void side_over(struct ping_side *side)
{
	side->over = true;
	loop_stop(side->loop);
}

static void side_ping(struct ping_side *side)
{
	uint8_t bytes[PING_BYTES] = { 0 };

	nopal_send(side->session, bytes, sizeof(bytes), 0);
}

static void side_on_opened(struct nopal_session *session, void *user)
{
	struct ping_side *side = user;

	side->session = session;
	side->begun_ns = bench_now_ns();
	if (side->ping)
		side_ping(side);
}

static void *side_on_accepted(struct nopal_session *session, void *user)
{
	(void)session;
	return user;
}

static void side_on_received(struct nopal_session *session,
			     struct nopal_message *message, void *user)
{
	struct ping_side *side = user;
	const uint8_t *bytes;
	uint32_t length;
	int64_t now_ns;

	if (!side->ping) {
		bytes = nopal_message_piece(message, 0, &length);
		nopal_send(session, bytes, length, 0);
		return;
	}
	now_ns = bench_now_ns();
	if (!ping_note(side->ping, now_ns - side->begun_ns)) {
		side_over(side);
		return;
	}
	side->begun_ns = now_ns;
	side_ping(side);
}

static void side_on_ended(struct nopal_session *session, int end,
			  const char *text, void *user)
{
	(void)session;
	(void)end;
	(void)text;
	side_over(user);
}

static const struct nopal_callbacks side_callbacks = {
	.accepted = side_on_accepted,
	.opened = side_on_opened,
	.received = side_on_received,
	.ended = side_on_ended,
};

/* What is lost is lost with some configs: then the round ends. */
static void side_on_tick(void *user)
{
	struct ping_side *side = user;

	if (side->ping && side->ping->done == side->progress)
		side_over(side);
	else if (side->ping)
		side->progress = side->ping->done;
	loop_event_start(side->tick, PING_LOST_NS);
}

static void side_run(struct ping_side *side, enum ping_way way)
{
	if (way == PING_LINGER)
		nopal_live_linger(loop_world(side->loop), PING_LINGER_NS);
	side->tick =
		loop_event_new(side->loop, LOOP_TIMER, -1, side_on_tick, side);
	if (side->tick)
		loop_event_start(side->tick, PING_LOST_NS);
	if (way == PING_SPIN)
		loop_spin(side->loop, &side->over);
	else if (!side->over)
		loop_run(side->loop);
	loop_event_free(side->tick);
}

static void pong_config(const struct ping_row *row,
			const struct bench_place *place, int tell)
{
	struct ping_side side = { .loop = loop_new(NULL) };

	if (bench_partner_listen(side.loop, place, row->plan, &side_callbacks,
				 &side, tell))
		side_run(&side, row->way);
}

static void ping_config(struct ping *ping, uint16_t port)
{
	struct ping_side side = { .ping = ping, .loop = loop_new(NULL) };
	struct nopal_address peer;
	struct nopal_endpoint *endpoint;

	if (!side.loop || !bench_address(ping->place.address, port, &peer))
		return;
	endpoint = loop_endpoint_to(side.loop, &peer);
	if (endpoint && nopal_session_open(endpoint, ping->row->plan, &peer,
					   &side_callbacks, &side))
		side_run(&side, ping->row->way);
	side.ping = NULL; /* what still arrives is not counted */
	loop_free(side.loop);
}

/* ------------------------------------------------------------------- rounds */

static void pong_runs(void *user, const struct bench_place *place, int tell)
{
	const struct ping_row *row = user;

	if (row->kind == PING_CONFIG)
		pong_config(row, place, tell);
	else
		pong_socket(row, place, tell);
}

static int ping_before(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void ping_add(const struct ping *ping, const char *measure, double us)
{
	bench_add(ping->report, &(struct bench_value){
					.what = ping->row->what,
					.path = ping_ways[ping->row->way],
					.measure = measure,
					.class = BENCH_NONE,
					.round = ping->round,
					.value = us,
				});
}

/* The trip that `thousandths` of all are not above, in microseconds. */
static double ping_share(const struct ping *ping, int64_t thousandths)
{
	int64_t at = ping->count * thousandths / PING_PARTS_THOUSAND;

	return (double)ping->trips_ns[at] / NOPAL_MICROSECOND;
}

static bool ping_measure(struct ping *ping, struct ping_row *row)
{
	struct bench_partner partner;

	row->p50_us = 0;
	ping->row = row;
	ping->done = -PING_WARM;
	if (!bench_partner_start(&partner, &ping->place, pong_runs, row)) {
		bench_partner_end(&partner);
		return false;
	}
	if (row->kind == PING_CONFIG)
		ping_config(ping, partner.port);
	else
		ping_socket(ping, partner.port);
	bench_partner_end(&partner);
	if (ping->done < ping->count) {
		fprintf(stderr, "%s: a message got lost, no value\n",
			row->what);
		return true;
	}
	qsort(ping->trips_ns, (size_t)ping->count, sizeof(*ping->trips_ns),
	      ping_before);
	row->p50_us = ping_share(ping, 500);
	ping_add(ping, "p50", row->p50_us);
	ping_add(ping, "p99", ping_share(ping, 990));
	ping_add(ping, "p99.9", ping_share(ping, 999));
	return true;
}

/* Differences to plain UDP, the same way awake. */
static void ping_differ(struct ping *ping, const struct ping_row *rows,
			int count)
{
	double raw_us[PING_WAYS] = { 0 };

	for (int i = 0; i < count; i++)
		if (rows[i].kind == PING_UDP)
			raw_us[rows[i].way] = rows[i].p50_us;
	for (int i = 0; i < count; i++) {
		double raw = raw_us[rows[i].way];

		ping->row = &rows[i];
		if (rows[i].p50_us > 0 && raw > 0 && rows[i].kind != PING_UDP)
			ping_add(ping, "over raw", rows[i].p50_us - raw);
	}
}

static enum tool_exit ping_rounds(struct ping *ping, struct ping_row *rows,
				  int count)
{
	int order[BENCH_MOST_ROWS];

	for (; ping->round < bench_options(ping->report)->rounds;
	     ping->round++) {
		bench_shuffle(order, count);
		for (int i = 0; i < count; i++)
			if (!ping_measure(ping, &rows[order[i]]))
				return TOOL_ENVIRONMENT;
		ping_differ(ping, rows, count);
	}
	return TOOL_GOOD;
}

/* --------------------------------------------------------------------- rows */

/* False: it was said what is wrong. */
static bool ping_row_add(struct ping_row *rows, int *count, const char *what)
{
	enum ping_kind kind = PING_CONFIG;
	enum ping_way ways = PING_LINGER; /* a loop is needed for it */
	struct nopal_plan *plan = NULL;

	if (strcmp(what, "raw") == 0)
		kind = PING_UDP;
	else if (strcmp(what, "tcp") == 0)
		kind = PING_TCP;
	if (kind == PING_CONFIG) {
		ways = PING_WAYS;
		plan = bench_plan(what);
		if (!plan)
			return false;
	}
	for (enum ping_way way = PING_SLEEP;
	     way < ways && *count < BENCH_MOST_ROWS; way++)
		rows[(*count)++] = (struct ping_row){
			.what = what,
			.kind = kind,
			.way = way,
			.plan = plan ? nopal_plan_ref(plan) : NULL,
		};
	nopal_plan_unref(plan);
	return true;
}

static void ping_declare(struct bench_report *report)
{
	bench_measure(report, "p50", "us", BENCH_LESS_IS_BETTER);
	bench_measure(report, "p99", "us", BENCH_LESS_IS_BETTER);
	bench_measure(report, "p99.9", "us", BENCH_LESS_IS_BETTER);
	bench_measure(report, "over raw", "us", BENCH_LESS_IS_BETTER);
	bench_reference(report, BENCH_NONE, "raw");
	bench_note(report,
		   "round trips of %d bytes between two processes, one "
		   "a core; raw is UDP, connected on both sides",
		   PING_BYTES);
	bench_note(report,
		   "linger: asleep, but polls for 50 us after each arrival; "
		   "compare it with spin");
}

int bench_pingpong(int argc, char **argv, struct bench_report *report)
{
	const struct bench_options *options = bench_options(report);
	struct ping_row rows[BENCH_MOST_ROWS];
	struct ping ping = { .report = report, .count = options->count };
	char **words = bench_words(options->rows, "raw,tcp,ctp_minimal,bulk");
	enum tool_exit exit = TOOL_BAD_INPUT;
	int count = 0;
	bool good = words && bench_place_of(argc, argv, &ping.place);

	if (ping.count <= 0)
		ping.count = PING_COUNT;
	for (char **word = words; good && *word; word++)
		good = ping_row_add(rows, &count, *word);
	ping.trips_ns = malloc((size_t)ping.count * sizeof(*ping.trips_ns));
	if (good && ping.trips_ns) {
		ping_declare(report);
		exit = ping_rounds(&ping, rows, count);
	}
	for (int i = 0; i < count; i++)
		nopal_plan_unref(rows[i].plan);
	free(ping.trips_ns);
	free(words);
	return (int)exit;
}
