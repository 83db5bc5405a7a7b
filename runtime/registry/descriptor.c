/* SPDX-License-Identifier: MIT */
/*
 * descriptor.c -- is a microprotocol's descriptor sound?
 *
 * The compiler checks handlers' types; this checks what it cannot: required fields, the limits of
 * struct nopal_part, defaults within their ranges, names that exist.  Built-in ones are checked by
 * a test, plugins when they load.
 */
#include <ctype.h>
#include <string.h>

#include "base/units.h"
#include "registry/registry.h"

/* The descriptor that is checked, and where complaints go. */
struct descriptor_check {
	const struct nopal_microprotocol *microprotocol;
	const char *origin;
	struct nopal_problems *problems;
};

static void descriptor_say(const struct descriptor_check *check, const char *fix, const char *table,
			   const char *name, const char *cause)
{
	const char *who = check->microprotocol->name;

	nopal_problems_add(check->problems, check->origin, 0, fix, "%s: %s%s%s %s",
			   who ? who : "(no name)", table, name ? " " : "", name ? name : "",
			   cause);
}

static bool descriptor_is_name(const char *name)
{
	if (!islower((unsigned char)*name))
		return false;
	for (; *name; name++) {
		if (!islower((unsigned char)*name) && !isdigit((unsigned char)*name) &&
		    *name != '_')
			return false;
	}
	return true;
}

/* ---------------------------------------------------------------- parameters */

static void descriptor_parameter(const struct descriptor_check *check,
				 const struct nopal_parameter *parameter)
{
	size_t end =
		parameter->offset +
		(parameter->unit == NOPAL_ADDRESS ? sizeof(struct nopal_address) : sizeof(int64_t));

	if (!descriptor_is_name(parameter->name))
		descriptor_say(check, "use lower case letters, digits and _", "parameter",
			       parameter->name, "is not a config word");
	if (end > check->microprotocol->parameters_size || parameter->offset % sizeof(int64_t) != 0)
		descriptor_say(check, "use offsetof() of an int64_t", "parameter", parameter->name,
			       "lies outside its struct");
	if ((int)parameter->unit < 0 || parameter->unit > NOPAL_ADDRESS) {
		descriptor_say(check, "use enum nopal_unit", "parameter", parameter->name,
			       "has no known unit");
	} else if (!parameter->initial) {
		descriptor_say(check, "set .initial", "parameter", parameter->name,
			       "has no default");
	} else if (parameter->unit == NOPAL_WORD && !parameter->choices) {
		descriptor_say(check, "set .choices to \"a|b\"", "parameter", parameter->name,
			       "has no choices");
	} else {
		struct nopal_problems found = { 0 };
		struct nopal_quantity quantity, bound;

		if (parameter->min)
			nopal__quantity_read(parameter->min, parameter->unit, parameter->choices,
					     "least", &bound, &found);
		if (parameter->max)
			nopal__quantity_read(parameter->max, parameter->unit, parameter->choices,
					     "most", &bound, &found);
		if (nopal__quantity_read(parameter->initial, parameter->unit, parameter->choices,
					 "initial", &quantity, &found))
			nopal__quantity_outside(quantity, parameter->unit, parameter->min,
						parameter->max, "initial", &found);
		if (found.no_memory)
			nopal__problems_no_memory(check->problems);
		for (size_t i = 0; i < found.count; i++)
			descriptor_say(check, found.entries[i].fix, "parameter", parameter->name,
				       found.entries[i].cause);
		nopal_problems_fini(&found);
	}
	if (parameter->unit == NOPAL_FILE &&
	    (parameter->wire || (parameter->initial && *parameter->initial)))
		descriptor_say(check, "let .initial be \"\", and .wire false", "parameter",
			       parameter->name, "is a file that peers would have to share");
	if (!parameter->doc)
		descriptor_say(check, "set .doc", "parameter", parameter->name, "has no doc");
	if (nopal__parameter_find(check->microprotocol, parameter->name, strlen(parameter->name)) !=
	    parameter)
		descriptor_say(check, "keep one", "parameter", parameter->name,
			       "is declared twice");
}

/* -------------------------------------------------- attributes, shared, kinds */

