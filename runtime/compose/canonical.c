/* SPDX-License-Identifier: MIT */
/*
 * canonical.c -- what two peers must agree on, as text.
 *
 *   layer member per_destination		(only where there are several)
 *   checksum/1 algorithm=crc32c
 *   resize/1
 *
 * A line a microprotocol, by name; parameters that shape the wire, in the order of their table and
 * in base units.  What one side may choose alone (timers, buffers) is not in it.  The fingerprint
 * is the hash of this text.
 */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "compose/composing.h"

static int canonical_by_name(const void *a, const void *b)
{
	const struct nopal_member *const *one = a, *const *other = b;

	return strcmp((*one)->microprotocol->name, (*other)->microprotocol->name);
}

static void canonical_layer(struct nopal_text *text, const struct nopal_composed_layer *layer)
{
	const struct nopal_member **sorted =
		nopal__zeroed(layer->arena, layer->count, sizeof(*sorted));

	if (!sorted)
		return;
	for (size_t i = 0; i < layer->count; i++)
		sorted[i] = &layer->members[i];
	qsort(sorted, layer->count, sizeof(*sorted), canonical_by_name);
	for (size_t i = 0; i < layer->count; i++) {
		const struct nopal_member *member = sorted[i];
		const struct nopal_microprotocol *one = member->microprotocol;

		nopal__append(text, "%s/%u", one->name, one->wire_version);
		for (size_t p = 0; one->parameters && one->parameters[p].name; p++) {
			const struct nopal_parameter *parameter = &one->parameters[p];
			bool word = parameter->unit == NOPAL_WORD ||
				    parameter->unit == NOPAL_SWITCH ||
				    parameter->unit == NOPAL_ADDRESS;
			struct nopal_quantity quantity = {
				.in_segments = member->in_segments[p],
			};

			if (!parameter->wire)
				continue;
			if (parameter->unit == NOPAL_ADDRESS) {
				memcpy(&quantity.address,
				       (const char *)member->parameters + parameter->offset,
				       sizeof(quantity.address));
				quantity.address.interface = 0; /* is each host's own */
			} else {
				quantity.value =
					nopal__parameter_get(member->parameters, parameter);
			}
			/* Words, switches and addresses as written, numbers in base units. */
			nopal__append(text, " %s=%s", parameter->name,
				      nopal__quantity_text(text->arena, quantity,
							   word ? parameter->unit : NOPAL_COUNT,
							   parameter->choices));
		}
		nopal__append(text, "\n");
	}
}

const char *nopal__canonical(const struct nopal_composition *composition)
{
	struct nopal_text text = { .arena = &composition->config->arena };

	for (size_t i = 0; i < composition->layer_count; i++) {
		const struct nopal_composed_layer *layer = &composition->layers[i];

		if (composition->layer_count > 1 || layer->multiplicity != NOPAL_ONE)
			nopal__append(&text, "layer %s %s\n", layer->name,
				      nopal__multiplicity_words[layer->multiplicity]);
		canonical_layer(&text, layer);
	}
	return nopal__text(&text);
}

/* ------------------------------------------------------------------------ diff */

/* A line without its end; NULL text: there is none. */
struct canonical_line {
	const char *text;
	size_t length, name; /* of the whole, of its name before '/' or ' ' */
};

static struct canonical_line canonical_next(const char **rest)
{
	struct canonical_line line = { 0 };

	while (*rest && **rest && !line.length) {
		line.length = nopal__next_word(rest, '\n', &line.text);
		while (line.name < line.length && line.text[line.name] != '/' &&
		       line.text[line.name] != ' ')
			line.name++;
	}
	if (!line.length)
		line.text = NULL;
	return line;
}

static struct canonical_line canonical_find(const char *text, const struct canonical_line *wanted)
{
	struct canonical_line line;

	while ((line = canonical_next(&text)).text) {
		if (line.name == wanted->name && strncmp(line.text, wanted->text, line.name) == 0)
			break;
	}
	return line;
}

char *nopal_canonical_diff(const char *here, const char *there)
{
	struct nopal_arena arena = { 0 };
	struct nopal_text diff = { .arena = &arena };
	char *copy = NULL;
	struct canonical_line mine, theirs;
	const char *rest = here;

	while ((mine = canonical_next(&rest)).text) {
		theirs = canonical_find(there, &mine);
		if (!theirs.text)
			nopal__append(&diff, "+ %.*s: only here\n", (int)mine.length, mine.text);
		else if (mine.length != theirs.length ||
			 strncmp(mine.text, theirs.text, mine.length) != 0)
			nopal__append(&diff, "~ here %.*s, there %.*s\n", (int)mine.length,
				      mine.text, (int)theirs.length, theirs.text);
	}
	rest = there;
	while ((theirs = canonical_next(&rest)).text) {
		mine = canonical_find(here, &theirs);
		if (!mine.text)
			nopal__append(&diff, "- %.*s: only there\n", (int)theirs.length,
				      theirs.text);
	}
	if (!arena.failed)
		copy = strdup(nopal__text(&diff));
	nopal__arena_release(&arena);
	return copy;
}
