/* SPDX-License-Identifier: MIT */
/*
 * place.c -- where an experiment's two sides are.
 */
#include <math.h>
#include <stdlib.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "reproduce/place.h"

#define PLACE_LATE_NS (200 * NOPAL_MICROSECOND) /* on average: too slow */

bool reproduce_place_wanted(const struct reproduce_options *options, enum reproduce_world world,
			    const char *word)
{
	return (world == REPRODUCE_SIMULATED ? options->sim : options->live) &&
	       (!word || reproduce_wanted(options->paths, word));
}

bool reproduce_place_open(struct reproduce_place *place, const struct reproduce_options *options,
			  enum reproduce_world world, const char *link, uint64_t seed)
{
	struct side_place *sides = &place->sides;

	*place = (struct reproduce_place){
		.sides = { .live = world != REPRODUCE_SIMULATED, .seed = seed },
		.emulated = world == REPRODUCE_HOSTS,
	};
	bench_place_of(0, NULL, &sides->pair);
	if (!bench_link(link ? link : "", &sides->forward, &sides->reverse))
		return false;
	if (!place->emulated)
		return true;
	if (hosts_open(&place->hosts, &sides->forward, &sides->reverse, seed)) {
		sides->pair = place->hosts.place;
		return true;
	}
	report_refused(options->report, "no rows over an emulated link: %s; they need root",
		       place->hosts.why);
	return false;
}

void reproduce_place_close(struct reproduce_place *place, const struct reproduce_options *options)
{
	struct nopal_link_counters did[2];

	if (!place->emulated)
		return;
	hosts_close(&place->hosts, did);
	for (int way = 0; way < 2; way++) {
		int64_t packets = (int64_t)did[way].delivered;

		if (did[way].missed + did[way].refused > 0)
			report_note(options->report,
				    "the emulator dropped packets that its link did not: this "
				    "machine was too busy");
		if (packets > 0 && did[way].late_sum_ns / packets > PLACE_LATE_NS)
			report_note(options->report, "the emulator was late on average: this "
						     "machine was too busy");
	}
}

bool reproduce_protocol_plan(const struct reproduce_protocol *protocol,
			     struct nopal_plan **ret_plan)
{
	bool config = protocol->kind == SIDE_CONFIG;

	*ret_plan = config ? bench_load(protocol->config, protocol->sets) : NULL;
	return *ret_plan || !config;
}

double reproduce_round_trips_median_us(const struct round_trips *round_trips)
{
	double *us = malloc((size_t)round_trips->count * sizeof(*us)), median = NAN;

	for (int64_t i = 0; us && i < round_trips->count; i++)
		us[i] = (double)round_trips->round_trips_ns[i] / NOPAL_MICROSECOND;
	if (us && round_trips->done == round_trips->count)
		median = spread_of(us, (int)round_trips->count).median;
	free(us);
	return median;
}

double reproduce_round_trips_ms(const struct round_trips *round_trips)
{
	double sum_ns = 0;

	if (round_trips->done < round_trips->count || round_trips->count == 0)
		return NAN;
	for (int64_t i = 0; i < round_trips->count; i++)
		sum_ns += (double)round_trips->round_trips_ns[i];
	return sum_ns / (double)round_trips->count / NOPAL_MILLISECOND;
}
