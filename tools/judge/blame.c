/* SPDX-License-Identifier: MIT */
/*
 * blame.c -- the microprotocol that broke a promise.
 *
 * Evidence is tried in this order, for the gravest broken promise: deeds that are always wrong, as
 * bytes that were changed in place; evidence that explains this breach, as messages that wait for
 * one microprotocol alone; and without any, the promise was empty, and its giver is blamed.
 */
#include <stdio.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "judge/judge.h"

enum {
	HOARD_MIN = 16, /* segments */
	RAISED_MIN = 100000,
};

/* ------------------------------------------------------------------- suspects */

static bool provides(const struct nopal_microprotocol *one, const char *role)
{
	const struct nopal_role *provided = one->provides;

	for (; provided && provided->name; provided++)
		if (strcmp(provided->name, role) == 0)
			return true;
	return false;
}

static struct judge_suspect *suspect(struct judge_suspects *suspects, const char *layer,
				     const char *name)
{
	static const char *const gates[] = { "window_mechanism", "rate_mechanism", "flow_control" };
	const struct nopal_microprotocol *microprotocol;
	struct judge_suspect *one = suspects->one;

	for (size_t i = 0; i < suspects->count; i++, one++)
		if (strcmp(one->microprotocol, name) == 0 && strcmp(one->layer, layer) == 0)
			return one;
	if (suspects->count == JUDGE_SUSPECTS)
		return NULL;
	suspects->count++;
	*one = (struct judge_suspect){ .layer = layer, .microprotocol = name };
	microprotocol = nopal_registry_find(name);
	for (size_t i = 0; microprotocol && i < sizeof(gates) / sizeof(*gates); i++)
		one->gate |= provides(microprotocol, gates[i]);
	one->answers = microprotocol && provides(microprotocol, "acknowledgement");
	return one;
}

/* 0: there is none. */
static uint32_t older(uint32_t a, uint32_t b)
{
	return !a || (b && b < a) ? b : a;
}

static void suspect_held(const struct nopal_held *held, void *user)
{
	struct judge_suspect *one = suspect(user, held->layer, held->microprotocol);

	if (!one)
		return;
	if (!one->why || held->barrier == NOPAL_DELIVER)
		one->why = held->why;
	one->held[held->barrier] += held->items;
	one->alone[held->barrier] += held->alone;
	one->oldest[held->barrier] = older(one->oldest[held->barrier], held->oldest);
	one->oldest_alone[held->barrier] =
		older(one->oldest_alone[held->barrier], held->oldest_alone);
}

void judge_suspect_held(struct judge_suspects *suspects, const struct nopal_session *session)
{
	nopal_session_held(session, suspect_held, suspects);
}

/* The most items that one part holds. */
struct held_max {
	uint64_t undelivered; /* messages */
	uint64_t kept;	      /* segments that are done, and held by this part alone */
};

static void held_max_visit(const struct nopal_held *held, void *user)
{
	struct held_max *max = user;

	if (held->barrier == NOPAL_DELIVER && held->items > max->undelivered)
		max->undelivered = held->items;
	if (held->barrier == NOPAL_DEALLOCATE && held->alone > max->kept)
		max->kept = held->alone;
}

uint64_t judge_stranded(const struct nopal_session *session)
{
	struct held_max max = { 0 };

	nopal_session_held(session, held_max_visit, &max);
	return max.undelivered;
}

uint64_t judge_hoarded(const struct nopal_session *session)
{
	const struct nopal_counters *counters = nopal_session_counters(session);
	uint64_t sent = counters->transmissions - counters->resends;
	struct held_max max = { 0 };

	nopal_session_held(session, held_max_visit, &max);
	return max.kept >= HOARD_MIN && max.kept >= sent ? max.kept : 0;
}

static void suspect_deeds(const struct nopal_conduct *conduct, void *user)
{
	struct judge_suspect *one = suspect(user, conduct->layer, conduct->microprotocol);

	for (unsigned i = 0; one && i < NOPAL_DEED_COUNT; i++)
		one->deed[i] += conduct->count[i];
}

