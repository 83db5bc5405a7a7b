/* SPDX-License-Identifier: MIT */
/*
 * oracle_talk.c -- what the sides of the oracle say: messages that are known by their bytes, when
 * they are sent, and what is said of them.
 *
 * A message begins with its name, which is of no other message of any side.  The shortest have no
 * room for that: one of a byte is its index, and of those without a byte each side sends one.
 */
#include <errno.h>
#include <string.h>

#include "support/oracle.h"

enum {
	NAME_BYTES = 4,
	BURST = 8,
	SEGMENT_MAX = 9000,
	USUAL_MAX = 6000,
	/* one message in so many has it */
	URGENT = 8,
	OUT_OF_BAND = 6,
	EXPENDABLE = 6,
	RELATED = 2,
	ONLY = 6,
	WITHDRAWN = 8,
	EARLY = 4,  /* one in so many may not travel in the request to open */
	UNSENT = 6, /* one side in so many has a limit for what has not left */
};
#define DEADLINE_MAX_NS ((uint64_t)(300 * NOPAL_MILLISECOND))
/* Of the calm: time until the late messages are sent, and from one to the next. */
#define SETTLED_NS  (6 * NOPAL_SECOND)
#define LATE_GAP_NS (300 * NOPAL_MILLISECOND)

/* ------------------------------------------------------------------- messages */

static uint32_t name_of(const struct oracle_side *sender, uint32_t index)
{
	return ORACLE_SIDES * index + sender->number;
}

static uint8_t byte_of(uint32_t name, size_t at)
{
	return (uint8_t)(name * 131u + at * 7u + (at >> 8));
}

static void fill(const struct oracle_side *side, uint32_t index, uint8_t *bytes, size_t length)
{
	uint32_t name = name_of(side, index);

	if (length == 1)
		bytes[0] = (uint8_t)index;
	if (length < NAME_BYTES)
		return;
	for (size_t at = NAME_BYTES; at < length; at++)
		bytes[at] = byte_of(name, at);
	for (unsigned i = 0; i < NAME_BYTES; i++)
		bytes[i] = (uint8_t)(name >> 8 * i);
}

static int index_of_short(const struct oracle_side *sender, const uint8_t *bytes, size_t length)
{
	for (uint32_t i = 0; i < sender->pushed; i++)
		if (sender->message[i].length == length && (!length || bytes[0] == i))
			return (int)i;
	return -1;
}

int oracle_index_of(const struct oracle_side *sender, const uint8_t *bytes, size_t length)
{
	uint32_t name = 0, index;

	if (length < NAME_BYTES)
		return index_of_short(sender, bytes, length);
	for (unsigned i = 0; i < NAME_BYTES; i++)
		name |= (uint32_t)bytes[i] << 8 * i;
	index = name / ORACLE_SIDES;
	if (index >= sender->pushed || name != name_of(sender, index) ||
	    sender->message[index].length != length)
		return -1;
	for (size_t at = NAME_BYTES; at < length; at++)
		if (bytes[at] != byte_of(name, at))
			return -1;
	return (int)index;
}

/* ------------------------------------------------------------ what they are */

/* Each length as likely as any other: the same for two compositions that both carry the longest. */
static uint32_t even_draw(struct oracle *oracle)
{
	uint64_t length =
		NAME_BYTES + draw_below(&oracle->draw, oracle->run->longest - NAME_BYTES + 1);

	return length < oracle->longest ? (uint32_t)length : oracle->longest;
}

static uint32_t length_draw(struct oracle *oracle, bool *empty)
{
	uint32_t segment = nopal_plan_info(oracle->plan)->body_bytes;
	uint64_t length;

	if (oracle->run->longest)
		return even_draw(oracle);
	switch (draw_below(&oracle->draw, 16)) {
	case 0:
		length = *empty ? 1 : 0;
		*empty = true;
		break;
	case 1:
		length = 1;
		break;
	case 2:
	case 3:
		length = segment < SEGMENT_MAX ? segment - 1 + draw_below(&oracle->draw, 3)
					       : NAME_BYTES;
		break;
	case 4:
		length = 1 + draw_below(&oracle->draw, ORACLE_LONGEST - 1);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		length = 1 + draw_below(&oracle->draw, USUAL_MAX);
		break;
	default:
		length = NAME_BYTES + draw_below(&oracle->draw, 200);
	}
	if (length > oracle->longest)
		length = oracle->longest;
	if (length < nopal_plan_info(oracle->plan)->message_min)
		length = nopal_plan_info(oracle->plan)->message_min;
	return length > 1 && length < NAME_BYTES ? 1 : (uint32_t)length;
}

