/* SPDX-License-Identifier: MIT */
#include "support/composition.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "plan/plan.h"
#include "registry/registry.h"
#include "support/draw.h"
#include "support/lines.h"
#include <nopal/nopal.h>
#include "support/values.h"

enum {
	LAYERS_MAX = 3,
	SHAPES_TRIED = 40,
	PLAIN_PERCENT = 35, /* of configs: every parameter as it is */
	SET_PERCENT = 25,   /* of the parameters of others */
	EXTRAS_MAX = 10,
	MENDED_MAX = 48, /* lines that may go from one draw */
	MANY = 1000,
};

/* ---------------------------------------------------------------------- shapes */

static const struct shape {
	unsigned weight;
	enum nopal_multiplicity layer[LAYERS_MAX]; /* the top comes first */
	int layers;
} shapes[] = {
	{ 14, { NOPAL_ONE }, 1 },
	{ 6, { NOPAL_ONE, NOPAL_ONE }, 2 },
	{ 4, { NOPAL_PER_STREAM, NOPAL_ONE }, 2 },
	{ 3, { NOPAL_ONE, NOPAL_SHARED_LAYER }, 2 },
	{ 5, { NOPAL_ONE, NOPAL_PER_DESTINATION }, 2 },
	{ 3, { NOPAL_ONE, NOPAL_ONE, NOPAL_ONE }, 3 },
	{ 2, { NOPAL_PER_STREAM, NOPAL_ONE, NOPAL_ONE }, 3 },
	{ 2, { NOPAL_ONE, NOPAL_PER_STREAM, NOPAL_ONE }, 3 },
	{ 1, { NOPAL_ONE, NOPAL_ONE, NOPAL_SHARED_LAYER }, 3 },
	{ 1, { NOPAL_ONE, NOPAL_SHARED_LAYER, NOPAL_ONE }, 3 },
	{ 2, { NOPAL_ONE, NOPAL_PER_DESTINATION, NOPAL_ONE }, 3 },
	{ 2, { NOPAL_PER_STREAM, NOPAL_ONE, NOPAL_PER_DESTINATION }, 3 },
};
enum { SHAPES = sizeof(shapes) / sizeof(*shapes) };

/* Roles that are often wanted of a layer, by its place. */
static const struct wish {
	const char *role;
	unsigned lowest, upper; /* percent */
} wishes[] = {
	{ "connection", 65, 15 }, { "reliability", 65, 10 }, { "congestion_policy", 40, 5 },
	{ "order", 45, 35 },	  { "integrity", 55, 4 },    { "flow_control", 30, 20 },
	{ "redundancy", 10, 8 },
};
enum { WISHES = sizeof(wishes) / sizeof(*wishes) };

struct maker {
	const struct kit *kit;
	struct draw from;
	const struct shape *shape;
	struct selection layer[LAYERS_MAX];
	unsigned first[2]; /* the two that it begins with */
	bool plain;
};

static const struct shape *shape_draw(struct draw *from, int layers)
{
	unsigned sum = 0, at = 0;
	uint64_t left;

	for (unsigned i = 0; i < SHAPES; i++)
		sum += shapes[i].weight;
	left = draw_below(from, sum);
	while (left >= shapes[at].weight)
		left -= shapes[at++].weight;
	if (layers == COMPOSITION_ANY || shapes[at].layers == layers)
		return &shapes[at];
	return shape_draw(from, layers);
}

static bool is_lowest(const struct maker *maker, int layer)
{
	return layer == maker->shape->layers - 1;
}

/* The multiplicity of the layer that this one stands on. */
static enum nopal_multiplicity below(const struct maker *maker, int layer)
{
	return is_lowest(maker, layer) ? NOPAL_ONE : maker->shape->layer[layer + 1];
}

static bool on_flow(const struct maker *maker, int layer)
{
	return maker->shape->layer[layer] == NOPAL_PER_STREAM ||
	       below(maker, layer) == NOPAL_SHARED_LAYER;
}

