/* SPDX-License-Identifier: MIT */
#include "oracle.h"

#include <stdio.h>
#include <string.h>

enum {
	SENDER_PORT = 1000,
	RECEIVER_PORT = 2000,
	WARM_UP = 8, /* draws until small seeds are far apart */
};
/* Of the calm, until sessions are closed where no handshake says when. */
#define QUIET_NS (25 * NOPAL_SECOND)

static const char *called(const struct oracle_side *side)
{
	return side == &side->oracle->sender ? "sender" : "receiver";
}

/* ------------------------------------------------------------------ receiving */

/* Before it, all has come that had to: without gaps where nobody gives anything
 * up, until the peer closes, as nothing will come then. */
static void check_gaps(struct oracle *oracle, const struct oracle_side *side,
		       int64_t index)
{
	const struct oracle_side *peer = side->peer;

	if (!oracle->promises.gapless ||
	    (peer->closing && !oracle->promises.reliable))
		return;
	if (oracle->promises.foreign && side->newest < 0)
		return;
	for (int64_t due = side->newest + 1; due < index; due++)
		if (!side->seen[due] && !(peer->marks[due] & ORACLE_EXPENDABLE))
			oracle_violated(oracle,
					"message %lld delivered, %lld was due",
					(long long)index, (long long)due);
}

/* Before it, the message has come that it names. */
static void check_related(struct oracle *oracle, const struct oracle_side *side,
			  int64_t index)
{
	int16_t after = side->peer->after[index];

	if (oracle->promises.related && oracle->promises.reliable &&
	    after >= 0 && !side->seen[after] &&
	    !(side->peer->marks[after] & ORACLE_EXPENDABLE))
		oracle_violated(oracle, "message %lld delivered before %d",
				(long long)index, after);
}

static void check_order(struct oracle *oracle, struct oracle_side *side,
			int64_t index)
{
	if (oracle->promises.once && side->seen[index])
		oracle_violated(oracle, "message %lld delivered twice",
				(long long)index);
	if (side->peer->marks[index] & ORACLE_OUT_OF_BAND)
		return;
	if (oracle->promises.in_order && index <= side->newest)
		oracle_violated(oracle, "message %lld delivered after %lld",
				(long long)index, (long long)side->newest);
	check_gaps(oracle, side, index);
	check_related(oracle, side, index);
	if (index > side->newest)
		side->newest = index;
}

/* Where somebody matches tags, nothing is delivered that was not asked for. */
static void ask_for_next(struct nopal_session *session)
{
	nopal_receive_post(session, 0, 0, 0);
}

static void on_received(struct nopal_session *session,
			struct nopal_message *message, void *user)
{
	struct oracle_side *side = user;
	uint8_t bytes[ORACLE_LONGEST];
	size_t length = nopal_message_copy(message, 0, bytes, sizeof(bytes));
	struct oracle *oracle;
	int64_t index;

	ask_for_next(session);
	if (!side)
		return;
	oracle = side->oracle;
	index = oracle_index_of(side->peer, bytes, length);
	side->delivered++;
	if (side->ended)
		oracle_violated(oracle, "delivered after the end");
	if (index < 0) {
		if (oracle->promises.intact)
			oracle_violated(oracle,
					"a message nobody sent was delivered");
		return;
	}
	check_order(oracle, side, index);
	side->seen[index] = 1;
	side->hash =
		side->hash * UINT64_C(1099511628211) + (uint64_t)index + length;
}

static void on_sent(struct nopal_session *session, uint64_t cookie, int fate,
		    void *user)
{
	struct oracle_side *side = user;
	struct oracle *oracle = side->oracle;

	(void)session;
	side->fates++;
	if (cookie >= side->pushed)
		oracle_violated(oracle, "the fate of a message nobody sent");
	else if (fate == NOPAL_ARRIVED && !side->peer->seen[cookie] &&
		 oracle->promises.intact && oracle->promises.prompt)
		oracle_violated(oracle,
				"message %llu of the %s said to have arrived "
				"did not",
				(unsigned long long)cookie, called(side));
}

static void on_opened(struct nopal_session *session, void *user)
{
	struct oracle_side *side = user;

	if (!side)
		return;
	side->session = session;
	ask_for_next(session);
	if (side->messages)
		oracle_push(side);
}

static void on_writable(struct nopal_session *session, void *user)
{
	struct oracle_side *side = user;

	(void)session;
	if (side->messages)
		oracle_push(side);
}

/* One that is asked for anew, by what was under way when the first one ended, is
 * nobody's. */
static void *on_accepted(struct nopal_session *session, void *user)
{
	struct oracle *oracle = user;

	if (oracle->receiver.session || oracle->receiver.ended)
		return NULL;
	oracle->receiver.session = session;
	return &oracle->receiver;
}

/* A side that talks closes when it has said all. */
static void on_peer_closed(struct nopal_session *session, void *user)
{
	struct oracle_side *side = user;

	if (!side || !side->messages)
		nopal_session_close(session);
}

/* A checker is right to complain of what nobody promised. */
static bool is_right(const struct oracle *oracle, const char *text)
{
	return strncmp(text, "check_fifo", strlen("check_fifo")) == 0 &&
	       !oracle->promises.in_order;
}