/* One in so many of a side's messages. */
static bool one_in(struct oracle *oracle, uint64_t so_many)
{
	return draw_below(&oracle->draw, so_many) == 0;
}

/* The application's attributes of a message, of what the composition listens to. */
static void class_draw(struct oracle_side *side, uint32_t index)
{
	static const uint8_t chance[ORACLE_PROPERTIES] = { URGENT,     OUT_OF_BAND, EXPENDABLE,
							   EXPENDABLE, 1,	    RELATED,
							   1,	       ONLY };
	struct oracle *oracle = side->oracle;
	struct oracle_message *message = &side->message[index];

	message->after = -1;
	if (oracle->run->plain || !oracle->run->answers)
		return;
	for (unsigned i = 0; i < ORACLE_PROPERTIES; i++)
		if (oracle->property[i] && one_in(oracle, chance[i]))
			message->class |= (uint8_t)(1u << i);
	if (message->class & ORACLE_AFTER && index)
		message->after = (int16_t)draw_below(&oracle->draw, index);
	else
		message->class &= (uint8_t)~ORACLE_AFTER;
	if (message->class & ORACLE_TAG)
		message->tag = (uint8_t)draw_below(&oracle->draw, ORACLE_TAGS);
	if (message->class & ORACLE_DESTINATION && oracle->group && side->opener)
		message->only = (uint8_t)(2 + draw_below(&oracle->draw, oracle->pairs));
	else
		message->class &= (uint8_t)~ORACLE_DESTINATION;
}

/* All at once; or bursts, and the last few when it is calm. */
static void due_draw(struct oracle_side *side, uint32_t late)
{
	struct oracle *oracle = side->oracle;
	const struct oracle_run *run = oracle->run;
	int64_t at_ns = 0;

	for (uint32_t i = 0; i < late && run->answers; i++) {
		if (one_in(oracle, BURST))
			at_ns += (int64_t)draw_below(
				&oracle->draw, 1 + 2 * BURST * (uint64_t)run->spread_ns / late);
		side->message[i].due_ns = at_ns < run->spread_ns ? at_ns : run->spread_ns;
	}
	for (uint32_t i = late; i < side->messages; i++)
		side->message[i].due_ns =
			weather_calm_ns(&oracle->weather) + SETTLED_NS + (i - late) * LATE_GAP_NS;
}

void oracle_plan_messages(struct oracle_side *side, uint32_t messages)
{
	bool empty = false, calm = side->oracle->run->answers && messages > ORACLE_LATE;

	side->messages = messages;
	due_draw(side, calm ? messages - ORACLE_LATE : messages);
	for (uint32_t i = 0; i < messages; i++) {
		side->message[i].length = length_draw(side->oracle, &empty);
		class_draw(side, i);
	}
}

/* -------------------------------------------------------------------- sending */

static void push_again(void *user)
{
	oracle_push(user);
}

static uint64_t property_of(const struct oracle_side *side, uint32_t index, unsigned bit)
{
	const struct oracle_message *message = &side->message[index];
	struct draw from = draw_of(side->oracle->run->seed + index);

	switch (1u << bit) {
	case ORACLE_DEADLINE:
		return 1 + draw_below(&from, DEADLINE_MAX_NS);
	case ORACLE_ATTEMPTS:
		return 1 + draw_below(&from, 3);
	case ORACLE_LABEL:
		return index + 1;
	case ORACLE_AFTER:
		return (uint64_t)message->after + 1;
	case ORACLE_TAG:
		return message->tag;
	case ORACLE_DESTINATION:
		return (uint64_t)side->oracle->side[message->only - 1].destination;
	default:
		return 1;
	}
}