static bool under_streams(const struct maker *maker, int layer)
{
	return layer && maker->shape->layer[layer - 1] == NOPAL_PER_STREAM;
}

static const char *place_of(const struct maker *maker, int layer)
{
	if (is_lowest(maker, layer))
		return layer ? "network" : "application|network";
	if (below(maker, layer) == NOPAL_PER_DESTINATION && under_streams(maker, layer))
		return "streams|layer_below|destinations";
	if (below(maker, layer) == NOPAL_PER_DESTINATION)
		return layer ? "layer_below|destinations" : "application|layer_below|destinations";
	if (on_flow(maker, layer))
		return layer ? "layer_below|flow" : "application|layer_below|flow";
	return layer ? "layer_below" : "application|layer_below";
}

static bool is_to_many(const struct maker *maker, int layer)
{
	for (int i = layer; i < maker->shape->layers - 1; i++)
		if (below(maker, i) == NOPAL_PER_DESTINATION)
			return true;
	return false;
}

/* ------------------------------------------------------- the format of another */

static bool is_named(const struct nopal_format *format, const struct nopal_microprotocol *one,
		     const char *kind)
{
	const struct nopal_format_kind *at = format->kinds;

	for (; at && at->microprotocol; at++)
		if (strcmp(at->microprotocol, one->name) == 0 && strcmp(at->kind, kind) == 0)
			return true;
	return false;
}

static bool is_carried(const struct nopal_format *format, const char *attribute)
{
	for (const char *const *at = format->carries; at && *at; at++)
		if (strcmp(*at, attribute) == 0)
			return true;
	return false;
}

/* Has the other protocol's header a place for all that this one sends? */
static bool is_understood(const struct nopal_format *format, const struct nopal_microprotocol *one)
{
	const struct nopal_attribute *attribute = one->attributes;
	const struct nopal_kind *kind = one->kinds;

	for (; kind && kind->name; kind++)
		if (!is_named(format, one, kind->name))
			return false;
	for (; attribute && attribute->name; attribute++)
		if (attribute->wire_bytes && !attribute->when &&
		    !is_carried(format, attribute->name))
			return false;
	return true;
}

static const struct nopal_format *interop_of(const struct maker *maker)
{
	for (int layer = 0; layer < maker->shape->layers; layer++)
		for (unsigned i = 0; i < maker->kit->count; i++) {
			const struct nopal_format *format =
				maker->kit->parts[i].microprotocol->format;

			if (maker->layer[layer].standing[i] == STANDING_IN && format &&
			    format->interop)
				return format;
		}
	return NULL;
}

static bool all_understood(const struct maker *maker)
{
	const struct nopal_format *format = interop_of(maker);

	for (int layer = 0; format && layer < maker->shape->layers; layer++)
		for (unsigned i = 0; i < maker->kit->count; i++)
			if (maker->layer[layer].standing[i] == STANDING_IN &&
			    !is_understood(format, maker->kit->parts[i].microprotocol))
				return false;
	return true;
}

/* ---------------------------------------------------------------------- a layer */

/* In, with what it brings; where that cannot be it stays out. */
static bool take(struct maker *maker, int layer, unsigned part)
{
	struct selection *selection = &maker->layer[layer];
	const struct selection before = *selection;
	struct selection_search search = { 0 };
	int preference[KIT_PARTS];

	if (selection->standing[part] == STANDING_IN)
		return true;
	if (selection->standing[part] == STANDING_OUT || !selection_fits(selection, part))
		return false;
	for (unsigned i = 0; i < maker->kit->count; i++)
		preference[i] = (int)draw_below(&maker->from, MANY);
	search.preference = preference;
	selection->standing[part] = STANDING_IN;
	if (selection_complete(selection, &search) && all_understood(maker))
		return true;
	*selection = before;
	selection->standing[part] = STANDING_OUT;
	return false;
}

