/* SPDX-License-Identifier: MIT */
/*
 * oracle_judge.c -- what is promised of each message, and what is held against it.
 */
#include <stdio.h>
#include <string.h>

#include "compose/compose.h"
#include "plan/plan.h"
#include "registry/registry.h"
#include "support/oracle.h"
#include "oracle.h"

const char *const oracle_properties[ORACLE_PROPERTIES] = {
	"urgent", "out_of_band", "deadline", "attempts", "label", "after", "tag", "destination",
};

/* -------------------------------------------------------------------- promises */

static void class_names(unsigned class, char *text, size_t room)
{
	*text = '\0';
	for (unsigned i = 0; i < ORACLE_PROPERTIES; i++)
		if (class & 1u << i)
			snprintf(text + strlen(text), room - strlen(text), "%s%s", *text ? "|" : "",
				 oracle_properties[i]);
}

static int64_t bound_of(const struct nopal_plan *plan, const struct nopal_guarantee *one)
{
	const struct nopal_parameter *parameter = NULL;
	const struct nopal_part *part;

	if (one->part < 0 || !one->row->bound)
		return 0;
	part = nopal_plan_part(plan, (size_t)one->part);
	parameter = nopal__parameter_find(part->microprotocol, one->row->bound,
					  strlen(one->row->bound));
	return parameter ? nopal__parameter_get(part->parameters, parameter) : 0;
}

const struct oracle_promise *oracle_promise(struct oracle *oracle, unsigned class)
{
	struct oracle_promise *promise = &oracle->promise[class];
	struct nopal_service service;
	char text[128];

	if (promise->known)
		return promise;
	class_names(class, text, sizeof(text));
	nopal_plan_service(oracle->plan, 0, *text ? text : NULL, &service);
	for (unsigned i = 0; i < NOPAL_QUALITIES; i++) {
		promise->value[i] = service.quality[i].value;
		promise->bound[i] = bound_of(oracle->plan, &service.quality[i]);
	}
	promise->part_of_death = service.quality[NOPAL_DEATH].part;
	promise->known = true;
	return promise;
}

/* A message of one of the many is for one alone. */
static unsigned class_of(const struct oracle_side *from, int index)
{
	unsigned class = from->message[index].class;

	return from->oracle->group && !from->opener ? class | ORACLE_DESTINATION : class;
}

static bool promised(const struct oracle_side *from, int index, enum nopal_quality quality,
		     unsigned guarantee)
{
	return oracle_promised(from->oracle, class_of(from, index), quality, guarantee);
}

/* -------------------------------------------------------------------- receiving */

bool oracle_speaks_to(const struct oracle_side *from, const struct oracle_side *to)
{
	const struct oracle *oracle = from->oracle;

	if (from->opener == to->opener)
		return false;
	return oracle->group || (from->number + oracle->pairs == to->number ||
				 to->number + oracle->pairs == from->number);
}

bool oracle_is_for(const struct oracle_side *from, const struct oracle_message *message,
		   const struct oracle_side *to)
{
	return oracle_speaks_to(from, to) && (!message->only || message->only == 1 + to->number);
}

static const char *called(const struct oracle_side *side)
{
	static const char *const openers[] = { "opener", "opener 1", "opener 2", "opener 3" };
	static const char *const listeners[] = { "listener", "listener 1", "listener 2",
						 "listener 3" };

	if (side->opener)
		return openers[side->number];
	return listeners[side->number - side->oracle->openers];
}

/* Before it all has come that was sent before it, but for what may be given up; of what is for all,
 * or of what is for one alone: these may take different ways. */
static void check_gaps(struct oracle_side *side, struct oracle_side *from, int index)
{
	const struct oracle_heard *heard = &side->heard[from->number];
	const struct oracle_message *one = from->message;

	if (!promised(from, index, NOPAL_ORDER, NOPAL_GAPLESS))
		return;
	for (int due = 0; due < index; due++)
		if (!heard->seen[due] && !one[due].withdrawn && one[due].only == one[index].only &&
		    oracle_is_for(from, &from->message[due], side) &&
		    promised(from, due, NOPAL_ORDER, NOPAL_GAPLESS))
			oracle_violated(side->oracle,
					"order: message %d came to the %s, %d "
					"was due",
					index, called(side), due);
}

