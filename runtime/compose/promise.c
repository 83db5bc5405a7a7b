/* SPDX-License-Identifier: MIT */
/*
 * promise.c -- the service of each layer of a composition, from the rows that its microprotocols
 * declare (promise.h says how they combine).
 *
 * A walk begins with the network and takes the layers from the lowest up.  Layers above
 * destinations, where something leaves once for all by a channel, stand on the worse of two: a
 * destination's session, and the bare channel, of which only the seal of the lowest layer remains.
 */
#include "base/text.h"
#include "compose/composing.h"
#include "registry/registry.h"

/* The service of the network; a datagram of ours says which composition it is of. */
static const unsigned promise_network[NOPAL_QUALITIES] = {
	[NOPAL_RECEIVERS] = NOPAL_EVERY,
	[NOPAL_OPENING] = NOPAL_AGREED,
	[NOPAL_LABELS] = NOPAL_EACH_MESSAGE,
	[NOPAL_PROGRESS] = NOPAL_GOES_ON,
};

/* Qualities that a channel has of its own; all others are those of the session that each
 * destination has besides. */
static const enum nopal_quality promise_of_channel[] = {
	NOPAL_DELIVERY, NOPAL_ORDER, NOPAL_DUPLICATES, NOPAL_INTEGRITY,
	NOPAL_OUTCOME,	NOPAL_PACE,  NOPAL_BUFFER,
};
enum {
	PROMISE_OF_CHANNEL = sizeof(promise_of_channel) / sizeof(*promise_of_channel),
};

/* ------------------------------------------------------------------ conditions */

/* A message for one destination alone has no part in what a group's layer does with the messages
 * that are for all: their numbers, their repair, and the choice of their receivers. */
static bool promise_of_all(const struct nopal_promise *row)
{
	switch (row->quality) {
	case NOPAL_RECEIVERS:
		return true;
	case NOPAL_DELIVERY:
	case NOPAL_ORDER:
	case NOPAL_DUPLICATES:
	case NOPAL_OUTCOME:
		return row->act == NOPAL_GIVES || (row->stage == NOPAL_FAN_OUT && !row->of);
	case NOPAL_INTEGRITY:
	case NOPAL_LATENESS:
	case NOPAL_PACE:
	case NOPAL_BUFFER:
	case NOPAL_DEATH:
	case NOPAL_OPENING:
	case NOPAL_MESSAGE_SIZE:
	case NOPAL_LABELS:
	case NOPAL_PROGRESS:
	case NOPAL_QUALITIES:
		break;
	}
	return false;
}

/* -------------------------------------------------------------------- the walk */

static void promise_set(struct nopal_guarantee *one, unsigned value, int part,
			const struct nopal_promise *row)
{
	if (one->value == value)
		return;
	one->value = value;
	one->part = part;
	one->row = row;
}

/* Nothing has been missed only where all arrives, at every one. */
static void promise_follow(struct nopal_service *service)
{
	const struct nopal_guarantee *delivery = &service->quality[NOPAL_DELIVERY];
	const struct nopal_guarantee *receivers = &service->quality[NOPAL_RECEIVERS];
	const struct nopal_guarantee *why = delivery->value != NOPAL_ALL ? delivery : receivers;
	struct nopal_guarantee *order = &service->quality[NOPAL_ORDER];

	if (delivery->value != NOPAL_ALL || receivers->value != NOPAL_EVERY)
		promise_set(order, order->value & ~(unsigned)NOPAL_GAPLESS, why->part, why->row);
}

static void promise_row(struct nopal_promise_walk *walk, size_t layer, size_t member,
			const struct nopal_promise *row)
{
	const struct nopal_composed_layer *composed = &walk->composition->layers[layer];
	const struct nopal_member *of = &composed->members[member];
	const struct nopal_service *service = &walk->service;
	struct nopal_guarantee *one = &walk->service.quality[row->quality];
	int part = (int)(composed->first_part + member);

	if ((walk->for_one && promise_of_all(row)) || (row->amid_partial && !walk->amid_partial))
		return;
	if (row->of && !walk->any_names && !nopal__words_overlap(row->of, walk->names, '|'))
		return;
	if (row->where_has && !nopal_promises(service, row->where, row->where_has))
		return;
	if (row->unless_has && nopal_promises(service, row->unless, row->unless_has))
		return;
	if (row->with && !nopal__layer_provider(composed, row->with))
		return;
	if (row->without && nopal__layer_provider(composed, row->without))
		return;
	if (!nopal__parameter_holds(of->microprotocol, of->parameters, row->when))
		return;
	if (walk->visit)
		walk->visit(walk, layer, member, row);
	if (row->act == NOPAL_GIVES)
		promise_set(one, one->value | row->value, part, row);
	else if (row->act == NOPAL_LOWERS)
		promise_set(one, one->value & row->value, part, row);
}

