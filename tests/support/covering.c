/* SPDX-License-Identifier: MIT */
#include "base/arena.h"
#include "plan/plan.h"
#include "support/covering.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/nopal.h>

struct covering_item {
	unsigned part;
	int setting; /* negative: the part as such */
	unsigned value;
	bool absent;
};

/* State of a pair. */
enum {
	PAIR_OPEN,
	PAIR_NONE, /* an item with itself, with another value, with its absence */
	PAIR_HELD,
	PAIR_IMPOSSIBLE, /* + enum covering_why */
	PAIR_UNEXPLAINED = PAIR_IMPOSSIBLE + COVERING_WHYS,
};

enum { ROUND_STEP = 7 }; /* items by which the beginning moves each round */

/* A config in the making. */
struct making {
	struct covering *covering;
	struct selection selection;
	bool parse; /* after each step: without, the whole was refused */
};

const char *covering_why_text(enum covering_why why)
{
	static const char *const texts[] = {
		[COVERING_EXCLUSION] = "exclude each other",
		[COVERING_ONE_ROLE] = "both provide an exclusive role",
		[COVERING_ONE_WRITER] = "both write one variable",
		[COVERING_NEED] = "a need that only an excluded one meets",
		[COVERING_WITHOUT] = "one needs the other",
		[COVERING_REFUSED] = "refused by the checker",
	};

	return texts[why];
}

/* ---------------------------------------------------------------------- items */

static void add_item(struct covering *covering, struct covering_item item)
{
	struct covering_item *added = nopal__one_more(&covering->arena, &covering->item,
						      &covering->items, sizeof(*added));

	assert(added);
	*added = item;
}

static void add_items_of(struct covering *covering, unsigned part)
{
	const struct kit_part *one = &covering->kit.parts[part];

	add_item(covering, (struct covering_item){ part, -1, 0, true });
	if (!one->setting_count)
		add_item(covering, (struct covering_item){ part, -1, 0, false });
	for (unsigned s = 0; s < one->setting_count; s++)
		for (unsigned v = 0; v < one->settings[s].values; v++)
			add_item(covering, (struct covering_item){ part, (int)s, v, false });
}

static bool is_pair(const struct covering_item *a, const struct covering_item *b)
{
	if (a->part != b->part)
		return true;
	return !a->absent && !b->absent && a->setting != b->setting;
}

static uint8_t *pair_at(const struct covering *covering, size_t a, size_t b)
{
	return &covering->pair[a * covering->items + b];
}

static void set_pair(struct covering *covering, size_t a, size_t b, int state)
{
	*pair_at(covering, a, b) = (uint8_t)state;
	*pair_at(covering, b, a) = (uint8_t)state;
}

static void begin(struct covering *covering)
{
	memset(covering, 0, sizeof(*covering));
	kit_take_stock(&covering->kit, true);
	for (unsigned i = 0; i < covering->kit.count; i++)
		add_items_of(covering, i);
	covering->pair = calloc(covering->items, covering->items);
	covering->reason_of =
		calloc(covering->items * covering->items, sizeof(*covering->reason_of));
	assert(covering->pair && covering->reason_of);
	for (size_t a = 0; a < covering->items; a++)
		for (size_t b = 0; b <= a; b++)
			if (!is_pair(&covering->item[a], &covering->item[b]))
				set_pair(covering, a, b, PAIR_NONE);
}

static bool holds(const struct selection *selection, const struct covering_item *item)
{
	if (item->absent)
		return selection->standing[item->part] == STANDING_OUT;
	if (selection->standing[item->part] != STANDING_IN)
		return false;
	return item->setting < 0 || selection->value[item->part][item->setting] == item->value + 1;
}

/* Pairs that nobody holds yet and that the item would make with what is there. */
static int gain_of(const struct making *making, size_t item)
{
	const struct covering *covering = making->covering;
	int gain = 0;

	for (size_t other = 0; other < covering->items; other++)
		gain += *pair_at(covering, item, other) == PAIR_OPEN &&
			holds(&making->selection, &covering->item[other]);
	return gain;
}

/* -------------------------------------------------------------------- choices */

/* The item of this value; they lie together, from the part's first on. */
static size_t item_of(const struct covering *covering, unsigned part, int setting, unsigned value,
		      bool absent)
{
	for (size_t i = 0; i < covering->items; i++) {
		const struct covering_item *item = &covering->item[i];

		if (item->part == part && item->setting == setting && item->value == value &&
		    item->absent == absent)
			return i;
	}
	return covering->items;
}