static size_t say(const struct oracle_side *side, uint32_t index, struct nopal_property *properties)
{
	const struct oracle *oracle = side->oracle;
	struct draw from = draw_of(oracle->run->seed + index);
	size_t count = 0;

	/* Where it is on its way before the session is open, nothing less is promised of it. */
	if (draw_below(&from, EARLY))
		properties[count++] =
			(struct nopal_property){ nopal_property(oracle->plan, "early"), 1 };

	for (unsigned bit = 0; bit < ORACLE_PROPERTIES; bit++)
		if (side->message[index].class & 1u << bit)
			properties[count++] = (struct nopal_property){
				side->oracle->property[bit],
				property_of(side, index, bit),
			};
	return count;
}

static int send_one(struct oracle_side *side)
{
	static uint8_t bytes[ORACLE_LONGEST];
	struct nopal_property properties[ORACLE_PROPERTIES + 1];
	uint32_t index = side->pushed;
	struct oracle_message *message = &side->message[index];
	int result;

	fill(side, index, bytes, message->length);
	message->sent_ns = nopal_world_now(side->oracle->world);
	side->pushed++; /* it may arrive before the call returns */
	result = nopal_send_message(
		side->session,
		&(struct nopal_outgoing){ .bytes = bytes,
					  .length = message->length,
					  .cookie = index,
					  .properties = properties,
					  .property_count = say(side, index, properties) });
	if (result < 0)
		side->pushed--;
	return result;
}

/* Takes some messages back at once; where they wait, that is in time. */
static void withdraw_some(struct oracle_side *side, uint32_t index)
{
	const struct oracle_run *run = side->oracle->run;
	struct draw from = draw_of(run->seed ^ name_of(side, index));
	int result;

	if (run->plain || !run->answers || index + ORACLE_LATE >= side->messages ||
	    draw_below(&from, WITHDRAWN))
		return;
	result = nopal_withdraw(side->session, index);
	if (result == 0)
		side->message[index].withdrawn = true;
	else if (result != -ENOENT && result != -EALREADY && result != -ENOTSUP && result != -EPIPE)
		oracle_violated(side->oracle, "a withdrawal was refused: %s", strerror(-result));
}

/* Has all been sent that is due?  Else there is more room later. */
static bool push_due(struct oracle_side *side)
{
	struct oracle *oracle = side->oracle;

	while (side->session && side->pushed < side->messages &&
	       side->message[side->pushed].due_ns <= nopal_world_now(oracle->world)) {
		int result = send_one(side);

		if (result == 0 && side->session)
			withdraw_some(side, side->pushed - 1);
		if (result == 0)
			continue;
		if (result == -EAGAIN || result == -EPIPE)
			return false; /* more room later; or it is about to end */
		oracle_violated(oracle, "a send was refused: %s", strerror(-result));
		return false;
	}
	return true;
}

bool oracle_closes_itself(const struct oracle *oracle)
{
	return !oracle->run->answers || oracle->handshake;
}

void oracle_close(struct oracle_side *side)
{
	side->closing = true;
	if (side->session)
		nopal_session_close(side->session);
}

static void limit_unsent(struct oracle_side *side)
{
	struct draw from = draw_of(side->oracle->run->seed * ORACLE_SIDES + side->number);
	struct nopal_budget budget = { 0 };

	/* One of a group's has sent all in time before the group closes, or never does. */
	if (side->oracle->run->plain || (side->oracle->group && !side->opener) ||
	    draw_below(&from, UNSENT))
		return;
	if (draw_below(&from, 2))
		budget.unsent_messages = (uint32_t)(1 + draw_below(&from, 3));
	else
		budget.unsent_bytes = 1 + draw_below(&from, USUAL_MAX);
	nopal_session_set_budget(side->session, &budget);
}

void oracle_push(struct oracle_side *side)
{
	if (!side->session || side->gathers)
		return;
	if (!side->pushed)
		limit_unsent(side);
	if (!push_due(side) || !side->session)
		return;
	if (side->pushed < side->messages)
		nopal_sim_at(side->oracle->world, side->message[side->pushed].due_ns, push_again,
			     side);
	else if (oracle_closes_itself(side->oracle) &&
		 (side->opener || !side->oracle->group || side->peer_closed))
		oracle_close(side);
}
