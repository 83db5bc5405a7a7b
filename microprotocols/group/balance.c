/* SPDX-License-Identifier: MIT */
/*
 * balance -- each message goes to the few least loaded destinations.
 *
 * Paper:     the one-to-many, multi-stream transport, section 3.3 (CBAL: response
 *            time over the last while, and losses); Mitzenmacher, The power of two
 *            choices in randomized load balancing, IEEE TPDS 2001; Dahlin,
 *            Interpreting stale load information, IEEE TPDS 2000.
 * Differs:   the least loaded of all would draw everybody at once: of two that
 *            are drawn, the less loaded one is taken.  What is known grows old: it
 *            halves with every `memory`, so that who was slow is tried again.
 *            What a destination did not get goes to another one.
 * Needs:     destinations.
 * Provides:  destination_choice (exclusive).
 * Excludes:  nothing.
 * Handles:   SEND_SEGMENT, COPY_DONE.
 * Raises:    nothing.
 * Holds:     nothing.
 * Wire:      nothing.
 * Shares:    nothing.
 * Parameters: copies (default 1): destinations that get a message;
 *            memory (default 10s): in which what is known of one loses half of its
 *            weight;
 *            attempts (default 8): how often a message is given to others in place
 *            of those who did not get it.
 *
 * Load is the smoothed time from departure to the fate of a copy, once for each
 * that is under way, doubled for each loss of late.  What the application sends to
 * one by name goes there, whatever its load.
 */
#include "microprotocol.h"

struct balance_parameters {
	int64_t copies, memory_ns, attempts;
};

enum { BALANCE_ATTEMPTS, BALANCE_DESTINATION }; /* attributes */

/* What is noted of a destination. */
enum {
	BALANCE_TIME_NS,
	BALANCE_LOSSES, /* of late, in BALANCE_ONE-ths */
	BALANCE_AS_OF_NS,
	BALANCE_UNDER_WAY,
};
enum {
	BALANCE_ONE = 256,
	BALANCE_LOSSES_MOST = 16 * BALANCE_ONE,
	BALANCE_SMOOTH = 8, /* a new sample weighs one in so many */
	BALANCE_AGES_MOST = 32,
};

struct balance {
	uint32_t *open; /* indices of those that may be drawn */
	uint32_t room;
};

/* -------------------------------------------------------------------- load */

static void balance_age(const struct nopal_session *session,
			const struct balance_parameters *set,
			struct nopal_destination *destination)
{
	uint64_t *note = destination->note;
	int64_t ages = (session->now_ns - (int64_t)note[BALANCE_AS_OF_NS]) /
		       set->memory_ns;

	if (ages == 0)
		return;
	if (ages > BALANCE_AGES_MOST)
		ages = BALANCE_AGES_MOST;
	note[BALANCE_TIME_NS] >>= ages;
	note[BALANCE_LOSSES] >>= ages;
	note[BALANCE_AS_OF_NS] = (uint64_t)session->now_ns;
}

static uint64_t balance_load(const struct nopal_session *session,
			     const struct balance_parameters *set,
			     struct nopal_destination *destination)
{
	const uint64_t *note = destination->note;

	balance_age(session, set, destination);
	return nopal_scale(note[BALANCE_TIME_NS] + 1,
			   (note[BALANCE_UNDER_WAY] + 1)
				   << (note[BALANCE_LOSSES] / BALANCE_ONE),
			   1);
}

/* ------------------------------------------------------------------- choice */

/* Those that may be drawn; returns how many. */
static uint32_t balance_candidates(struct nopal_session *session,
				   struct balance *self)
{
	uint32_t count = nopal_destination_count(session), open = 0;

	if (count > self->room) {
		nopal_free(session, self->open);
		self->room = 0;
		self->open =
			nopal_alloc(session, 2 * count * sizeof(*self->open));
		if (!self->open)
			return 0;
		self->room = 2 * count;
	}
	for (uint32_t i = 0; i < count; i++)
		if (nopal_destination_takes(nopal_destination_at(session, i)))
			self->open[open++] = i;
	return open;
}

static uint32_t balance_draw(struct nopal_session *session, uint32_t below)
{
	return (uint32_t)((nopal_random(session) >> 32) * below >> 32);
}

/* Where in `open[0..count)` the less loaded of two is. */
static uint32_t balance_of_two(struct nopal_session *session,
			       const struct balance_parameters *set,
			       const struct balance *self, uint32_t count)
{
	uint32_t at[2] = { balance_draw(session, count),
			   balance_draw(session, count - 1) };
	uint64_t load[2];

	at[1] += at[1] >= at[0];
	for (int i = 0; i < 2; i++)
		load[i] = balance_load(
			session, set,
			nopal_destination_at(session, self->open[at[i]]));
	return at[load[1] < load[0]];
}

/* The chosen ones go to the end of the list. */
static enum nopal_verdict balance_on_send(struct nopal_session *session,
					  const struct nopal_part *part,
					  struct nopal_segment *segment)
{
	const struct balance_parameters *set = nopal_parameters(part);
	struct balance *self = nopal_state(session, part);
	uint32_t count, left;