void judge_suspect_deeds(struct judge_suspects *suspects, struct nopal_world *world)
{
	nopal_watch_visit(world, suspect_deeds, suspects);
}

/* ------------------------------------------------------------------ evidence */

/* Evidence that may convict: deeds, holds, and roles. */
enum {
	BY_HOLD = NOPAL_DEED_COUNT, /* and the barrier */
	BY_DELIVER = BY_HOLD + NOPAL_DELIVER,
	BY_UNCUT = BY_HOLD + NOPAL_BARRIERS,
	BY_SENDER,   /* the part that holds back the oldest segment of the sender */
	BY_RESENDER, /* the part that is to resend segments whose outcome is open */
	BY_GIVER,    /* of the promise */
	BY_END,
};

/* Deeds that are always wrong. */
static const int always[] = {
	NOPAL_DEED_BYTES, NOPAL_DEED_ATTRIBUTE, NOPAL_DEED_SHARED,
	NOPAL_DEED_HOLD,  NOPAL_DEED_RAISE,	BY_END,
};
static const int of_misuse[] = { NOPAL_DEED_MISUSE, BY_END };
/* A message that had arrived was lost there. */
static const int of_arrived[] = {
	NOPAL_DEED_LOST,   NOPAL_DEED_FORGED,	BY_DELIVER, NOPAL_DEED_STOPPED,
	NOPAL_DEED_CLOSED, NOPAL_DEED_REPLACED, BY_GIVER,   BY_END,
};
/* A missing message was given up here. */
static const int of_given_up[] = {
	NOPAL_DEED_LOST, NOPAL_DEED_FORGED, NOPAL_DEED_STOPPED, NOPAL_DEED_CLOSED, BY_GIVER, BY_END,
};
/* A missing message was never heard of. */
static const int of_missing[] = {
	NOPAL_DEED_LOST,   NOPAL_DEED_FORGED, BY_UNCUT,	       NOPAL_DEED_STOPPED,
	NOPAL_DEED_CLOSED, BY_SENDER,	      NOPAL_DEED_IDLE, BY_RESENDER,
	BY_DELIVER,	   BY_GIVER,	      BY_END,
};
static const int of_order[] = { NOPAL_DEED_EARLY, NOPAL_DEED_REPLACED, BY_GIVER, BY_END };
static const int of_bytes[] = { NOPAL_DEED_REPLACED, BY_GIVER, BY_END };
static const int of_storm[] = { NOPAL_DEED_CONTROL, NOPAL_DEED_RESENT, NOPAL_DEED_RAISED, BY_END };
static const int of_wakes[] = { NOPAL_DEED_SPUN, NOPAL_DEED_WOKEN, BY_END };
static const int of_hoard[] = { BY_HOLD + NOPAL_DEALLOCATE, BY_END };
static const int of_limit[] = { NOPAL_DEED_NESTED, BY_END };
/* The sender says itself that something is not known to have arrived. */
static const int of_undelivered[] = { NOPAL_DEED_LOST,	 NOPAL_DEED_FORGED, NOPAL_DEED_STOPPED,
				      NOPAL_DEED_CLOSED, NOPAL_DEED_MISUSE, BY_END };
/* The session ended badly and said so: that is kept, and may be due to these. */
static const int of_bad_end[] = { NOPAL_DEED_LOST, NOPAL_DEED_STOPPED, NOPAL_DEED_MISUSE, BY_END };

static uint64_t weight(const struct judge_suspect *one, int by)
{
	return by < BY_HOLD ? one->deed[by] : one->alone[by - BY_HOLD];
}

