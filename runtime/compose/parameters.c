/* SPDX-License-Identifier: MIT */
/*
 * parameters.c -- the keys of a section become the int64_t of its struct.
 *
 * A size in `seg` stays a number of segments until the header is known:
 * nopal__compose_resolve().  A microprotocol's own validate() runs before that with segments of a
 * nominal length, so that its problems show with all others.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "compose/composing.h"
#include "registry/registry.h"

/* Near what an Ethernet frame carries (RFC 894: 1500) less our headers. */
enum { PARAMETERS_NOMINAL_SEGMENT_BYTES = 1440 };

static int64_t *parameters_at(void *parameters, const struct nopal_parameter *parameter)
{
	return (int64_t *)(void *)((char *)parameters + parameter->offset);
}

int64_t nopal__parameter_get(const void *parameters, const struct nopal_parameter *parameter)
{
	int64_t value;

	memcpy(&value, (const char *)parameters + parameter->offset, sizeof(value));
	return value;
}

bool nopal__parameter_holds(const struct nopal_microprotocol *one, const void *parameters,
			    const char *when)
{
	bool wanted = !when || *when != '!';
	const char *name = wanted ? when : when + 1;
	const char *equals = when ? strchr(name, '=') : NULL;
	const struct nopal_parameter *parameter;
	struct nopal_quantity quantity = { 0 };
	int64_t value;

	if (!when)
		return true;
	parameter =
		nopal__parameter_find(one, name, equals ? (size_t)(equals - name) : strlen(name));
	if (!parameter)
		return false; /* descriptor.c refuses such a condition */
	value = nopal__parameter_get(parameters, parameter);
	if (!equals)
		return (value != 0) == wanted;
	nopal__quantity_read(equals + 1, parameter->unit, parameter->choices, parameter->name,
			     &quantity, NULL);
	return (value == quantity.value) == wanted;
}

static size_t parameters_count(const struct nopal_microprotocol *one)
{
	size_t count = 0;

	while (one->parameters && one->parameters[count].name)
		count++;
	return count;
}

static void parameters_put(struct nopal_member *member, size_t index,
			   struct nopal_quantity quantity)
{
	const struct nopal_parameter *parameter = &member->microprotocol->parameters[index];

	if (parameter->unit == NOPAL_ADDRESS)
		memcpy((char *)member->parameters + parameter->offset, &quantity.address,
		       sizeof(quantity.address));
	else
		*parameters_at(member->parameters, parameter) = quantity.value;
	member->in_segments[index] = quantity.in_segments;
}

/* ------------------------------------------------------------------- reading */

static void parameters_say_unknown(struct nopal_arena *arena, const struct nopal_member *member,
				   const struct nopal_config_key *key,
				   struct nopal_problems *problems)
{
	const struct nopal_microprotocol *one = member->microprotocol;
	size_t count = parameters_count(one);
	const char **names = nopal__zeroed(arena, count + 1, sizeof(*names));
	const struct nopal_moved *moved = one->moved;

	/* How a config says now what this key said in an earlier version. */
	while (moved && moved->name && strcmp(moved->name, key->name) != 0)
		moved++;
	if (moved && moved->name) {
		nopal__problem_at(problems, key->place, moved->fix, "%s has no key `%s` any more",
				  one->name, key->name);
		return;
	}
	if (!names)
		return;
	for (size_t i = 0; i < count; i++)
		names[i] = one->parameters[i].name;
	nopal__problem_at(problems, key->place, "remove it: it has no keys", "%s has no key `%s`",
			  one->name, key->name);
	nopal__problems_suggest(problems, key->name, names, count ? "its keys are " : NULL);
}

struct nopal_member *nopal__member_add(struct nopal_composed_layer *layer,
				       const struct nopal_microprotocol *one,
				       struct nopal_place place)
{
	struct nopal_member whole = { .microprotocol = one, .place = place };
	struct nopal_member *member = NULL;
	size_t count = parameters_count(one);

	if (one->parameters_size)
		whole.parameters = nopal__zeroed(layer->arena, 1, one->parameters_size);
	whole.in_segments = nopal__zeroed(layer->arena, count, sizeof(bool));
	whole.files = nopal__zeroed(layer->arena, count, sizeof(*whole.files));
	if (!layer->arena->failed)
		member = nopal__one_more(layer->arena, &layer->members, &layer->count,
					 sizeof(*member));
	if (member)
		*member = whole;
	return member;
}

void nopal__parameters_read(struct nopal_arena *arena, struct nopal_member *member,
			    const struct nopal_config_section *section,
			    struct nopal_problems *problems)
{
	const struct nopal_parameter *table = member->microprotocol->parameters;
	size_t count = parameters_count(member->microprotocol);