	if (nopal_get(segment, part, BALANCE_DESTINATION))
		return NOPAL_CONTINUE;
	count = left = balance_candidates(session, self);
	while (left && count - left < (uint64_t)set->copies) {
		uint32_t at =
			left == 1 ? 0
				  : balance_of_two(session, set, self, left);
		uint32_t index = self->open[at];

		self->open[at] = self->open[--left];
		self->open[left] = index;
		nopal_destination_at(session, index)->note[BALANCE_UNDER_WAY]++;
	}
	nopal_copies_choose(session, self->open + left, count - left);
	return NOPAL_CONTINUE;
}

/* -------------------------------------------------------------------- fates */

static void balance_learn(const struct nopal_session *session,
			  const struct balance_parameters *set,
			  const struct nopal_copy *copy)
{
	uint64_t *note = copy->destination->note;
	uint64_t took_ns = (uint64_t)copy->took_ns;

	balance_age(session, set, copy->destination);
	note[BALANCE_AS_OF_NS] = (uint64_t)session->now_ns;
	if (note[BALANCE_UNDER_WAY])
		note[BALANCE_UNDER_WAY]--;
	if (copy->fate != NOPAL_ARRIVED &&
	    note[BALANCE_LOSSES] < BALANCE_LOSSES_MOST)
		note[BALANCE_LOSSES] += BALANCE_ONE;
	if (note[BALANCE_TIME_NS] == 0)
		note[BALANCE_TIME_NS] = took_ns;
	else
		note[BALANCE_TIME_NS] =
			((BALANCE_SMOOTH - 1) * note[BALANCE_TIME_NS] +
			 took_ns) /
			BALANCE_SMOOTH;
}

static enum nopal_verdict balance_on_copy(struct nopal_session *session,
					  const struct nopal_part *part,
					  struct nopal_copy *copy)
{
	const struct balance_parameters *set = nopal_parameters(part);
	struct nopal_segment *segment = copy->segment;
	uint64_t attempts;

	if (nopal_get(segment, part, BALANCE_DESTINATION))
		return NOPAL_CONTINUE;
	balance_learn(session, set, copy);
	attempts = nopal_get(segment, part, BALANCE_ATTEMPTS);
	if (copy->fate == NOPAL_ARRIVED || segment->done ||
	    attempts == (uint64_t)set->attempts)
		return NOPAL_CONTINUE;
	nopal_set(segment, part, BALANCE_ATTEMPTS, attempts + 1);
	nopal_segment_resend(session, part, segment);
	return NOPAL_CONTINUE;
}

static void balance_rest(struct nopal_session *session,
			 const struct nopal_part *part)
{
	struct balance *self = nopal_state(session, part);

	nopal_free(session, self->open);
	self->open = NULL;
	self->room = 0;
}

static const struct nopal_parameter balance_table[] = {
	{ .name = "copies",
	  .unit = NOPAL_COUNT,
	  .offset = offsetof(struct balance_parameters, copies),
	  .initial = "1",
	  .least = "1",
	  .most = "1000000",
	  .doc = "destinations that get a message" },
	{ .name = "memory",
	  .unit = NOPAL_TIME,
	  .offset = offsetof(struct balance_parameters, memory_ns),
	  .initial = "10s",
	  .least = "1ms",
	  .most = "1000s",
	  .doc = "in which what is known of one loses half of its weight" },
	{ .name = "attempts",
	  .unit = NOPAL_COUNT,
	  .offset = offsetof(struct balance_parameters, attempts),
	  .initial = "8",
	  .least = "0",
	  .most = "1000",
	  .doc = "how often a message is given to others in place of those who "
		 "did not get it" },
	{ 0 },
};

static const struct nopal_binding balance_bindings[] = {
	NOPAL_ON(SEND_SEGMENT, balance_on_send, .after = "fan_out"),
	NOPAL_ON(COPY_DONE, balance_on_copy, .before = "fan_out"),
	{ 0 },
};

const struct nopal_microprotocol nopal_balance = {
	.abi = NOPAL_ABI,
	.name = "balance",
	.family = "group",
	.many = true,
	.summary = "each message goes to the few least loaded destinations",
	.provides = (const struct nopal_role[]){ { "destination_choice", true },
						 { 0 } },
	.needs =
		(const struct nopal_relation[]){
			{ .role = "destinations",
			  .because = "it chooses among them" },
			{ 0 } },
	.parameters_size = sizeof(struct balance_parameters),
	.parameters = balance_table,
	.attributes =
		(const struct nopal_attribute[]){
			[BALANCE_ATTEMPTS] = { .name = "choice_attempts",
					       .access = NOPAL_WRITE,
					       .doc = "times that it went to "
						      "others" },
			[BALANCE_DESTINATION] = { .name = "destination",
						  .access = NOPAL_PROPERTY },
			{ 0 } },
	.state_size = sizeof(struct balance),
	.bindings = balance_bindings,
	.rest = balance_rest,
};
