/* SPDX-License-Identifier: MIT */
/*
 * streams.c -- many streams in one session, in virtual time: none waits for what another one
 * lost, and what is urgent waits for nobody.
 *
 *     nopal bench streams [CONF]
 *
 * --count streams (default 100) of one session; each sends a message of --size bytes
 * (default 1000) every 32 ms, one after the other: half of what the link takes.  A round is a seed,
 * and the same seed gives the same figures everywhere.
 *
 *   2 % loss       how long messages take, on a stream each and all on one
 *   one loses      only the first stream's segments are lost, 2 % of them; how much
 *                  later messages come than where nothing is, on it and on the others;
 *                  over a link without a rate, where a resend takes nobody's time
 *   urgent, LOSS   an urgent message of 100 bytes now and then: while nothing else
 *                  is sent (idle), and while all other streams send all they can
 */
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "bench/bench.h"

enum {
	STREAMS_COUNT = 100,
	STREAMS_MIN = 2,
	STREAMS_MAX = 1000,
	STREAMS_BYTES = 1000,
	STREAMS_MIN_BYTES = 100,
	STREAMS_MAX_BYTES = 1300, /* one segment */
	STREAMS_MESSAGES = 250,	  /* of each */
	STREAMS_FLOOD_BYTES = 64 << 10,
	STREAMS_FLOOD_AHEAD = 2, /* messages that a stream has under way */
	STREAMS_ONE_IN = 50,	 /* 2 % */
	STREAMS_RTT_MS = 40,
};
#define STREAMS_PATH	 "rate 50mbit delay 20ms limit 1000"
#define STREAMS_LOSSY	 STREAMS_PATH " loss 2%"
#define STREAMS_BARE	 "delay 20ms" /* where a resend takes nobody's time */
#define STREAMS_GONE	 STREAMS_BARE " loss 100%"
#define STREAMS_EVERY_NS (32 * NOPAL_MILLISECOND)
#define STREAMS_URGE_NS	 (50 * NOPAL_MILLISECOND)
#define STREAMS_OPEN_NS	 NOPAL_SECOND	    /* all are open then */
#define STREAMS_WARM_NS	 (2 * NOPAL_SECOND) /* of a flood */
#define STREAMS_LATE_NS	 (5 * NOPAL_SECOND)

enum streams_what { STREAMS_EACH, STREAMS_ON_ONE, STREAMS_URGENT };

/* One run. */
struct streams_case {
	enum streams_what what;
	const char *link;
	bool first_loses; /* 2 % of what the first stream sends is lost */
	bool loaded;	  /* all others send what they can */
};

struct streams;

struct streams_source {
	side_call *on;
	struct streams *all;
	struct nopal_session *session;
	uint32_t index, sent;
	uint32_t ahead; /* messages without an outcome */
	bool filling;
};

/* The head of a message. */
struct streams_head {
	int64_t sent_ns;
	uint32_t source, number;
};

struct streams {
	side_call *on; /* of arrivals */
	const struct streams_case *how;
	struct nopal_world *world;
	struct nopal_plan *plan;
	struct nopal_buffer *flood;
	struct side_place place;
	struct nopal_link gone; /* all is lost */
	struct streams_source source[STREAMS_MAX];
	uint32_t count, messages, bytes;
	uint64_t seed;
	int64_t *took_ns; /* [source * messages + number]; 0: it did not come */
	bool enough;	  /* of the flood */
	bool over, broken;
};

/* -------------------------------------------------------------------- events */

static void streams_on_arrival(void *user, const struct side_event *event)
{
	struct streams *all = user;
	struct streams_head head;

	if (event->kind != SIDE_RECEIVED ||
	    nopal_message_length(event->message) == STREAMS_FLOOD_BYTES)
		return;
	nopal_message_copy(event->message, 0, &head, sizeof(head));
	all->took_ns[head.source * all->messages + head.number] =
		nopal_world_now(all->world) - head.sent_ns;
}

