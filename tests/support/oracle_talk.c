/* SPDX-License-Identifier: MIT */
/*
 * oracle_talk.c -- what the two sides of the oracle say: messages that are known
 * by their bytes, when they are sent, and what is said of them.
 */
#include <errno.h>
#include <string.h>

#include "oracle.h"

enum {
	INDEX_BYTES = 4,
	BURST = 8,
	PROPERTIES = 8,
	/* one message in so many has it */
	URGENT = 8,
	OUT_OF_BAND = 6,
	EXPENDABLE = 6,
	RELATED = 2,
};
#define DEADLINE_MOST_NS ((uint64_t)(300 * NOPAL_MILLISECOND))
/* Of the calm: time until the late messages are sent, and from one to the next. */
#define SETTLED_NS  (6 * NOPAL_SECOND)
#define LATE_GAP_NS (300 * NOPAL_MILLISECOND)

uint64_t oracle_draw(struct oracle *oracle)
{
	oracle->random ^= oracle->random << 13;
	oracle->random ^= oracle->random >> 7;
	oracle->random ^= oracle->random << 17;
	return oracle->random;
}

/* ------------------------------------------------------------------- messages */

/* Different from each side, so that nothing comes back unseen. */
static uint32_t name_of(const struct oracle_side *sender, uint32_t index)
{
	return 2 * index + (sender == &sender->oracle->receiver);
}

static uint8_t byte_of(uint32_t name, size_t at)
{
	return (uint8_t)(name * 131u + at * 7u + (at >> 8));
}

static void fill(uint32_t name, uint8_t *bytes, size_t length)
{
	for (size_t at = INDEX_BYTES; at < length; at++)
		bytes[at] = byte_of(name, at);
	for (unsigned i = 0; i < INDEX_BYTES; i++)
		bytes[i] = (uint8_t)(name >> 8 * i);
}

int64_t oracle_index_of(const struct oracle_side *sender, const uint8_t *bytes,
			size_t length)
{
	uint32_t name = 0;

	if (length < INDEX_BYTES)
		return -1;
	for (unsigned i = 0; i < INDEX_BYTES; i++)
		name |= (uint32_t)bytes[i] << 8 * i;
	if (name != name_of(sender, name / 2) || name / 2 >= sender->pushed)
		return -1;
	for (size_t at = INDEX_BYTES; at < length; at++)
		if (bytes[at] != byte_of(name, at))
			return -1;
	return name / 2;
}

/* -------------------------------------------------------------------- sending */

static void push_again(void *user)
{
	oracle_push(user);
}

/* One in so many of a side's messages. */
static bool one_in(struct oracle *oracle, uint64_t so_many)
{
	return oracle_draw(oracle) % so_many == 0;
}

/* Says something of the next message, of what the composition listens to; returns
 * how much. */
static size_t say(struct oracle_side *side, struct nopal_property *properties)
{
	struct oracle *oracle = side->oracle;
	const struct nopal_plan *plan = oracle->plan;
	struct nopal_property *at = properties;
	uint32_t index = side->pushed;
	unsigned which;

	side->after[index] = -1;
	if (one_in(oracle, URGENT))
		*at++ = (struct nopal_property){ nopal_property(plan, "urgent"),
						 1 };
	which = nopal_property(plan, "out_of_band");
	if (which && one_in(oracle, OUT_OF_BAND)) {
		side->marks[index] |= ORACLE_OUT_OF_BAND;
		*at++ = (struct nopal_property){ which, 1 };
	}
	which = nopal_property(plan, "deadline");
	if (which && one_in(oracle, EXPENDABLE)) {
		side->marks[index] |= ORACLE_EXPENDABLE;
		*at++ = (struct nopal_property){
			which, 1 + oracle_draw(oracle) % DEADLINE_MOST_NS
		};
	}
	which = nopal_property(plan, "attempts");
	if (which && one_in(oracle, EXPENDABLE)) {
		side->marks[index] |= ORACLE_EXPENDABLE;
		*at++ = (struct nopal_property){ which,
						 1 + oracle_draw(oracle) % 3 };
	}
	which = nopal_property(plan, "label");
	if (which)
		*at++ = (struct nopal_property){ which, index + 1 };
	which = nopal_property(plan, "after");
	if (which && index && one_in(oracle, RELATED)) {
		side->after[index] = (int16_t)(oracle_draw(oracle) % index);
		*at++ = (struct nopal_property){
			which, (uint64_t)side->after[index] + 1
		};
	}
	return (size_t)(at - properties);
}

/* Has all been sent that is due?  Else there is more room later. */
static bool push_due(struct oracle_side *side)
{
	struct oracle *oracle = side->oracle;
	struct nopal_property properties[PROPERTIES];
	uint8_t bytes[ORACLE_LONGEST];
	size_t count;

	while (side->session && side->pushed < side->messages &&
	       side->due_ns[side->pushed] <= nopal_world_now(oracle->world)) {
		size_t length =
			INDEX_BYTES +
			oracle_draw(oracle) % (oracle->longest - INDEX_BYTES);
		int result;

		fill(name_of(side, side->pushed), bytes, length);
		count = oracle->run->answers ? say(side, properties) : 0;
		side->pushed++; /* it may arrive before the call returns */
		result = nopal_send_with(side->session, bytes, length,
					 side->pushed - 1, properties, count);
		if (result == 0)
			continue;
		side->pushed--;
		if (result == -EAGAIN || result == -EPIPE)
			return false; /* more room later; or it is about to end */
		oracle_violated(oracle, "a send was refused: %s",
				strerror(-result));
		return false;
	}
	return true;
}

/* A handshake closes each direction by itself; without one, both sides end when
 * all must have arrived. */
bool oracle_closes_itself(const struct oracle *oracle)
{
	return !oracle->run->answers || oracle->promises.handshake;
}

void oracle_close(struct oracle_side *side)
{
	side->closing = true;
	if (side->session)
		nopal_session_close(side->session);
}

void oracle_push(struct oracle_side *side)
{
	if (!side->session || !push_due(side) || !side->session)
		return;
	if (side->pushed < side->messages)
		nopal_sim_at(side->oracle->world, side->due_ns[side->pushed],
			     push_again, side);
	else if (oracle_closes_itself(side->oracle))
		oracle_close(side);
}

/* All at once; or bursts, and the last few when it is calm. */
void oracle_plan_messages(struct oracle_side *side)
{
	struct oracle *oracle = side->oracle;
	const struct oracle_run *run = oracle->run;
	uint32_t late =
		run->answers ? side->messages - ORACLE_LATE : side->messages;
	int64_t at_ns = 0;

	for (uint32_t i = 0; i < late && run->answers; i++) {
		if (oracle_draw(oracle) % BURST == 0)
			at_ns += (int64_t)(oracle_draw(oracle) %
					   (2 * BURST *
					    (uint64_t)run->spread_ns / late));
		side->due_ns[i] =
			at_ns < run->spread_ns ? at_ns : run->spread_ns;
	}
	for (uint32_t i = late; i < side->messages; i++)
		side->due_ns[i] =
			run->calm_ns + SETTLED_NS + (i - late) * LATE_GAP_NS;
}
