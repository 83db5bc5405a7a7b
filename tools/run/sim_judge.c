/* SPDX-License-Identifier: MIT */
/*
 * sim_judge.c -- a simulated run, judged.
 *
 * Both ends are seen: what was sent is held against what came.  A run that stands still is cut:
 * nothing is left to happen, or nothing new has happened for long, be it in virtual time or in
 * steps.  It is long where no timer of the plan waits longer (judge_patience()): without any
 * transmission for the longest wait, or with resends alone for as many waits as attempts.  Where a promise is broken, or a session ended badly, the same run is made again, watched,
 * and its deeds say who did it: the same seed is the same run.  A run of several configs is not: one
 * plan is watched in a world.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <nopal/microprotocol.h>
#include "run/sim.h"

enum {
	STUCK_STEPS = 500000,	/* without anything new */
	STUCK_ROUND_TRIPS = 50, /* round trips: */
	STUCK_SECONDS = 60,	/* where no timer waits longer */

	PACKET_BITS = 1500 * 8,
	AGAIN_MAX = 100000000, /* bytes of a run that is made once more */
};

static const struct nopal_counters *end_counters(const struct sim_end *end)
{
	return end->session ? nopal_session_counters(end->session) : &end->counters;
}

/* Above other layers, and above destinations, one transmission may be many datagrams. */
static void facts_add(struct judge_facts *facts, const struct nopal_counters *counters)
{
	uint64_t datagrams = counters->datagrams_out > counters->control_out
				     ? counters->datagrams_out - counters->control_out
				     : 0;

	facts->misuses += counters->misuses;
	facts->data += counters->transmissions > datagrams ? counters->transmissions : datagrams;
	facts->control += counters->control_out;
}

/* Both ends, and those of a group that have ended. */
static void facts_of_flow(struct judge_facts *facts, const struct sim_flow *flow)
{
	facts_add(facts, end_counters(&flow->sender));
	for (unsigned i = 0; i < flow->receiver_count; i++)
		facts_add(facts, end_counters(&flow->receivers[i].end));
	facts->misuses += flow->gone.misuses;
	facts->data += flow->gone.data;
	facts->control += flow->gone.control;
}

/* ------------------------------------------------------------- standing still */

static int64_t link_trip_ns(const struct nopal_link *link)
{
	int64_t queue_ns = 0;

	if (link->rate_bps)
		queue_ns = (int64_t)nopal_scale((uint64_t)link->limit * PACKET_BITS,
						(uint64_t)NOPAL_SECOND, link->rate_bps);
	return link->delay_ns + link->jitter_ns + queue_ns;
}

/* First transmissions are something new, too: a long message takes many. */
static uint64_t transmissions(const struct sim_run *run, bool resends)
{
	uint64_t count = 0;

	for (int i = 0; i < run->options.flows; i++) {
		const struct nopal_session *session = run->flows[i].sender.session;
		const struct nopal_counters *counters;

		if (!session)
			continue;
		counters = nopal_session_counters(session);
		count += counters->transmissions - (resends ? 0 : counters->resends);
	}
	return count;
}

static struct nopal_link_counters link_of(const struct sim_run *run)
{
	struct nopal_link_counters link = { 0 };

	nopal_sim_link_counters(run->world, 0, 1, &link);
	return link;
}

static int64_t later(int64_t one, int64_t other)
{
	return one > other ? one : other;
}

/* Of all plans, and of the way: what is on it may come yet. */
static struct judge_patience patience_of(const struct sim_run *run)
{
	const struct sim_options *options = &run->options;
	struct judge_patience patience = { STUCK_SECONDS * NOPAL_SECOND,
					   STUCK_SECONDS * NOPAL_SECOND };
	int64_t trip_ns = 0, interval_ns = 0, way_ns;

