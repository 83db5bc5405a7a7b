/* SPDX-License-Identifier: MIT */
/*
 * sim_series.c -- figures of several simulated runs.
 *
 * Each run gives the same figures in the same order; the first run names them.
 */
#include "run/sim_report.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>

enum {
	SERIES_VERSION = 1,
	NAME_ROOM = 64,
	VALUE_ROOM = 32,
	PERCENT = 100,
	QUARTER = 25,
	HEX_ROOM = 17, /* 64 bits and the end */
};
#define SERIES_SCHEMA "nopal.sim.seeds"

enum unit { UNIT_COUNT, UNIT_NS, UNIT_BPS, UNIT_PPM };

struct figure {
	char name[NAME_ROOM];
	enum unit unit;
	int64_t *values; /* by run */
};

struct sim_series {
	const struct sim_options *options;
	const struct sim_load *loads;
	unsigned load_count;
	size_t runs, good;
	size_t at; /* figures of this run so far */
	size_t figure_count;
	struct figure *figures;
	json_t *hashes;
};

/* ---------------------------------------------------------------------- figures */

struct sim_series *sim_series_new(const struct sim_options *options, const struct sim_load *loads,
				  unsigned load_count)
{
	struct sim_series *series = tool_need(calloc(1, sizeof(*series)));

	*series = (struct sim_series){ .options = options,
				       .loads = loads,
				       .load_count = load_count,
				       .hashes = tool_need(json_array()) };
	return series;
}

void sim_series_free(struct sim_series *series)
{
	for (size_t i = 0; i < series->figure_count; i++)
		free(series->figures[i].values);
	free(series->figures);
	json_decref(series->hashes);
	free(series);
}

static void figure_add(struct sim_series *series, const char *name, enum unit unit, int64_t value)
{
	struct figure *figure;

	if (series->at == series->figure_count) {
		series->figures = tool_need(reallocarray(series->figures, ++series->figure_count,
							 sizeof(*series->figures)));
		series->figures[series->at] = (struct figure){ .unit = unit };
		snprintf(series->figures[series->at].name, NAME_ROOM, "%s", name);
	}
	figure = &series->figures[series->at++];
	figure->values =
		tool_need(reallocarray(figure->values, series->runs + 1, sizeof(*figure->values)));
	figure->values[series->runs] = value;
}

static void add_receiver(struct sim_series *series, const struct sim_receiver *receiver)
{
	const struct sim_flow *flow = receiver->flow;
	struct sim_delays delays = sim_report_delays(receiver);
	char name[NAME_ROOM], who[NAME_ROOM / 2];

	snprintf(who, sizeof(who), "session %u", flow->index);
	if (flow->receiver_count > 1)
		snprintf(who, sizeof(who), "session %u to %u", flow->index,
			 (unsigned)(receiver - flow->receivers) + 1);
	snprintf(name, sizeof(name), "%s, goodput", who);
	figure_add(series, name, UNIT_BPS, (int64_t)sim_report_goodput(receiver));
	snprintf(name, sizeof(name), "%s, p99", who);
	figure_add(series, name, UNIT_NS, delays.p99_ns);
}

void sim_series_add(struct sim_series *series, const struct sim_run *run,
		    const struct sim_totals *totals, bool good)
{
	const struct sim_tally *tally = &totals->tally;
	bool many = run->options.flows > 1 || sim_places(run) > 1;
	char hash[HEX_ROOM], name[NAME_ROOM];

	series->at = 0;
	figure_add(series, "virtual time", UNIT_NS, totals->duration_ns);
	figure_add(series, "messages delivered", UNIT_COUNT, (int64_t)tally->delivered_messages);
	figure_add(series, "missing, says sender", UNIT_COUNT,
		   (int64_t)totals->sender.messages_missing);
	figure_add(series, "goodput", UNIT_BPS, (int64_t)totals->goodput_bps);
	if (many)
		figure_add(series, "fairness (Jain)", UNIT_PPM, (int64_t)totals->fairness_ppm);
	figure_add(series, "out of order", UNIT_COUNT, (int64_t)tally->out_of_order_messages);
	for (unsigned l = 0; l < run->load_count; l++)
		for (unsigned i = 0; i < run->loads[l].deadline_count; i++) {
			uint64_t late = sim_report_late(run, l, i), of = tally->delivered_messages;

			sim_report_late_name(run->loads, run->load_count, l, i, name, sizeof(name));
			figure_add(series, name, UNIT_PPM,
				   of ? (int64_t)nopal_scale(late, SIM_MILLION, of) : 0);
		}
	figure_add(series, "message delay, p50", UNIT_NS, totals->delays.p50_ns);
	figure_add(series, "message delay, p99", UNIT_NS, totals->delays.p99_ns);
	figure_add(series, "message delay, max", UNIT_NS, totals->delays.max_ns);
	figure_add(series, "datagrams", UNIT_COUNT, (int64_t)totals->sender.datagrams_out);
	figure_add(series, "resends", UNIT_COUNT, (int64_t)totals->sender.resends);
	figure_add(series, "overhead", UNIT_PPM, (int64_t)totals->overhead_ppm);
	figure_add(series, "queue delay, mean", UNIT_NS, sim_report_queue_ns(&totals->link));
	for (int f = 0; many && f < run->options.flows; f++)
		for (unsigned r = 0; r < run->flows[f].receiver_count; r++)
			add_receiver(series, &run->flows[f].receivers[r]);
	snprintf(hash, sizeof(hash), "%016" PRIx64, run->trace_hash);
	json_array_append_new(series->hashes, json_string(hash));
	series->runs++;
	series->good += good;
}