/* The value that gains the most; among equals another one in each config. */
static unsigned best_value(const struct making *making, unsigned part, unsigned setting,
			   int *ret_gain)
{
	const struct covering *covering = making->covering;
	unsigned values = covering->kit.parts[part].settings[setting].values;
	unsigned best = 0;

	*ret_gain = -1;
	for (unsigned i = 0; i < values; i++) {
		unsigned value = (unsigned)((i + covering->count + covering->round) % values);
		int gain = gain_of(making, item_of(covering, part, (int)setting, value, false));

		if (gain > *ret_gain) {
			*ret_gain = gain;
			best = value;
		}
	}
	return best;
}

static int gain_of_part(const struct making *making, unsigned part)
{
	const struct covering *covering = making->covering;
	const struct kit_part *one = &covering->kit.parts[part];
	int sum = 0, gain;

	if (!one->setting_count)
		return gain_of(making, item_of(covering, part, -1, 0, false));
	for (unsigned s = 0; s < one->setting_count; s++) {
		best_value(making, part, s, &gain);
		sum += gain;
	}
	return sum;
}

/* Chooses what nobody has chosen, in whatever is in. */
static void choose_values(struct making *making)
{
	const struct kit *kit = &making->covering->kit;

	for (unsigned part = 0; part < kit->count; part++) {
		uint8_t *value = making->selection.value[part];

		if (making->selection.standing[part] != STANDING_IN)
			continue;
		for (unsigned s = 0; s < kit->parts[part].setting_count; s++) {
			int gain;

			if (!value[s])
				value[s] = (uint8_t)(1 + best_value(making, part, s, &gain));
		}
	}
}

static void choose_defaults(struct making *making)
{
	const struct kit *kit = &making->covering->kit;

	for (unsigned part = 0; part < kit->count; part++) {
		const struct kit_part *one = &kit->parts[part];
		uint8_t *value = making->selection.value[part];

		for (unsigned s = 0; s < one->setting_count; s++)
			if (making->selection.standing[part] == STANDING_IN && !value[s])
				value[s] = (uint8_t)(1 + one->settings[s].initial);
	}
}

/* ----------------------------------------------------------------- one config */

static void preferences(const struct making *making, int *ret_preference)
{
	for (unsigned i = 0; i < making->covering->kit.count; i++)
		ret_preference[i] = gain_of_part(making, i);
}

static bool complete(struct making *making, struct selection_search *search)
{
	int preference[KIT_PARTS];

	preferences(making, preference);
	search->parse = making->parse;
	search->preference = preference;
	return selection_complete(&making->selection, search);
}

/* In or out, with what that brings and the best values; where that cannot be, nothing happens and
 * false is returned. */
static bool decide(struct making *making, unsigned part, enum standing standing)
{
	struct selection before = making->selection;
	struct selection_search search = { 0 };

	making->selection.standing[part] = (uint8_t)standing;
	if (standing == STANDING_IN && selection_conflict(&before, part))
		goto out;
	if (!complete(making, &search))
		goto out;
	choose_values(making);
	if (!making->parse ||
	    selection_is_good(&making->selection, search.text, sizeof(search.text)))
		return true;
out:
	making->selection = before;
	return false;
}

/* The open part whose presence or absence gains the most; false: none gains. */
static bool max_gainful(const struct making *making, const bool *tried, unsigned *ret_part,
			enum standing *ret_standing)
{
	const struct covering *covering = making->covering;
	int max = 0;

	for (unsigned i = 0; i < covering->kit.count; i++) {
		int in, out;

		if (making->selection.standing[i] != STANDING_OPEN || tried[i])
			continue;
		in = gain_of_part(making, i);
		out = gain_of(making, item_of(covering, i, -1, 0, true));
		if (in <= max && out <= max)
			continue;
		max = in > out ? in : out;
		*ret_part = i;
		*ret_standing = in > out ? STANDING_IN : STANDING_OUT;
	}
	return max > 0;
}

static void fill(struct making *making)
{
	bool tried[KIT_PARTS] = { 0 };
	enum standing standing;
	unsigned part;

	while (max_gainful(making, tried, &part, &standing)) {
		tried[part] = true;
		if (!decide(making, part, standing))
			decide(making, part, standing == STANDING_IN ? STANDING_OUT : STANDING_IN);
	}
	for (unsigned i = 0; i < making->covering->kit.count; i++)
		if (making->selection.standing[i] == STANDING_OPEN)
			making->selection.standing[i] = STANDING_OUT;
}

