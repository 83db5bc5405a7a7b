/* SPDX-License-Identifier: MIT */
/*
 * sim_report.c -- what a simulated run came to.
 *
 * Everything is computed in integers from virtual time, so that the same run prints the same bytes
 * on every machine.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "run/sim.h"

enum {
	REPORT_VERSION = 1,
	HEX_ROOM = 17, /* 64 bits and the end */
	PERCENT = 100,
	MEDIAN = 50,
	TAIL = 99,
	BYTE_BITS = 8,
	UDP_IP_BYTES = 28,
};
#define REPORT_SCHEMA "nopal.sim"
#define MOMENT_SCHEMA "nopal.sim.moment"
#define MILLION	      UINT64_C(1000000)

/* ------------------------------------------------------------------- numbers */

struct totals {
	struct nopal_counters sender, receiver;
	struct sim_tally tally;
	uint64_t messages_sent;
	int64_t last_delivery_ns, duration_ns;
	uint64_t goodput_bps, overhead_ppm, fairness_ppm;
	struct nopal_link_counters link;
	bool all_delivered, all_well; /* of every flow; well: as far as it has ended */
};

static void counters_add(struct nopal_counters *sum, const struct nopal_counters *one)
{
#define ADD(name, doc) sum->name += one->name;
	NOPAL_COUNTERS(ADD)
#undef ADD
}

/* Bits per second of `bytes` in a time; 0 where no time passed. */
static uint64_t rate_bps(uint64_t bytes, int64_t time_ns)
{
	if (time_ns <= 0)
		return 0;
	return nopal_scale(bytes * BYTE_BITS, (uint64_t)NOPAL_SECOND, (uint64_t)time_ns);
}

static uint64_t flow_goodput(const struct sim_flow *flow)
{
	return rate_bps(flow->tally.delivered_bytes,
			flow->last_delivery_ns - flow->run->first_send_ns);
}

/* Over a link without delay and rate all comes at once. */
static bool took_no_time(uint64_t delivered_bytes, uint64_t goodput_bps)
{
	return delivered_bytes > 0 && goodput_bps == 0;
}

static void totals_make(const struct sim_run *run, struct totals *totals)
{
	const uint64_t share_bps = 100000;
	uint64_t left, sum = 0, squares = 0;

	*totals = (struct totals){ .all_delivered = true, .all_well = true };
	for (int i = 0; i < run->options.flows; i++) {
		const struct sim_flow *flow = &run->flows[i];
		uint64_t share = flow_goodput(flow) / share_bps;

		counters_add(&totals->sender, &flow->sender.counters);
		counters_add(&totals->receiver, &flow->receiver.counters);
		totals->messages_sent += flow->next;
#define ADD(name) totals->tally.name += flow->tally.name;
		SIM_TALLY(ADD)
#undef ADD
		if (flow->last_delivery_ns > totals->last_delivery_ns)
			totals->last_delivery_ns = flow->last_delivery_ns;
		totals->all_delivered &= flow->tally.delivered_bytes == run->options.bytes;
		totals->all_well &= !flow->sender.ended || flow->sender.how == NOPAL_ENDED_WELL;
		sum += share;
		squares += share * share;
	}
	totals->duration_ns = run->last_ns;
	totals->goodput_bps = rate_bps(totals->tally.delivered_bytes,
				       totals->last_delivery_ns - run->first_send_ns);
	left = totals->sender.datagram_bytes_out + totals->sender.datagrams_out * UDP_IP_BYTES;
	if (totals->tally.delivered_bytes && left > totals->tally.delivered_bytes)
		totals->overhead_ppm = nopal_scale(left - totals->tally.delivered_bytes, MILLION,
						   totals->tally.delivered_bytes);
	/* Jain's index, (sum x)^2 / (n * sum x^2), in millionths.  Shares are taken in a unit that
	 * keeps 10000 flows of 100 Gbit/s within 64 bits. */
	if (squares)
		totals->fairness_ppm = nopal_scale(
			nopal_scale(sum, MILLION, (uint64_t)run->options.flows), sum, squares);
	nopal_sim_link_counters(run->world, 0, 1, &totals->link);
}

