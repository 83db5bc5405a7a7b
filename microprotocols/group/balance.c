/* SPDX-License-Identifier: MIT */
/*
 * balance -- each message goes to the few least loaded destinations.
 *
 * Paper:     the one-to-many, multi-stream transport, sections 3.3 (response time
 *            over the last while, and losses) and 4.2.3 (CBAL); Mitzenmacher, The power of two
 *            choices in randomized load balancing, IEEE TPDS 2001; Dahlin,
 *            Interpreting stale load information, IEEE TPDS 2000.
 * Differs:   the least loaded of all would draw all messages at once: of two that
 *            are drawn, the less loaded one is taken.  Measurements grow old: they
 *            halve with every `memory`, so that a slow destination is tried again.
 *            A message that a destination did not get goes to another one, and never
 *            to one that has it, or may have it.
 *
 * The property `given_to` says for one message how many get it, or all (-1); with fan_out's
 * `required` a message is for any, for all, for P of K, or balanced, as each of them wants.  Of the
 * streams to one host, the least loaded stands for the host.
 *
 * Load is the average time from transmission to arrival of a copy, once for each that is under
 * way, doubled for each recent loss.  A message that the application sends to one destination by
 * name goes there, whatever its load; so does an answer.
 */
#include <string.h>

#include <nopal/microprotocol.h>

struct balance_parameters {
	int64_t copies, most, memory_ns, average_ns, attempts;
};

enum { BALANCE_ATTEMPTS, BALANCE_GIVEN_TO }; /* attributes */

/* Notes of a destination. */
enum {
	BALANCE_TIME_NS,
	BALANCE_LOSSES, /* of late, in BALANCE_ONE-ths */
	BALANCE_AS_OF_NS,
	BALANCE_UNDER_WAY,
};
enum {
	BALANCE_ONE = 256,
	BALANCE_LOSSES_MAX = 16 * BALANCE_ONE,
	BALANCE_SMOOTH = 8, /* a new sample weighs one in so many, without a time */
	BALANCE_AGES_MAX = 32,
};
/* In a row: no host is wanted here. */
#define BALANCE_NOBODY UINT32_MAX
/* The time of a destination that is near, or not measured yet: losses multiply it. */
#define BALANCE_MIN_NS NOPAL_MILLISECOND

struct balance {
	uint32_t *open; /* indices of those that may be drawn */
	uint32_t room;
	/* By the segment's handle, balance_width() each: hosts that have it, may have it, or are
	 * being given it; 0: a host is wanted here. */
	uint32_t *given;
	uint32_t rows;
};

static void balance_age(const struct nopal_session *session, const struct balance_parameters *set,
			struct nopal_destination *destination)
{
	uint64_t *note = destination->note;
	int64_t ages = (session->now_ns - (int64_t)note[BALANCE_AS_OF_NS]) / set->memory_ns;

	if (ages == 0)
		return;
	if (ages > BALANCE_AGES_MAX)
		ages = BALANCE_AGES_MAX;
	note[BALANCE_TIME_NS] >>= ages;
	note[BALANCE_LOSSES] >>= ages;
	note[BALANCE_AS_OF_NS] = (uint64_t)session->now_ns;
}

/* ---------------------------------------------------------------- given to whom */

static uint64_t balance_width(const struct balance_parameters *set)
{
	return (uint64_t)(set->copies > set->most ? set->copies : set->most);
}

/* How many destinations are to get the message; 0: all. */
static uint64_t balance_wants(struct nopal_at at, const struct nopal_segment *segment)
{
	const struct balance_parameters *set = nopal_parameters(at);
	uint64_t wants = nopal_get(at, segment, BALANCE_GIVEN_TO);

	if (!wants)
		return (uint64_t)set->copies;
	return wants > balance_width(set) ? 0 : wants;
}

static uint32_t *balance_row(const struct balance_parameters *set, const struct balance *self,
			     const struct nopal_segment *segment)
{
	return self->given + segment->handle.index * balance_width(set);
}

static void balance_row_begin(const struct balance_parameters *set, uint32_t *row, uint64_t wants)
{
	for (uint64_t i = 0; i < balance_width(set); i++)
		row[i] = i < wants ? 0 : BALANCE_NOBODY;
}

/* Where the host stands in the row; NULL: nowhere. */
static uint32_t *balance_find(const struct balance_parameters *set, uint32_t *row, uint32_t host)
{
	for (uint64_t i = 0; i < balance_width(set); i++)
		if (row[i] == host)
			return &row[i];
	return NULL;
}

/* ------------------------------------------------------------------- choice */

static uint64_t balance_load(const struct nopal_session *session,
			     const struct balance_parameters *set, struct nopal_destination *one)
{
	balance_age(session, set, one);
	return nopal_scale(
		one->note[BALANCE_TIME_NS] + BALANCE_MIN_NS,
		(one->note[BALANCE_UNDER_WAY] + 1) << (one->note[BALANCE_LOSSES] / BALANCE_ONE), 1);
}