static void put(struct making *making, const struct covering_item *item)
{
	making->selection.standing[item->part] = item->absent ? STANDING_OUT : STANDING_IN;
	if (item->setting >= 0)
		making->selection.value[item->part][item->setting] = (uint8_t)(item->value + 1);
}

static void keep(struct covering *covering, const struct selection *selection)
{
	char **text;

	for (size_t a = 0; a < covering->items; a++)
		for (size_t b = 0; b < a; b++)
			if (*pair_at(covering, a, b) != PAIR_NONE &&
			    holds(selection, &covering->item[a]) &&
			    holds(selection, &covering->item[b]))
				set_pair(covering, a, b, PAIR_HELD);
	text = nopal__one_more(&covering->arena, &covering->texts, &covering->count, sizeof(*text));
	assert(text);
	*text = selection_text(selection);
}

/* --------------------------------------------------------------- impossible */

/* The search found nothing for two present ones: the checker, which fills open needs by itself,
 * must find nothing either. */
static bool checker_agrees(const struct making *making)
{
	char *text = selection_text(&making->selection), *config = NULL;
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	assert(asprintf(&config, "requires = auto\n%s", text) > 0);
	plan = nopal_plan_parse(config, "pair.conf", NULL, &problems);
	nopal_problems_fini(&problems);
	free(text);
	free(config);
	nopal_plan_unref(plan);
	return plan == NULL;
}

static void note_reason(struct covering *covering, size_t a, size_t b, const char *text)
{
	struct covering_reason *reason = covering->reasons;
	size_t left = covering->reason_count;

	for (; left && strcmp(reason->text, text) != 0; left--)
		reason++;
	if (!left) {
		reason = nopal__one_more(&covering->arena, &covering->reasons,
					 &covering->reason_count, sizeof(*reason));
		assert(reason);
		snprintf(reason->text, sizeof(reason->text), "%s", text);
	}
	reason->pairs++;
	covering->reason_of[a * covering->items + b] =
		covering->reason_of[b * covering->items + a] =
			(uint16_t)(reason - covering->reasons + 1);
}

static int why_not(const struct making *making, size_t a, size_t b,
		   const struct selection_search *search)
{
	static const enum covering_why of_conflict[] = {
		[KIT_EXCLUSION] = COVERING_EXCLUSION,
		[KIT_ONE_ROLE] = COVERING_ONE_ROLE,
		[KIT_ONE_WRITER] = COVERING_ONE_WRITER,
	};
	const struct covering *covering = making->covering;
	const struct covering_item *one = &covering->item[a];
	const struct covering_item *other = &covering->item[b];
	unsigned conflict = covering->kit.conflict[one->part][other->part];

	if (search->given_up && !search->refused)
		return PAIR_UNEXPLAINED;
	if (one->absent || other->absent)
		return PAIR_IMPOSSIBLE + COVERING_WITHOUT;
	if (!search->given_up && !checker_agrees(making))
		return PAIR_UNEXPLAINED;
	if (conflict)
		return PAIR_IMPOSSIBLE + (int)of_conflict[conflict];
	if (search->excluded && !search->text[0])
		return PAIR_IMPOSSIBLE + COVERING_EXCLUSION;
	note_reason(making->covering, a, b, search->text);
	return PAIR_IMPOSSIBLE + (search->refused ? COVERING_REFUSED : COVERING_NEED);
}

/* A config that begins with the two; where the whole is refused, once more with a parse after each
 * step. */
static void cover(struct covering *covering, size_t a, size_t b, bool parse)
{
	struct making making = { .covering = covering, .parse = parse };
	const struct covering_item *one = &covering->item[a];
	const struct covering_item *other = &covering->item[b];
	struct selection_search search = { .refused = false };

	making.selection.kit = &covering->kit;
	making.selection.stands_on = "application|network";
	put(&making, one);
	put(&making, other);
	if ((!one->absent && !other->absent && covering->kit.conflict[one->part][other->part]) ||
	    !complete(&making, &search)) {
		set_pair(covering, a, b, why_not(&making, a, b, &search));
		return;
	}
	if (!parse)
		choose_values(&making);
	fill(&making);
	choose_defaults(&making);
	if (selection_is_good(&making.selection, search.text, sizeof(search.text)))
		keep(covering, &making.selection);
	else if (!parse)
		cover(covering, a, b, true);
	else
		set_pair(covering, a, b, PAIR_UNEXPLAINED);
}