static bool has(const struct maker *maker, int layer, const char *role)
{
	for (unsigned i = 0; i < maker->kit->count; i++)
		if (maker->layer[layer].standing[i] == STANDING_IN &&
		    nopal__answers(maker->kit->parts[i].microprotocol, role))
			return true;
	return false;
}

/* Any that has the role. */
static bool take_role(struct maker *maker, int layer, const char *role)
{
	unsigned first = (unsigned)draw_below(&maker->from, maker->kit->count);

	if (has(maker, layer, role))
		return true;
	for (unsigned i = 0; i < maker->kit->count; i++) {
		unsigned part = (first + i) % maker->kit->count;

		if (nopal__answers(maker->kit->parts[part].microprotocol, role) &&
		    take(maker, layer, part))
			return true;
	}
	return false;
}

/* Roles that the place of a layer asks for. */
static bool take_base(struct maker *maker, int layer)
{
	if (!take_role(maker, layer, "driver"))
		return false;
	if (on_flow(maker, layer) && !take_role(maker, layer, "connection"))
		return false;
	return below(maker, layer) != NOPAL_PER_DESTINATION || take_role(maker, layer, "fan_out");
}

static void take_wishes(struct maker *maker, int layer)
{
	for (unsigned i = 0; i < WISHES; i++) {
		unsigned percent = is_lowest(maker, layer) ? wishes[i].lowest : wishes[i].upper;

		if (draw_happens(&maker->from, percent))
			take_role(maker, layer, wishes[i].role);
	}
}

/* Few more often than many. */
static void take_extras(struct maker *maker, int layer)
{
	uint64_t max = draw_below(&maker->from, EXTRAS_MAX + 1);
	uint64_t count = draw_below(&maker->from, max + 1);

	while (count--)
		take(maker, layer, (unsigned)draw_below(&maker->from, maker->kit->count));
}

/* One of the first two, in whichever layer has a place for it. */
static bool take_first(struct maker *maker, unsigned part)
{
	int layers = maker->shape->layers;
	int first = (int)draw_below(&maker->from, (uint64_t)layers);

	for (int i = 0; i < layers; i++)
		if (take(maker, (first + i) % layers, part))
			return true;
	return false;
}

static void begin(struct maker *maker, int layers)
{
	memset(maker->layer, 0, sizeof(maker->layer));
	maker->shape = shape_draw(&maker->from, layers);
	for (int i = 0; i < maker->shape->layers; i++) {
		struct selection *selection = &maker->layer[i];

		selection->kit = maker->kit;
		selection->stands_on = place_of(maker, i);
		selection->to_many = is_to_many(maker, i);
	}
}

/* A shape in which the first one has a place, and the second, if any has. */
static bool fill(struct maker *maker, int layers)
{
	for (int tried = 0; tried < SHAPES_TRIED; tried++) {
		bool whole = true;

		begin(maker, layers);
		if (!take_first(maker, maker->first[0]))
			continue;
		if (!take_first(maker, maker->first[1]) && tried < SHAPES_TRIED / 2)
			continue;
		for (int i = 0; i < maker->shape->layers; i++)
			whole &= take_base(maker, i);
		if (!whole)
			continue;
		for (int i = 0; i < maker->shape->layers; i++) {
			take_wishes(maker, i);
			take_extras(maker, i);
		}
		return true;
	}
	return false;
}

/* --------------------------------------------------------------------- as text */

/* A part that lifts an exclusion is set in the selection; else the draws say. */
static void write_setting(struct maker *maker, const struct nopal_parameter *parameter, bool lifts,
			  FILE *out)
{
	char *value;

	if (lifts) {
		fprintf(out, " %s = on", parameter->name);
		return;
	}
	if (maker->plain || !draw_happens(&maker->from, SET_PERCENT))
		return;
	value = value_draw(&maker->from, parameter);
	if (value)
		fprintf(out, " %s = %s", parameter->name, value);
	free(value);
}

