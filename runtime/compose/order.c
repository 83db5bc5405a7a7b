/* SPDX-License-Identifier: MIT */
/*
 * order.c -- in which order the handlers of an event run.
 *
 * A binding may say `before` or `after` a role or a microprotocol (alternatives joined by '|'); it
 * then stands before or after every binding of the event by a member that answers to that.  A word
 * that nobody answers to asks for nothing.  Bindings whose kinds never meet in one segment do not
 * constrain each other.  The rest is by name, then by place in the table: one order, whatever the
 * config's order is.  A test sets nopal__order_seed, which permutes all that is undeclared, and
 * demands the same deliveries.
 */
#include <string.h>

#include "compose/composing.h"
#include "registry/registry.h"

uint64_t nopal__order_seed;

/* Everything that is bound to an event, and who must wait for whom. */
struct order_event {
	const struct nopal_composed_layer *layer;
	struct nopal_ordered *all;
	size_t count;
	bool *edge; /* edge[i * count + j]: i runs before j */
	bool *placed;
	const struct nopal_arena_block *mark; /* it is all behind this */
};

static const struct nopal_binding *order_binding(const struct order_event *order, size_t index)
{
	struct nopal_ordered one = order->all[index];

	return &order->layer->members[one.member].microprotocol->bindings[one.binding];
}

static const struct nopal_microprotocol *order_owner(const struct order_event *order, size_t index)
{
	return order->layer->members[order->all[index].member].microprotocol;
}

/* ----------------------------------------------------------------------- kinds */

static bool order_within(const struct nopal_microprotocol *one, unsigned kinds, unsigned set)
{
	if (set == NOPAL_EVERY_KIND)
		return true;
	return set == NOPAL_CARRIED &&
	       (kinds == NOPAL_DATA ||
		(kinds >= NOPAL_OWN_KIND &&
		 one->kinds[kinds - NOPAL_OWN_KIND].kind_class == NOPAL_KIND_CARRIED));
}

/* Can one segment reach both? */
static bool order_meet(const struct order_event *order, size_t i, size_t j)
{
	const struct nopal_microprotocol *a = order_owner(order, i);
	const struct nopal_microprotocol *b = order_owner(order, j);
	unsigned kinds_a = order_binding(order, i)->kinds;
	unsigned kinds_b = order_binding(order, j)->kinds;

	if (kinds_a == kinds_b)
		return kinds_a < NOPAL_OWN_KIND || a == b;
	return order_within(a, kinds_a, kinds_b) || order_within(b, kinds_b, kinds_a);
}

/* ----------------------------------------------------------------------- edges */

/* Of nothing, where the arena failed. */
static void order_init(struct order_event *order, const struct nopal_composed_layer *layer,
		       enum nopal_event event)
{
	*order = (struct order_event){ .layer = layer, .mark = layer->arena->newest };
	for (size_t i = 0; i < order->layer->count; i++) {
		const struct nopal_binding *table =
			order->layer->members[i].microprotocol->bindings;

		for (size_t j = 0; table && table[j].event; j++) {
			struct nopal_ordered *one = NULL;

			if (table[j].event == event)
				one = nopal__one_more(order->layer->arena, &order->all,
						      &order->count, sizeof(*one));
			if (one)
				*one = (struct nopal_ordered){
					.member = (uint16_t)i,
					.binding = (uint16_t)j,
				};
		}
	}
	order->edge = nopal__zeroed(layer->arena, order->count * order->count, sizeof(bool));
	order->placed = nopal__zeroed(layer->arena, order->count, sizeof(bool));
	if (layer->arena->failed)
		order->count = 0;
	for (size_t i = 0; i < order->count; i++) {
		for (size_t j = 0; j < order->count; j++) {
			const struct nopal_binding *binding = order_binding(order, i);
			const struct nopal_microprotocol *other = order_owner(order, j);

			if (order->all[i].member == order->all[j].member ||
			    !order_meet(order, i, j))
				continue;
			if (binding->before && nopal__answers(other, binding->before))
				order->edge[i * order->count + j] = true;
			if (binding->after && nopal__answers(other, binding->after))
				order->edge[j * order->count + i] = true;
		}
	}
}

static void order_fini(struct order_event *order)
{
	nopal__arena_back(order->layer->arena, order->mark);
}

/* ------------------------------------------------------------------------ ties */

/* FNV-1a (Fowler, Noll, Vo), then the finisher of MurmurHash3 (Appleby): any mixing does, as long
 * as a seed names one permutation. */