/* ---------------------------------------------------------------------- all */

static bool is_about(const struct covering *covering, size_t item, const char *about)
{
	unsigned part = covering->item[item].part;

	return !about || strcmp(covering->kit.parts[part].microprotocol->name, about) == 0;
}

static void count(struct covering *covering, size_t a, size_t b)
{
	int state = *pair_at(covering, a, b);

	if (state == PAIR_UNEXPLAINED)
		covering->unexplained++;
	else if (state >= PAIR_IMPOSSIBLE)
		covering->impossible[state - PAIR_IMPOSSIBLE]++;
	else if (state == PAIR_HELD && !covering->item[a].absent && !covering->item[b].absent)
		covering->together++;
	else if (state == PAIR_HELD)
		covering->apart++;
}

void covering_make(struct covering *covering, const char *about, unsigned long round)
{
	begin(covering);
	covering->round = round;
	for (size_t i = 0; i < covering->items; i++) {
		size_t a = (i + round * ROUND_STEP) % covering->items;

		for (size_t b = 0; b < covering->items; b++)
			if (*pair_at(covering, a, b) == PAIR_OPEN &&
			    (is_about(covering, a, about) || is_about(covering, b, about)))
				cover(covering, a, b, false);
	}
	for (size_t a = 0; a < covering->items; a++)
		for (size_t b = 0; b < a; b++)
			count(covering, a, b);
}

/* Both are there, each with some value or as such. */
static bool is_rendezvous(const struct covering *covering, size_t i, size_t j, unsigned a,
			  unsigned b)
{
	const struct covering_item *one = &covering->item[i];
	const struct covering_item *other = &covering->item[j];

	return one->part == a && other->part == b && !one->absent && !other->absent;
}

bool covering_rendezvous(const struct covering *covering, unsigned a, unsigned b)
{
	for (size_t i = 0; a != b && i < covering->items; i++)
		for (size_t j = 0; j < covering->items; j++)
			if (is_rendezvous(covering, i, j, a, b) &&
			    *pair_at(covering, i, j) == PAIR_HELD)
				return true;
	return false;
}

static const char *reason_at(const struct covering *covering, size_t i, size_t j)
{
	int state = *pair_at(covering, i, j);
	uint16_t reason = covering->reason_of[i * covering->items + j];

	if (state < PAIR_IMPOSSIBLE)
		return NULL;
	if (state == PAIR_UNEXPLAINED)
		return "not explained";
	return reason ? covering->reasons[reason - 1].text
		      : covering_why_text((enum covering_why)(state - PAIR_IMPOSSIBLE));
}

const char *covering_apart(const struct covering *covering, unsigned a, unsigned b)
{
	const char *reason = NULL;

	if (a == b || covering_rendezvous(covering, a, b))
		return NULL;
	for (size_t i = 0; !reason && i < covering->items; i++)
		for (size_t j = 0; !reason && j < covering->items; j++)
			if (is_rendezvous(covering, i, j, a, b))
				reason = reason_at(covering, i, j);
	return reason;
}

void covering_free(struct covering *covering)
{
	for (size_t i = 0; i < covering->count; i++)
		free(covering->texts[i]);
	free(covering->pair);
	free(covering->reason_of);
	nopal__arena_release(&covering->arena);
}

static void print_item(const struct covering *covering, size_t index, FILE *out)
{
	const struct covering_item *item = &covering->item[index];
	const struct kit_part *part = &covering->kit.parts[item->part];
	char word[64];

	fprintf(out, "%s%s", item->absent ? "no " : "", part->microprotocol->name);
	if (item->setting < 0)
		return;
	kit_value_word(&part->settings[item->setting], item->value, word, sizeof(word));
	fprintf(out, ".%s=%s", part->settings[item->setting].parameter->name, word);
}

void covering_print(const struct covering *covering, FILE *out)
{
	for (size_t a = 0; a < covering->items; a++)
		for (size_t b = 0; b < a; b++) {
			int state = *pair_at(covering, a, b);

			if (state < PAIR_IMPOSSIBLE)
				continue;
			print_item(covering, b, out);
			fprintf(out, " + ");
			print_item(covering, a, out);
			fprintf(out, ": %s\n",
				state == PAIR_UNEXPLAINED ? "not explained"
							  : covering_why_text((enum covering_why)(
								    state - PAIR_IMPOSSIBLE)));
		}
}
