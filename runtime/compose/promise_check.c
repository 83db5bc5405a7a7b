/* SPDX-License-Identifier: MIT */
/*
 * promise_check.c -- is a composition refused, or worth a warning, for what it promises?
 *
 * Refused: a layer whose messages have attributes of their own, above one in which messages share a
 * segment; and rows that require a service which is not there. Warnings are for compositions that
 * are legal and surely not meant: a wait that nothing ends, resends without congestion control,
 * reliable delivery without flow control, repairs that come after the play-out delay.
 */
#include <string.h>

#include "compose/composing.h"
#include "registry/registry.h"

/* A row that acted, and who declares it. */
struct check_row {
	const struct nopal_member *member;
	const struct nopal_promise *row;
};

struct check {
	const struct nopal_composition *composition;
	struct nopal_problems *problems;
	struct check_row repair, discard; /* the last of their kind */
};

static const struct nopal_member *check_member(const struct nopal_composition *composition,
					       int part)
{
	const struct nopal_composed_layer *layer = composition->layers;
	size_t index = (size_t)part;

	while (index - layer->first_part >= layer->count)
		layer++;
	return &layer->members[index - layer->first_part];
}

/* "add a {} or b {}": all whose rows give this, but for who asks; empty: none does. */
static const char *check_givers(const struct check *check, const struct nopal_member *asks,
				enum nopal_quality quality, unsigned value)
{
	struct nopal_text all = {
		.arena = &check->composition->config->arena,
	};

	for (size_t i = 0; i < nopal_registry_count(); i++) {
		const struct nopal_microprotocol *one = nopal_registry_at(i);
		const struct nopal_promise *row = one->promises;

		while (row && row->because &&
		       (row->quality != quality || row->act != NOPAL_GIVES ||
			(row->value & value) != value))
			row++;
		if (one != asks->microprotocol && row && row->because)
			nopal__append(&all, "%s %s {}", all.length ? " or" : "add", one->name);
	}
	return nopal__text(&all);
}

/* ---------------------------------------------------------------------- refused */

/* An attribute or a kind of segment that a layer below has to carry. */
static const char *check_label(const struct nopal_member *member)
{
	const struct nopal_attribute *attribute = member->microprotocol->attributes;
	const struct nopal_kind *kind = member->microprotocol->kinds;

	for (; attribute && attribute->name; attribute++)
		if (attribute->wire_bytes && attribute->kinds == NOPAL_DATA &&
		    nopal__parameter_holds(member->microprotocol, member->parameters,
					   attribute->when))
			return attribute->name;
	return kind && kind->name ? kind->name : NULL;
}

static void check_labels(const struct check *check)
{
	for (size_t l = 0; l + 1 < check->composition->layer_count; l++) {
		struct nopal_promise_walk walk = {
			.composition = check->composition,
		};
		const struct nopal_guarantee *labels = &walk.service.quality[NOPAL_LABELS];
		const struct nopal_composed_layer *layer = &check->composition->layers[l];
		const char *label = NULL;

		nopal__promise_walk(&walk, l + 1);
		/* One of a layer is enough. */
		for (size_t i = 0;
		     labels->value != NOPAL_EACH_MESSAGE && !label && i < layer->count; i++) {
			const struct nopal_member *sharer =
				check_member(check->composition, labels->part);

			label = check_label(&layer->members[i]);
			if (!label)
				continue;
			nopal__problem_at(check->problems, sharer->place, NULL,
					  "%s of %s in layer `%s` has to travel with each "
					  "message, and %s cannot carry it: %s",
					  label, layer->members[i].microprotocol->name, layer->name,
					  sharer->microprotocol->name, labels->row->because);
			nopal__problems_fix(check->problems,
					    "use fixed_size {} or resize {} in place of %s {}",
					    sharer->microprotocol->name);
		}
	}
}

static void check_forbidden(const struct check *check, const struct nopal_member *member,
			    const struct nopal_promise *row)
{
	const char *name = member->microprotocol->name;

	nopal__problem_at(check->problems, member->place, NULL, "%s does not stand on %s `%s`: %s",
			  name, nopal_quality_name(row->quality),
			  nopal_quality_word(row->quality, row->value), row->because);
	if (row->when && *row->when == '!')
		nopal__problems_fix(check->problems, "take %s {} out, or set %s.%s = on", name,
				    name, row->when + 1);
	else
		nopal__problems_fix(check->problems, "take %s {} out", name);
}