/* Two messages without an outcome: then there is always something that waits. */
static void streams_fill(struct streams_source *source)
{
	struct streams *all = source->all;

	if (source->filling || all->enough || !source->session)
		return;
	source->filling = true;
	while (source->ahead < STREAMS_FLOOD_AHEAD &&
	       nopal_send_message(source->session,
				  &(struct nopal_outgoing){ .buffer = all->flood,
							    .length = STREAMS_FLOOD_BYTES }) == 0)
		source->ahead++;
	source->filling = false;
}

static void streams_on(void *user, const struct side_event *event)
{
	struct streams_source *source = user;

	if (event->kind == SIDE_SENT && source->ahead) {
		source->ahead--;
		streams_fill(source);
	} else if (event->kind == SIDE_ENDED) {
		source->session = NULL;
		source->all->broken |= !source->all->over;
	}
}

/* ------------------------------------------------------------------- sending */

static void streams_on_tick(void *user)
{
	struct streams_source *source = user;
	struct streams *all = source->all;
	struct streams_head head = { nopal_world_now(all->world), source->index, source->sent };
	bool urgent = all->how->what == STREAMS_URGENT, lost;
	struct nopal_property property = { nopal_property(all->plan, "urgent"), urgent };
	struct streams_source *by = all->how->what == STREAMS_ON_ONE ? all->source : source;
	uint64_t draw = (all->seed << 32 | source->sent) * UINT64_C(0x9e3779b97f4a7c15);
	uint8_t bytes[STREAMS_MAX_BYTES] = { 0 };

	memcpy(bytes, &head, sizeof(head));
	/* One in fifty by the seed; the same ones whatever else happens. */
	draw = (draw ^ draw >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	lost = all->how->first_loses && source->index == 0 && (draw >> 32) % STREAMS_ONE_IN == 0;
	/* A segment that leaves within the call meets a link that loses all. */
	if (lost)
		nopal_sim_change(all->world, 0, 1, &all->gone);
	if (!by->session ||
	    nopal_send_message(
		    by->session,
		    &(struct nopal_outgoing){ .bytes = bytes,
					      .length = urgent ? STREAMS_MIN_BYTES : all->bytes,
					      .properties = &property,
					      .property_count = 1 }) < 0)
		all->broken = true;
	source->sent++;
	if (lost)
		nopal_sim_change(all->world, 0, 1, &all->place.forward);
	if (source->sent < all->messages &&
	    nopal_sim_at(all->world, head.sent_ns + (urgent ? STREAMS_URGE_NS : STREAMS_EVERY_NS),
			 streams_on_tick, source) < 0)
		tool_lacks_memory();
}

/* ---------------------------------------------------------------------- a run */

/* The times of a case, [source * messages + number]; NULL: it was said why. */
static int64_t *streams_run(struct streams *all, const struct streams_case *how)
{
	bool urgent = how->what == STREAMS_URGENT, good;
	int64_t every_ns = urgent ? STREAMS_URGE_NS : STREAMS_EVERY_NS, now_ns;
	struct nopal_session *first;
	struct nopal_link unused;

	all->how = how;
	all->enough = all->over = all->broken = false;
	all->took_ns = tool_need(calloc((size_t)all->count * all->messages, sizeof(int64_t)));
	all->world = tool_need(nopal_sim_new(all->seed));
	good = bench_link(how->link, &all->place.forward, &all->place.reverse) &&
	       bench_link(STREAMS_GONE, &all->gone, &unused);
	for (uint32_t i = 0; i < all->count; i++)
		all->source[i] =
			(struct streams_source){ .on = streams_on, .all = all, .index = i };
	side_hosts(all->world, &all->place);
	first = good ? side_connect(all->world, 0, 1, all->plan, all->source, all) : NULL;
	all->source[0].session = first;
	for (uint32_t i = 1; first && i < all->count; i++)
		all->source[i].session = nopal_session_open(&(struct nopal_open){
			.beside = first, .callbacks = &side_callbacks, .user = &all->source[i] });
	nopal_sim_run(all->world, STREAMS_OPEN_NS);
	good = first && !all->broken;
	if (good) {
		now_ns = nopal_world_now(all->world);
		for (uint32_t i = 1; how->loaded && i < all->count; i++)
			streams_fill(&all->source[i]);
		if (how->loaded)
			now_ns += STREAMS_WARM_NS;
		for (uint32_t i = 0; i < (urgent ? 1 : all->count); i++)
			if (nopal_sim_at(all->world, now_ns + STREAMS_EVERY_NS * i / all->count,
					 streams_on_tick, &all->source[i]) < 0)
				tool_lacks_memory();
		nopal_sim_run(all->world, now_ns + all->messages * every_ns);
		/* what is still on its way */
		all->enough = true;
		nopal_sim_run(all->world, nopal_world_now(all->world) + STREAMS_LATE_NS);
	}
	good = good && !all->broken;
	all->over = true;
	nopal_world_free(all->world);
	if (good)
		return all->took_ns;
	tool_error("the simulated session ended");
	free(all->took_ns);
	return NULL;
}

/* -------------------------------------------------------------------- figures */

struct streams_row {
	struct bench *bench;
	const char *path, *name;
};

static void streams_add(const struct streams_row *row, const char *column, double value)
{
	bench_add(row->bench, row->path, row->name, column, value);
}

/* Sorts the times; their p99 in milliseconds. */
static double streams_figures(const struct streams_row *row, int64_t *times_ns, size_t count)
{
	static const struct {
		const char *column;
		size_t thousandths;
	} shares[] = { { "p50", 500 }, { "p90", 900 }, { "p99", 990 } };
	double ms = 0;

	bench_sort(times_ns, count);
	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		ms = (double)bench_share(times_ns, count, shares[i].thousandths) /
		     NOPAL_MILLISECOND;
		streams_add(row, shares[i].column, ms);
	}
	streams_add(row, "most", (double)times_ns[count - 1] / NOPAL_MILLISECOND);
	return ms;
}

