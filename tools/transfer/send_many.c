/* SPDX-License-Identifier: MIT */
/*
 * send_many.c -- files to many receivers, one after the other, each in a group of its own: who
 * refuses one of them may take the next.  Who died gets none any more.  What happens to one file is
 * in send_many_file.h.
 */
#include <stdlib.h>
#include <string.h>

#include "inspect/show.h"
#include "transfer/send_many.h"
#include "transfer/send_many_answers.h"
#include "transfer/send_many_check.h"
#include "transfer/send_many_file.h"
#include "transfer/send_many_shares.h"

enum {
	SEND_SPREAD_CHUNK_MAX = 4 << 20,
	SEND_AHEAD_CHUNKS = 2, /* for each receiver */
};
#define SEND_TICK_NS  (200 * NOPAL_MILLISECOND)
#define SEND_PING_NS  NOPAL_SECOND /* of silence */
#define SEND_SPOKE_NS (2 * NOPAL_SECOND)

/* ------------------------------------------------------------------- the rule */

static void send_many_rule(struct many *many)
{
	int64_t acks;
	struct table *table = &many->table;
	const struct nopal_part *part = show_provider(many->plan, "fan_out");
	const struct nopal_parameter *at = part ? part->microprotocol->parameters : NULL;

	acks = 0;
	for (; at && at->name; at++)
		if (strcmp(at->name, "acks") == 0)
			memcpy(&acks, (const char *)part->parameters + at->offset, sizeof(acks));
	table->spread = nopal_plan_provides(many->plan, "destination_choice");
	table->needed = acks ? (unsigned)acks : table->count;
	if (table->spread)
		table->mode = "balance";
	else if (acks == 0)
		table->mode = "all";
	else
		table->mode = acks == 1 ? "any" : "quorum";
}

/* A rule that could never be kept is a mistake. */
static bool send_many_may_keep(const struct table *table)
{
	if (table->spread || table->needed <= table->count)
		return true;
	fprintf(stderr,
		"error: %u must have it, and there %s %u\n"
		"  fix: give more receivers, or --set fan_out.acks=%u\n",
		table->needed, table->count == 1 ? "is" : "are", table->count, table->count);
	return false;
}

/* ------------------------------------------------------------------ one file */

static void send_many_add(struct many *many, struct many_one *one)
{
	int64_t id;

	if (one->dead) {
		many_over(many, one, TABLE_DIED, "it had died before");
		return;
	}
	one->state = MANY_OPENING;
	id = nopal_destination_add(many->group, &one->address);
	if (id < 0)
		many_over(many, one, TABLE_FAILED, strerror((int)-id));
	else if (one->state == MANY_OPENING)
		many_name(many, one, (uint32_t)id);
}

static void send_many_forget(struct many *many)
{
	many->stage = MANY_GATHERING;
	many->outcomes = 0;
	many->rounds = 0;
	many->from = 0;
	many->table.union_bytes = 0;
	many->table.shown_ns = many_now(many);
	many->table.file = (struct progress_file){
		.name = many->reader.source.name,
		.plan = nopal_plan_name(many->plan),
		.started_ns = many_now(many),
	};
	for (unsigned i = 0; i < many->count; i++) {
		struct many_one *one = &many->ones[i];

		one->id = 0;
		one->has_it = false;
		one->has = 0;
		many_forget_held(one);
		free(one->row->why);
		*one->row = (struct table_row){ .peer = one->row->peer };
	}
}

static void send_many_begin(struct many *many)
{
	uint32_t chunk;
	uint64_t apart, ahead;
	struct nopal_budget budget;

	send_many_forget(many);
	if (!reader_open(&many->reader, (uint32_t)many->at, many->paths[many->at])) {
		many->table.file.error = many->reader.error;
		loop_event_start(many->next, 0);
		return;
	}
	many->table.file.total_bytes = many->reader.source.size;
	/* A receiver holds so many pieces apart, and no more. */
	chunk = transfer_chunk_bytes(many->plan);
	apart = many->reader.source.size / RANGES_MAX + 1;
	if (!many->table.spread || apart <= chunk)
		many->reader.chunk_bytes = chunk;
	else
		many->reader.chunk_bytes =
			apart < SEND_SPREAD_CHUNK_MAX ? (uint32_t)apart : SEND_SPREAD_CHUNK_MAX;
	live_judge_begin(&many->judge, many->plan, loop_world(many->loop), &many->judges, true);
	many->group = nopal_session_open(&(struct nopal_open){ .endpoint = many->endpoint,
							       .plan = many->plan,
							       .callbacks = &many_callbacks,
							       .user = many });
	if (!many->group) {
		many->table.file.error = "no session: out of memory";
		loop_event_start(many->next, 0);
		return;
	}
	/* Where each gets a piece of its own, enough for all must be under way. */
	budget = *nopal_plan_budget(many->plan);
	ahead = (uint64_t)many->reader.chunk_bytes * many->count * SEND_AHEAD_CHUNKS;
	if (many->table.spread && ahead > budget.send_bytes)
		budget.send_bytes = ahead;
	nopal_session_set_budget(many->group, &budget);
	for (unsigned i = 0; i < many->count && many->group; i++)
		send_many_add(many, &many->ones[i]);
	many_go_on(many);
}