static size_t descriptor_kind_count(const struct nopal_microprotocol *one)
{
	size_t count = 0;

	while (one->kinds && one->kinds[count].name)
		count++;
	return count;
}

static void descriptor_kinds_word(const struct descriptor_check *check, unsigned kinds,
				  const char *table, const char *name)
{
	size_t own = descriptor_kind_count(check->microprotocol);

	if (kinds >= NOPAL_OWN_KIND + own)
		descriptor_say(check, "declare the kind", table, name,
			       "is about a kind that is not declared");
}

static void descriptor_tables(const struct descriptor_check *check)
{
	const struct nopal_microprotocol *one = check->microprotocol;
	size_t attributes = 0, shared = 0;

	for (; one->attributes && one->attributes[attributes].name; attributes++) {
		const struct nopal_attribute *attribute = &one->attributes[attributes];
		bool writes =
			attribute->access == NOPAL_WRITE || attribute->access == NOPAL_PROPERTY;
		const struct nopal_parameter *when;

		descriptor_kinds_word(check, attribute->kinds, "attribute", attribute->name);
		if (attribute->wire_bytes > sizeof(uint64_t))
			descriptor_say(check, "use 0 to 8 bytes", "attribute", attribute->name,
				       "does not fit in 64 bits");
		if (!writes && attribute->wire_bytes &&
		    strcmp(attribute->name, NOPAL_RUNTIME_ATTRIBUTE) != 0)
			descriptor_say(check, "let its writer say so", "attribute", attribute->name,
				       "is put on the wire by one who only reads it");
		when = attribute->when ? nopal__parameter_find(one, attribute->when,
							       strlen(attribute->when))
				       : NULL;
		if (attribute->when && (!when || when->unit != NOPAL_SWITCH || !when->wire))
			descriptor_say(check, "name an on/off parameter with .wire = true",
				       "attribute", attribute->name,
				       "travels on a condition that peers do not share");
	}
	while (one->shared && one->shared[shared].name)
		shared++;
	if (attributes > NOPAL_MAX_ATTRIBUTES)
		descriptor_say(check, "split the microprotocol", "attributes", NULL,
			       "are more than NOPAL_MAX_ATTRIBUTES");
	if (shared > NOPAL_MAX_SHARED)
		descriptor_say(check, "split the microprotocol", "shared variables", NULL,
			       "are more than NOPAL_MAX_SHARED");
	if (descriptor_kind_count(one) > NOPAL_MAX_KINDS)
		descriptor_say(check, "split the microprotocol", "kinds", NULL,
			       "are more than NOPAL_MAX_KINDS");
}

/* ------------------------------------------------ holds, bindings, relations */

static void descriptor_holds(const struct descriptor_check *check)
{
	const struct nopal_hold *hold = check->microprotocol->holds;
	bool taken[NOPAL_BARRIERS] = { false };

	for (; hold && hold->why; hold++) {
		if ((int)hold->barrier < 0 || hold->barrier >= NOPAL_BARRIERS) {
			descriptor_say(check, "use enum nopal_barrier", "hold", hold->why,
				       "names no barrier");
			continue;
		}
		descriptor_kinds_word(check, hold->kinds, "hold", hold->why);
		if (taken[hold->barrier])
			descriptor_say(check, "a microprotocol has one bit in each", "hold",
				       hold->why, "is a second one in its barrier");
		taken[hold->barrier] = true;
	}
}

static void descriptor_bindings(const struct descriptor_check *check)
{
	const struct nopal_binding *binding = check->microprotocol->bindings;

	for (; binding && binding->event != NOPAL_NO_EVENT; binding++) {
		if ((int)binding->event < 0 || binding->event >= NOPAL_CUSTOM) {
			descriptor_say(check, "bind it with nopal_bind_custom()", "binding", NULL,
				       "is to an event that events.def lacks");
			continue;
		}
		if (!binding->run.custom)
			descriptor_say(check, "use NOPAL_ON()", "binding",
				       nopal_event_name(binding->event), "has no handler");
		descriptor_kinds_word(check, binding->kinds, "binding",
				      nopal_event_name(binding->event));
	}
}

