/* SPDX-License-Identifier: MIT */
/*
 * judge.c -- verdicts: the promises of a plan, against the facts of a run.
 *
 * A promise is broken by a fact that contradicts it.  A session that ends badly and says so keeps
 * the promise that all arrives; a promise for which a run was too short is not judged.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "judge/judge.h"

enum {
	STORM_RATIO = 16, /* control segments for each transmission of data */
	STORM_FREE = 1000,
	STORM_PER_SECOND = 500, /* keep-alives, probes and clocked reports */
	STEPS_RATIO = 8,	/* instants of virtual time for each transmission */
	EXPIRIES_RATIO = 2,	/* and of timers */
	SPINS_FREE = 100,
	WAKES_FREE = 1000,
	WAKES_PER_SECOND = 1000,
};

__attribute__((format(printf, 2, 3))) static void broken(struct judge_case *one, const char *format,
							 ...)
{
	va_list arguments;

	one->verdict = JUDGE_BROKEN;
	va_start(arguments, format);
	vsnprintf(one->evidence, sizeof(one->evidence), format, arguments);
	va_end(arguments);
}

static void held_if(struct judge_case *one, bool judged)
{
	if (one->verdict == JUDGE_NOT && judged)
		one->verdict = JUDGE_HELD;
}

static bool well(int end)
{
	return end == NOPAL_ENDED_WELL;
}

/* Was either end told that the session ended badly? */
static bool was_told(const struct judge_facts *facts)
{
	return facts->sender_end > NOPAL_ENDED_WELL || facts->receiver_end > NOPAL_ENDED_WELL;
}

/* "message 17 of 200 with deadline (and 3 more) was ..." */
static void broken_by(struct judge_case *one, const struct judge_facts *facts,
		      const struct judge_count *count, const char *how)
{
	char of[JUDGE_TEXT] = "", more[JUDGE_TEXT] = "";
	const char *names = facts->names ? facts->names : "";

	if (facts->sent)
		snprintf(of, sizeof(of), " of %llu", (unsigned long long)facts->sent);
	if (count->times > 1)
		snprintf(more, sizeof(more), " (and %llu more)",
			 (unsigned long long)count->times - 1);
	broken(one, "message %llu%s%s%s%s %s", (unsigned long long)count->first + 1, of,
	       *names ? " with " : "", names, more, how);
}

static void judge_delivery(const struct judge_facts *facts, unsigned promised,
			   struct judge_case *one)
{
	/* In good order, as far as the facts were seen. */
	bool over = !was_told(facts) &&
		    (well(facts->sender_end) ||
		     (facts->sender_end == JUDGE_UNSEEN && well(facts->receiver_end)));
	uint64_t missing = facts->missing.times;

	if (!facts->numbered && facts->sent > facts->delivered)
		missing = facts->sent - facts->delivered;
	if ((promised & NOPAL_ALL) != NOPAL_ALL) {
		bool all_in_time = (promised & NOPAL_IN_TIME) == NOPAL_IN_TIME;

		held_if(one, facts->counted && (!all_in_time || missing <= facts->dropped));
		return;
	}
	if (facts->given_up.times && !facts->numbered && !was_told(facts)) {
		broken(one, "%llu messages were given up",
		       (unsigned long long)facts->given_up.times);
	} else if (facts->given_up.times && !was_told(facts)) {
		broken_by(one, facts, &facts->given_up, "was given up, and never arrived");
	} else if (missing && over && facts->numbered) {
		broken_by(one, facts, &facts->missing,
			  "never arrived, and the session ended in good order");
	} else if (missing && over && facts->counted) {
		broken(one,
		       "%llu of %llu messages never arrived, and the session ended in good order",
		       (unsigned long long)missing, (unsigned long long)facts->sent);
	}
	held_if(one, facts->counted && (!missing || was_told(facts)));
}

/* The messages that came: their order, their number, their bytes. */
static void judge_arrivals(const struct judge_facts *facts, const struct nopal_guarantee *quality,
			   struct judge_case *of)
{
	unsigned order = quality[NOPAL_ORDER].value;
	unsigned duplicates = quality[NOPAL_DUPLICATES].value;
	bool accidents = quality[NOPAL_INTEGRITY].value & NOPAL_ACCIDENTS;
	bool forgets = facts->receiver_restarted && (duplicates & NOPAL_ONCE) != NOPAL_ONCE;