/* --------------------------------------------------------------------- warnings */

/* Sees every row that acts on messages without properties. */
static void check_visit(struct nopal_promise_walk *walk, size_t layer, size_t index,
			const struct nopal_promise *row)
{
	struct check *check = walk->context;
	const struct nopal_member *member = &walk->composition->layers[layer].members[index];
	unsigned value = walk->service.quality[row->quality].value;

	if (row->act == NOPAL_REQUIRES && (value & row->value) != row->value)
		nopal__problem_at(check->problems, member->place,
				  check_givers(check, member, row->quality, row->value),
				  "%s needs %s `%s`, and has `%s`: %s", member->microprotocol->name,
				  nopal_quality_name(row->quality),
				  nopal_quality_word(row->quality, row->value),
				  nopal_quality_word(row->quality, value), row->because);
	if (row->act == NOPAL_FORBIDS && (value & row->value) == row->value)
		check_forbidden(check, member, row);
	if (row->quality == NOPAL_PROGRESS && row->act == NOPAL_LOWERS) {
		const char *fix = NULL;

		if (row->unless_has)
			fix = check_givers(check, member, row->unless, row->unless_has);
		else if (row->amid_partial)
			fix = "put it into the layer that gives messages up, or let "
			      "no layer below it do so";
		nopal__warn_at(check->problems, member->place, fix, "%s may stand still: %s",
			       member->microprotocol->name, row->because);
	}
	if (row->quality == NOPAL_DELIVERY && row->value == NOPAL_REPAIRED)
		check->repair = (struct check_row){ member, row };
	if (row->quality == NOPAL_LATENESS && row->act == NOPAL_GIVES)
		check->discard = (struct check_row){ member, row };
}

/* The time that a row's bound is; 0: none. */
static int64_t check_time(const struct check_row *one)
{
	const struct nopal_parameter *parameter;

	if (!one->row || !one->row->bound)
		return 0;
	parameter = nopal__parameter_find(one->member->microprotocol, one->row->bound,
					  strlen(one->row->bound));
	return parameter->unit == NOPAL_TIME
		       ? nopal__parameter_get(one->member->parameters, parameter)
		       : 0;
}

/* Has some layer this quality?  A channel past it may take it from the top. */
static bool check_somewhere(const struct nopal_composition *composition, enum nopal_quality quality)
{
	for (size_t l = 0; l < composition->layer_count; l++) {
		struct nopal_promise_walk walk = {
			.composition = composition,
		};

		nopal__promise_walk(&walk, l);
		if (walk.service.quality[quality].value)
			return true;
	}
	return false;
}

void nopal__promise_check(const struct nopal_composition *composition,
			  struct nopal_problems *problems)
{
	struct check check = {
		.composition = composition,
		.problems = problems,
	};
	struct nopal_promise_walk walk = {
		.composition = composition,
		.visit = check_visit,
		.context = &check,
	};
	const struct nopal_guarantee *delivery = &walk.service.quality[NOPAL_DELIVERY];
	const struct nopal_microprotocol *repairs, *discards;
	size_t errors = problems->errors;
	struct nopal_place place;

	check_labels(&check);
	nopal__promise_walk(&walk, 0);
	if (problems->errors > errors)
		return;
	if (check_time(&check.discard) && check_time(&check.repair) > check_time(&check.discard)) {
		repairs = check.repair.member->microprotocol;
		discards = check.discard.member->microprotocol;
		nopal__warn_at(problems, check.repair.member->place, NULL,
			       "%s may repair a segment later than %s waits for it", repairs->name,
			       discards->name);
		nopal__problems_fix(problems, "set %s.%s below %s.%s", repairs->name,
				    check.repair.row->bound, discards->name,
				    check.discard.row->bound);
	}
	/* Restraint that all senders and receivers of reliable data need, and none would miss
	 * before it is too late. */
	if (delivery->value != NOPAL_ALL || delivery->part < 0)
		return;
	place = check_member(composition, delivery->part)->place;
	if (!check_somewhere(composition, NOPAL_PACE))
		nopal__warn_at(problems, place, "add windowed_cc {} and cubic_congestion {}",
			       "no congestion control: segments leave as "
			       "fast as they come, and resends with them");
	if (!check_somewhere(composition, NOPAL_BUFFER))
		nopal__warn_at(problems, place, "add windowed_flow {}",
			       "no flow control: data that a slow receiver has not read pile "
			       "up there, until its session ends");
}
