/* SPDX-License-Identifier: MIT */
/*
 * sim_report_json.c -- results of a simulated run as JSON; docs/json.md has the fields.
 */
#include <inttypes.h>
#include <jansson.h>

#include <nopal/microprotocol.h>
#include "run/sim_report.h"

enum {
	REPORT_VERSION = 1,
	HEX_ROOM = 17, /* 64 bits and the end */
};
#define REPORT_SCHEMA "nopal.sim"
#define MOMENT_SCHEMA "nopal.sim.moment"

#define put(object, name, value)                                                                   \
	json_object_set_new(object, name, json_integer((json_int_t)(value)))

static void put_goodput(json_t *object, uint64_t delivered_bytes, uint64_t goodput_bps)
{
	if (sim_report_took_no_time(delivered_bytes, goodput_bps))
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

static void put_delays(json_t *object, const struct sim_delays *delays)
{
	put(object, "delay_p50_ns", delays->p50_ns);
	put(object, "delay_p99_ns", delays->p99_ns);
	put(object, "delay_max_ns", delays->max_ns);
}

/* Arrivals at one receiver. */
static void put_receiver(json_t *object, const struct sim_receiver *receiver)
{
	struct sim_delays delays = sim_report_delays(receiver);

	put(object, "delivered_messages", receiver->tally.delivered_messages);
	put(object, "delivered_bytes", receiver->tally.delivered_bytes);
	put_goodput(object, receiver->tally.delivered_bytes, sim_report_goodput(receiver));
	put_delays(object, &delays);
}

static void json_line(json_t *object, size_t flags)
{
	json_dumpf(object, stdout, flags | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(object);
}

static json_t *kinds_json(const struct sim_run *run)
{
	json_t *array = json_array();

	for (unsigned l = 0; l < run->load_count; l++)
		for (unsigned i = 0; i < run->loads[l].kinds.count; i++) {
			json_t *one = json_object();
			struct sim_kind_row row;

			sim_report_kind(run, &run->loads[l], i, &row);
			put_text(one, "config", nopal_plan_info(run->loads[l].plan)->name);
			put_text(one, "properties", row.names);
			put(one, "sent_messages", row.sent);
			put(one, "delivered_messages", row.delivered);
			put(one, "late_messages", row.late);
			put_delays(one, &row.delays);
			json_array_append_new(array, one);
		}
	return array;
}

static json_t *deadlines_json(const struct sim_run *run)
{
	json_t *array = json_array();

	for (unsigned l = 0; l < run->load_count; l++)
		for (unsigned i = 0; i < run->loads[l].deadline_count; i++) {
			json_t *one = json_object();

			put_text(one, "config", nopal_plan_info(run->loads[l].plan)->name);
			put(one, "deadline_ns", run->loads[l].deadline_ns[i]);
			put(one, "late_messages", sim_report_late(run, l, i));
			json_array_append_new(array, one);
		}
	return array;
}

static json_t *flow_json(const struct sim_flow *flow)
{
	json_t *one = json_object(), *destinations;

	put_text(one, "config", nopal_plan_info(flow->load->plan)->name);
	put(one, "stream", flow->stream);
	put_text(one, "end", sim_report_end_word(&flow->sender));
	if (flow->sender.text && *flow->sender.text)
		put_text(one, "why", flow->sender.text);
	put(one, "sent_messages", flow->next);
	if (!flow->run->options.destinations) {
		put_text(one, "peer_end", sim_report_end_word(&flow->receivers[0].end));
		put_receiver(one, &flow->receivers[0]);
		return one;
	}
	destinations = json_array();
	for (unsigned r = 0; r < flow->receiver_count; r++) {
		json_t *destination = json_object();

		put(destination, "destination", r + 1);
		put_text(destination, "end", sim_report_end_word(&flow->receivers[r].end));
		put_receiver(destination, &flow->receivers[r]);
		json_array_append_new(destinations, destination);
	}
	json_object_set_new(one, "destinations", destinations);
	return one;
}

void sim_report_json(const struct sim_run *run, const struct sim_totals *totals)
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
	put_text(object, "config", nopal_plan_info(run->loads[0].plan)->name);
	put_hex(object, "fingerprint", nopal_plan_info(run->loads[0].plan)->fingerprint);
	put_text(object, "link", options->link_text);
	put_text(object, "topology", topologies[options->topology]);
	put(object, "sessions", options->flows);
	put(object, "seed", options->seed);
	put(object, "message_bytes", run->loads[0].size);
	put(object, "interval_ns", run->loads[0].interval_ns);
	put(object, "duration_ns", totals->duration_ns);
	put(object, "sent_messages", totals->messages_sent);
	put(object, "sent_bytes", totals->sent_bytes);
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
	put_delays(object, &totals->delays);
	put(object, "queue_delay_peak_ns", totals->link.queue_delay_peak_ns);
	put(object, "queue_delay_mean_ns", sim_report_queue_ns(&totals->link));
	put_hex(object, "trace_hash", run->trace_hash);
	json_object_set_new(object, "link_counters", link_json(&totals->link));
	json_object_set_new(object, "sender", counters_json(&totals->sender));
	json_object_set_new(object, "receiver", counters_json(&totals->receiver));
	for (int i = 0; i < options->flows; i++)
		json_array_append_new(array, flow_json(&run->flows[i]));
	json_object_set_new(object, "flows", array);
	json_object_set_new(object, "kinds", kinds_json(run));
	json_object_set_new(object, "deadlines", deadlines_json(run));
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
	put(object, "goodput_bps",
	    sim_report_rate(delivered - run->told_bytes, run->options.every_ns));
	for (size_t i = 0; session && i < sizeof(names) / sizeof(*names); i++)
		if (nopal_session_shared(session, names[i], &value))
			put(object, names[i], value);
	nopal_sim_link_counters(run->world, 0, 1, &link);
	json_object_set_new(object, "link_counters", link_json(&link));
	run->told_bytes = delivered;
	json_line(object, JSON_COMPACT);
}