	if ((order & NOPAL_FORWARD) && facts->overtaken.times)
		broken_by(&of[NOPAL_ORDER], facts, &facts->overtaken,
			  "came after one that was sent later");
	else if ((order & NOPAL_GAPLESS) && facts->gaps.times)
		broken_by(&of[NOPAL_ORDER], facts, &facts->gaps, "never came, and later ones did");
	else if ((order & NOPAL_BY_TAG) && facts->tag_overtaken.times)
		broken_by(&of[NOPAL_ORDER], facts, &facts->tag_overtaken,
			  "came after one with its tag that was sent later");
	else if ((order & NOPAL_AFTER_NAMED) && facts->early.times)
		broken_by(&of[NOPAL_ORDER], facts, &facts->early,
			  "came before the one that it names");
	/* Labels and tags come with as-sent order, too. */
	held_if(&of[NOPAL_ORDER],
		facts->numbered &&
			(facts->related || !(order & ~(unsigned)(NOPAL_FORWARD | NOPAL_GAPLESS)) ||
			 order == NOPAL_AS_SENT));
	if ((quality[NOPAL_LABELS].value & NOPAL_EACH_MESSAGE) && facts->relabelled.times)
		broken_by(&of[NOPAL_LABELS], facts, &facts->relabelled,
			  "came with another label or tag");
	held_if(&of[NOPAL_LABELS], facts->related);
	if ((duplicates & NOPAL_ONCE_A_SESSION) && facts->twice.times && !forgets)
		broken_by(&of[NOPAL_DUPLICATES], facts, &facts->twice,
			  "was delivered more than once");
	held_if(&of[NOPAL_DUPLICATES], facts->numbered && !forgets);
	if (facts->wrong.times && (accidents || !facts->link_corrupts))
		broken_by(&of[NOPAL_INTEGRITY], facts, &facts->wrong,
			  "came with other bytes than were sent");
	else if (facts->garbled && accidents)
		broken(&of[NOPAL_INTEGRITY], "what came is not what was sent");
	held_if(&of[NOPAL_INTEGRITY], facts->bytes_seen && !facts->wrong.times && !facts->garbled);
}

static uint64_t control_max(const struct judge_facts *facts)
{
	return STORM_FREE + STORM_RATIO * facts->data +
	       STORM_PER_SECOND * (uint64_t)(facts->open_ns / NOPAL_SECOND);
}

static bool wakes_too_often(const struct judge_facts *facts)
{
	uint64_t sent = facts->data + facts->control;
	uint64_t free = WAKES_FREE + WAKES_PER_SECOND * (uint64_t)(facts->open_ns / NOPAL_SECOND);

	return facts->steps > free + STEPS_RATIO * sent ||
	       facts->expiries > free + EXPIRIES_RATIO * sent;
}

bool judge_storms(const struct judge_facts *facts)
{
	return facts->control > control_max(facts) || wakes_too_often(facts);
}

/* Rules of the runtime: forbidden to each microprotocol, whatever is promised. */
static void judge_rules(const struct judge_facts *facts, struct judgement *judgement)
{
	struct judge_case *one = &judgement->of[JUDGE_RULES];

	if (facts->misuses) {
		judgement->against = JUDGE_MISUSE;
		broken(one, "holds were let go by parts that did not have them, %llu times",
		       (unsigned long long)facts->misuses);
	} else if (facts->hoarded) {
		judgement->against = JUDGE_HOARD;
		broken(one, "%llu segments were done and never freed",
		       (unsigned long long)facts->hoarded);
	} else if (facts->spins > SPINS_FREE + facts->data + facts->control) {
		/* A count without time: on a busy machine a spinning part has few turns a
		 * second. */
		judgement->against = JUDGE_WAKES;
		broken(one, "timers expired %llu times only to be started again for now",
		       (unsigned long long)facts->spins);
	} else if (wakes_too_often(facts)) {
		judgement->against = JUDGE_WAKES;
		broken(one, "it took %llu wake-ups to send %llu datagrams",
		       (unsigned long long)(facts->steps ? facts->steps : facts->expiries),
		       (unsigned long long)(facts->data + facts->control));
	} else if (facts->control > control_max(facts)) {
		judgement->against = JUDGE_STORM;
		broken(one, "%llu control segments left, with %llu of data",
		       (unsigned long long)facts->control, (unsigned long long)facts->data);
	}
	held_if(one, true);
}