/* Is this the stream by which its host may be drawn: of several, the least loaded? */
static bool balance_is_best(const struct nopal_session *session,
			    const struct balance_parameters *set, struct nopal_destination *one)
{
	struct nopal_destination *at = one->next_stream;
	uint64_t load, other;

	if (!nopal_destination_takes(one))
		return false;
	if (at == one)
		return true;
	load = balance_load(session, set, one);
	for (; at != one; at = at->next_stream) {
		if (!nopal_destination_takes(at))
			continue;
		other = balance_load(session, set, at);
		if (other < load || (other == load && at->id < one->id))
			return false;
	}
	return true;
}

/* Lists the destinations that may be drawn, one to a host; returns how many. */
static uint32_t balance_candidates(struct nopal_session *session,
				   const struct balance_parameters *set, struct balance *self,
				   uint32_t *row, bool again)
{
	uint32_t count = nopal_destination_count(session), open = 0;

	if (count > self->room) {
		nopal_free(session, self->open);
		self->open = nopal_alloc(session, 2 * count * sizeof(*self->open));
		self->room = self->open ? 2 * count : 0;
	}
	if (!self->open)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		struct nopal_destination *one = nopal_destination_at(session, i);

		if (balance_is_best(session, set, one) &&
		    !(again && balance_find(set, row, one->host)))
			self->open[open++] = i;
	}
	return open;
}

static uint32_t balance_draw(struct nopal_session *session, uint32_t below)
{
	return (uint32_t)((nopal_random(session) >> 32) * below >> 32);
}

/* Where in `open[0..count)` the less loaded of two is. */
static uint32_t balance_of_two(struct nopal_session *session, const struct balance_parameters *set,
			       const struct balance *self, uint32_t count)
{
	uint32_t at[2] = { balance_draw(session, count), balance_draw(session, count - 1) };
	uint64_t load[2];

	at[1] += at[1] >= at[0];
	for (int i = 0; i < 2; i++) {
		struct nopal_destination *one = nopal_destination_at(session, self->open[at[i]]);

		load[i] = balance_load(session, set, one);
	}
	return at[load[1] < load[0]];
}

/* Chooses as many destinations as are wanted, none twice: those that are drawn go to the end of the
 * list. */
static enum nopal_verdict balance_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	const struct balance_parameters *set = nopal_parameters(at);
	struct balance *self = nopal_state(at);
	bool again = segment->transmissions > 1;
	uint64_t wants = balance_wants(at, segment);
	uint32_t *row, *wanted, count, left;

	if (nopal_is_for_one(at.session, segment) || !wants)
		return NOPAL_CONTINUE;
	if (!again &&
	    !nopal_array_room(at.session, &self->given, &self->rows, segment->handle.index + 1,
			      balance_width(set) * sizeof(*self->given))) {
		nopal_copies_choose(at.session, NULL, 0);
		return NOPAL_CONTINUE;
	}
	row = balance_row(set, self, segment);
	if (!again)
		balance_row_begin(set, row, wants);
	count = balance_candidates(at.session, set, self, row, again);
	for (left = count; left && (wanted = balance_find(set, row, 0)); left--) {
		uint32_t place = left == 1 ? 0 : balance_of_two(at.session, set, self, left);
		uint32_t index = self->open[place];
		struct nopal_destination *one = nopal_destination_at(at.session, index);

		self->open[place] = self->open[left - 1];
		self->open[left - 1] = index;
		one->note[BALANCE_UNDER_WAY]++;
		*wanted = one->host;
	}
	nopal_copies_choose(at.session, count ? self->open + left : NULL, count - left);
	return NOPAL_CONTINUE;
}

/* -------------------------------------------------------------------- outcomes */

/* The average over a time weighs a sample by the time since the one before; else each weighs the
 * same part of what was there, whenever it came. */
static uint64_t balance_smooth(const struct balance_parameters *set, uint64_t time_ns,
			       uint64_t took_ns, int64_t since_ns)
{
	uint64_t average_ns = (uint64_t)set->average_ns, weight_ns;

	if (!time_ns)
		return took_ns;
	if (!average_ns)
		return ((BALANCE_SMOOTH - 1) * time_ns + took_ns) / BALANCE_SMOOTH;
	weight_ns = since_ns < set->average_ns ? (uint64_t)since_ns : average_ns;
	return nopal_scale(time_ns, average_ns - weight_ns, average_ns) +
	       nopal_scale(took_ns, weight_ns, average_ns);
}

/* A message that the destination lacks goes to another one.  The time of a failure is no measure of
 * load: a destination that refuses at once would draw all.  Of a message that left again, it is not
 * known when this copy did. */