static void check_forward(struct oracle_side *side, struct oracle_side *from, int index)
{
	struct oracle_heard *heard = &side->heard[from->number];
	int *of_tag = &heard->newest_of_tag[from->message[index].tag];
	int *newest = &heard->newest[from->message[index].only != 0];

	if (promised(from, index, NOPAL_ORDER, NOPAL_FORWARD)) {
		if (index < *newest)
			oracle_violated(side->oracle,
					"order: message %d came to the %s "
					"after %d",
					index, called(side), *newest);
		else
			*newest = index;
	}
	if (!(from->message[index].class & ORACLE_TAG) || from->message[index].only ||
	    !promised(from, index, NOPAL_ORDER, NOPAL_BY_TAG))
		return;
	if (index < *of_tag)
		oracle_violated(side->oracle,
				"order: message %d came to the %s after %d, "
				"of the same tag",
				index, called(side), *of_tag);
	else
		*of_tag = index;
}

/* Before it, the message has come that it names, unless that took too long. */
static void check_named(struct oracle_side *side, struct oracle_side *from, int index)
{
	const struct oracle_heard *heard = &side->heard[from->number];
	const struct oracle_message *message = &from->message[index];
	int after = message->after;
	int64_t patience_ns =
		oracle_promise(side->oracle, class_of(from, index))->bound[NOPAL_ORDER];

	if (after >= 0 && !heard->seen[after] && !from->message[after].withdrawn &&
	    !side->oracle->set &&
	    nopal_world_now(side->oracle->world) < message->sent_ns + patience_ns &&
	    promised(from, index, NOPAL_ORDER, NOPAL_AFTER_NAMED) &&
	    promised(from, after, NOPAL_DELIVERY, NOPAL_ALL) &&
	    oracle_is_for(from, &from->message[after], side))
		oracle_violated(side->oracle,
				"order: message %d came to the %s before %d, "
				"which it names",
				index, called(side), after);
}

/* The application's own words travel with it. */
static void check_labels(struct oracle_side *side, struct oracle_side *from, int index,
			 const struct nopal_message *message)
{
	const struct oracle_message *sent = &from->message[index];
	unsigned label = side->oracle->property[ORACLE_LABEL_BIT];
	unsigned tag = side->oracle->property[ORACLE_TAG_BIT];

	if (!promised(from, index, NOPAL_LABELS, NOPAL_EACH_MESSAGE))
		return;
	if (sent->class & ORACLE_LABEL &&
	    nopal_message_property(message, label) != (uint64_t)index + 1)
		oracle_violated(side->oracle,
				"labels: message %d came to the %s with the "
				"label %llu",
				index, called(side),
				(unsigned long long)nopal_message_property(message, label));
	if (sent->class & ORACLE_TAG && nopal_message_property(message, tag) != sent->tag)
		oracle_violated(side->oracle,
				"labels: message %d came to the %s with "
				"another tag",
				index, called(side));
}

static void note_arrival(struct oracle_side *from, struct oracle_heard *heard, int index)
{
	struct oracle *oracle = from->oracle;
	int64_t now_ns = nopal_world_now(oracle->world);
	double delay = (double)(now_ns - from->message[index].sent_ns) / NOPAL_SECOND;

	oracle->last_ns = now_ns;
	oracle->traffic_then = oracle->traffic;
	from->arrivals++;
	from->delays += delay;
	from->delay_squares += delay * delay;
	from->overtaken += index < heard->latest;
	if (index > heard->latest)
		heard->latest = index;
}

void oracle_heard(struct oracle_side *side, struct oracle_side *from, int index,
		  const struct nopal_message *message)
{
	struct oracle_heard *heard = &side->heard[from->number];

	if (!oracle_is_for(from, &from->message[index], side))
		oracle_violated(side->oracle,
				"receivers: message %d came to the %s, and is "
				"not for it",
				index, called(side));
	if (heard->seen[index] && promised(from, index, NOPAL_DUPLICATES, NOPAL_ONCE_A_SESSION))
		oracle_violated(side->oracle, "duplicates: message %d came to the %s twice", index,
				called(side));
	if (from->message[index].withdrawn)
		oracle_violated(side->oracle, "message %d came to the %s, and was taken back",
				index, called(side));
	check_forward(side, from, index);
	check_gaps(side, from, index);
	check_named(side, from, index);
	check_labels(side, from, index, message);
	if (!heard->seen[index])
		note_arrival(from, heard, index);
	heard->delivered++;
	if (heard->seen[index] < UINT8_MAX)
		heard->seen[index]++;
}

/* ------------------------------------------------------------------------ outcomes */

/* How many have it, of how many that should. */
static unsigned have(const struct oracle_side *from, int index, unsigned *ret_should)
{
	struct oracle *oracle = from->oracle;
	unsigned count = 0;

	*ret_should = 0;
	for (unsigned i = 0; i < oracle->sides; i++) {
		const struct oracle_side *to = &oracle->side[i];

		if (!oracle_is_for(from, &from->message[index], to))
			continue;
		count += to->heard[from->number].seen[index] != 0;
		*ret_should += !to->dropped;
	}
	return count;
}