int64_t judge_bound(const struct nopal_plan *plan, const struct nopal_guarantee *one)
{
	const struct nopal_parameter *parameter;
	const struct nopal_part *part;
	int64_t value;

	if (one->part < 0 || !one->row->bound)
		return 0;
	part = nopal_plan_part(plan, (size_t)one->part);
	parameter = part->microprotocol->parameters;
	while (strcmp(parameter->name, one->row->bound) != 0)
		parameter++;
	memcpy(&value, (const char *)part->parameters + parameter->offset, sizeof(value));
	return value;
}

void judge(const struct nopal_plan *plan, const struct judge_facts *facts,
	   struct judgement *ret_judgement)
{
	struct judge_case *of = ret_judgement->of;
	const struct nopal_service *promised = &ret_judgement->promised;
	const struct nopal_guarantee *quality = promised->quality;
	bool consumed, acknowledged, all, goes_on, judged;

	*ret_judgement = (struct judgement){ .plan = plan };
	nopal_plan_service(plan, 0, facts->names, &ret_judgement->promised);
	judge_delivery(facts, quality[NOPAL_DELIVERY].value, &of[NOPAL_DELIVERY]);
	judge_arrivals(facts, quality, of);
	/* A message may have arrived at the transport and wait there, until both ends have ended
	 * well. */
	consumed = nopal_promises(promised, NOPAL_OUTCOME, NOPAL_AT_APPLICATION);
	acknowledged = nopal_promises(promised, NOPAL_OUTCOME, NOPAL_AT_TRANSPORT);
	all = nopal_promises(promised, NOPAL_DELIVERY, NOPAL_ALL);
	goes_on = nopal_promises(promised, NOPAL_PROGRESS, NOPAL_GOES_ON);
	judged = facts->numbered &&
		 (consumed || (all && !was_told(facts) && well(facts->sender_end)));
	if (facts->lies.times && judged)
		broken_by(&of[NOPAL_OUTCOME], facts, &facts->lies,
			  "was told to have arrived, and never did");
	held_if(&of[NOPAL_OUTCOME], judged && acknowledged);
	/* A message that waits for ever is no matter where some may be dropped. */
	if (facts->stuck && goes_on)
		broken(&of[NOPAL_PROGRESS], "%s", facts->stuck);
	else if (facts->stranded && goes_on && all && well(facts->receiver_end))
		broken(&of[NOPAL_PROGRESS],
		       "%llu messages arrived and were never delivered, and the session ended in "
		       "good order",
		       (unsigned long long)facts->stranded);
	held_if(&of[NOPAL_PROGRESS], !facts->stuck && (facts->sender_end >= NOPAL_ENDED_WELL ||
						       facts->receiver_end >= NOPAL_ENDED_WELL));
	held_if(&of[NOPAL_RECEIVERS], facts->all_receivers);
	judge_rules(facts, ret_judgement);
	ret_judgement->unclosed = facts->stuck && facts->unclosed;
	ret_judgement->arrived = facts->arrived || (facts->stranded && well(facts->receiver_end)) ||
				 (facts->lies.times && facts->lies.first == facts->missing.first);
	ret_judgement->given_up = facts->given_up.times > 0;
	if (facts->sender_end > NOPAL_ENDED_WELL)
		ret_judgement->end = facts->sender_end;
	else if (facts->sender_end == JUDGE_UNSEEN && facts->receiver_end > NOPAL_ENDED_WELL)
		ret_judgement->end = facts->receiver_end;
}

bool judge_is_broken(const struct judgement *judgement)
{
	for (unsigned i = 0; i < JUDGE_CASES; i++)
		if (judgement->of[i].verdict == JUDGE_BROKEN)
			return true;
	return false;
}

/* Held by all is held; broken by one is broken. */
void judge_join(struct judgement *judgement, const struct judgement *other)
{
	for (unsigned i = 0; i < JUDGE_CASES; i++) {
		struct judge_case *one = &judgement->of[i];

		if (one->verdict == JUDGE_BROKEN)
			continue;
		if (other->of[i].verdict == JUDGE_BROKEN || other->of[i].verdict == JUDGE_NOT)
			*one = other->of[i];
		/* Another class of messages, or another plan, is promised something else. */
		if (other->of[i].verdict == JUDGE_BROKEN) {
			judgement->plan = other->plan;
			if (i < NOPAL_QUALITIES)
				judgement->promised.quality[i] = other->promised.quality[i];
		}
	}
	if (!judgement->against)
		judgement->against = other->against;
	judgement->unclosed |= other->unclosed;
	judgement->arrived |= other->arrived;
	judgement->given_up |= other->given_up;
	if (!judgement->end)
		judgement->end = other->end;
}