static enum nopal_verdict balance_on_copy(struct nopal_at at, struct nopal_copy *copy)
{
	const struct balance_parameters *set = nopal_parameters(at);
	const struct balance *self = nopal_state(at);
	struct nopal_segment *segment = copy->segment;
	uint64_t attempts = nopal_get(at, segment, BALANCE_ATTEMPTS);
	uint64_t *note = copy->destination->note, *time_ns = &note[BALANCE_TIME_NS];
	int64_t since_ns = at.session->now_ns - (int64_t)note[BALANCE_AS_OF_NS];
	uint32_t *place;
	/* Where the outcome is unknown, the message may be there, unless the destination has
	 * gone. */
	bool lacks = copy->outcome == NOPAL_OUTCOME_UNKNOWN
			     ? copy->destination->removed || copy->destination->ended
			     : copy->outcome == NOPAL_OUTCOME_LOST ||
				       copy->outcome == NOPAL_OUTCOME_EXPIRED;

	if (nopal_is_for_one(at.session, segment) || !balance_wants(at, segment))
		return NOPAL_CONTINUE;
	balance_age(at.session, set, copy->destination);
	note[BALANCE_AS_OF_NS] = (uint64_t)at.session->now_ns;
	if (note[BALANCE_UNDER_WAY])
		note[BALANCE_UNDER_WAY]--;
	if (copy->moved) {
		copy->moved->note[BALANCE_UNDER_WAY]++;
		return NOPAL_CONTINUE;
	}
	if (!lacks) {
		if (segment->transmissions == 1)
			*time_ns = balance_smooth(set, *time_ns, (uint64_t)copy->took_ns, since_ns);
		return NOPAL_CONTINUE;
	}
	if (note[BALANCE_LOSSES] < BALANCE_LOSSES_MAX)
		note[BALANCE_LOSSES] += BALANCE_ONE;
	place = balance_find(set, balance_row(set, self, segment), copy->destination->host);
	if (!place || segment->done || attempts == (uint64_t)set->attempts)
		return NOPAL_CONTINUE;
	*place = 0;
	nopal_set(at, segment, BALANCE_ATTEMPTS, attempts + 1);
	nopal_segment_resend(at, segment);
	return NOPAL_CONTINUE;
}

static void balance_idle(struct nopal_at at)
{
	struct balance *self = nopal_state(at);

	nopal_free(at.session, self->open);
	nopal_free(at.session, self->given);
	*self = (struct balance){ 0 };
}

const struct nopal_microprotocol nopal_balance = {
	NOPAL_DESCRIBE(balance, group, "each message goes to the few least loaded destinations"),
	.many = true,
	.provides = NOPAL_ROLES({ "destination_choice", true }),
	.needs = NOPAL_RELATIONS({ "destinations", "it chooses among them" },
				 { "fan_out", "those that have a message are counted" }),
	.promises = NOPAL_PROMISES(
		{ NOPAL_RECEIVERS, NOPAL_FAN_OUT, NOPAL_LOWERS, NOPAL_SO_MANY,
		  "a message goes to the least loaded destinations", .bound = "copies" },
		{ NOPAL_ORDER, NOPAL_FAN_OUT, NOPAL_LOWERS, 0,
		  "a message that one destination did not get goes to another one, after later messages",
		  .when = "attempts" },
		{ NOPAL_DUPLICATES, NOPAL_FAN_OUT, NOPAL_LOWERS, 0,
		  "a copy that is taken for lost is sent again, and both may arrive",
		  .unless = NOPAL_DELIVERY, .unless_has = NOPAL_ALL }),
	.parameters_size = sizeof(struct balance_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(balance, copies, "copies", COUNT, "1", "1", "1000",
			     "destinations that get a message"),
		NOPAL_NUMBER(
			balance, most, "most", COUNT, "16", "1", "1000",
			"destinations that a message may ask for; one that asks for more goes to all"),
		NOPAL_NUMBER(balance, memory_ns, "memory", TIME, "10s", "1ms", "1000s",
			     "time in which measurements lose half of their weight"),
		NOPAL_NUMBER(balance, average_ns, "average", TIME, "0s", "0s", "1000s",
			     "time over which response times are averaged; 0: over eight of them"),
		NOPAL_NUMBER(
			balance, attempts, "attempts", COUNT, "8", "0", "1000",
			"how often a message that destinations did not get is given to others")),
	.attributes = NOPAL_ATTRIBUTES(
		[BALANCE_ATTEMPTS] = { "choice_attempts", NOPAL_WRITE,
				       "times that it went to others" },
		[BALANCE_GIVEN_TO] = { "given_to", NOPAL_PROPERTY,
				       "destinations that get it; 0: as copies says, -1: all" }),
	.state_size = sizeof(struct balance),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(SEND_SEGMENT, balance_on_send, .after = "fan_out"),
				   NOPAL_ON(COPY_DONE, balance_on_copy)),
	.idle = balance_idle,
};
