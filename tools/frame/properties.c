/* SPDX-License-Identifier: MIT */
/*
 * properties.c -- properties of messages: rules of `--with`, and what they give a message.
 *
 * A random value and a share are functions of the seed, the rule and the message's number, so that
 * a message has the same properties however often it is looked at.
 */
#include "frame/properties.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>

enum {
	RULE_ROOM = 512, /* bytes of a rule */
	MILLION = 1000000,
	WIRE_BITS = 8,
	WORD_BYTES = 8,
	DECIMAL = 10,
};
#define RULE_FIX "write --with \"deadline=200ms every 5\"; see `nopal help sim`"

/* The rule that is read. */
struct rule_text {
	const char *whole; /* as given */
	const struct nopal_plan *plan;
};

__attribute__((format(printf, 3, 4))) static bool refuse(const struct rule_text *text,
							 const char *fix, const char *cause, ...)
{
	va_list arguments;

	fprintf(stderr, "error: --with \"%s\": ", text->whole);
	va_start(arguments, cause);
	vfprintf(stderr, cause, arguments);
	va_end(arguments);
	fprintf(stderr, "\n  fix: %s\n", fix);
	return false;
}

/* ---------------------------------------------------------------------- names */

/* Visits the properties that the composition knows, those of the runtime first; the attribute is
 * NULL for these. */
static const struct nopal_attribute *attribute_at(const struct nopal_plan *plan, size_t *part,
						  size_t *row)
{
	for (; *part < nopal_plan_part_count(plan); ++*part, *row = 0) {
		const struct nopal_attribute *at =
			nopal_plan_part(plan, *part)->microprotocol->attributes;

		for (; at && at[*row].name; ++*row)
			if (at[*row].access == NOPAL_PROPERTY)
				return &at[(*row)++];
	}
	return NULL;
}

static const struct nopal_attribute *attribute_find(const struct nopal_plan *plan, const char *name)
{
	const struct nopal_attribute *at;
	size_t part = 0, row = 0;

	while ((at = attribute_at(plan, &part, &row)) && strcmp(at->name, name) != 0)
		continue;
	return at;
}

/* The bit of a name; where it is new, it gets one. */
static bool bit_of(const struct rule_text *text, struct properties *properties, const char *name,
		   unsigned *ret_bit)
{
	const struct nopal_attribute *at = attribute_find(text->plan, name), *other;
	unsigned which = nopal_property(text->plan, name);
	size_t part = 0, row = 0, length;
	char fix[RULE_ROOM];

	for (unsigned i = 0; i < properties->name_count; i++)
		if (strcmp(properties->names[i], name) == 0) {
			*ret_bit = i;
			return true;
		}
	if (which && properties->name_count == PROPERTIES_MAX)
		return refuse(text, "give fewer", "more than %d properties", PROPERTIES_MAX);
	if (which) {
		*ret_bit = properties->name_count++;
		properties->names[*ret_bit] = at ? at->name : "urgent";
		properties->which[*ret_bit] = which;
		return true;
	}
	snprintf(fix, sizeof(fix), "the properties of config %s are urgent",
		 nopal_plan_info(text->plan)->name);
	while ((other = attribute_at(text->plan, &part, &row))) {
		length = strlen(fix);
		snprintf(fix + length, sizeof(fix) - length, ", %s", other->name);
	}
	return refuse(text, fix, "no part of the composition reads a property `%s`", name);
}

/* --------------------------------------------------------------------- values */

static bool number_parse(const struct rule_text *text, const struct nopal_attribute *at,
			 const char *word, uint64_t *ret_value)
{
	int unit = at ? at->unit : NOPAL_COUNT;
	struct nopal_problems problems = { 0 };
	int64_t value = 0;

	if (strcmp(word, "on") == 0 || strcmp(word, "off") == 0) {
		*ret_value = word[1] == 'n';
		return true;
	}
	if (unit == NOPAL_TIME && strcmp(word, "never") == 0) {
		*ret_value = (uint64_t)NOPAL_NEVER;
		return true;
	}
	nopal_quantity_parse(word, unit, "--with", &value, &problems);
	if (problems.errors || value < 0) {
		nopal_problems_fini(&problems);
		return refuse(text, RULE_FIX, "`%s` is no %s", word,
			      unit == NOPAL_TIME ? "time, as 200ms is" : "number");
	}
	*ret_value = (uint64_t)value;
	if (at && at->wire_bytes && at->wire_bytes < WORD_BYTES &&
	    *ret_value >> at->wire_bytes * WIRE_BITS)
		return refuse(text, RULE_FIX, "%s travels in %u bytes: %s is too much", at->name,
			      at->wire_bytes, word);
	return true;
}

