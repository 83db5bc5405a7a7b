/* SPDX-License-Identifier: MIT */
/*
 * compose.c -- a config tree becomes a checked composition.
 *
 * Every check adds what it finds and lets the next run: a user sees all that is wrong at once.
 * Only what others would misread is left out: a section that names no microprotocol never gets
 * here.
 */

#include <string.h>

#include "compose/compose.h"
#include "compose/composing.h"
#include "config/config_tree.h"
#include "registry/registry.h"

const struct nopal_member *nopal__layer_provider(const struct nopal_composed_layer *layer,
						 const char *roles)
{
	for (size_t i = 0; i < layer->count; i++)
		if (nopal__answers(layer->members[i].microprotocol, roles))
			return &layer->members[i];
	return NULL;
}

/* A part that keeps something of its peer cannot have many of them.  Streams above destinations
 * tell neither late destinations from early ones nor answers of one from those of another, so they
 * number nothing: the layer right above destinations does. */
static void compose_many(const struct nopal_composed_layer *layer, bool streams,
			 struct nopal_problems *problems)
{
	for (size_t i = 0; i < layer->count; i++) {
		const struct nopal_member *member = &layer->members[i];
		const struct nopal_microprotocol *one = member->microprotocol;
		bool connects = nopal__answers(one, "connection");

		if (!one->many || (connects && !streams))
			nopal__problem_at(problems, member->place,
					  "put it into the layer of the destinations",
					  "%s is between one sender and one receiver, "
					  "and layer `%s` speaks to many",
					  one->name, layer->name);
		else if (streams && one->state_size && !connects)
			nopal__problem_at(problems, member->place,
					  "put it into the layer right above the destinations",
					  "%s keeps state of one sender, and streams of layer `%s` "
					  "have many destinations",
					  one->name, layer->name);
	}
}

static void compose_destinations(const struct nopal_composition *composition, size_t index,
				 struct nopal_problems *problems)
{
	const struct nopal_composed_layer *layer = &composition->layers[index];
	const struct nopal_composed_layer *lowest =
		&composition->layers[composition->layer_count - 1];
	const struct nopal_member *channel;

	if (index == 0) {
		nopal__problem_at(problems, layer->place,
				  "put a layer above it: transport_driver {}, "
				  "whole_messages {}, fan_out {}",
				  "layer `%s` is one for each destination, and nobody "
				  "above it says who gets what",
				  layer->name);
		return;
	}
	if (!nopal__layer_provider(layer - 1, "fan_out"))
		nopal__problem_at(problems, layer[-1].place, "add fan_out {}",
				  "nobody in layer `%s` says how many destinations must "
				  "have a message",
				  layer[-1].name);
	channel = nopal__layer_provider(layer - 1, "channel");
	/* The session of a channel's datagram is found by the channel's id, and the datagram is
	 * sealed for all receivers. */
	for (size_t i = 0; channel && i < lowest->count; i++) {
		const struct nopal_microprotocol *one = lowest->members[i].microprotocol;
		const char *cause = NULL;

		if (one->seal && one->state_size)
			cause = "seals between two";
		else if (nopal__answers(one, "address_demux"))
			cause = "leaves out the id of who is meant";
		if (cause)
			nopal__problem_at(problems, channel->place,
					  "leave one of them out; checksum {} seals for all",
					  "%s %s, and %s speaks to many at once", one->name, cause,
					  channel->microprotocol->name);
	}
	for (size_t above = 0; above < index; above++)
		compose_many(&composition->layers[above], above + 1 < index, problems);
}

/* At most one layer is stood on by many streams, and one below it, or alone, is one of many. */
static void compose_multiplicity(const struct nopal_composition *composition,
				 struct nopal_problems *problems)
{
	size_t flow = 0, destinations = 0; /* 0: none yet */

	for (size_t i = 0; i < composition->layer_count; i++) {
		const struct nopal_composed_layer *layer = &composition->layers[i];
		const char *word = nopal__multiplicity_words[layer->multiplicity];
		size_t stood_on = layer->multiplicity == NOPAL_PER_STREAM ? i + 1 : i;

		if (layer->multiplicity == NOPAL_ONE)
			continue;
		if (destinations || (flow && layer->multiplicity != NOPAL_PER_DESTINATION)) {
			nopal__problem_at(problems, layer->place,
					  "write multiplicity = one, or leave it out",
					  "layer `%s` is %s below a layer that is so, or that is "
					  "per_destination",
					  layer->name, word);
		} else if (layer->multiplicity == NOPAL_PER_DESTINATION) {
			destinations = i;
			compose_destinations(composition, i, problems);
		} else if (!stood_on || stood_on == composition->layer_count) {
			nopal__problem_at(problems, layer->place, "put a layer above or below it",
					  "layer `%s` is %s, and no layer stands there that it "
					  "could be many of",
					  layer->name, word);
		} else {
			flow = stood_on;
			layer = &composition->layers[flow - 1];
			/* Streams tell their peers themselves that they are at their end. */
			if (!nopal__layer_provider(layer, "connection"))
				nopal__problem_at(problems, layer->place, "add stream_end {}",
						  "nobody in layer `%s` tells the peer that a "
						  "stream is at its end",
						  layer->name);
		}
	}
	if (flow && flow == destinations)
		nopal__problem_at(problems, composition->layers[flow].place,
				  "put a layer between: transport_driver {}, whole_messages {}, "
				  "fan_out {}",
				  "layer `%s` is per_destination, and streams stand right above it",
				  composition->layers[flow].name);
}