/* The part with the most evidence of this kind; NULL: none has any. */
static const struct judge_suspect *convicted(const struct judge_suspects *suspects, int by)
{
	const struct judge_suspect *worst = NULL;

	for (size_t i = 0; i < suspects->count; i++)
		if (weight(&suspects->one[i], by) &&
		    (!worst || weight(&suspects->one[i], by) > weight(worst, by)))
			worst = &suspects->one[i];
	return worst;
}

/* Gates release last: they wait for the other parts, so that a granted segment leaves at once.
 * Acknowledgements wait for the peer alone. */
static uint32_t keeps_back(const struct judge_suspect *one)
{
	uint32_t sends = one->gate ? one->oldest_alone[NOPAL_SEND] : one->oldest[NOPAL_SEND];

	return one->answers ? sends : older(sends, one->oldest_alone[NOPAL_DONE]);
}

/* From the uppermost layer, which is the first. */
static unsigned depth(const struct nopal_plan *plan, const struct judge_suspect *one)
{
	unsigned layer = 0;

	while (layer < nopal_plan_layers(plan) &&
	       strcmp(nopal_plan_layer_name(plan, layer), one->layer) != 0)
		layer++;
	return layer;
}

/* The part that keeps the oldest segment of the lowest layer from being done.  An upper layer waits
 * for segments that stand in a lower one; where two parts keep a segment, the one that waits for it
 * to be done counts: a segment that is to leave again has left before. */
static const struct judge_suspect *keeper(const struct nopal_plan *plan,
					  const struct judge_suspects *suspects)
{
	const struct judge_suspect *first = NULL;

	for (size_t i = 0; i < suspects->count; i++) {
		const struct judge_suspect *one = &suspects->one[i];
		uint32_t oldest = keeps_back(one);
		bool before = !first;

		if (first && depth(plan, one) != depth(plan, first))
			before = depth(plan, one) > depth(plan, first);
		else if (first)
			before = oldest < keeps_back(first) ||
				 (oldest == keeps_back(first) &&
				  oldest == one->oldest_alone[NOPAL_DONE]);
		if (oldest && before)
			first = one;
	}
	return first;
}

/* The giver of a broken promise. */
static void blame_giver(struct judgement *judgement, unsigned quality)
{
	const struct nopal_part *part;

	if (quality >= NOPAL_QUALITIES || judgement->promised.quality[quality].part < 0)
		return;
	part = nopal_plan_part(judgement->plan, (size_t)judgement->promised.quality[quality].part);
	judgement->blamed = part->microprotocol->name;
	snprintf(judgement->because, JUDGE_TEXT, "it promised %s: %s",
		 nopal_quality_name((enum nopal_quality)quality),
		 nopal_quality_word((enum nopal_quality)quality,
				    judgement->promised.quality[quality].value));
}

static void blame_one(struct judgement *judgement, const struct judge_suspect *one, int by)
{
	unsigned barrier = (unsigned)(by - BY_HOLD);

	if (!one)
		return;
	judgement->blamed = one->microprotocol;
	if (by < BY_HOLD) {
		const char *text = nopal_deed_text((unsigned)by);
		const char *count = strstr(text, "%llu");

		snprintf(judgement->because, JUDGE_TEXT, "it %.*s%llu%s", (int)(count - text), text,
			 (unsigned long long)one->deed[by], count + strlen("%llu"));
		return;
	}
	if (by == BY_SENDER)
		barrier =
			keeps_back(one) == one->oldest_alone[NOPAL_DONE] ? NOPAL_DONE : NOPAL_SEND;
	snprintf(judgement->because, JUDGE_TEXT, "%llu %s%s for it: %s",
		 (unsigned long long)one->held[barrier],
		 barrier >= NOPAL_DELIVER ? "message" : "segment",
		 one->held[barrier] == 1 ? " waits" : "s wait", one->why);
}