/* index, and then + - * % with a number each, in the order in which they stand. */
static bool index_parse(const struct rule_text *text, const char *word, struct property_rule *rule)
{
	const char *at = word + strlen("index");

	rule->kind = PROPERTY_INDEX;
	for (unsigned i = 0; *at; i++) {
		char *end = NULL;

		if (i == PROPERTY_STEPS)
			return refuse(text, RULE_FIX, "`%s` has more than %d steps", word,
				      PROPERTY_STEPS);
		rule->steps[i].op = *at;
		rule->steps[i].operand = strtoull(at + 1, &end, DECIMAL);
		if (!strchr("+-*%", *at) || at[1] < '0' || at[1] > '9' ||
		    (*at == '%' && rule->steps[i].operand == 0))
			return refuse(text, "write index, index-1, index*160 or index%3",
				      "`%s` cannot be computed", word);
		at = end;
	}
	return true;
}

static bool value_parse(const struct rule_text *text, const char *name, char *word,
			struct property_rule *rule)
{
	const struct nopal_attribute *at = attribute_find(text->plan, name);
	char *dots = strstr(word, "..");

	if (strncmp(word, "index", strlen("index")) == 0)
		return index_parse(text, word, rule);
	if (!dots)
		return number_parse(text, at, word, &rule->from);
	rule->kind = PROPERTY_RANGE;
	*dots = '\0';
	if (!number_parse(text, at, word, &rule->from) ||
	    !number_parse(text, at, dots + strlen(".."), &rule->to))
		return false;
	return rule->from <= rule->to ||
	       refuse(text, "write the smaller number first", "%s..%s holds no number", word,
		      dots + strlen(".."));
}

/* ---------------------------------------------------------------------- rules */

/* every N, from N, share P%: of all assignments of the rule. */
static bool condition_parse(const struct rule_text *text, char **at, struct property_rule *rule)
{
	char *word, *value;
	struct nopal_problems problems = { 0 };
	int64_t number = 0;
	bool has_first = false;

	rule->first = rule->every = 1;
	rule->share_ppm = MILLION;
	while ((word = strtok_r(NULL, " ", at))) {
		bool share = strcmp(word, "share") == 0;

		value = strtok_r(NULL, " ", at);
		if (!share && strcmp(word, "every") != 0 && strcmp(word, "from") != 0)
			return refuse(text, RULE_FIX, "`%s` is not every, from or share", word);
		if (!value)
			return refuse(text, RULE_FIX, "a number is missing after `%s`", word);
		nopal_quantity_parse(value, share ? NOPAL_PERCENT : NOPAL_COUNT, word, &number,
				     &problems);
		if (problems.errors || number < 1 || (share && number > MILLION)) {
			nopal_problems_fini(&problems);
			return refuse(text, RULE_FIX, "`%s %s` is not %s", word, value,
				      share ? "a share up to 100%" : "a number from 1 on");
		}
		if (share)
			rule->share_ppm = (uint32_t)number;
		else if (*word == 'e')
			rule->every = (uint64_t)number;
		else
			rule->first = (uint64_t)number;
		has_first |= *word == 'f';
	}
	if (!has_first)
		rule->first = rule->every;
	return true;
}