/* Without a handshake the first data introduces a session; where all of it was
 * lost and flow control lets no more go, nobody ever hears of it. */
static bool is_unheard(const struct oracle *oracle)
{
	return oracle->run->answers && !oracle->promises.handshake &&
	       !oracle->receiver.session && !oracle->receiver.ended;
}

static void on_ended(struct nopal_session *session, int end, const char *text,
		     void *user)
{
	struct oracle_side *side = user;

	if (!side)
		return;
	if (side->ended)
		oracle_violated(side->oracle, "a session ended twice");
	side->ended = true;
	side->end = end;
	side->session = NULL;
	side->counters = *nopal_session_counters(session);
	if (end == NOPAL_ENDED_WELL || end == NOPAL_ABORTED ||
	    is_unheard(side->oracle))
		return;
	if (is_right(side->oracle, text))
		side->oracle->told = true;
	else
		oracle_violated(side->oracle, "a session broke: %s", text);
}

static const struct nopal_callbacks callbacks = {
	.accepted = on_accepted,
	.opened = on_opened,
	.received = on_received,
	.sent = on_sent,
	.writable = on_writable,
	.peer_closed = on_peer_closed,
	.ended = on_ended,
};

/* ---------------------------------------------------------------------- a run */

static bool may_wait(const struct nopal_plan *plan)
{
	for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
		const struct nopal_hold *hold =
			nopal_plan_part(plan, i)->microprotocol->holds;

		for (; hold && hold->why; hold++)
			if (hold->barrier == NOPAL_DELIVER)
				return true;
	}
	return false;
}

static struct oracle_promises promises_of(const struct nopal_plan *plan,
					  bool corrupts)
{
	return (struct oracle_promises){
		.reliable = nopal_plan_provides(plan, "reliability") &&
			    !nopal_plan_provides(plan, "partial_reliability") &&
			    !nopal_plan_provides(plan, "jitter"),
		.in_order = nopal_plan_provides(plan, "order"),
		.gapless = nopal_plan_provides(plan, "reliable_order") &&
			   !nopal_plan_provides(plan, "jitter"),
		.complete = !nopal_plan_provides(plan, "jitter"),
		.related = nopal_plan_provides(plan, "partial_order"),
		.foreign = nopal_plan_provides(plan, "data_format"),
		.once = nopal_plan_provides(plan, "duplicate_filter") ||
			nopal_plan_provides(plan, "order"),
		.intact = !corrupts || nopal_plan_provides(plan, "integrity"),
		.handshake = nopal_plan_provides(plan, "connection"),
		.prompt = !may_wait(plan),
	};
}

static struct nopal_plan *load(const char *config,
			       struct nopal_problems *problems)
{
	struct nopal_plan *plan = NULL;
	char text[256];

	if (strchr(config, '\n'))
		return nopal_plan_parse(config, "oracle.conf", NULL, problems);
	plan = nopal_plan_load(config, NULL, problems);
	if (!plan)
		return NULL;
	snprintf(text, sizeof(text),
		 plan->layer_count == 1
			 ? "extends = \"%s\"\nan_oracle {}\n"
			 : "extends = \"%s\"\nlayer \"%s\" { an_oracle {} }\n",
		 config, plan->layers[0].name);
	nopal_plan_unref(plan);
	return nopal_plan_parse(text, "oracle.conf", NULL, problems);
}

static void prepare_side(struct oracle *oracle, struct oracle_side *side,
			 struct oracle_side *peer, uint32_t messages)
{
	side->oracle = oracle;
	side->peer = peer;
	side->newest = -1;
	side->messages = messages;
	oracle_plan_messages(side);
}