/* Does what is said to have arrived lie before so many as it is said for? */
static bool is_arrived(const struct oracle_side *from, int index)
{
	const struct oracle_promise *promise = oracle_promise(from->oracle, class_of(from, index));
	unsigned should, count = have(from, index, &should);

	if (promise->value[NOPAL_RECEIVERS] == NOPAL_EVERY)
		return count >= should;
	if (promise->value[NOPAL_RECEIVERS] & NOPAL_SO_MANY && promise->bound[NOPAL_RECEIVERS])
		return count >= should || count >= (unsigned)promise->bound[NOPAL_RECEIVERS];
	return count >= 1 || !should;
}

void oracle_outcome(struct oracle_side *side, uint64_t cookie, enum nopal_outcome outcome)
{
	struct oracle *oracle = side->oracle;

	side->outcomes++;
	if (cookie >= side->pushed) {
		oracle_violated(oracle, "the outcome of a message nobody sent");
		return;
	}
	if (side->message[cookie].outcome)
		oracle_violated(oracle, "a message has two outcomes");
	side->message[cookie].outcome = (uint8_t)(1 + outcome);
	if (outcome == NOPAL_OUTCOME_DELIVERED &&
	    promised(side, (int)cookie, NOPAL_OUTCOME, NOPAL_AT_APPLICATION) &&
	    !is_arrived(side, (int)cookie))
		oracle_violated(oracle,
				"outcome: message %llu of the %s is said to "
				"have arrived, and has not",
				(unsigned long long)cookie, called(side));
}

/* ------------------------------------------------------------------- at the end */

static void check_counters(struct oracle_side *side)
{
	struct oracle *oracle = side->oracle;
	const struct nopal_counters *counters = &side->counters;

	if (counters->rx_malformed && !oracle->corrupts && !oracle->interop)
		oracle_violated(oracle, "the %s did not understand its peer", called(side));
	/* found by address alone, a reset is taken for a sealed datagram */
	if (counters->rx_sealed_badly && !oracle->corrupts && !oracle->replays && !oracle->set &&
	    oracle->plan->demux == NOPAL_DEMUX_ID)
		oracle_violated(oracle, "the %s refused what its peer sealed", called(side));
	if (counters->misuses)
		oracle_violated(oracle, "a bit was released that was not held");
	if (counters->refused_sends)
		oracle_violated(oracle, "a send was asked for after SEGMENT_DONE");
}

static bool is_good(const struct oracle_side *side)
{
	return side->begun && side->ended && side->end == NOPAL_ENDED_WELL && !side->deserted;
}

/* May a context of headers have been lost that the sender relies on?  Then segments are lost in the
 * calm, until it defines the context anew. */
static bool misses_contexts(const struct oracle *oracle)
{
	return nopal_plan_provides(oracle->plan, "data_format") &&
	       !nopal_plan_provides(oracle->plan, "acknowledgement");
}

/* The first message that must arrive without anybody's promise: what is sent when it is calm,
 * unless an order waits for what was lost. */
static uint32_t first_due(const struct oracle_side *side)
{
	const struct oracle *oracle = side->oracle;

	if (!oracle->run->answers || oracle->run->cut_ns || side->messages < ORACLE_LATE ||
	    !weather_is_calm(&oracle->weather) || misses_contexts(oracle))
		return side->messages;
	return side->messages - ORACLE_LATE;
}

static void check_delivered(struct oracle_side *from, const struct oracle_side *to)
{
	for (uint32_t i = 0; i < from->pushed; i++) {
		bool all = promised(from, (int)i, NOPAL_DELIVERY, NOPAL_ALL);

		if (to->heard[from->number].seen[i] || from->message[i].withdrawn ||
		    !oracle_is_for(from, &from->message[i], to))
			continue;
		if (from->oracle->group && from->opener &&
		    !promised(from, (int)i, NOPAL_RECEIVERS, NOPAL_EVERY))
			continue;
		if (all)
			oracle_violated(from->oracle,
					"delivery: message %u of %u of the %s "
					"did not come to the %s",
					i, from->messages, called(from), called(to));
		else if (i >= first_due(from) && !from->message[i].class && !from->oracle->set &&
			 promised(from, (int)i, NOPAL_PROGRESS, NOPAL_GOES_ON) &&
			 !promised(from, (int)i, NOPAL_LATENESS, NOPAL_LATE_DROPPED))
			oracle_violated(from->oracle,
					"progress: message %u of %u of the %s "
					"did not come to the %s, although the "
					"network was calm",
					i, from->messages, called(from), called(to));
	}
}