/* Roles that a layer's place gives it, by what is below: of the uppermost, of one that streams
 * stand on, and of others. */
static const char *compose_stands_on(const struct nopal_config *config, size_t index)
{
	static const char *const roles[][3] = {
		{ "application|network", "streams|network", "network" },
		{ "application|layer_below|destinations", "streams|layer_below|destinations",
		  "layer_below|destinations" },
		{ "application|layer_below|flow", "layer_below|flow", "layer_below|flow" },
		{ "application|layer_below", "streams|layer_below", "layer_below" },
	};
	const struct nopal_config_layer *layer = &config->layers[index];
	size_t below = 3, above = 2;

	if (index + 1 == config->layer_count)
		below = 0;
	else if (layer[1].multiplicity == NOPAL_PER_DESTINATION)
		below = 1;
	else if (layer[1].multiplicity == NOPAL_SHARED_LAYER ||
		 layer->multiplicity == NOPAL_PER_STREAM)
		below = 2;
	if (index == 0)
		above = 0;
	else if (layer->multiplicity == NOPAL_SHARED_LAYER ||
		 layer[-1].multiplicity == NOPAL_PER_STREAM)
		above = 1;
	return roles[below][above];
}

static void compose_layer(struct nopal_composed_layer *layer, struct nopal_config *config,
			  size_t index, struct nopal_problems *problems)
{
	struct nopal_config_layer *from = &config->layers[index];

	layer->arena = &config->arena;
	layer->name = from->name;
	layer->multiplicity = from->multiplicity;
	layer->place = from->place;
	layer->stands_on = compose_stands_on(config, index);
	for (size_t i = 0; i < from->section_count; i++) {
		const struct nopal_config_section *section = &from->sections[i];
		const struct nopal_microprotocol *one = nopal_registry_find(section->name);
		struct nopal_member *member;

		if (!one)
			continue;
		member = nopal__member_add(layer, one, section->place);
		if (member)
			nopal__parameters_read(layer->arena, member, section, problems);
	}
	nopal__relations_complete(layer, config->requires_auto, problems);
	nopal__relations_check(layer, problems);
	nopal__usage_check(layer, problems);
	nopal__holds_check(layer, problems);
	nopal__cycles_check(layer, problems);
	nopal__order_check(layer, problems);
	for (size_t i = 0; i < layer->count; i++) {
		const struct nopal_member *member = &layer->members[i];
		const struct nopal_config_section *section =
			nopal__config_section(from, member->microprotocol->name);

		nopal__parameters_validate(layer->arena, member, section, problems);
	}
	for (size_t i = 0; i < layer->count; i++)
		nopal__spelling_warn(layer->arena, &layer->members[i], problems);
	if (problems->errors == config->errors_before)
		nopal__usage_warn(layer, problems);
}

struct nopal_composition *nopal__compose(struct nopal_config *config,
					 struct nopal_problems *problems)
{
	struct nopal_composition *composition;
	size_t parts = 0;
	struct nopal_hash hash;

	if (!config)
		return NULL;
	config->arena.problems = problems;
	composition = nopal__zeroed(&config->arena, 1, sizeof(*composition));
	if (composition)
		composition->layers = nopal__zeroed(&config->arena, config->layer_count,
						    sizeof(*composition->layers));
	if (config->arena.failed) {
		nopal__config_free(config);
		return NULL;
	}
	composition->config = config;
	composition->layer_count = config->layer_count;
	for (size_t i = 0; i < config->layer_count; i++) {
		compose_layer(&composition->layers[i], config, i, problems);
		composition->layers[i].first_part = parts;
		parts += composition->layers[i].count;
	}
	compose_multiplicity(composition, problems);
	if (!config->layer_count)
		nopal_problems_add(problems, config->place.file, 0,
				   "begin with `transport_driver {}`; `nopal "
				   "list microprotocols` shows them all",
				   "the config names no microprotocol");
	if (problems->errors == config->errors_before)
		nopal__promise_check(composition, problems);
	if (problems->errors == config->errors_before) {
		composition->canonical = nopal__canonical(composition);
		nopal_hash_init(&hash);
		nopal_hash_update(&hash, composition->canonical, strlen(composition->canonical));
		composition->fingerprint = nopal_hash_final(&hash);
	}
	/* Memory may have ended in any of these. */
	if (problems->errors == config->errors_before)
		return composition;
	nopal__config_free(config);
	return NULL;
}

void nopal__composition_free(struct nopal_composition *composition)
{
	if (composition)
		nopal__config_free(composition->config);
}