bool properties_parse(const char *const *texts, const struct nopal_plan *plan, uint64_t seed,
		      struct properties *ret_properties)
{
	*ret_properties = (struct properties){ .seed = seed };
	for (; *texts; texts++) {
		const struct rule_text text = { *texts, plan };
		struct property_rule condition = { 0 };
		char copy[RULE_ROOM], *at = NULL, *comma = NULL, *assignments, *word;

		if (strlen(*texts) >= sizeof(copy))
			return refuse(&text, RULE_FIX, "it is longer than %d bytes", RULE_ROOM - 1);
		strcpy(copy, *texts);
		assignments = strtok_r(copy, " ", &at);
		if (!assignments)
			return refuse(&text, RULE_FIX, "it is empty");
		if (!condition_parse(&text, &at, &condition))
			return false;
		for (word = strtok_r(assignments, ",", &comma); word;
		     word = strtok_r(NULL, ",", &comma)) {
			unsigned count = ret_properties->rule_count;
			struct property_rule *rule = &ret_properties->rules[count];
			char *equals = strchr(word, '=');

			if (!equals || equals == word || !equals[1])
				return refuse(&text, RULE_FIX, "`%s` is not NAME=VALUE", word);
			if (count == PROPERTIES_RULES)
				return refuse(&text, "give fewer", "more than %d rules",
					      PROPERTIES_RULES);
			*equals = '\0';
			*rule = condition;
			if (!bit_of(&text, ret_properties, word, &rule->bit) ||
			    !value_parse(&text, word, equals + 1, rule))
				return false;
			ret_properties->rule_count++;
		}
	}
	return true;
}

/* ------------------------------------------------------------------- messages */

/* SplitMix64 (Steele et al., 2014): each input has another, well mixed output. */
static uint64_t mix(uint64_t number)
{
	number += UINT64_C(0x9e3779b97f4a7c15);
	number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
	return number ^ number >> 31;
}

/* Does the rule set its property of message `index`, and to which value? */
static bool rule_sets(const struct properties *properties, const struct property_rule *rule,
		      uint64_t index, uint64_t *ret_value)
{
	uint64_t order = (uint64_t)(rule - properties->rules) + 1;
	uint64_t drawn = mix(mix(mix(properties->seed) ^ order) ^ index);

	if (index < rule->first || (index - rule->first) % rule->every ||
	    drawn % MILLION >= rule->share_ppm)
		return false;
	*ret_value = rule->kind == PROPERTY_INDEX ? index : rule->from;
	if (rule->kind == PROPERTY_RANGE)
		*ret_value += mix(drawn) % (rule->to - rule->from + 1);
	for (unsigned i = 0; i < PROPERTY_STEPS && rule->steps[i].op; i++) {
		uint64_t operand = rule->steps[i].operand;

		if (rule->steps[i].op == '+')
			*ret_value += operand;
		else if (rule->steps[i].op == '*')
			*ret_value *= operand;
		else if (rule->steps[i].op == '%')
			*ret_value %= operand;
		else
			*ret_value = *ret_value > operand ? *ret_value - operand : 0;
	}
	return true;
}

size_t properties_of(const struct properties *properties, uint64_t number,
		     struct nopal_property *ret_properties, unsigned *ret_class)
{
	uint64_t values[PROPERTIES_MAX];
	unsigned set = 0;
	size_t count = 0;

	*ret_class = 0;
	for (unsigned i = 0; i < properties->rule_count; i++) {
		const struct property_rule *rule = &properties->rules[i];

		if (rule_sets(properties, rule, number + 1, &values[rule->bit]))
			set |= 1u << rule->bit;
	}
	for (unsigned bit = 0; bit < properties->name_count; bit++) {
		if (!(set & 1u << bit))
			continue;
		*ret_class |= values[bit] ? 1u << bit : 0;
		ret_properties[count++] =
			(struct nopal_property){ properties->which[bit], values[bit] };
	}
	return count;
}

uint64_t properties_value(const struct properties *properties, uint64_t number, const char *name)
{
	struct nopal_property all[PROPERTIES_MAX];
	unsigned class;
	size_t count = properties_of(properties, number, all, &class);

	for (unsigned bit = 0; bit < properties->name_count; bit++)
		for (size_t i = 0; strcmp(properties->names[bit], name) == 0 && i < count; i++)
			if (all[i].which == properties->which[bit])
				return all[i].value;
	return 0;
}

const char *properties_names(const struct properties *properties, unsigned class,
			     char text[PROPERTIES_TEXT])
{
	size_t length = 0;

	*text = '\0';
	for (unsigned bit = 0; bit < properties->name_count; bit++)
		if (class & 1u << bit && length < PROPERTIES_TEXT)
			length += (size_t)snprintf(text + length, PROPERTIES_TEXT - length, "%s%s",
						   length ? "|" : "", properties->names[bit]);
	return *text ? text : NULL;
}