static void promise_stage(struct nopal_promise_walk *walk, size_t layer, enum nopal_stage stage,
			  enum nopal_act act)
{
	const struct nopal_composed_layer *composed = &walk->composition->layers[layer];

	for (size_t i = 0; i < composed->count; i++) {
		const struct nopal_promise *row = composed->members[i].microprotocol->promises;

		for (; row && row->because; row++)
			if (row->stage == stage && row->act == act)
				promise_row(walk, layer, i, row);
	}
	promise_follow(&walk->service);
}

static void promise_stages(struct nopal_promise_walk *walk, size_t layer, unsigned from,
			   unsigned end)
{
	for (unsigned stage = from; stage < end; stage++) {
		enum nopal_stage at = (enum nopal_stage)stage;

		promise_stage(walk, layer, at, NOPAL_REQUIRES);
		promise_stage(walk, layer, at, NOPAL_FORBIDS);
		promise_stage(walk, layer, at, NOPAL_GIVES);
		promise_stage(walk, layer, at, NOPAL_LOWERS);
		if (walk->multicasts && at == NOPAL_RECOVERY) {
			static const enum nopal_quality bound[] = { NOPAL_DELIVERY, NOPAL_OUTCOME };

			/* A destination that does not hear a channel gets all by its own session,
			 * which no repair of the channel makes better. */
			for (size_t i = 0; i < sizeof(bound) / sizeof(*bound); i++) {
				struct nopal_guarantee *one = &walk->service.quality[bound[i]];
				const struct nopal_guarantee *by = &walk->session.quality[bound[i]];

				promise_set(one, one->value & by->value, by->part, by->row);
			}
			promise_follow(&walk->service);
		}
	}
}

static void promise_begin(struct nopal_service *service)
{
	for (unsigned i = 0; i < NOPAL_QUALITIES; i++)
		service->quality[i] = (struct nopal_guarantee){
			.value = promise_network[i],
			.part = -1,
		};
}

/* The worse of a destination's session and the bare channel. */
static void promise_channel(struct nopal_promise_walk *walk)
{
	struct nopal_promise_walk raw = {
		.composition = walk->composition,
		.names = walk->names,
	};

	walk->session = walk->service;
	promise_begin(&raw.service);
	promise_stages(&raw, walk->composition->layer_count - 1, NOPAL_SEAL_STAGE,
		       NOPAL_SEAL_STAGE + 1);
	for (size_t i = 0; i < PROMISE_OF_CHANNEL; i++) {
		struct nopal_guarantee *one = &walk->service.quality[promise_of_channel[i]];
		const struct nopal_guarantee *other = &raw.service.quality[promise_of_channel[i]];

		promise_set(one, one->value & other->value, other->part, other->row);
	}
}

/* Does all arrive that this layer stands on, whatever properties messages have? */
static bool promise_all_below(const struct nopal_composition *composition, size_t layer)
{
	struct nopal_promise_walk walk = {
		.composition = composition,
		.any_names = true,
	};

	nopal__promise_walk(&walk, layer + 1);
	return nopal_promises(&walk.service, NOPAL_DELIVERY, NOPAL_ALL);
}

void nopal__promise_walk(struct nopal_promise_walk *walk, size_t until)
{
	promise_begin(&walk->service);
	for (size_t l = walk->composition->layer_count; l-- > until;) {
		const struct nopal_composed_layer *composed = &walk->composition->layers[l];
		const struct nopal_service *below;

		walk->for_one = walk->multicasts = false;
		if (l + 1 < walk->composition->layer_count &&
		    composed[1].multiplicity == NOPAL_PER_DESTINATION) {
			bool channel = nopal__layer_provider(composed, "channel");

			/* How the layer's messages leave where there are many destinations. */
			walk->for_one = nopal__words_overlap("destination", walk->names, '|');
			walk->multicasts = channel && !walk->for_one;
			if (walk->multicasts)
				promise_channel(walk);
			else if (channel) /* what is for all overtakes it there */
				walk->service.quality[NOPAL_ORDER].value = 0;
		}
		for (unsigned i = 0; i < NOPAL_QUALITIES; i++)
			walk->service.quality[i].below = walk->service.quality[i].value;
		/* May messages of other classes be missing for good, where those of ours are
		 * not? */
		below = walk->multicasts ? &walk->session : &walk->service;
		walk->amid_partial = !walk->any_names &&
				     nopal_promises(below, NOPAL_DELIVERY, NOPAL_ALL) &&
				     !promise_all_below(walk->composition, l);
		promise_stages(walk, l, 0, NOPAL_STAGES);
	}
}

bool nopal__promise_stands_on_all(const struct nopal_composition *composition, size_t layer)
{
	for (size_t l = layer + 1; l < composition->layer_count; l++)
		if (composition->layers[l].multiplicity == NOPAL_PER_DESTINATION)
			return false;
	return promise_all_below(composition, layer);
}
