/* SPDX-License-Identifier: MIT */
/*
 * units.c -- "25ms", "4MiB", "5%": text to base units, and back.
 *
 * All arithmetic is in integers: 1.5ms is exact or refused.  A bare number where a unit is due is
 * refused: 25 what?
 */

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "base/address_text.h"
#include "base/text.h"

struct units_word {
	const char *name; /* NULL ends a table */
	int64_t scale;	  /* base units in one */
};

enum { UNITS_KILO = 1000, UNITS_KIBI = 1024, UNITS_PARTS_IN_PERCENT = 10000 };

static const struct units_word units_time[] = {
	{ "ns", 1 },
	{ "us", NOPAL_MICROSECOND },
	{ "ms", NOPAL_MILLISECOND },
	{ "s", NOPAL_SECOND },
	{ "min", 60 * NOPAL_SECOND },
	{ "h", 3600 * NOPAL_SECOND },
	{ 0 },
};
static const struct units_word units_size[] = {
	{ "B", 1 },
	{ "kB", UNITS_KILO },
	{ "KiB", UNITS_KIBI },
	{ "MB", INT64_C(1) * UNITS_KILO *UNITS_KILO },
	{ "MiB", INT64_C(1) * UNITS_KIBI *UNITS_KIBI },
	{ "GB", INT64_C(1) * UNITS_KILO *UNITS_KILO *UNITS_KILO },
	{ "GiB", INT64_C(1) * UNITS_KIBI *UNITS_KIBI *UNITS_KIBI },
	{ "seg", 0 }, /* not known before the header is */
	{ 0 },
};
static const struct units_word units_rate[] = {
	{ "bit", 1 },
	{ "kbit", UNITS_KILO },
	{ "Mbit", INT64_C(1) * UNITS_KILO *UNITS_KILO },
	{ "Gbit", INT64_C(1) * UNITS_KILO *UNITS_KILO *UNITS_KILO },
	{ 0 },
};
static const struct units_word units_percent[] = {
	{ "%", UNITS_PARTS_IN_PERCENT },
	{ 0 },
};

struct units_family {
	const char *noun;
	const char *example;
	const struct units_word *words; /* NULL: no unit */
};

static const struct units_family units_families[] = {
	[NOPAL_COUNT] = { "a number", "12", NULL },
	[NOPAL_TIME] = { "a time", "25ms", units_time },
	[NOPAL_SIZE] = { "a size", "1500B", units_size },
	[NOPAL_RATE] = { "a rate", "10Mbit", units_rate },
	[NOPAL_PERCENT] = { "a percentage", "5%", units_percent },
	[NOPAL_SWITCH] = { "on or off", "on", NULL },
	[NOPAL_WORD] = { "a word", NULL, NULL },
	[NOPAL_FILE] = { "a file", NULL, NULL },
	[NOPAL_ADDRESS] = { "an address", "239.1.2.3:9000", NULL },
};
enum { UNITS_FAMILIES = sizeof(units_families) / sizeof(*units_families) };

static const char units_switch[] = "off|on"; /* index is the value */

/* ------------------------------------------------------------------- reading */

/* A number as written: [-] whole [. fraction], then the unit's word. */
struct units_number {
	bool negative;
	int64_t whole;
	int64_t fraction, divisor; /* .25 is 25 of 100 */
	const char *unit;
};

enum { UNITS_TEN = 10, UNITS_FRACTION_MAX = 1000000000 };

static bool units_digits(const char **at, int64_t *ret_value)
{
	int64_t value = 0;

	if (!isdigit((unsigned char)**at))
		return false;
	for (; isdigit((unsigned char)**at); (*at)++) {
		if (__builtin_mul_overflow(value, UNITS_TEN, &value) ||
		    __builtin_add_overflow(value, **at - '0', &value))
			return false;
	}
	*ret_value = value;
	return true;
}

static bool units_number(const char *text, struct units_number *ret_number)
{
	struct units_number number = { .divisor = 1 };
	const char *at = text;

	number.negative = *at == '-';
	at += number.negative;
	if (!units_digits(&at, &number.whole))
		return false;
	if (*at == '.') {
		const char *start = ++at;

		if (!units_digits(&at, &number.fraction))
			return false;
		for (; start < at; start++) {
			if (number.divisor >= UNITS_FRACTION_MAX)
				return false;
			number.divisor *= UNITS_TEN;
		}
	}
	while (*at == ' ')
		at++;
	number.unit = at;
	*ret_number = number;
	return true;
}

/* netem writes mbit, people write ms as MS: case decides only where it must. */
static const struct units_word *units_find(const struct units_word *words, const char *unit)
{
	for (const struct units_word *word = words; word->name; word++) {
		if (strcmp(word->name, unit) == 0)
			return word;
		if (words == units_rate && strcasecmp(word->name, unit) == 0)
			return word;
	}
	return NULL;
}

/* ----------------------------------------------------------------- complaints */

enum { UNITS_NAMES = 64 };