/* Tries the evidence of a list in its order, until a microprotocol is convicted. */
static void blame_by(struct judgement *judgement, const struct judge_suspects *suspects,
		     const int *list, unsigned quality)
{
	bool is_away = false;

	for (size_t i = 0; i < suspects->count; i++)
		is_away |= suspects->one[i].held[NOPAL_DONE] > 0;
	for (; *list != BY_END && !judgement->blamed; list++)
		if (*list == BY_GIVER)
			blame_giver(judgement, quality);
		else if (*list == BY_RESENDER && is_away)
			blame_giver(judgement, NOPAL_DELIVERY);
		else if (*list == BY_SENDER)
			blame_one(judgement, keeper(judgement->plan, suspects), *list);
		else if (*list != BY_RESENDER)
			blame_one(judgement, convicted(suspects, *list), *list);
}

/* The gravest first. */
static const struct {
	enum nopal_quality quality;
	const int *list; /* NULL: of a missing message */
} gravest[] = {
	{ NOPAL_INTEGRITY, of_bytes }, { NOPAL_DUPLICATES, of_bytes }, { NOPAL_PROGRESS, NULL },
	{ NOPAL_DELIVERY, NULL },      { NOPAL_OUTCOME, of_arrived },  { NOPAL_ORDER, of_order },
};

/* Blames a microprotocol that has so much memory that the others stand still for lack of it, or
 * that raises so many events that no other has a turn. */
static void blame_max(struct judgement *judgement, const struct judge_suspects *suspects,
		      enum nopal_deed deed, uint64_t min)
{
	const struct judge_suspect *one = convicted(suspects, (int)deed);

	if (one && !judgement->blamed && one->deed[deed] >= min)
		blame_one(judgement, one, (int)deed);
}

void judge_blame(struct judgement *judgement, const struct judge_suspects *suspects)
{
	static const int *const of_rules[] = {
		[JUDGE_MISUSE] = of_misuse,
		[JUDGE_HOARD] = of_hoard,
		[JUDGE_STORM] = of_storm,
		[JUDGE_WAKES] = of_wakes,
	};
	const int *missing = judgement->given_up  ? of_given_up
			     : judgement->arrived ? of_arrived
						  : of_missing;

	if (!judge_is_broken(judgement) && !judgement->end)
		return;
	blame_by(judgement, suspects, always, JUDGE_RULES);
	/* A microprotocol that nests or storms may do so with the holds of others. */
	if (judgement->against && judgement->end != NOPAL_RUNTIME_LIMIT)
		blame_by(judgement, suspects, of_rules[judgement->against], JUDGE_RULES);
	/* Of a session that ended over its budget: did one take the most of that? A part that
	 * breaks the session for a bound of its own says why itself. */
	blame_max(judgement, suspects, NOPAL_DEED_MEMORY,
		  nopal_plan_budget(judgement->plan)->bytes / 2);
	if (judgement->end == NOPAL_RUNTIME_LIMIT) {
		blame_by(judgement, suspects, of_limit, JUDGE_RULES);
		blame_max(judgement, suspects, NOPAL_DEED_RAISED, RAISED_MIN);
	}
	for (size_t i = 0; i < sizeof(gravest) / sizeof(*gravest); i++)
		if (judgement->of[gravest[i].quality].verdict == JUDGE_BROKEN)
			blame_by(judgement, suspects, gravest[i].list ? gravest[i].list : missing,
				 gravest[i].quality);
	if (judgement->end == NOPAL_UNDELIVERED)
		blame_by(judgement, suspects, of_undelivered, JUDGE_RULES);
	if (judgement->end)
		blame_by(judgement, suspects, of_bad_end, JUDGE_RULES);
	if (judgement->unclosed && !judgement->blamed) {
		/* A session is ended by the parts with the role connection. */
		for (size_t i = 0; i < nopal_plan_part_count(judgement->plan); i++) {
			const struct nopal_microprotocol *one =
				nopal_plan_part(judgement->plan, i)->microprotocol;

			if (!provides(one, "connection"))
				continue;
			judgement->blamed = one->name;
			snprintf(judgement->because, JUDGE_TEXT,
				 "the end of the session is its to say");
			return;
		}
	}
}
