/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "engine/segment.h"
#include "engine/turn.h"
#include "support/arrivals.h"
#include "support/test.h"

void arrive_with(struct nopal_at at, const uint64_t *values, unsigned count)
{
	struct nopal_composite *composite = nopal__composite(at.session);
	bool outermost = nopal__turn_begin(composite->world);
	struct nopal_segment *segment;
	struct nopal_message *message;
	struct nopal_buffer *buffer = nopal_buffer_new(RIG_TEXT);
	int length = snprintf((char *)nopal_buffer_bytes(buffer), RIG_TEXT, "%llu",
			      (unsigned long long)values[0]);

	nopal__touch(composite);
	segment = nopal__segment_make(composite, NOPAL_KIND_DATA);
	segment->incoming = true;
	message = nopal_message_arriving(at.session, segment);
	nopal_message_put(
		at.session, message, 0,
		(struct nopal_body){ buffer, nopal_buffer_bytes(buffer), (uint32_t)length });
	nopal_buffer_free(buffer);
	for (unsigned i = 0; i < count; i++)
		nopal_set(at, message, i, values[i]);
	nopal_raise_MSG_FROM_NET(at.session, message);
	nopal__segment_free(composite, segment);
	nopal__turn_end(composite->world, outermost);
}

void arrive_at(struct nopal_at at, uint64_t first, uint64_t next)
{
	const uint64_t values[] = { first, next };

	arrive_with(at, values, 2);
}

void arrive(struct nopal_at at, uint64_t number)
{
	arrive_at(at, number, number + 1);
}

static void swap_order(unsigned *a, unsigned *b)
{
	unsigned kept = *a;

	*a = *b;
	*b = kept;
}

bool next_order(unsigned *order, unsigned count)
{
	unsigned i = count - 1, j = count - 1;

	while (i && order[i - 1] >= order[i])
		i--;
	if (!i)
		return false;
	while (order[j] <= order[i - 1])
		j--;
	swap_order(&order[i - 1], &order[j]);
	for (unsigned a = i, b = count - 1; a < b; a++, b--)
		swap_order(&order[a], &order[b]);
	return true;
}

void assert_delivered(const struct rig_side *side, uint32_t place, uint64_t number)
{
	char text[RIG_TEXT];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	assert_string_equal(side->text[place], text);
}