static const char *units_names(const struct units_word *words, char *names)
{
	size_t length = 0;

	for (const struct units_word *word = words; word->name; word++)
		length += (size_t)snprintf(names + length, UNITS_NAMES - length, "%s%s",
					   length ? " " : "", word->name);
	return names;
}

static void units_say_unit(const char *text, const char *unit, const struct units_family *family,
			   const char *what, struct nopal_problems *problems)
{
	const struct units_family *other = NULL;
	char names[UNITS_NAMES];

	/* 10ms where a size is due deserves better than "no such unit". */
	for (size_t i = 0; i < UNITS_FAMILIES && !other; i++)
		if (units_families[i].words && units_find(units_families[i].words, unit))
			other = &units_families[i];
	if (other)
		nopal_problems_add(problems, NULL, 0, NULL, "%s = %s is %s where %s is due", what,
				   text, other->noun, family->noun);
	else
		nopal_problems_add(problems, NULL, 0, NULL, "%s = %s: there is no unit `%s`", what,
				   text, unit);
	if (family->words)
		nopal__problems_fix(problems, "units are %s: write %s",
				    units_names(family->words, names), family->example);
	else
		nopal__problems_fix(problems, "write %s without a unit, like %s", family->noun,
				    family->example);
}

/* -------------------------------------------------------------------- parsing */

static bool units_word(const char *text, const char *choices, const char *what,
		       struct nopal_quantity *ret, struct nopal_problems *problems)
{
	struct nopal_arena arena = { .problems = problems };
	const char *names[64] = { 0 }, *word, *rest = choices;
	size_t length = strlen(text), count = 0;

	for (int64_t index = 0; rest; index++)
		if (nopal__next_word(&rest, '|', &word) == length &&
		    strncmp(word, text, length) == 0) {
			*ret = (struct nopal_quantity){ .value = index };
			return true;
		}
	for (rest = choices; rest && count + 1 < sizeof(names) / sizeof(*names);) {
		length = nopal__next_word(&rest, '|', &word);
		names[count++] = nopal__copy_part(&arena, word, length);
	}
	nopal_problems_add(problems, NULL, 0, NULL, "%s = %s is not one of %s", what, text,
			   choices);
	nopal__problems_suggest(problems, text, names, "write one of: ");
	nopal__arena_release(&arena);
	return false;
}

static bool units_measure(const char *text, enum nopal_unit unit, const char *what,
			  struct nopal_quantity *ret, struct nopal_problems *problems)
{
	const struct units_family *family = &units_families[unit];
	const struct units_word bare = { "", 1 }, *word = &bare;
	struct units_number number;
	struct nopal_quantity quantity = { 0 };
	int64_t scale, whole, part;

	if (!units_number(text, &number) || (family->words && number.negative)) {
		nopal_problems_add(problems, NULL, 0, NULL, "%s = %s is not %s", what,
				   *text ? text : "\"\"", family->noun);
		nopal__problems_fix(problems, "write %s, like %s", family->noun, family->example);
		return false;
	}
	if (family->words && !*number.unit) {
		char names[UNITS_NAMES];

		nopal_problems_add(problems, NULL, 0, NULL,
				   "%s = %s is a bare number where a unit is due", what, text);
		nopal__problems_fix(problems, "write %s with its unit (%s), like %s", family->noun,
				    units_names(family->words, names), family->example);
		return false;
	}
	if (family->words)
		word = units_find(family->words, number.unit);
	else if (*number.unit)
		word = NULL;
	if (!word) {
		units_say_unit(text, number.unit, family, what, problems);
		return false;
	}
	quantity.in_segments = word->scale == 0;
	scale = word->scale ? word->scale : 1;
	/* whole.fraction * scale, exactly. */
	if (__builtin_mul_overflow(number.whole, scale, &whole) ||
	    __builtin_mul_overflow(number.fraction, scale, &part) || part % number.divisor != 0 ||
	    __builtin_add_overflow(whole, part / number.divisor, &whole)) {
		if (number.divisor > 1)
			nopal_problems_add(
				problems, NULL, 0, "use a smaller unit, and a whole number",
				"%s = %s is not a whole number of the smallest unit", what, text);
		else
			nopal_problems_add(problems, NULL, 0, "write a smaller one",
					   "%s = %s does not fit in 63 bits", what, text);
		return false;
	}
	quantity.value = number.negative ? -whole : whole;
	*ret = quantity;
	return true;
}

bool nopal__quantity_read(const char *text, enum nopal_unit unit, const char *choices,
			  const char *what, struct nopal_quantity *ret_quantity,
			  struct nopal_problems *problems)
{
	struct nopal_quantity at = { 0 };
	const char *wrong;