static uint64_t order_mix(const char *name, uint16_t binding)
{
	const uint64_t basis = UINT64_C(0xcbf29ce484222325);
	const uint64_t prime = UINT64_C(0x100000001b3);
	const uint64_t finish = UINT64_C(0xff51afd7ed558ccd);
	const unsigned half = 33;
	uint64_t hash = basis ^ nopal__order_seed;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * prime;
	hash = (hash ^ binding) * prime;
	hash = (hash ^ (hash >> half)) * finish;
	return hash ^ (hash >> half);
}

static bool order_earlier(const struct order_event *order, size_t i, size_t j)
{
	const char *a = order_owner(order, i)->name;
	const char *b = order_owner(order, j)->name;
	int names = strcmp(a, b);

	if (nopal__order_seed) {
		uint64_t mixed_a = order_mix(a, order->all[i].binding);
		uint64_t mixed_b = order_mix(b, order->all[j].binding);

		if (mixed_a != mixed_b)
			return mixed_a < mixed_b;
	}
	return names < 0 || (names == 0 && order->all[i].binding < order->all[j].binding);
}

static bool order_waits(const struct order_event *order, size_t index)
{
	if (order->placed[index])
		return true;
	for (size_t i = 0; i < order->count; i++)
		if (!order->placed[i] && order->edge[i * order->count + index])
			return true;
	return false;
}

/* The earliest of the bindings that wait for no other; count: there is none. */
static size_t order_next(const struct order_event *order, bool forced)
{
	size_t best = order->count;

	for (size_t i = 0; i < order->count; i++) {
		bool waits = order->placed[i] || (!forced && order_waits(order, i));

		/* An author sees the order of the table: no seed turns it around. */
		for (size_t j = 0; !forced && !waits && j < i; j++)
			waits = order->all[j].member == order->all[i].member &&
				!order_waits(order, j);
		if (!waits && (best == order->count || order_earlier(order, i, best)))
			best = i;
	}
	return best;
}

size_t nopal__compose_order(const struct nopal_composed_layer *layer, enum nopal_event event,
			    struct nopal_ordered *ret_order, size_t room)
{
	struct order_event order;
	size_t done;

	order_init(&order, layer, event);
	for (done = 0; done < order.count; done++) {
		size_t next = order_next(&order, false);

		if (next == order.count) /* a cycle: refused by the check */
			next = order_next(&order, true);
		order.placed[next] = true;
		if (done < room)
			ret_order[done] = order.all[next];
	}
	order_fini(&order);
	return done;
}

/* ---------------------------------------------------------------------- cycles */

/* A binding that must run before `index` and is not placed: within a rest where all wait there
 * always is one. */
static size_t order_waits_for(const struct order_event *order, size_t index)
{
	for (size_t i = 0; i < order->count; i++) {
		if (!order->placed[i] && order->edge[i * order->count + index])
			return i;
	}
	return index;
}

static void order_check_event(const struct nopal_composed_layer *layer, enum nopal_event event,
			      struct nopal_problems *problems)
{
	struct order_event order;

	order_init(&order, layer, event);
	for (size_t done = 0; done < order.count; done++) {
		size_t next = order_next(&order, false);

		if (next == order.count) {
			size_t at = order_next(&order, true), start;
			const struct nopal_place *place;
			struct nopal_text way = { .arena = order.layer->arena };

			/* as many steps as there are bindings surely end on the cycle */
			for (size_t i = 0; i < order.count; i++)
				at = order_waits_for(&order, at);
			start = at;
			nopal__append(&way, "%s", order_owner(&order, at)->name);
			do {
				at = order_waits_for(&order, at);
				nopal__append(&way, " after %s", order_owner(&order, at)->name);
			} while (at != start);
			place = &order.layer->members[order.all[start].member].place;
			nopal_problems_add(
				problems, place->file, place->line,
				"remove one of them; their `before` and `after` contradict each other",
				"handlers of %s cannot be ordered: %s", nopal_event_name(event),
				nopal__text(&way));
			break;
		}
		order.placed[next] = true;
	}
	order_fini(&order);
}

void nopal__order_check(const struct nopal_composed_layer *layer, struct nopal_problems *problems)
{
	for (int event = NOPAL_NO_EVENT + 1; event < NOPAL_CUSTOM; event++)
		order_check_event(layer, (enum nopal_event)event, problems);
}