/* A good end says that what must arrive has arrived. */
static void check_outcomes(struct oracle_side *side)
{
	for (uint32_t i = 0; i < side->pushed; i++) {
		int outcome = side->message[i].outcome - 1;

		if (side->message[i].withdrawn && outcome != NOPAL_OUTCOME_LOST)
			oracle_violated(
				side->oracle,
				"outcome: message %u of the %s was taken back, and is not said to be lost",
				i, called(side));
		if (!side->message[i].withdrawn &&
		    promised(side, (int)i, NOPAL_DELIVERY, NOPAL_ALL) &&
		    promised(side, (int)i, NOPAL_OUTCOME, NOPAL_AT_TRANSPORT) &&
		    outcome != NOPAL_OUTCOME_DELIVERED)
			oracle_violated(side->oracle,
					"outcome: the %s ended well, and "
					"message %u is not said to have "
					"arrived",
					called(side), i);
	}
}

/* A side whose peers all ended well, too, and that was there from the beginning. */
static void check_side(struct oracle_side *side)
{
	struct oracle *oracle = side->oracle;
	bool all_good = is_good(side);

	if (side->outcomes != side->pushed)
		oracle_violated(oracle, "%s: %u messages, %u outcomes", called(side), side->pushed,
				side->outcomes);
	if (is_good(side) && !oracle->broken) {
		if (side->pushed != side->messages)
			oracle_violated(oracle, "the %s sent %u of %u messages", called(side),
					side->pushed, side->messages);
		check_outcomes(side);
	}
	for (unsigned i = 0; i < oracle->sides; i++) {
		struct oracle_side *to = &oracle->side[i];

		if (!oracle_speaks_to(side, to))
			continue;
		if (is_good(side) && is_good(to))
			check_delivered(side, to);
		all_good &= is_good(to);
	}
	if (all_good)
		check_counters(side);
}

/* Without a handshake the first data introduces a session; where all of it was lost and flow
 * control lets no more go, nobody ever hears of it. */
static bool is_unheard(const struct oracle *oracle)
{
	if (oracle->handshake)
		return false;
	for (unsigned i = oracle->openers; i < oracle->sides; i++)
		if (!oracle->side[i].begun)
			return true;
	return false;
}

static bool may_stand_still(struct oracle *oracle)
{
	return !oracle_promised(oracle, 0, NOPAL_PROGRESS, NOPAL_GOES_ON);
}

/* A session that a cut, or a peer's end, leaves alone finds that out, where that is promised:
 * always, or while what has left waits for an ack. */
static bool is_left_alone(const struct oracle_side *side)
{
	struct oracle *oracle = side->oracle;
	const struct oracle_promise *promise = oracle_promise(oracle, 0);

	if (oracle_promised(oracle, 0, NOPAL_DEATH, NOPAL_NOTICED))
		return false;
	return !oracle_promised(oracle, 0, NOPAL_DEATH, NOPAL_WHILE_SENDING) ||
	       !oracle_waits_for_ack(side, promise->part_of_death);
}

/* Nobody is there any more who would speak to it. */
static bool has_no_peer(const struct oracle_side *side)
{
	struct oracle *oracle = side->oracle;

	for (unsigned i = 0; i < oracle->sides; i++)
		if (oracle_speaks_to(&oracle->side[i], side) && !oracle->side[i].ended)
			return false;
	return true;
}

static void check_ended(struct oracle_side *side)
{
	struct oracle *oracle = side->oracle;
	bool alone = oracle->run->cut_ns || oracle->broken || has_no_peer(side);

	if (side->ended || (!side->opener && !side->begun) || may_stand_still(oracle))
		return;
	/* its patience may be years; or its parameters choke it */
	if ((alone && is_left_alone(side)) ||
	    (oracle->set && (oracle->busy || (alone && oracle->tired))))
		return;
	if (oracle->run->cut_ns)
		oracle_violated(oracle, "death of the peer: the %s did not notice", called(side));
	else
		oracle_violated(oracle,
				"progress: the %s has not ended: %u of %u "
				"pushed, %u outcomes, %u heard",
				called(side), side->pushed, side->messages, side->outcomes,
				side->delivered);
}

void oracle_judge(struct oracle *oracle)
{
	bool still = false;

	oracle->unheard = is_unheard(oracle);
	for (unsigned i = 0; i < oracle->sides; i++) {
		check_ended(&oracle->side[i]);
		still |= oracle->side[i].begun && !oracle->side[i].ended;
	}
	if (still || oracle->unheard)
		return;
	for (unsigned i = 0; i < oracle->sides; i++)
		if (oracle->side[i].begun)
			check_side(&oracle->side[i]);
	if (oracle->handshake && !oracle->broken && !oracle->run->cut_ns)
		for (unsigned i = 0; i < oracle->sides; i++)
			if (!oracle->side[i].ended && !oracle->side[i].dropped)
				oracle_violated(oracle, "progress: the %s was never opened",
						called(&oracle->side[i]));
}