static bool prepare(struct oracle *oracle, const struct oracle_run *run)
{
	struct nopal_problems problems;
	uint64_t limit;

	memset(oracle, 0, sizeof(*oracle));
	oracle_register();
	nopal_problems_init(&problems);
	oracle->run = run;
	oracle->plan = load(run->config, &problems);
	if (!oracle->plan)
		nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	if (!oracle->plan) {
		oracle_violated(oracle, "the config %s is bad", run->config);
		return false;
	}
	oracle->corrupts = strstr(run->link, "corrupt") != NULL;
	oracle->replays = strstr(run->link, "duplicate") &&
			  nopal_plan_provides(oracle->plan, "confidentiality");
	oracle->promises = promises_of(oracle->plan, oracle->corrupts);
	limit = nopal_plan_message_limit(oracle->plan);
	oracle->longest =
		limit < ORACLE_LONGEST ? (uint32_t)limit : ORACLE_LONGEST;
	oracle->random = (run->seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	for (int i = 0; i < WARM_UP; i++)
		oracle_draw(oracle);
	prepare_side(oracle, &oracle->sender, &oracle->receiver, run->messages);
	prepare_side(oracle, &oracle->receiver, &oracle->sender, run->answers);
	return true;
}

static void links(struct oracle *oracle, const char *words, bool change)
{
	struct nopal_link forward, reverse;
	struct nopal_problems problems;

	nopal_problems_init(&problems);
	if (nopal_link_parse(words, &forward, &reverse, &problems) < 0) {
		nopal_problems_print(&problems, stderr);
		oracle_violated(oracle, "bad link words");
	} else if (change) {
		nopal_sim_change(oracle->world, 0, 1, &forward);
		nopal_sim_change(oracle->world, 1, 0, &reverse);
	} else {
		nopal_sim_connect(oracle->world, 0, 1, &forward, &reverse);
	}
	nopal_problems_fini(&problems);
}

static void open_pair(struct oracle *oracle)
{
	struct nopal_endpoint *from =
		nopal_sim_endpoint(oracle->world, 0, SENDER_PORT);
	struct nopal_endpoint *to =
		nopal_sim_endpoint(oracle->world, 1, RECEIVER_PORT);
	struct nopal_address peer;

	nopal_sim_address(1, RECEIVER_PORT, &peer);
	nopal_endpoint_allow(to, oracle->plan, NOPAL_ALLOW_CONNECTIONLESS,
			     &callbacks, oracle);
	nopal_session_open(from, oracle->plan, &peer, &callbacks,
			   &oracle->sender);
}

static void close_both(void *user)
{
	struct oracle *oracle = user;

	oracle_close(&oracle->sender);
	oracle_close(&oracle->receiver);
}

static void check_counters(struct oracle *oracle,
			   const struct nopal_counters *counters)
{
	if (counters->rx_malformed && !oracle->corrupts &&
	    !oracle->promises.foreign)
		oracle_violated(oracle, "the peer was not understood");
	if (counters->rx_sealed_badly && !oracle->corrupts && !oracle->replays)
		oracle_violated(oracle, "what the peer sealed was refused");
	if (counters->misuses)
		oracle_violated(oracle, "a bit was released that was not held");
	if (counters->refused_sends)
		oracle_violated(oracle,
				"a send was asked for after SEGMENT_DONE");
}

/* The first message that must arrive.  What is in order without gaps stops at
 * the first one that is lost, where nobody sends it again. */
static uint32_t first_due(const struct oracle *oracle,
			  const struct oracle_side *side)
{
	if (!oracle->promises.complete)
		return side->messages;
	if (oracle->promises.reliable)
		return 0;
	if (oracle->promises.gapless || !oracle->run->answers)
		return side->messages;
	return side->messages - ORACLE_LATE;
}

/* The end of one direction: every message has a fate, and what was promised has
 * happened. */
static void check_sent(struct oracle *oracle, const struct oracle_side *side)
{
	const char *who = called(side);

	if (!side->ended)
		oracle_violated(oracle, "the %s has not ended: %u of %u pushed",
				who, side->pushed, side->messages);
	if (side->pushed != side->messages)
		oracle_violated(oracle, "the %s sent %u of %u messages", who,
				side->pushed, side->messages);
	if (side->fates != side->pushed)
		oracle_violated(oracle, "%s: %u messages, %u fates", who,
				side->pushed, side->fates);
	for (uint32_t i = first_due(oracle, side); i < side->messages; i++)
		if (!side->peer->seen[i] &&
		    !(side->marks[i] & ORACLE_EXPENDABLE))
			oracle_violated(oracle,
					"message %u of %u of the %s was not "
					"delivered, although %s",
					i, side->messages, who,
					oracle->promises.reliable
						? "delivery is reliable"
						: "the network was calm");
}

static void check_end(struct oracle *oracle)
{
	oracle->unheard = is_unheard(oracle);
	if (oracle->unheard)
		return;
	check_counters(oracle, &oracle->sender.counters);
	check_counters(oracle, &oracle->receiver.counters);
	check_sent(oracle, &oracle->sender);
	if (oracle->run->answers)
		check_sent(oracle, &oracle->receiver);
	if (oracle->promises.handshake && !oracle->receiver.ended)
		oracle_violated(oracle, "the receiver has not ended");
}

static void go(struct oracle *oracle)
{
	const struct oracle_run *run = oracle->run;

	if (run->traced)
		nopal_trace_start(oracle->world, run->trace_file,
				  NOPAL_TRACE_EVENTS);
	nopal_sim_host(oracle->world);
	nopal_sim_host(oracle->world);
	links(oracle, run->link, false);
	open_pair(oracle);
	if (!oracle_closes_itself(oracle))
		nopal_sim_at(oracle->world, run->calm_ns + QUIET_NS, close_both,
			     oracle);
	if (run->calm_link) {
		nopal_sim_run(oracle->world, run->calm_ns);
		links(oracle, run->calm_link, true);
	}
	nopal_sim_run(oracle->world, run->patience_ns);
}

bool oracle_run(struct oracle *oracle, const struct oracle_run *run)
{
	if (prepare(oracle, run)) {
		oracle->world = nopal_sim_new(run->seed);
		go(oracle);
		check_end(oracle);
		if (run->traced)
			oracle->trace = nopal_trace_hash(oracle->world);
		nopal_world_free(oracle->world);
		nopal_plan_unref(oracle->plan);
	}
	return oracle->violation[0] == '\0';
}