	for (unsigned i = 0; i < options->link_count; i++)
		trip_ns = later(trip_ns, link_trip_ns(&options->forward[i]) +
						 link_trip_ns(&options->reverse[i]));
	for (unsigned i = 0; i < run->load_count; i++) {
		struct judge_patience plan = judge_patience(run->loads[i].plan);

		patience.wait_ns = later(patience.wait_ns, plan.wait_ns);
		patience.all_ns = later(patience.all_ns, plan.all_ns);
		interval_ns =
			later(interval_ns, run->loads[i].interval_ns + run->loads[i].start_ns);
	}
	way_ns = STUCK_ROUND_TRIPS * trip_ns + interval_ns;
	return (struct judge_patience){ patience.wait_ns + way_ns, patience.all_ns + way_ns };
}

static void progress_mark(struct sim_run *run)
{
	struct sim_progress *progress = &run->progress;

	progress->marked = progress->count;
	progress->at_ns = progress->tried_ns = nopal_world_now(run->world);
	progress->patience = patience_of(run);
	progress->marked_steps = progress->steps;
	progress->transmissions = transmissions(run, false);
	progress->tries = transmissions(run, true);
	progress->link = link_of(run);
}

/* Has it stood still for longer than its plan may? */
static bool stands_still(struct sim_run *run)
{
	struct sim_progress *progress = &run->progress;
	int64_t now_ns = nopal_world_now(run->world);
	uint64_t tries = transmissions(run, true);

	if (progress->steps - progress->marked_steps >= STUCK_STEPS)
		return true;
	if (tries != progress->tries) {
		progress->tries = tries;
		progress->tried_ns = now_ns;
	}
	return now_ns >= progress->tried_ns + progress->patience.wait_ns ||
	       now_ns >= progress->at_ns + progress->patience.all_ns;
}

bool sim_judge_misses(const struct sim_receiver *receiver, uint64_t number)
{
	const struct sim_flow *flow = receiver->flow;
	unsigned kind = sim_kind_of(&flow->load->kinds, number), wanted = 1, have = 0;
	const struct nopal_guarantee *receivers =
		&flow->load->kinds.one[kind].promised.quality[NOPAL_RECEIVERS];
	uint64_t only = 0;
	int64_t bound;

	if (sim_traffic_seen(receiver->seen, number))
		return false;
	if (flow->destination)
		only = properties_value(&flow->load->kinds.with, number, "destination");
	if (only)
		return only == (uint64_t)(receiver - flow->receivers) + 1;
	/* So many receivers are to have it. */
	bound = judge_bound(flow->load->plan, receivers);
	if (receivers->value == NOPAL_EVERY)
		wanted = flow->receiver_count;
	else if ((receivers->value & NOPAL_SO_MANY) && bound > 0)
		wanted = (unsigned)bound;
	for (unsigned i = 0; wanted < flow->receiver_count && i < flow->receiver_count; i++)
		have += sim_traffic_seen(flow->receivers[i].seen, number);
	return have < wanted;
}

/* Messages that have not come to receivers that are to have them. */
static uint64_t flow_misses(const struct sim_flow *flow)
{
	const struct sim_load *load = flow->load;
	uint64_t missing = 0;

	if (flow->receiver_count == 1)
		return load->messages - flow->receivers[0].tally.delivered_messages;
	for (unsigned r = 0; r < flow->receiver_count; r++)
		for (uint64_t i = 0; i < load->messages; i++)
			missing += sim_judge_misses(&flow->receivers[r], i);
	return missing;
}

static bool all_done(const struct sim_run *run)
{
	for (int i = 0; i < run->options.flows; i++)
		if (!run->flows[i].closed || flow_misses(&run->flows[i]))
			return false;
	return true;
}

static void stuck(struct sim_run *run, const char *how)
{
	uint64_t missing = 0, all = 0;

	for (int i = 0; i < run->options.flows; i++) {
		const struct sim_flow *flow = &run->flows[i];

		all += flow->load->messages;
		missing += flow_misses(flow);
	}
	if (all_done(run))
		snprintf(run->stuck, sizeof(run->stuck),
			 "%s: all has arrived, and the session does not end", how);
	else
		snprintf(run->stuck, sizeof(run->stuck),
			 "%s: %" PRIu64 " of %" PRIu64 " messages have not arrived", how, missing,
			 all);
}