/* Everything must have come. */
static bool streams_whole(const struct streams_row *row, const int64_t *times_ns, size_t count)
{
	size_t missing = 0;

	for (size_t i = 0; i < count; i++)
		missing += times_ns[i] == 0;
	if (missing)
		tool_error("%s, %s: %zu messages did not come", row->path, row->name, missing);
	return missing == 0;
}

static bool streams_latency(struct streams *all, const struct streams_row *row,
			    const struct streams_case *how, double *ret_tail)
{
	size_t count = (how->what == STREAMS_URGENT ? 1 : (size_t)all->count) * all->messages;
	int64_t *times_ns = streams_run(all, how);
	bool good = times_ns && streams_whole(row, times_ns, count);

	if (good)
		*ret_tail = streams_figures(row, times_ns, count);
	free(times_ns);
	return good;
}

/* How much later than without, and how many messages are. */
static void streams_compare(struct streams_row row, int64_t *with_ns, const int64_t *without_ns,
			    size_t count)
{
	size_t later = 0;

	for (size_t i = 0; i < count; i++) {
		with_ns[i] -= without_ns[i];
		later += with_ns[i] > 0;
	}
	streams_figures(&row, with_ns, count);
	streams_add(&row, "later", (double)later);
}

static bool streams_differ(struct streams *all, struct streams_row row)
{
	static const struct streams_case calm = { STREAMS_EACH, STREAMS_BARE, false, false };
	static const struct streams_case lossy = { STREAMS_EACH, STREAMS_BARE, true, false };
	size_t count = (size_t)all->count * all->messages;
	int64_t *without_ns = streams_run(all, &calm), *with_ns;
	bool good;

	with_ns = without_ns ? streams_run(all, &lossy) : NULL;
	row.path = "one loses";
	row.name = "the others";
	good = with_ns && streams_whole(&row, with_ns, count) &&
	       streams_whole(&row, without_ns, count);
	if (good) {
		streams_compare(row, with_ns + all->messages, without_ns + all->messages,
				count - all->messages);
		row.name = "that one";
		streams_compare(row, with_ns, without_ns, all->messages);
	}
	free(with_ns);
	free(without_ns);
	return good;
}

/* ------------------------------------------------------------------------ frame */