/* The file has ended for all receivers. */
static void send_many_next(void *user)
{
	struct many *many = user;

	if (many->interrupted)
		many->table.file.error = "interrupted";
	many->table.file.transport = nopal_endpoint_transport(many->endpoint);
	many->judge.facts.all_receivers = table_is_kept(&many->table);
	if (live_judge_is_broken(&many->judge, &many->table.progress) || many->table.file.error ||
	    !table_is_kept(&many->table))
		many->exit = TOOL_FAILED;
	many->table.file.judged = live_judge_result(&many->judge);
	live_judge_fini(&many->judge);
	table_end(&many->table);
	reader_close(&many->reader);
	loop_event_stop(many->step);
	loop_event_stop(many->paced);
	if (++many->at == many->path_count || many->interrupted)
		loop_stop(many->loop);
	else
		send_many_begin(many);
}

/* ----------------------------------------------------------------------- time */

/* Where no handshake tells, those who are not there. */
static void send_many_miss(struct many *many, int64_t now_ns)
{
	size_t count = many->group && many->stage == MANY_GATHERING
			       ? nopal_destinations(many->group, many->infos, many->count)
			       : 0;
	bool missed = false;

	for (size_t i = 0; i < count && i < many->count; i++) {
		struct many_one *one = many_find(many, many->infos[i].id);

		if (!one || one->state != MANY_OFFERED ||
		    !transfer_is_alone(many->infos[i].session, many->plan,
				       now_ns - one->offered_ns))
			continue;
		many_leave(many, one, TABLE_UNREACHED, TRANSFER_ALONE);
		one->row->fix = tool_ended_fix(NOPAL_UNREACHABLE);
		missed = true;
	}
	if (missed)
		many_go_on(many);
}

/* Does one that owes us an answer say that it lives? */
static bool send_many_is_heard(const struct many *many, int64_t now_ns)
{
	for (unsigned i = 0; i < many->count; i++) {
		const struct many_one *one = &many->ones[i];

		if (one->state > MANY_OPENING && one->state != MANY_TAKING &&
		    now_ns - one->spoke_ns < SEND_SPOKE_NS)
			return true;
	}
	return false;
}

static void send_many_tick(void *user)
{
	struct many *many = user;
	int64_t now_ns = many_now(many);

	send_many_miss(many, now_ns);
	if (many->group) {
		struct live_judge *judge = &many->judge;
		uint64_t moves;

		/* Nothing has moved for long, or too much leaves for what is sent: that is the
		 * end. */
		/* A counter that grows while data go to any receiver. */
		moves = many->outcomes + many->reader.chunks;
		many_measure_all(many);
		for (unsigned i = 0; i < many->count; i++)
			moves += many->ones[i].row->bytes;
		if (!live_judge_cuts_storm(judge, many->group)) {
			if (moves != many->moves || many->stage == MANY_CHECKING ||
			    send_many_is_heard(many, now_ns))
				live_judge_moved(judge);
			many->moves = moves;
			if (live_judge_stands(judge) && !many_any(many, MANY_OPENING))
				live_judge_cut_sender(judge, many->group);
		}
	}
	for (unsigned i = 0; i < many->count && many->group; i++) {
		const struct transfer_note ping = { .type = TRANSFER_PING };

		/* Offers it again, and asks who is silent whether it lives: while we only wait,
		 * nothing of ours is on its way that could get lost. */
		if (many->ones[i].state == MANY_WAITING && now_ns >= many->ones[i].again_ns) {
			many_offer(many, &many->ones[i]);
		} else if (many->ones[i].state > MANY_OPENING &&
			   many->ones[i].state != MANY_TAKING &&
			   now_ns - many->ones[i].heard_ns >= SEND_PING_NS &&
			   !many->ones[i].out.count) {
			many->ones[i].heard_ns = now_ns;
			transfer_say(&many->ones[i].out, &ping);
		}
	}
	if (many->group && table_is_due(&many->table, now_ns)) {
		many_measure_all(many);
		table_show(&many->table, now_ns);
	}
	loop_event_start(many->tick, SEND_TICK_NS);
}

static void send_many_on_pace(void *user)
{
	many_pump(user);
}

static void send_many_on_interrupt(void *user)
{
	struct many *many = user;

	many->interrupted = true;
	if (many->group)
		nopal_session_abort(many->group, "interrupted");
}

/* --------------------------------------------------------------------- running */

