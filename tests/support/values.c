/* SPDX-License-Identifier: MIT */
#include "support/values.h"

#include <stdlib.h>
#include <string.h>

#include <nopal/nopal.h>
#include "support/said.h"
#include "base/text.h"
#include "base/units.h"

enum { NEAR = 4 };

static char *word_draw(struct draw *from, const char *choices)
{
	const char *rest = choices, *word = NULL;
	size_t count = 1, length = 0;

	for (const char *at = choices; *at; at++)
		count += *at == '|';
	for (uint64_t i = 0, which = draw_below(from, count); i <= which; i++)
		length = nopal__next_word(&rest, '|', &word);
	return strndup(word, length);
}

static struct nopal_quantity quantity_of(const char *text, const struct nopal_parameter *parameter)
{
	struct nopal_quantity quantity = { 0 };
	struct nopal_problems problems = { 0 };

	nopal__quantity_read(text, parameter->unit, parameter->choices, parameter->name, &quantity,
			     &problems);
	nopal_problems_fini(&problems);
	return quantity;
}

/* Between the two, each magnitude as often as any other. */
static int64_t between(struct draw *from, int64_t min, int64_t max)
{
	int64_t high = min > 0 ? min : 1, twice = high;
	unsigned magnitudes = 0;

	for (; twice < max; twice *= 2) {
		magnitudes++;
		if (twice > INT64_MAX / 2)
			break;
	}
	for (uint64_t left = draw_below(from, magnitudes + 1); left; left--)
		high *= 2;
	high += (int64_t)draw_below(from, (uint64_t)high);
	return high < max ? high : max;
}

/* A quarter of the initial value up to four times as much. */
static struct nopal_quantity near(struct draw *from, const struct nopal_parameter *parameter)
{
	struct nopal_quantity value = quantity_of(parameter->initial, parameter);

	value.value = value.value / NEAR * (int64_t)(1 + draw_below(from, NEAR * NEAR)) +
		      value.value % NEAR;
	return value;
}

static struct nopal_quantity number_draw(struct draw *from, const struct nopal_parameter *parameter)
{
	struct nopal_quantity min, max, value;

	if (!parameter->min || !parameter->max)
		return near(from, parameter);
	min = quantity_of(parameter->min, parameter);
	max = quantity_of(parameter->max, parameter);
	switch (draw_below(from, 6)) {
	case 0:
		return min;
	case 1:
		return max;
	case 2:
		if (min.in_segments != max.in_segments)
			return min;
		min.value = between(from, min.value, max.value);
		return min;
	default:
		value = near(from, parameter);
		if (value.in_segments == min.in_segments && value.value < min.value)
			return min;
		if (value.in_segments == max.in_segments && value.value > max.value)
			return max;
		return value;
	}
}

char *value_draw(struct draw *from, const struct nopal_parameter *parameter)
{
	struct nopal_arena arena = { 0 };
	char *text;

	switch (parameter->unit) {
	case NOPAL_WORD:
		return word_draw(from, parameter->choices);
	case NOPAL_SWITCH:
		return strdup(draw_happens(from, 50) ? "on" : "off");
	case NOPAL_ADDRESS:
		return said("\"%s\"",
			    draw_happens(from, 50) ? parameter->initial : "[ff15::4d:1]:9077");
	case NOPAL_FILE:
		return NULL;
	case NOPAL_COUNT:
	case NOPAL_TIME:
	case NOPAL_SIZE:
	case NOPAL_RATE:
	case NOPAL_PERCENT:
		break;
	}
	text = strdup(nopal__quantity_text(&arena, number_draw(from, parameter), parameter->unit,
					   parameter->choices));
	nopal__arena_release(&arena);
	return text;
}
