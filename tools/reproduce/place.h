/* SPDX-License-Identifier: MIT */
/*
 * place.h -- where an experiment's two sides are: in the simulator, on loopback, or on
 * two hosts of this machine with an emulated link between them. The same measurements run in all
 * three.
 */
#ifndef NOPAL_REPRODUCE_PLACE_H
#define NOPAL_REPRODUCE_PLACE_H

#include "load/hosts.h"
#include "load/round_trips.h"
#include "reproduce/reproduce.h"

enum reproduce_world { REPRODUCE_SIMULATED, REPRODUCE_LOOPBACK, REPRODUCE_HOSTS };

struct reproduce_place {
	struct side_place sides; /* for round_trips_run() and its like */
	bool emulated;
	struct hosts hosts;
};

/* Is a place of this world, by its word in --paths (NULL: it has none), to be measured? */
bool reproduce_place_wanted(const struct reproduce_options *options, enum reproduce_world world,
			    const char *word);
/* `link` in tc-netem's words; loopback has none.  False: this machine refuses, and a note says
 * so. */
bool reproduce_place_open(struct reproduce_place *place, const struct reproduce_options *options,
			  enum reproduce_world world, const char *link, uint64_t seed);
/* Notes where the emulator was too slow for its link. */
void reproduce_place_close(struct reproduce_place *place, const struct reproduce_options *options);

/* A protocol of the paper's tables. */
struct reproduce_protocol {
	const char *name;   /* as the paper has it: "CTP-Bulk" */
	const char *config; /* also its word in --rows; or "udp", "tcp" */
	enum side_protocol kind;
	const char *const *sets; /* of the config, NULL-ended; may be NULL */
};
/* Its plan, interpreted; NULL for UDP and TCP.  False: it was said why. */
bool reproduce_protocol_plan(const struct reproduce_protocol *protocol,
			     struct nopal_plan **ret_plan);

/* The mean of trips, in milliseconds; NAN where an answer stayed out. */
double reproduce_round_trips_ms(const struct round_trips *round_trips);
/* Their median, in microseconds: what a machine that did something else did to few of them is not
 * in it.  NAN as above. */
double reproduce_round_trips_median_us(const struct round_trips *round_trips);

#endif