static int delay_compare(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

/* The smallest delay that `percent` of all do not exceed. */
static int64_t delay_at(const struct sim_run *run, unsigned percent)
{
	size_t rank = (run->delay_count * percent + PERCENT - 1) / PERCENT;

	if (run->delay_count == 0)
		return 0;
	return run->delays[rank ? rank - 1 : 0];
}

int64_t sim_report_queue_ns(const struct nopal_link_counters *link)
{
	uint64_t queued = link->entered - link->overflowed - link->too_big;

	return queued ? link->queue_delay_sum_ns / (int64_t)queued : 0;
}

/* ---------------------------------------------------------------------- JSON */

static const char *end_word(const struct sim_end *end)
{
	static const char *const words[] = {
		[NOPAL_ENDED_WELL] = "well",
		[NOPAL_REFUSED] = "refused",
		[NOPAL_UNREACHABLE] = "unreachable",
		[NOPAL_NOT_AUTHENTIC] = "not_authentic",
		[NOPAL_PEER_LOST] = "peer_lost",
		[NOPAL_GAVE_UP] = "gave_up",
		[NOPAL_ABORTED] = "aborted",
		[NOPAL_RESOURCE] = "resource",
		[NOPAL_RUNTIME_LIMIT] = "runtime_limit",
		[NOPAL_UNDELIVERED] = "undelivered",
	};

	if (!end->existed)
		return "never_open";
	return end->ended ? words[end->how] : "open";
}

#define put(object, name, value)                                                                   \
	json_object_set_new(object, name, json_integer((json_int_t)(value)))

static void put_goodput(json_t *object, uint64_t delivered_bytes, uint64_t goodput_bps)
{
	if (took_no_time(delivered_bytes, goodput_bps))
		json_object_set_new(object, "goodput_bps", json_null());
	else
		put(object, "goodput_bps", goodput_bps);
}

static void put_text(json_t *object, const char *name, const char *text)
{
	json_object_set_new(object, name, json_string(text));
}

static void put_hex(json_t *object, const char *name, uint64_t value)
{
	char hex[HEX_ROOM];

	snprintf(hex, sizeof(hex), "%016" PRIx64, value);
	put_text(object, name, hex);
}

static json_t *counters_json(const struct nopal_counters *counters)
{
	json_t *object = json_object();

#define PUT(name, doc) put(object, #name, counters->name);
	NOPAL_COUNTERS(PUT)
#undef PUT
	return object;
}

static json_t *link_json(const struct nopal_link_counters *link)
{
	json_t *object = json_object();

	put(object, "entered", link->entered);
	put(object, "delivered", link->delivered);
	put(object, "lost", link->lost);
	put(object, "overflowed", link->overflowed);
	put(object, "too_big", link->too_big);
	put(object, "duplicated", link->duplicated);
	put(object, "corrupted", link->corrupted);
	put(object, "reordered", link->reordered);
	put(object, "marked", link->marked);
	put(object, "queue_peak", link->queue_peak);
	return object;
}

static void put_result(json_t *object, const struct sim_run *run, const struct totals *totals)
{
	put(object, "duration_ns", totals->duration_ns);
	put(object, "sent_messages", totals->messages_sent);
#define PUT(name) put(object, #name, totals->tally.name);
	SIM_TALLY(PUT)
#undef PUT
	json_object_set_new(
		object, "verified",
		json_boolean(totals->tally.delivered_bytes && !totals->tally.wrong_bytes));
	/* Where two must have a message, a single receiver that has all is not enough. */
	json_object_set_new(
		object, "complete",
		json_boolean(totals->all_delivered && totals->sender.messages_missing == 0));
	put_goodput(object, totals->tally.delivered_bytes, totals->goodput_bps);
	put(object, "fairness_ppm", totals->fairness_ppm);
	put(object, "datagrams", totals->sender.datagrams_out);
	put(object, "resends", totals->sender.resends);
	put(object, "lost", totals->sender.segments_lost);
	put(object, "timeouts", totals->sender.segments_timeout);
	put(object, "overhead_ppm", totals->overhead_ppm);
	put(object, "delay_p50_ns", delay_at(run, MEDIAN));
	put(object, "delay_p99_ns", delay_at(run, TAIL));
	put(object, "delay_max_ns", delay_at(run, PERCENT));
	put(object, "queue_delay_peak_ns", totals->link.queue_delay_peak_ns);
	put(object, "queue_delay_mean_ns", sim_report_queue_ns(&totals->link));
	put_hex(object, "trace_hash", run->trace_hash);
}

static void json_line(json_t *object, size_t flags)
{
	json_dumpf(object, stdout, flags | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(object);
}

static void report_json(const struct sim_run *run, const struct totals *totals)
{
	static const char *const topologies[] = {
		[SIM_DIRECT] = "direct",
		[SIM_DUMBBELL] = "dumbbell",
		[SIM_STAR] = "star",
	};
	const struct sim_options *options = &run->options;
	json_t *object = json_object(), *array = json_array();

	put_text(object, "schema", REPORT_SCHEMA);
	put(object, "version", REPORT_VERSION);
	put_text(object, "config", nopal_plan_info(run->plan)->name);
	put_hex(object, "fingerprint", nopal_plan_info(run->plan)->fingerprint);
	put_text(object, "link", options->link_text);
	put_text(object, "topology", topologies[options->topology]);
	put(object, "sessions", options->flows);
	put(object, "seed", options->seed);
	put(object, "message_bytes", options->size);
	put(object, "interval_ns", options->interval_ns);
	put_result(object, run, totals);
	json_object_set_new(object, "link_counters", link_json(&totals->link));
	json_object_set_new(object, "sender", counters_json(&totals->sender));
	json_object_set_new(object, "receiver", counters_json(&totals->receiver));
	for (int i = 0; i < options->flows; i++) {
		const struct sim_flow *flow = &run->flows[i];
		json_t *one = json_object();

		put_text(one, "end", end_word(&flow->sender));
		put_text(one, "peer_end", end_word(&flow->receiver));
		if (flow->sender.text && *flow->sender.text)
			put_text(one, "why", flow->sender.text);
		put(one, "delivered_bytes", flow->tally.delivered_bytes);
		put_goodput(one, flow->tally.delivered_bytes, flow_goodput(flow));
		json_array_append_new(array, one);
	}
	json_object_set_new(object, "flows", array);
	json_object_set_new(object, "judged", judge_json(&run->judgement));
	json_line(object, options->jsonl ? JSON_COMPACT : JSON_INDENT(2));
}

void sim_report_moment(struct sim_run *run)
{
	/* Shared variables of the first session, where its config has them. */
	static const char *const names[] = {
		"congestion_window_bytes", "sending_rate_bps", "bytes_in_flight",
		"smoothed_rtt_ns",	   "timeout_ns",
	};
	const struct nopal_session *session = run->flows[0].sender.session;
	uint64_t delivered = sim_traffic_delivered(run);
	json_t *object = json_object();
	struct nopal_link_counters link = { 0 };
	int64_t value;

	put_text(object, "schema", MOMENT_SCHEMA);
	put(object, "version", REPORT_VERSION);
	put(object, "time_ns", nopal_world_now(run->world));
	put(object, "delivered_bytes", delivered);
	put(object, "goodput_bps", rate_bps(delivered - run->told_bytes, run->options.every_ns));
	for (size_t i = 0; session && i < sizeof(names) / sizeof(*names); i++)
		if (nopal_session_shared(session, names[i], &value))
			put(object, names[i], value);
	nopal_sim_link_counters(run->world, 0, 1, &link);
	json_object_set_new(object, "link_counters", link_json(&link));
	run->told_bytes = delivered;
	json_line(object, JSON_COMPACT);
}

/* --------------------------------------------------------------------- table */

/* A number of nanoseconds with three digits behind the point of its unit. */
static void time_row(const char *name, int64_t time_ns)
{
	static const struct {
		int64_t scale;
		const char *name;
	} units[] = { { NOPAL_SECOND, "s" },
		      { NOPAL_MILLISECOND, "ms" },
		      { NOPAL_MICROSECOND, "us" } };
	const int64_t thousand = 1000;
	size_t i = 0;

	while (i < 2 && time_ns < units[i].scale)
		i++;
	printf("  %-22s %" PRId64 ".%03" PRId64 " %s\n", name, time_ns / units[i].scale,
	       time_ns % units[i].scale / (units[i].scale / thousand), units[i].name);
}

static void count_row(const char *name, uint64_t value)
{
	printf("  %-22s %" PRIu64 "\n", name, value);
}

/* Millionths as a number with `unit` per million. */
static void share_row(const char *name, uint64_t ppm, const char *unit, uint64_t per_unit)
{
	const uint64_t thousand = 1000;

	printf("  %-22s %" PRIu64 ".%03" PRIu64 "%s\n", name, ppm / per_unit,
	       ppm % per_unit / (per_unit / thousand), unit);
}

static void report_table(const struct sim_run *run, const struct totals *totals)
{
	const struct nopal_counters *sender = &totals->sender;

	printf("%s over %s, seed %" PRIu64 "\n", nopal_plan_info(run->plan)->name,
	       *run->options.link_text ? run->options.link_text : "an ideal link",
	       run->options.seed);
	for (int i = 0; i < run->options.flows; i++) {
		const struct sim_end *end = &run->flows[i].sender;

		if (run->options.flows > 1 || !end->ended || end->how != NOPAL_ENDED_WELL)
			printf("  session %-14d %s%s%s, %" PRIu64 " bytes\n", i, end_word(end),
			       end->text ? ": " : "", end->text ? end->text : "",
			       run->flows[i].tally.delivered_bytes);
	}
	time_row("virtual time", totals->duration_ns);
	count_row("messages sent", totals->messages_sent);
	count_row("messages delivered", totals->tally.delivered_messages);
	count_row("bytes delivered", totals->tally.delivered_bytes);
	if (sender->messages_missing)
		count_row("missing, says sender", sender->messages_missing);
	if (took_no_time(totals->tally.delivered_bytes, totals->goodput_bps))
		printf("  %-22s %s\n", "goodput", "without bound: in no time");
	else
		share_row("goodput", totals->goodput_bps, " Mbit/s", MILLION);
	if (run->options.flows > 1)
		share_row("fairness (Jain)", totals->fairness_ppm, "", MILLION);
	if (totals->tally.duplicate_messages)
		count_row("duplicates", totals->tally.duplicate_messages);
	if (totals->tally.out_of_order_messages)
		count_row("out of order", totals->tally.out_of_order_messages);
	if (run->options.deadline_ns)
		count_row("late", totals->tally.late_messages);
	time_row("message delay, p50", delay_at(run, MEDIAN));
	time_row("message delay, p99", delay_at(run, TAIL));
	time_row("message delay, max", delay_at(run, PERCENT));
	count_row("datagrams", sender->datagrams_out);
	count_row("resends", sender->resends);
	count_row("segments lost", sender->segments_lost);
	count_row("segments timed out", sender->segments_timeout);
	share_row("overhead", totals->overhead_ppm, " %", MILLION / PERCENT);
	count_row("lost on the link", totals->link.lost);
	count_row("dropped at the queue", totals->link.overflowed);
	time_row("queue delay, mean", sim_report_queue_ns(&totals->link));
	time_row("queue delay, peak", totals->link.queue_delay_peak_ns);
	printf("  %-22s %s\n", "bytes verified",
	       totals->tally.wrong_bytes       ? "NO"
	       : totals->tally.delivered_bytes ? "yes"
					       : "none came");
	if (totals->tally.wrong_bytes)
		count_row("wrong bytes", totals->tally.wrong_bytes);
	printf("  %-22s %016" PRIx64 "\n", "trace hash", run->trace_hash);
}

bool sim_report_end(struct sim_run *run)
{
	const struct judgement *judgement = &run->judgement;
	bool broken = judge_is_broken(judgement), sound, lacks_messages;
	struct totals totals;

	if (run->delay_count)
		qsort(run->delays, run->delay_count, sizeof(*run->delays), delay_compare);
	totals_make(run, &totals);
	if (run->options.json || run->options.jsonl)
		report_json(run, &totals);
	else
		report_table(run, &totals);
	sound = totals.all_well && !totals.tally.wrong_bytes && !broken;
	/* Lost messages are no failure of a config that does not promise them, nor of a run that
	 * was to be short. */
	lacks_messages = !totals.all_delivered && !run->options.duration_given &&
			 nopal_promises(&judgement->promised, NOPAL_DELIVERY, NOPAL_ALL);
	fflush(stdout);
	/* A standstill is reported, whether it was promised to go on or not. */
	if (*run->stuck && judgement->of[NOPAL_PROGRESS].verdict != JUDGE_BROKEN)
		fprintf(stderr, "nopal: stopped: %s\n", run->stuck);
	judge_say(judgement, stderr);
	if (sound && lacks_messages)
		fprintf(stderr,
			"nopal: not all messages were delivered, and the composition promises it\n");
	if (broken || judgement->end || *run->stuck || run->stranded)
		judge_say_held(run->suspects, stderr);
	return sound && !lacks_messages;
}
