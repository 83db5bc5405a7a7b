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

bool reproduce_place_open(struct reproduce_place *place, const struct reproduce_options *options,
			  enum reproduce_world world, const char *link, uint64_t seed)
{
	*place = (struct reproduce_place){ .world = world, .seed = seed };
	if (!bench_link(link ? link : "", &place->forward, &place->reverse))
		return false;
	if (world != REPRODUCE_HOSTS ||
	    hosts_open(&place->hosts, &place->forward, &place->reverse, seed))
		return true;
	report_refused(options->report, "no rows over an emulated link: %s; they need root",
		       place->hosts.why);
	return false;
}

static void place_judge(const struct nopal_link_counters *did,
			const struct reproduce_options *options)
{
	int64_t packets = (int64_t)did->delivered;

	if (did->missed + did->refused > 0)
		report_note(options->report, "the emulator dropped packets that its link did not: "
					     "this machine was too busy");
	if (packets > 0 && did->late_sum_ns / packets > PLACE_LATE_NS)
		report_note(options->report,
			    "the emulator was late on average: this machine was too busy");
}

void reproduce_place_close(struct reproduce_place *place, const struct reproduce_options *options)
{
	struct nopal_link_counters did[2];

	if (place->world != REPRODUCE_HOSTS)
		return;
	hosts_close(&place->hosts, did);
	place_judge(&did[0], options);
	place_judge(&did[1], options);
}

static struct side_link place_link(const struct reproduce_place *place)
{
	return (struct side_link){ &place->forward, &place->reverse, place->seed };
}

static struct bench_place place_pair(const struct reproduce_place *place)
{
	struct bench_place loopback;

	if (place->world == REPRODUCE_HOSTS)
		return place->hosts.place;
	bench_place_of(0, NULL, &loopback);
	return loopback;
}

bool reproduce_place_round_trips(const struct reproduce_place *place,
				 struct round_trips *round_trips)
{
	struct side_link link = place_link(place);
	struct bench_place pair = place_pair(place);

	return place->world == REPRODUCE_SIMULATED ? round_trips_simulate(round_trips, &link)
						   : round_trips_run(round_trips, &pair);
}

bool reproduce_place_burst(const struct reproduce_place *place, struct burst *burst)
{
	struct side_link link = place_link(place);
	struct bench_place pair = place_pair(place);

	return place->world == REPRODUCE_SIMULATED ? burst_simulate(burst, &link)
						   : burst_run(burst, &pair);
}

bool reproduce_place_echo(const struct reproduce_place *place, struct echo *echo)
{
	struct side_link link = place_link(place);
	struct bench_place pair = place_pair(place);

	return place->world == REPRODUCE_SIMULATED ? echo_simulate(echo, &link)
						   : echo_run(echo, &pair);
}

bool reproduce_protocol_plan(const struct reproduce_protocol *protocol,
			     struct nopal_plan **ret_plan)
{
	struct nopal_problems problems = { 0 };

	*ret_plan = NULL;
	if (protocol->kind != ROUND_TRIPS_CONFIG)
		return true;
	*ret_plan = nopal_plan_load(protocol->config, protocol->sets, &problems);
	tool_problems(&problems);
	if (*ret_plan)
		nopal_plan_interpret(*ret_plan);
	return *ret_plan != NULL;
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