	for (size_t i = 0; i < count; i++) {
		struct nopal_quantity quantity = { 0 };

		if (table[i].initial && nopal__quantity_read(table[i].initial, table[i].unit,
							     table[i].choices, "", &quantity, NULL))
			parameters_put(member, i, quantity);
	}
	for (size_t i = 0; section && i < section->key_count; i++) {
		const struct nopal_config_key *key = &section->keys[i];
		const struct nopal_microprotocol *one = member->microprotocol;
		const struct nopal_parameter *parameter =
			nopal__parameter_find(one, key->name, strlen(key->name));
		struct nopal_quantity quantity;
		struct nopal_problems found = { 0 };
		const char *what;
		size_t index;

		if (!parameter) {
			parameters_say_unknown(arena, member, key, problems);
			continue;
		}
		index = (size_t)(parameter - one->parameters);
		what = nopal__printed(arena, "%s.%s", one->name, key->name);
		if (nopal__quantity_read(key->value, parameter->unit, parameter->choices, what,
					 &quantity, &found) &&
		    !nopal__quantity_outside(quantity, parameter->unit, parameter->min,
					     parameter->max, what, &found))
			parameters_put(member, index, quantity);
		if (parameter->unit == NOPAL_FILE && *key->value)
			nopal__parameter_file_read(arena, key->value, key, &member->files[index],
						   &found);
		nopal__problems_move(problems, &found, key->place);
	}
}

/* ---------------------------------------------------------------- validation */

static int64_t parameters_scaled(int64_t segments, uint32_t segment_bytes)
{
	int64_t bytes;

	return __builtin_mul_overflow(segments, segment_bytes, &bytes) ? INT64_MAX : bytes;
}

static void parameters_to_bytes(const struct nopal_member *member, void *parameters,
				uint32_t segment_bytes)
{
	const struct nopal_parameter *table = member->microprotocol->parameters;
	size_t count = parameters_count(member->microprotocol);

	for (size_t i = 0; i < count; i++) {
		int64_t *value = parameters_at(parameters, &table[i]);

		if (member->in_segments[i])
			*value = parameters_scaled(*value, segment_bytes);
	}
}

void nopal__parameters_validate(struct nopal_arena *arena, const struct nopal_member *member,
				const struct nopal_config_section *section,
				struct nopal_problems *problems)
{
	const struct nopal_microprotocol *one = member->microprotocol;
	struct nopal_problems found = { 0 };
	void *nominal;

	if (!one->validate)
		return;
	nominal = nopal__zeroed(arena, 1, one->parameters_size);
	if (!nominal)
		return;
	if (one->parameters_size)
		memcpy(nominal, member->parameters, one->parameters_size);
	parameters_to_bytes(member, nominal, PARAMETERS_NOMINAL_SEGMENT_BYTES);
	one->validate(nominal, &found);
	/* Puts file and line to what validate() found. */
	if (found.no_memory) /* and who knows what else there was to say */
		nopal__problems_no_memory(problems);
	for (size_t i = 0; i < found.count; i++) {
		const struct nopal_problem_entry *entry = &found.entries[i];
		struct nopal_place place = member->place;

		/* nopal_problem() wrote "PARAMETER: cause": the key of that name, if set. */
		for (size_t k = 0; section && k < section->key_count; k++) {
			const struct nopal_config_key *key = &section->keys[k];
			size_t length = strlen(key->name);

			if (strncmp(entry->cause, key->name, length) == 0 &&
			    entry->cause[length] == ':')
				place = key->place;
		}
		nopal__problem_at(problems, place, entry->fix, "%s.%s", member->microprotocol->name,
				  entry->cause);
	}
	nopal_problems_fini(&found);
}

/* --------------------------------------------------------------- resolution */

/* A bound in bytes as text; NULL stays NULL. */
static const char *parameters_bound(struct nopal_arena *arena, const char *bound,
				    uint32_t segment_bytes)
{
	struct nopal_quantity limit;

	if (!bound || !nopal__quantity_read(bound, NOPAL_SIZE, NULL, "", &limit, NULL))
		return NULL;
	if (limit.in_segments)
		limit.value = parameters_scaled(limit.value, segment_bytes);
	return nopal__printed(arena, "%" PRId64 "B", limit.value);
}

static void parameters_resolve(struct nopal_arena *arena, struct nopal_member *member,
			       uint32_t segment_bytes, struct nopal_problems *problems)
{
	const struct nopal_parameter *table = member->microprotocol->parameters;
	size_t count = parameters_count(member->microprotocol);

	if (!count)
		return;
	parameters_to_bytes(member, member->parameters, segment_bytes);
	for (size_t i = 0; i < count; i++) {
		if (table[i].unit == NOPAL_SIZE) {
			const struct nopal_parameter *parameter = &table[i];
			struct nopal_quantity quantity = {
				.value = nopal__parameter_get(member->parameters, parameter),
			};
			const char *min = parameters_bound(arena, parameter->min, segment_bytes);
			const char *max = parameters_bound(arena, parameter->max, segment_bytes);
			const char *what = nopal__printed(
				arena, "%s.%s", member->microprotocol->name, parameter->name);
			struct nopal_problems found = { 0 };

			nopal__quantity_outside(quantity, NOPAL_SIZE, min, max, what, &found);
			nopal__problems_move(problems, &found, member->place);
		}
		member->in_segments[i] = false;
	}
	nopal__parameters_validate(arena, member, NULL, problems);
}

int nopal__compose_resolve(struct nopal_composition *composition, uint32_t segment_bytes,
			   struct nopal_problems *problems)
{
	size_t errors = problems->errors;

	for (size_t i = 0; i < composition->layer_count; i++) {
		struct nopal_composed_layer *layer = &composition->layers[i];

		for (size_t j = 0; j < layer->count; j++)
			parameters_resolve(layer->arena, &layer->members[j], segment_bytes,
					   problems);
	}
	return problems->errors == errors ? 0 : -EINVAL;
}
