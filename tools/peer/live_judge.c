/* SPDX-License-Identifier: MIT */
/*
 * live_judge.c -- one end of a live session, judged by the facts that this end sees.
 */
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "peer/live_judge.h"

enum {
	LIVE_BITS = 8,
	LIVE_MIN_SEGMENT = 500, /* bytes: a guess at a short segment */
	LIVE_FIRST_ROOM = 256,
	LIVE_MAX_ROOM = 1 << 24, /* bytes of bits: more are not judged */
};
#define LIVE_PATIENCE_NS (60 * NOPAL_SECOND)

/* -------------------------------------------------------------------- options */

bool live_judge_read(const struct tool_call *call, struct live_judge_options *ret_options)
{
	ret_options->watch = tool_value(call, "watch") != NULL;
	if (!tool_quantity(call, "patience", NOPAL_TIME, LIVE_PATIENCE_NS,
			   &ret_options->patience_ns))
		return false;
	if (ret_options->patience_ns > 0)
		return true;
	return tool_error("--patience is no time\n  fix: give a time above zero, as 60s");
}

bool live_judge_watch(const struct live_judge_options *options, struct nopal_world *world,
		      struct nopal_plan *plan)
{
	int error = options->watch ? nopal_watch_start(world, plan, false) : 0;

	return !error || tool_error("nothing can be watched: %s", strerror(-error));
}

/* ---------------------------------------------------------------------- facts */

void live_judge_begin(struct live_judge *one, const struct nopal_plan *plan,
		      struct nopal_world *world, const struct live_judge_options *options,
		      bool sends)
{
	*one = (struct live_judge){
		.plan = plan,
		.world = world,
		.patience_ns = options->patience_ns,
		.began_ns = nopal_world_now(world),
		.moved_ns = nopal_world_now(world),
		.sends = sends,
		.facts = { .sender_end = sends ? JUDGE_OPEN : JUDGE_UNSEEN,
			   .receiver_end = sends ? JUDGE_UNSEEN : JUDGE_OPEN,
			   .link_corrupts = true },
	};
}

void live_judge_fini(struct live_judge *one)
{
	free(one->suspects);
	free(one->seen);
	*one = (struct live_judge){ .plan = NULL };
}

/* False: there is no room, and from now on numbers are not judged. */
static bool seen_room(struct live_judge *one, uint64_t number)
{
	uint64_t wanted = number / LIVE_BITS + 1, room = one->seen_room;
	uint8_t *seen = NULL;

	if (wanted <= room)
		return true;
	room = room ? 2 * room : LIVE_FIRST_ROOM;
	while (room < wanted && room < LIVE_MAX_ROOM)
		room *= 2;
	if (room >= wanted)
		seen = realloc(one->seen, room);
	if (!seen) {
		one->facts.numbered = false;
		return false;
	}
	memset(seen + one->seen_room, 0, room - one->seen_room);
	one->seen = seen;
	one->seen_room = room;
	return true;
}

static bool is_seen(const struct live_judge *one, uint64_t number)
{
	return number / LIVE_BITS < one->seen_room &&
	       one->seen[number / LIVE_BITS] >> number % LIVE_BITS & 1;
}

void live_judge_came(struct live_judge *one, uint64_t number)
{
	struct judge_facts *facts = &one->facts;

	live_judge_moved(one);
	if (!facts->numbered || !seen_room(one, number))
		return;
	facts->delivered++;
	if (is_seen(one, number))
		judge_note(&facts->twice, number);
	else if (number < one->beyond)
		judge_note(&facts->overtaken, number);
	one->seen[number / LIVE_BITS] |= (uint8_t)(1u << number % LIVE_BITS);
	if (number >= one->beyond)
		one->beyond = number + 1;
}

void live_judge_missing(struct live_judge *one, uint64_t first, uint64_t end)
{
	struct judge_facts *facts = &one->facts;

	if (!facts->numbered || end / LIVE_BITS > LIVE_MAX_ROOM)
		return;
	facts->sent = end;
	facts->counted = true;
	for (uint64_t number = first; number < end; number++) {
		if (is_seen(one, number))
			continue;
		judge_note(&facts->missing, number);
		if (number < one->beyond)
			judge_note(&facts->gaps, number);
	}
}

void live_judge_moved(struct live_judge *one)
{
	one->moved_ns = nopal_world_now(one->world);
}

bool live_judge_stands(const struct live_judge *one)
{
	return nopal_world_now(one->world) - one->moved_ns >= one->patience_ns;
}

/* ----------------------------------------------------------------------- ends */

/* NULL: no memory. */
static struct judge_suspects *suspects_of(struct live_judge *one)
{
	if (!one->suspects)
		one->suspects = calloc(1, sizeof(*one->suspects));
	return one->suspects;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Of the segments that came, those that were delivered are known to be data. */
static void facts_add(const struct live_judge *one, const struct nopal_session *session,
		      struct judge_facts *facts)
{
	const struct nopal_counters *counters = nopal_session_counters(session);