static bool is_lift(const struct selection *selection, unsigned part,
		    const struct nopal_parameter *parameter)
{
	const struct kit_part *one = &selection->kit->parts[part];

	for (unsigned s = 0; s < one->setting_count; s++)
		if (one->settings[s].parameter == parameter)
			return selection->value[part][s] != 0;
	return false;
}

static void write_part(struct maker *maker, int layer, unsigned part, FILE *out)
{
	const struct selection *selection = &maker->layer[layer];
	const struct nopal_microprotocol *one = maker->kit->parts[part].microprotocol;
	const struct nopal_parameter *parameter = one->parameters;

	fprintf(out, "%s {", one->name);
	for (; parameter && parameter->name; parameter++)
		write_setting(maker, parameter, is_lift(selection, part, parameter), out);
	fprintf(out, " }\n");
}

static void write_layer(struct maker *maker, int layer, FILE *out)
{
	enum nopal_multiplicity many = maker->shape->layer[layer];

	if (maker->shape->layers > 1)
		fprintf(out, "layer \"layer%d\" {\n", layer);
	if (many != NOPAL_ONE)
		fprintf(out, "multiplicity = %s\n", nopal__multiplicity_words[many]);
	for (unsigned i = 0; i < maker->kit->count; i++)
		if (maker->layer[layer].standing[i] == STANDING_IN)
			write_part(maker, layer, i, out);
	if (maker->shape->layers > 1)
		fprintf(out, "}\n");
}

static char *write_all(struct maker *maker)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	assert(out);
	for (int i = 0; i < maker->shape->layers; i++)
		write_layer(maker, i, out);
	fclose(out);
	return text;
}

/* ------------------------------------------------------------------ the checker */

bool composition_is_good(const char *text, int *ret_line)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	plan = nopal_plan_parse(text, "composition.conf", NULL, &problems);
	*ret_line = 0;
	for (size_t i = 0; !plan && i < problems.count && !*ret_line; i++)
		if (!problems.entries[i].warning)
			*ret_line = problems.entries[i].line;
	nopal_problems_fini(&problems);
	nopal_plan_unref(plan);
	return plan != NULL;
}

char *composition_mended(const char *text, int kept)
{
	char *now = strdup(text), *next;
	int line;

	for (int i = 0; i < MENDED_MAX; i++) {
		if (composition_is_good(now, &line))
			return now;
		if (lines_kind(now, line) != LINE_PART)
			break;
		if (lines_settings(now, line))
			next = lines_plain(now, line);
		else if (line != kept)
			next = lines_without(now, line, line);
		else
			break;
		kept -= kept > line && lines_count(next) < lines_count(now);
		free(now);
		now = next;
	}
	free(now);
	return NULL;
}

/* ------------------------------------------------------------------------- all */

static char *draw_once(struct maker *maker, int layers, struct composition_tally *tally)
{
	char *text, *mended;

	maker->plain = draw_happens(&maker->from, PLAIN_PERCENT);
	if (!fill(maker, layers))
		return NULL;
	text = write_all(maker);
	mended = composition_mended(text, 0);
	tally->drawn++;
	if (mended && strcmp(mended, text) == 0)
		tally->at_once++;
	else if (mended)
		tally->mended++;
	tally->accepted += mended != NULL;
	free(text);
	return mended;
}

char *composition_draw(const struct kit *kit, uint64_t seed, int layers,
		       struct composition_tally *tally)
{
	struct maker *maker = calloc(1, sizeof(*maker));
	char *text = NULL;

	maker->kit = kit;
	maker->from = draw_of(seed);
	maker->first[0] = (unsigned)(seed % kit->count);
	maker->first[1] = (unsigned)((seed / kit->count + seed) % kit->count);
	while (!text) {
		text = draw_once(maker, layers, tally);
		maker->first[1] = (unsigned)draw_below(&maker->from, kit->count);
		if (!text && draw_happens(&maker->from, 25))
			maker->first[0] = maker->first[1];
	}
	free(maker);
	return text;
}