static enum tool_exit streams_round(struct bench *bench)
{
	static const struct streams_latency {
		const char *path, *name;
		struct streams_case how;
	} latencies[] = {
		/* head-of-line blocking: as many messages at the same times */
		{ "2 % loss", "a stream each", { STREAMS_EACH, STREAMS_LOSSY, false, false } },
		{ "2 % loss", "all on one", { STREAMS_ON_ONE, STREAMS_LOSSY, false, false } },
		{ "urgent, no loss", "idle", { STREAMS_URGENT, STREAMS_PATH, false, false } },
		{ "urgent, no loss", "loaded", { STREAMS_URGENT, STREAMS_PATH, false, true } },
		{ "urgent, 2 % loss", "idle", { STREAMS_URGENT, STREAMS_LOSSY, false, false } },
		{ "urgent, 2 % loss", "loaded", { STREAMS_URGENT, STREAMS_LOSSY, false, true } },
	};
	struct streams *all = bench->state;
	double tail_ms = 0, idle_ms;
	bool good;

	all->on = streams_on_arrival;
	all->seed = (uint64_t)bench->round + 1;
	all->plan = bench->rows[0].plan;
	all->flood = tool_need(nopal_buffer_new(STREAMS_FLOOD_BYTES));
	good = streams_differ(all, (struct streams_row){ .bench = bench });
	for (size_t i = 0; good && i < sizeof(latencies) / sizeof(*latencies); i++) {
		const struct streams_latency *latency = &latencies[i];
		struct streams_row row = { bench, latency->path, latency->name };

		idle_ms = tail_ms;
		good = streams_latency(all, &row, &latency->how, &tail_ms);
		if (good && latency->how.loaded)
			streams_add(&row, "RTTs", (tail_ms - idle_ms) / STREAMS_RTT_MS);
	}
	nopal_buffer_free(all->flood);
	return good ? TOOL_GOOD : TOOL_FAILED;
}

static bool streams_begin(struct bench *bench)
{
	struct streams *all = tool_need(calloc(1, sizeof(*all)));
	int64_t count = bench->count ? bench->count : STREAMS_COUNT;
	int64_t bytes = bench->size ? bench->size : STREAMS_BYTES;

	bench->state = all;
	if (count < STREAMS_MIN || count > STREAMS_MAX || bytes < STREAMS_MIN_BYTES ||
	    bytes > STREAMS_MAX_BYTES)
		return tool_error("these are no streams to measure\n"
				  "  fix: say --count %d to %d, --size %dB to %dB",
				  STREAMS_MIN, STREAMS_MAX, STREAMS_MIN_BYTES, STREAMS_MAX_BYTES);
	all->count = (uint32_t)count;
	all->bytes = (uint32_t)bytes;
	all->messages = STREAMS_MESSAGES;
	report_note(bench->report,
		    "virtual time, `" STREAMS_PATH
		    "`; %u streams, messages of %u bytes, %u each; a round is a seed",
		    all->count, all->bytes, all->messages);
	report_note(bench->report,
		    "one loses, over `" STREAMS_BARE "`: how much later messages come than where "
		    "its segments are not lost, and how many do");
	report_note(bench->report,
		    "RTTs: what the p99 under load is above the p99 idle, in round trips of %d ms; "
		    "loaded: all other streams send what they can",
		    STREAMS_RTT_MS);
	return true;
}

const struct bench_measurement bench_streams = {
	.name = "streams",
	.uses = BENCH_USE_COUNT | BENCH_USE_SIZE,
	.words = BENCH_CONFIG,
	.rows = "streams",
	.columns = { { "p50", "ms", REPORT_LESS_IS_BETTER },
		     { "p90", "ms", REPORT_LESS_IS_BETTER },
		     { "p99", "ms", REPORT_LESS_IS_BETTER },
		     { "most", "ms", REPORT_LESS_IS_BETTER },
		     { "later", "messages", REPORT_LESS_IS_BETTER },
		     { "RTTs", "", REPORT_LESS_IS_BETTER } },
	.begin = streams_begin,
	.round = streams_round,
};