/* --------------------------------------------------------------------- printing */

static const char *value_text(enum unit unit, int64_t value, char text[VALUE_ROOM])
{
	static const struct {
		int64_t scale;
		const char *name;
	} units[] = {
		[UNIT_NS] = { NOPAL_MILLISECOND, " ms" },
		[UNIT_BPS] = { SIM_MILLION, " Mbit/s" },
		[UNIT_PPM] = { SIM_MILLION / PERCENT, " %" },
	};
	const int64_t thousand = 1000;
	int64_t scale;

	if (unit == UNIT_COUNT) {
		snprintf(text, VALUE_ROOM, "%" PRId64, value);
		return text;
	}
	scale = units[unit].scale;
	snprintf(text, VALUE_ROOM, "%" PRId64 ".%03" PRId64 "%s", value / scale,
		 value % scale * thousand / scale, units[unit].name);
	return text;
}

static const struct column {
	const char *name, *json;
	unsigned percent;
} columns[] = {
	{ "median", "median", 2 * QUARTER }, { "25 %", "p25", QUARTER },
	{ "75 %", "p75", 3 * QUARTER },	     { "least", "min", 0 },
	{ "most", "max", PERCENT },
};
enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

static void print_table(const struct sim_series *series)
{
	char text[VALUE_ROOM];

	sim_report_title(series->options, series->loads, series->load_count);
	printf("s %" PRIu64 "..%" PRIu64 ": %zu of %zu runs were good\n", series->options->seed,
	       series->options->last_seed, series->good, series->runs);
	printf("  %-22s", "");
	for (size_t c = 0; c < COLUMNS; c++)
		printf(" %15s", columns[c].name);
	printf("\n");
	for (size_t i = 0; i < series->figure_count; i++) {
		const struct figure *figure = &series->figures[i];

		printf("  %-22s", figure->name);
		for (size_t c = 0; c < COLUMNS; c++)
			printf(" %15s", value_text(figure->unit,
						   sim_report_at(figure->values, series->runs,
								 columns[c].percent),
						   text));
		printf("\n");
	}
}

static void print_json(const struct sim_series *series)
{
	static const char *const units[] = { "count", "ns", "bit/s", "ppm" };
	json_t *object = json_object(), *configs = json_array(), *figures = json_array();

	for (unsigned i = 0; i < series->load_count; i++)
		json_array_append_new(configs,
				      json_string(nopal_plan_info(series->loads[i].plan)->name));
	for (size_t i = 0; i < series->figure_count; i++) {
		const struct figure *figure = &series->figures[i];
		json_t *one = json_pack("{s:s, s:s}", "figure", figure->name, "unit",
					units[figure->unit]);

		for (size_t c = 0; c < COLUMNS; c++)
			json_object_set_new(one, columns[c].json,
					    json_integer(sim_report_at(figure->values, series->runs,
								       columns[c].percent)));
		json_array_append_new(figures, one);
	}
	json_object_update_new(
		object, json_pack("{s:s, s:i, s:o, s:s, s:I, s:I, s:I, s:I, s:O, s:o}", "schema",
				  SERIES_SCHEMA, "version", SERIES_VERSION, "configs", configs,
				  "link", series->options->link_text, "first_seed",
				  (json_int_t)series->options->seed, "last_seed",
				  (json_int_t)series->options->last_seed, "runs",
				  (json_int_t)series->runs, "good_runs", (json_int_t)series->good,
				  "trace_hashes", series->hashes, "figures", figures));
	json_dumpf(object, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(object);
}

void sim_series_print(struct sim_series *series)
{
	for (size_t i = 0; i < series->figure_count; i++)
		sim_report_sort(series->figures[i].values, series->runs);
	if (series->options->json)
		print_json(series);
	else
		print_table(series);
}