	if (unit == NOPAL_SWITCH)
		return units_word(text, units_switch, what, ret_quantity, problems);
	if (unit == NOPAL_WORD)
		return units_word(text, choices ? choices : "", what, ret_quantity, problems);
	if (unit == NOPAL_FILE) { /* which is read by who knows where it lies */
		*ret_quantity = (struct nopal_quantity){ .value = *text != 0 };
		return true;
	}
	if (unit != NOPAL_ADDRESS)
		return units_measure(text, unit, what, ret_quantity, problems);
	wrong = nopal__address_read(text, &at.address);
	if (!wrong)
		*ret_quantity = at;
	else
		nopal_problems_add(problems, NULL, 0,
				   "write an address in digits, like 239.1.2.3:9000, "
				   "[ff15::1:2]:9000 or [ff02::1:2%eth0]:9000",
				   "%s = %s is not an address: %s", what, *text ? text : "\"\"",
				   wrong);
	return !wrong;
}

int nopal_quantity_parse(const char *text, int unit, const char *what, int64_t *ret_value,
			 struct nopal_problems *problems)
{
	struct nopal_quantity quantity;

	if (unit < 0 || unit >= NOPAL_WORD)
		return -EINVAL; /* no numbers */
	if (!nopal__quantity_read(text, (enum nopal_unit)unit, NULL, what, &quantity, problems))
		return -EINVAL;
	if (quantity.in_segments) {
		nopal_problems_add(problems, NULL, 0, "write it in bytes",
				   "%s = %s: only a microprotocol's section "
				   "knows how long a segment is",
				   what, text);
		return -EINVAL;
	}
	*ret_value = quantity.value;
	return 0;
}

/* -------------------------------------------------------------------- writing */

/* Room for any quantity but a word's. */
enum { UNITS_TEXT = NOPAL_ADDRESS_TEXT + 32 };

static const char *units_text(const struct nopal_quantity *quantity, enum nopal_unit unit,
			      char *text)
{
	const struct units_family *family = &units_families[unit];
	const struct units_word *largest = family->words;

	if (quantity->in_segments) {
		snprintf(text, UNITS_TEXT, "%" PRId64 "seg", quantity->value);
	} else if (unit == NOPAL_PERCENT) {
		int length = snprintf(text, UNITS_TEXT, "%" PRId64 ".%04" PRId64,
				      quantity->value / UNITS_PARTS_IN_PERCENT,
				      quantity->value % UNITS_PARTS_IN_PERCENT);

		while (text[length - 1] == '0')
			length--;
		length -= text[length - 1] == '.';
		strcpy(text + length, "%");
	} else if (unit == NOPAL_ADDRESS) {
		nopal_address_format(&quantity->address, text);
	} else if (!family->words) {
		snprintf(text, UNITS_TEXT, "%" PRId64, quantity->value);
	} else {
		/* The largest unit that divides it without a rest. */
		for (const struct units_word *word = largest; word->name && quantity->value; word++)
			if (word->scale > largest->scale && quantity->value % word->scale == 0)
				largest = word;
		snprintf(text, UNITS_TEXT, "%" PRId64 "%s", quantity->value / largest->scale,
			 largest->name);
	}
	return text;
}

const char *nopal__quantity_text(struct nopal_arena *arena, struct nopal_quantity quantity,
				 enum nopal_unit unit, const char *choices)
{
	char text[UNITS_TEXT];

	if (unit == NOPAL_SWITCH)
		choices = units_switch;
	for (int64_t index = 0; choices; index++) {
		const char *one;
		size_t length = nopal__next_word(&choices, '|', &one);

		if (index == quantity.value)
			return nopal__copy_part(arena, one, length);
	}
	return nopal__copy(arena, units_text(&quantity, unit, text));
}

/* -------------------------------------------------------------------- ranges */

/* Compares where it can be told: above 0, below 0, or 0: equal or unknown.  Addresses by their
 * bytes, and then by their ports. */
static int units_against(struct nopal_quantity quantity, enum nopal_unit unit, const char *bound)
{
	struct nopal_quantity limit;
	int by_ip;

	if (!bound || !nopal__quantity_read(bound, unit, NULL, "", &limit, NULL) ||
	    limit.in_segments != quantity.in_segments)
		return 0;
	if (unit != NOPAL_ADDRESS)
		return (quantity.value > limit.value) - (quantity.value < limit.value);
	by_ip = memcmp(quantity.address.ip, limit.address.ip, sizeof(limit.address.ip));
	return by_ip ? by_ip : quantity.address.port - limit.address.port;
}

bool nopal__quantity_outside(struct nopal_quantity quantity, enum nopal_unit unit, const char *min,
			     const char *max, const char *what, struct nopal_problems *problems)
{
	char text[UNITS_TEXT];

	if (unit == NOPAL_SWITCH || unit == NOPAL_WORD || unit == NOPAL_FILE)
		return false;
	if (units_against(quantity, unit, min) >= 0 && units_against(quantity, unit, max) <= 0)
		return false;
	nopal_problems_add(problems, NULL, 0, NULL, "%s = %s is out of range (%s to %s)", what,
			   units_text(&quantity, unit, text), min ? min : "any", max ? max : "any");
	if (min && max)
		nopal__problems_fix(problems, "write one from %s to %s", min, max);
	else if (min)
		nopal__problems_fix(problems, "write %s or more", min);
	else
		nopal__problems_fix(problems, "write %s or less", max);
	return true;
}
