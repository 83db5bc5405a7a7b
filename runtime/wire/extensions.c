/* SPDX-License-Identifier: MIT */
/*
 * extensions.c -- handshake extensions: values that parts tell each other while a session opens.
 *
 * Peers may list their microprotocols in any order: extensions go by their names.  Before them
 * stands the proof by which the peer knows a reset: reset.c.
 */
#include <string.h>

#include "wire/wire.h"

/* The part with an extension whose name comes next after `last`; NULL: no more. */
static const struct nopal_part *extension_after(const struct nopal_layer *layer,
						const struct nopal_part *last)
{
	const struct nopal_part *parts = &layer->plan->parts[layer->first_part];
	const struct nopal_part *next = NULL;

	for (uint32_t i = 0; i < layer->part_count; i++) {
		const struct nopal_microprotocol *one = parts[i].microprotocol;

		if (one->extension && (!last || strcmp(one->name, last->microprotocol->name) > 0) &&
		    (!next || strcmp(one->name, next->microprotocol->name) < 0))
			next = &parts[i];
	}
	return next;
}

#define FOR_EACH_EXTENSION(part, layer)                                                            \
	for (const struct nopal_part *part = extension_after(layer, NULL); part;                   \
	     part = extension_after(layer, part))

static const struct nopal_layer *layer_of(const struct nopal_session *session)
{
	return nopal__composite(session)->layer;
}

static bool has_proof(const struct nopal_layer *layer)
{
	return layer->index + 1u == layer->plan->layer_count && nopal__plan_resets(layer->plan);
}

uint32_t nopal__extensions_bytes(const struct nopal_layer *layer)
{
	uint32_t bytes = has_proof(layer) ? NOPAL_RESET_PROOF_BYTES : 0;

	FOR_EACH_EXTENSION(part, layer)
	bytes += part->microprotocol->extension->bytes;
	return bytes;
}

uint32_t nopal_extensions_bytes(const struct nopal_session *session)
{
	return nopal__extensions_bytes(layer_of(session));
}

void nopal_extensions_write(struct nopal_session *session, struct nopal_writer *writer)
{
	if (has_proof(layer_of(session)))
		nopal__proof_write(nopal__composite(session), writer);
	FOR_EACH_EXTENSION(part, layer_of(session))
	{
		const struct nopal_extension *extension = part->microprotocol->extension;
		uint8_t bytes[NOPAL_EXTENSION_MAX];

		extension->write((struct nopal_at){ session, part }, bytes);
		nopal_write_bytes(writer, bytes, extension->bytes);
	}
}

bool nopal_extensions_read(struct nopal_session *session, struct nopal_reader *reader)
{
	if (has_proof(layer_of(session)) && !nopal__proof_read(nopal__composite(session), reader))
		return false;
	FOR_EACH_EXTENSION(part, layer_of(session))
	{
		const struct nopal_extension *extension = part->microprotocol->extension;
		const uint8_t *bytes = nopal_read_bytes(reader, extension->bytes);

		if (!bytes || !extension->read((struct nopal_at){ session, part }, bytes))
			return false;
	}
	return true;
}

bool nopal_extensions_agreed(struct nopal_session *session, const struct nopal_opening *opening)
{
	FOR_EACH_EXTENSION(part, layer_of(session))
	{
		const struct nopal_extension *extension = part->microprotocol->extension;

		if (extension->agreed &&
		    !extension->agreed((struct nopal_at){ session, part }, opening))
			return false;
	}
	return true;
}

const struct nopal_part *nopal__early_part(const struct nopal_layer *layer, uint32_t *ret_behind)
{
	*ret_behind = has_proof(layer) ? NOPAL_RESET_PROOF_BYTES : 0;
	FOR_EACH_EXTENSION(part, layer)
	{
		if (part->microprotocol->extension->early)
			return part;
		*ret_behind += part->microprotocol->extension->bytes;
	}
	return NULL;
}

uint8_t nopal_answer_byte(const struct nopal_session *session)
{
	const struct nopal_plan *plan = layer_of(session)->plan;

	for (uint8_t code = 0; code < NOPAL_KIND_ROOM; code++)
		if (plan->kinds[code].part && plan->kinds[code].class == NOPAL_KIND_ANSWER)
			return nopal__first_byte(code);
	return 0;
}