bool sim_judge_goes_on(struct sim_run *run)
{
	struct sim_progress *progress = &run->progress;
	int64_t waited_ns = nopal_world_now(run->world) - progress->at_ns;
	uint64_t steps = progress->steps - progress->marked_steps;
	struct nopal_link_counters link;
	char how[JUDGE_TEXT];
	struct judge_facts facts = {
		.steps = run->progress.steps,
		.open_ns =
			nopal_world_now(run->world) * run->options.flows * (int64_t)sim_places(run),
	};

	/* All sessions together. */
	for (int i = 0; i < run->options.flows; i++)
		facts_of_flow(&facts, &run->flows[i]);
	if (judge_storms(&facts))
		return false;
	if (!progress->patience.wait_ns || progress->count != progress->marked) {
		progress_mark(run);
		return true;
	}
	if (!stands_still(run))
		return true;
	/* New data left; or the link takes what comes and lets nothing through. */
	link = link_of(run);
	if (transmissions(run, false) != progress->transmissions ||
	    (link.entered != progress->link.entered &&
	     link.delivered == progress->link.delivered)) {
		progress_mark(run);
		return true;
	}
	if (steps < STUCK_STEPS)
		snprintf(how, sizeof(how), "nothing new happened in %" PRId64 " s of virtual time",
			 waited_ns / NOPAL_SECOND);
	else
		snprintf(how, sizeof(how),
			 "nothing new happened in %" PRIu64 " steps (%" PRId64
			 " ms of virtual time)",
			 steps, waited_ns / NOPAL_MILLISECOND);
	stuck(run, how);
	return false;
}

bool sim_judge_waits(const struct sim_run *run)
{
	const struct sim_progress *progress = &run->progress;

	return progress->patience.wait_ns && progress->count == progress->marked &&
	       nopal_world_now(run->world) - progress->at_ns >= STUCK_SECONDS * NOPAL_SECOND;
}

void sim_judge_idle(struct sim_run *run)
{
	if (run->senders_left)
		stuck(run, "nothing is left to happen");
}

/* ------------------------------------------------------------------- verdicts */

void sim_judge_held(struct sim_run *run, struct sim_end *end, const struct nopal_session *session)
{
	judge_suspect_held(run->suspects, session);
	end->stranded = judge_stranded(session);
	end->hoarded = judge_hoarded(session);
	run->stranded |= end->stranded > 0;
}

void sim_judge_destination(struct sim_flow *flow, const struct nopal_destination_info *info)
{
	facts_add(&flow->gone, nopal_session_counters(info->session));
	judge_suspect_held(flow->run->suspects, info->session);
}

static int end_of(const struct sim_end *end)
{
	if (!end->existed)
		return JUDGE_UNSEEN;
	return end->ended ? end->how : JUDGE_OPEN;
}

/* The facts that all messages to a receiver have in common. */
static void facts_make(const struct sim_run *run, const struct sim_receiver *receiver,
		       struct judge_facts *facts)
{
	const struct sim_flow *flow = receiver->flow;
	const struct nopal_counters *sender = &flow->sender.counters;

	*facts = (struct judge_facts){
		.sender_end = end_of(&flow->sender),
		.receiver_end = end_of(&receiver->end),
		.numbered = flow->load->size >= SIM_HEAD_BYTES,
		.counted = true,
		.bytes_seen = true,
		.receiver_restarted = receiver->accepted > 1,
		.sent = flow->next,
		.delivered = receiver->tally.delivered_messages,
		.dropped = sender->messages_missing + receiver->end.counters.messages_discarded,
		.stuck = *run->stuck && !flow->sender.ended ? run->stuck : NULL,
		.unclosed = all_done(run),
		.open_ns = nopal_world_now(run->world),
		.hoarded = flow->sender.hoarded,
		.stranded = receiver->end.stranded,
		.steps = run->progress.steps / (uint64_t)run->options.flows,
	};
	for (unsigned i = 0; i < run->options.link_count; i++)
		facts->link_corrupts |=
			run->options.forward[i].corrupt || run->options.reverse[i].corrupt;
	facts_of_flow(facts, flow);
	if (flow->no_room)
		facts->sender_end = NOPAL_RESOURCE;
}

