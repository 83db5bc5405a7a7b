/* SPDX-License-Identifier: MIT */
#include "random_config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "microprotocol.h"
#include "nopal.h"
#include "selection.h"

enum {
	TAKEN_PERCENT = 35, /* of the microprotocols that fit */
	SET_PERCENT = 30,   /* of their parameters */
	AUTO_PERCENT = 75,  /* let open needs be filled */
	EXTREME_PERCENT = 20,
	WARM_UP = 8, /* draws until small seeds are far apart */
};

struct draw {
	uint64_t state;
	FILE *out;
};

static uint64_t draw(struct draw *draw, uint64_t below)
{
	draw->state ^= draw->state << 13;
	draw->state ^= draw->state >> 7;
	draw->state ^= draw->state << 17;
	return (draw->state >> 11) % below;
}

static bool happens(struct draw *from, unsigned percent)
{
	return draw(from, 100) < percent;
}

/* ------------------------------------------------------------------- values */

static void write_word(struct draw *from, const char *choices)
{
	char *copy = strdup(choices), *rest = copy, *word;
	uint64_t count = 1, which;

	for (const char *at = choices; *at; at++)
		count += *at == '|';
	which = draw(from, count);
	while ((word = strsep(&rest, "|")) && which--)
		;
	fprintf(from->out, "\"%s\"", word);
	free(copy);
}

/* A quarter of the initial value up to four times as much, in its own unit. */
static void write_near(struct draw *from, const char *initial)
{
	static const long long times[] = { 1, 2, 3, 6, 8, 12, 16 };
	static const long long parts = 4;
	char *unit;
	long long value = strtoll(initial, &unit, 10);

	value = value * times[draw(from, sizeof(times) / sizeof(*times))] /
		parts;
	fprintf(from->out, "%lld%s", value, unit);
}

static void write_value(struct draw *from,
			const struct nopal_parameter *parameter)
{
	if (parameter->unit == NOPAL_WORD)
		write_word(from, parameter->choices);
	else if (parameter->unit == NOPAL_SWITCH)
		fprintf(from->out, "%s", happens(from, 50) ? "on" : "off");
	else if (parameter->unit == NOPAL_ADDRESS)
		fprintf(from->out, "\"%s\"",
			happens(from, 50) ? parameter->initial
					  : "[ff15::4d:1]:9077");
	else if (parameter->least && happens(from, EXTREME_PERCENT))
		fprintf(from->out, "%s", parameter->least);
	else
		write_near(from, parameter->initial);
}

/* ----------------------------------------------------------- microprotocols */

static void write_one(struct draw *from,
		      const struct nopal_microprotocol *microprotocol)
{
	const struct nopal_parameter *parameter = microprotocol->parameters;

	fprintf(from->out, "%s {", microprotocol->name);
	for (; parameter && parameter->name; parameter++) {
		if (!happens(from, SET_PERCENT) ||
		    parameter->unit == NOPAL_FILE)
			continue;
		fprintf(from->out, " %s = ", parameter->name);
		write_value(from, parameter);
	}
	fprintf(from->out, " }\n");
}

static unsigned part_named(const struct kit *kit, const char *name)
{
	unsigned part = 0;

	while (strcmp(kit->parts[part].microprotocol->name, name) != 0)
		part++;
	return part;
}

/* What every layer needs: the first one, and one that makes segments. */
static void take_base(struct draw *from, struct selection *selection)
{
	static const char *const cutters[] = { "resize", "fixed_size",
					       "coalesce" };
	unsigned driver = part_named(selection->kit, "transport_driver");
	unsigned cutter = part_named(selection->kit, cutters[draw(from, 3)]);

	selection->standing[driver] = STANDING_IN;
	selection->standing[cutter] = STANDING_IN;
}

/* Of what fits what was taken before, in an order that favours nobody. */
static void take_some(struct draw *from, struct selection *selection)
{
	unsigned order[KIT_PARTS], left = selection->kit->count;

	for (unsigned i = 0; i < left; i++)
		order[i] = i;
	while (left) {
		unsigned which = (unsigned)draw(from, left--);
		unsigned part = order[which];

		order[which] = order[left];
		if (happens(from, TAKEN_PERCENT) &&
		    !selection->kit->hopeless[part] &&
		    !selection_conflict(selection, part))
			selection->standing[part] = STANDING_IN;
	}
}

static void write_layer(struct draw *from, const struct kit *kit)
{
	struct selection selection = { .kit = kit };

	take_base(from, &selection);
	take_some(from, &selection);
	for (unsigned part = 0; part < kit->count; part++)
		if (selection.standing[part] == STANDING_IN)
			write_one(from, kit->parts[part].microprotocol);
}

char *random_config(uint64_t seed, int layers)
{
	struct draw from = { .state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1 };
	struct kit kit;
	char *text = NULL;
	size_t length;

	kit_take_stock(&kit);
	from.out = open_memstream(&text, &length);
	for (int i = 0; i < WARM_UP; i++)
		draw(&from, 1);
	if (happens(&from, AUTO_PERCENT))
		fprintf(from.out, "requires = auto\n");
	for (int layer = 0; layer < layers; layer++) {
		if (layers > 1)
			fprintf(from.out, "layer \"layer%d\" {\n", layer);
		write_layer(&from, &kit);
		if (layers > 1)
			fprintf(from.out, "}\n");
	}
	fclose(from.out);
	return text;
}