	facts->misuses += counters->misuses;
	facts->data += counters->transmissions + counters->messages_delivered +
		       counters->bytes_delivered / LIVE_MIN_SEGMENT;
	facts->control += counters->control_out;
	facts->open_ns += nopal_world_now(one->world) - one->began_ns;
	facts->hoarded = max(facts->hoarded, judge_hoarded(session));
	facts->stranded = max(facts->stranded, judge_stranded(session));
}

static void facts_of(struct live_judge *one, const struct nopal_session *session)
{
	struct judge_facts *facts = &one->facts;
	struct judge_facts sum = one->gone;
	size_t count;
	struct nopal_destination_info *infos;

	facts_add(one, session, &sum);
	count = nopal_destinations(session, NULL, 0);
	infos = count ? calloc(count, sizeof(*infos)) : NULL;
	if (infos) {
		nopal_destinations(session, infos, count);
		for (size_t i = 0; i < count; i++)
			facts_add(one, infos[i].session, &sum);
		free(infos);
	}
	facts->misuses = sum.misuses;
	facts->data = sum.data;
	facts->control = sum.control;
	facts->open_ns = sum.open_ns;
	facts->hoarded = sum.hoarded;
	facts->stranded = sum.stranded;
	if (one->sends)
		facts->given_up.times = nopal_session_counters(session)->messages_missing;
}

void live_judge_stuck(struct live_judge *one, const struct nopal_session *session, const char *how)
{
	snprintf(one->stuck, sizeof(one->stuck), "%s in %lld ms", how,
		 (long long)(one->patience_ns / NOPAL_MILLISECOND));
	one->facts.stuck = one->stuck;
	if (session && suspects_of(one))
		judge_suspect_held(one->suspects, session);
}

void live_judge_say_held(const struct nopal_session *session)
{
	struct judge_suspects *suspects = calloc(1, sizeof(*suspects));

	if (!suspects)
		return;
	judge_suspect_held(suspects, session);
	judge_say_held(suspects, stderr);
	free(suspects);
}

void live_judge_has_come(struct live_judge *one, const struct nopal_session *session)
{
	live_judge_stuck(one, session, "all has arrived");
	snprintf(one->stuck, sizeof(one->stuck),
		 "all has arrived, says the peer, and nothing comes of it");
	one->facts.arrived = true;
}

bool live_judge_storms(struct live_judge *one, const struct nopal_session *session)
{
	facts_of(one, session);
	return judge_storms(&one->facts);
}

bool live_judge_cuts_storm(struct live_judge *one, struct nopal_session *session)
{
	if (!live_judge_storms(one, session))
		return false;
	nopal_session_abort(session, LIVE_JUDGE_STORM);
	return true;
}

void live_judge_cut_sender(struct live_judge *one, struct nopal_session *session)
{
	bool holds = false;

	live_judge_stuck(one, session, "nothing moved");
	for (size_t i = 0; one->suspects && i < one->suspects->count; i++)
		for (unsigned b = NOPAL_SEND; b <= NOPAL_BARRIERS; b++)
			holds |= b != NOPAL_DEALLOCATE && b != NOPAL_DELIVER &&
				 one->suspects->one[i].held[b];
	/* Where nothing is held here, the peer holds it. */
	nopal_session_abort(session, holds ? "nothing moves any more" : LIVE_JUDGE_STANDS);
}

/* Messages that an abort cuts off were just under way. */
void live_judge_destination_ended(struct live_judge *one, const struct nopal_destination_info *info)
{
	if (!one->plan)
		return;
	facts_add(one, info->session, &one->gone);
	if (info->end == NOPAL_RESOURCE || info->end == NOPAL_RUNTIME_LIMIT)
		one->gone_end = info->end;
	if (info->end != NOPAL_ABORTED && suspects_of(one))
		judge_suspect_held(one->suspects, info->session);
}

void live_judge_end(struct live_judge *one, const struct nopal_session *session, enum nopal_end end)
{
	if (!one->plan)
		return;
	if (one->sends)
		one->facts.sender_end = (int)end;
	if (!one->sends || one->both)
		one->facts.receiver_end = (int)end;
	facts_of(one, session);
	if (!one->facts.stuck && suspects_of(one))
		judge_suspect_held(one->suspects, session);
}

static void say(const struct live_judge *one, struct progress *progress)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	/* Holders are listed, whatever was promised, where something waited for ever: the session
	 * stood still, a message was never delivered, or the session ended badly by itself. */
	bool waited = one->facts.stuck || one->facts.stranded ||
		      (one->judgement.end && one->judgement.end != NOPAL_ABORTED);

	if (!out)
		return;
	if (judge_say(&one->judgement, out) || waited)
		judge_say_held(one->suspects, out);
	fclose(out);
	if (text) {
		const char *from = one->peer ? ", from " : "";
		const char *peer = one->peer ? one->peer : "";
		char *rest = NULL, *line = strtok_r(text, "\n", &rest);

		for (; line; line = strtok_r(NULL, "\n", &rest))
			progress_say(progress, "%s%s%s", line, from, peer);
	}
	free(text);
}

/* The count of all parts together; 0 where they are not watched. */
static uint64_t deeds(const struct judge_suspects *suspects, enum nopal_deed which)
{
	uint64_t count = 0;

	for (size_t i = 0; i < suspects->count; i++)
		count += suspects->one[i].deed[which];
	return count;
}

bool live_judge_is_broken(struct live_judge *one, struct progress *progress)
{
	if (!one->plan)
		return false;
	if (suspects_of(one)) {
		judge_suspect_deeds(one->suspects, one->world);
		one->facts.expiries = deeds(one->suspects, NOPAL_DEED_WOKEN);
		one->facts.spins = deeds(one->suspects, NOPAL_DEED_SPUN);
	}
	judge(one->plan, &one->facts, &one->judgement);
	if (one->gone_end)
		one->judgement.end = (int)one->gone_end;
	if (one->suspects) {
		judge_blame(&one->judgement, one->suspects);
		say(one, progress);
	}
	return judge_is_broken(&one->judgement);
}

json_t *live_judge_result(const struct live_judge *one)
{
	return one->plan ? judge_json(&one->judgement) : json_null();
}

json_t *live_judge_json(struct live_judge *one, const struct nopal_session *session)
{
	if (!one->plan)
		return json_null();
	if (session)
		facts_of(one, session);
	judge(one->plan, &one->facts, &one->judgement);
	return judge_json(&one->judgement);
}