/* Messages of a kind: how they came, or that they never did, and their outcomes as told. */
static void facts_of_kind(const struct sim_receiver *receiver, unsigned kind,
			  struct judge_facts *facts)
{
	const struct sim_flow *flow = receiver->flow;
	const struct sim_kinds *kinds = &flow->load->kinds;
	const struct sim_came *came = &receiver->history.came[kind];
	const uint8_t *seen = receiver->seen;

	facts->names = *kinds->one[kind].names ? kinds->one[kind].names : NULL;
	facts->twice = came->twice;
	facts->overtaken = came->overtaken;
	facts->wrong = came->wrong;
	facts->related = facts->numbered && kinds->with.rule_count;
	facts->tag_overtaken = came->tag_overtaken;
	facts->early = came->early;
	facts->relabelled = came->relabelled;
	facts->missing = facts->gaps = facts->lies = facts->given_up = (struct judge_count){ 0 };
	for (uint64_t i = 0; facts->numbered && i < flow->next; i++) {
		if (i % SIM_SEEN_AT_ONCE == 0 && seen[i / SIM_SEEN_AT_ONCE] == SIM_SEEN_ALL) {
			i += SIM_SEEN_AT_ONCE - 1;
			continue;
		}
		if (sim_kind_of(kinds, i) != kind || !sim_judge_misses(receiver, i))
			continue;
		judge_note(&facts->missing, i);
		if (i < receiver->history.beyond_gapless)
			judge_note(&facts->gaps, i);
		if (sim_traffic_seen(flow->told, i))
			judge_note(&facts->lies, i);
		if (sim_traffic_seen(flow->given_up, i))
			judge_note(&facts->given_up, i);
	}
}

/* Each kind of messages by its own promise. */
static void judge_receiver(struct sim_run *run, const struct sim_receiver *receiver)
{
	const struct sim_flow *flow = receiver->flow;
	struct judge_facts facts;
	struct judgement one;

	facts_make(run, receiver, &facts);
	for (unsigned kind = 0; kind < flow->load->kinds.count; kind++) {
		facts_of_kind(receiver, kind, &facts);
		judge(flow->load->plan, &facts, &one);
		if (run->judgement.plan)
			judge_join(&run->judgement, &one);
		else
			run->judgement = one;
		run->lacks_messages |=
			sim_kind_promises(&flow->load->kinds, kind, NOPAL_DELIVERY, NOPAL_ALL) &&
			(flow->next < flow->load->messages || facts.missing.times ||
			 (!facts.numbered && facts.delivered < facts.sent));
	}
}

void sim_judge(struct sim_run *run)
{
	for (int i = 0; i < run->options.flows; i++) {
		struct sim_flow *flow = &run->flows[i];

		flow->complete = flow->closed && flow_misses(flow) == 0;
		for (unsigned r = 0; r < flow->receiver_count; r++)
			judge_receiver(run, &flow->receivers[r]);
	}
	if (!judge_is_broken(&run->judgement) && !run->judgement.end)
		return;
	if (run->options.watch) {
		judge_suspect_deeds(run->suspects, run->world);
	} else if (run->load_count == 1 && sim_traffic_delivered(run) <= AGAIN_MAX) {
		struct sim_run again;

		if (sim_again(run, &again))
			judge_suspect_deeds(run->suspects, again.world);
		nopal_world_free(again.world);
		sim_traffic_free(&again);
	}
	judge_blame(&run->judgement, run->suspects);
}