static void descriptor_relations(const struct descriptor_check *check,
				 const struct nopal_relation *relation)
{
	for (; relation && relation->role; relation++) {
		if (!relation->because)
			descriptor_say(check, "say what goes wrong otherwise", "relation",
				       relation->role, "has no reason");
		if (relation->unless) {
			const struct nopal_parameter *lifts = nopal__parameter_find(
				check->microprotocol, relation->unless, strlen(relation->unless));

			if (!lifts || lifts->unit != NOPAL_SWITCH)
				descriptor_say(check, "name an on/off parameter", "relation",
					       relation->role, "is lifted by what is not there");
		}
	}
}

/* ------------------------------------------------------------------ promises */

static void descriptor_promises(const struct descriptor_check *check)
{
	const struct nopal_promise *row = check->microprotocol->promises;
	const struct nopal_parameter *parameter = NULL;
	struct nopal_quantity quantity;
	const char *name = NULL;
	size_t length = 0;

	for (; row && row->because; row++) {
		if ((int)row->quality < 0 || row->quality >= NOPAL_QUALITIES ||
		    (int)row->stage < 0 || row->stage >= NOPAL_STAGES || (int)row->act < 0 ||
		    row->act > NOPAL_FORBIDS)
			descriptor_say(check, "see promise.h", "promise", row->because,
				       "is of no known quality, stage or act");
		else if (row->act != NOPAL_LOWERS && !row->value)
			descriptor_say(check, "set .value", "promise", row->because,
				       "gives nothing");
		if (row->when) {
			name = row->when + (*row->when == '!');
			length = strcspn(name, "=");
			parameter = nopal__parameter_find(check->microprotocol, name, length);
		}
		if (row->when &&
		    (!parameter ||
		     (name[length] &&
		      !nopal__quantity_read(name + length + 1, parameter->unit, parameter->choices,
					    name, &quantity, NULL))))
			descriptor_say(check, "name a parameter of its own, or one and its value",
				       "promise", row->when, "is no condition");
		if (row->bound &&
		    !nopal__parameter_find(check->microprotocol, row->bound, strlen(row->bound)))
			descriptor_say(check, "name a parameter of its own", "promise", row->bound,
				       "is no parameter");
	}
}

bool nopal__descriptor_check(const struct nopal_microprotocol *microprotocol, const char *origin,
			     struct nopal_problems *problems)
{
	const struct descriptor_check check = { microprotocol, origin, problems };
	const struct nopal_extension *extension;
	size_t errors = problems->errors;

	if (microprotocol->abi != NOPAL_ABI) {
		nopal_problems_add(problems, origin, 0, "build it again with this microprotocol.h",
				   "it was built for ABI %u; this is ABI %u", microprotocol->abi,
				   NOPAL_ABI);
		return false; /* nothing else can be trusted */
	}
	if (!microprotocol->name || !microprotocol->family || !microprotocol->summary) {
		descriptor_say(&check, "set .name, .family and .summary", "descriptor", NULL,
			       "lacks a required field");
		return false;
	}
	if (!descriptor_is_name(microprotocol->name))
		descriptor_say(&check, "use lower case letters, digits and _", "name",
			       microprotocol->name, "is not a config word");
	for (const struct nopal_parameter *one = microprotocol->parameters; one && one->name; one++)
		descriptor_parameter(&check, one);
	descriptor_tables(&check);
	descriptor_holds(&check);
	descriptor_bindings(&check);
	/* Names in capitals are events.def's; others a session may create. */
	for (const char *const *one = microprotocol->raises; one && *one; one++)
		if (isupper((unsigned char)**one) && nopal__event_find(*one) == NOPAL_NO_EVENT)
			descriptor_say(&check, "see events.def", "raises", *one,
				       "which events.def lacks");
	descriptor_relations(&check, microprotocol->needs);
	descriptor_relations(&check, microprotocol->excludes);
	descriptor_promises(&check);
	for (const struct nopal_timer *one = microprotocol->timers; one && one->name; one++)
		if (!one->expired)
			descriptor_say(&check, "set .expired", "timer", one->name,
				       "has no handler");
	extension = microprotocol->extension;
	if (extension && (!extension->bytes || extension->bytes > NOPAL_EXTENSION_MAX ||
			  !extension->write || !extension->read))
		descriptor_say(&check, "see struct nopal_extension", "extension", NULL,
			       "lacks a function, or is of no or too many bytes");
	return problems->errors == errors;
}