static bool send_many_setup(struct many *many, const char *trace)
{
	struct loop *loop = many->loop = loop_new(trace);

	if (!loop || !live_judge_watch(&many->judges, loop_world(loop), many->plan))
		return false;
	many->step = loop_event_new(loop, LOOP_TIMER, -1, many_check, many);
	many->paced = loop_event_new(loop, LOOP_TIMER, -1, send_many_on_pace, many);
	many->tick = loop_event_new(loop, LOOP_TIMER, -1, send_many_tick, many);
	many->next = loop_event_new(loop, LOOP_TIMER, -1, send_many_next, many);
	return many->step && many->paced && many->tick && many->next &&
	       loop_on_interrupt(loop, send_many_on_interrupt, many);
}

static bool send_many_room(struct many *many, char *const *names, const struct nopal_address *peers)
{
	many->ones = calloc(many->count, sizeof(*many->ones));
	many->infos = calloc(many->count, sizeof(*many->infos));
	many->table.rows = calloc(many->count, sizeof(*many->table.rows));
	if (!many->ones || !many->infos || !many->table.rows)
		return false;
	for (unsigned i = 0; i < many->count; i++) {
		many->ones[i].address = peers[i];
		many->ones[i].row = &many->table.rows[i];
		many->table.rows[i].peer = names[i];
	}
	return true;
}

/* The address of the plan's channel; false: it has none. */
static bool send_many_channel(const struct nopal_plan *plan, struct nopal_address *ret_address)
{
	for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
		const struct nopal_part *part = nopal_plan_part(plan, i);
		const struct nopal_parameter *parameter = part->microprotocol->parameters;
		const struct nopal_role *role = part->microprotocol->provides;

		while (role && role->name && strcmp(role->name, "channel") != 0)
			role++;
		if (!role || !role->name)
			continue;
		for (; parameter && parameter->name; parameter++) {
			if (parameter->unit == NOPAL_ADDRESS) {
				memcpy(ret_address,
				       (const char *)part->parameters + parameter->offset,
				       sizeof(*ret_address));
				return true;
			}
		}
	}
	return false;
}

/* A receiver reached by the other family than the channel's gets copies: where that is everybody,
 * somebody meant something else. */
static void send_many_note_family(const struct many *many, const struct nopal_address *peers)
{
	char text[NOPAL_ADDRESS_TEXT];
	struct nopal_address channel;
	unsigned others = 0;

	if (!send_many_channel(many->plan, &channel))
		return;
	for (unsigned i = 0; i < many->count; i++)
		others += nopal_address_is_v4(&peers[i]) != nopal_address_is_v4(&channel);
	if (others < many->count)
		return;
	fprintf(stderr,
		"note: each receiver gets a copy of its own: %s is an address "
		"of IPv%c, and theirs are not\n"
		"  fix: give both sides %s\n",
		nopal_address_format(&channel, text), nopal_address_is_v4(&channel) ? '4' : '6',
		nopal_address_is_v4(&channel) ? "-c multicast6" : "-c multicast");
}

static void send_many_cleanup(struct many *many)
{
	loop_event_free(many->step);
	loop_event_free(many->paced);
	loop_event_free(many->tick);
	loop_event_free(many->next);
	if (many->loop)
		loop_free(many->loop);
	for (unsigned i = 0; many->ones && many->table.rows && i < many->count; i++) {
		many_forget_held(&many->ones[i]);
		free(many->table.rows[i].why);
	}
	free(many->ones);
	free(many->infos);
	free(many->table.rows);
	free(many->held);
	nopal_plan_unref(many->plan);
}

enum tool_exit send_many(const struct tool_call *call, struct nopal_plan *plan, int files,
			 const struct nopal_address *peers, int64_t rate_bps)
{
	struct many many = {
		.plan = plan,
		.destination = nopal_property(plan, "destination"),
		.count = (unsigned)(call->word_count - files),
		.paths = call->words,
		.path_count = files,
		.reader.pace.rate_bps = rate_bps,
	};

	many.table.count = many.count;
	progress_init(&many.table.progress, "send", tool_value(call, "json") != NULL,
		      tool_value(call, "jsonl") != NULL);
	send_many_rule(&many);
	if (!send_many_may_keep(&many.table) || !live_judge_read(call, &many.judges)) {
		many.exit = TOOL_BAD_INPUT;
	} else if (send_many_room(&many, call->words + files, peers) &&
		   send_many_setup(&many, tool_value(call, "trace"))) {
		many.endpoint = loop_endpoint_to_all(many.loop, peers, many.count);
		if (!many.endpoint) {
			many.exit = TOOL_ENVIRONMENT;
		} else {
			send_many_note_family(&many, peers);
			reader_init(&many.reader, loop_world(many.loop),
				    transfer_chunk_bytes(many.plan));
			send_many_begin(&many);
			loop_event_start(many.tick, SEND_TICK_NS);
			loop_run(many.loop);
			reader_close(&many.reader);
		}
	} else {
		many.exit = TOOL_ENVIRONMENT;
	}
	send_many_cleanup(&many);
	return many.exit;
}
