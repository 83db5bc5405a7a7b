/* SPDX-License-Identifier: MIT */
/*
 * send_many.c -- files from `nopal send` to several receivers, one file after the other, each in a
 * group of its own: a receiver that refuses one file may take the next.  A receiver that died gets
 * no more.  The stages of a file are in send_many_file.h.
 */
#include <stdlib.h>
#include <string.h>

#include "inspect/show.h"
#include "transfer/send.h"
#include "transfer/send_many_file.h"

enum {
	SEND_SPREAD_CHUNK_MAX = 4 << 20,
	SEND_AHEAD_CHUNKS = 2, /* for each receiver */
};
#define SEND_TICK_NS  (200 * NOPAL_MILLISECOND)
#define SEND_SPOKE_NS (2 * NOPAL_SECOND)
#define SEND_GRACE_NS NOPAL_SECOND
#define SEND_AGAIN    "then the same command again: receivers with the file are left alone"

/* ------------------------------------------------------------------- the rule */

/* The parameter of this name, or the first one with this unit (name NULL), of the part that
 * provides the role, as it lies in memory; NULL: there is none. */
static const void *send_many_parameter(const struct nopal_plan *plan, const char *role,
				       const char *name, enum nopal_unit unit)
{
	const struct nopal_part *part = show_provider(plan, role);
	const struct nopal_parameter *at = part ? part->microprotocol->parameters : NULL;

	for (; at && at->name; at++)
		if (name ? strcmp(at->name, name) == 0 : at->unit == unit)
			return (const char *)part->parameters + at->offset;
	return NULL;
}

/* How many must have the file.  False: a rule that could never be kept, which is a mistake. */
static bool send_many_rule(struct many *many)
{
	const void *parameter = send_many_parameter(many->plan, "fan_out", "acks", NOPAL_COUNT);
	struct table *table = &many->table;
	int64_t acks = 0;

	if (parameter)
		memcpy(&acks, parameter, sizeof(acks));
	table->spread = nopal_plan_provides(many->plan, "destination_choice");
	table->needed = acks ? (unsigned)acks : many->count;
	if (table->spread)
		table->mode = "balance";
	else if (acks == 0)
		table->mode = "all";
	else
		table->mode = acks == 1 ? "any" : "quorum";
	if (table->spread || table->needed <= many->count)
		return true;
	return tool_error("%u must have it, and there %s %u\n"
			  "  fix: give more receivers, or --set fan_out.acks=%u",
			  table->needed, many->count == 1 ? "is" : "are", many->count, many->count);
}

/* ------------------------------------------------------------------ callbacks */

static void send_many_on_answer(struct many *many, struct destination *one,
				const struct transfer_note *note)
{
	uint64_t size = many->reader.source.size;
	int64_t now_ns = loop_now(many->loop);

	if (note->verdict == TRANSFER_NO) {
		many_leave(many, one, TABLE_REFUSED, note->text, "mend that there, " SEND_AGAIN);
	} else if (note->verdict == TRANSFER_YES) {
		one->phase = PHASE_ANSWERED;
		one->hash = note->hash;
		/* The beginning of a spread file is of no use. */
		one->has = note->offset == size || (note->offset < size && !many->table.spread)
				   ? note->offset
				   : 0;
	} else if (now_ns - one->offered_ns > TRANSFER_OFFER_FOR_NS) {
		many_leave(many, one, TABLE_REFUSED, note->text, NULL);
	} else {
		one->phase = PHASE_WAITING;
		one->again_ns = now_ns + TRANSFER_OFFER_AGAIN_NS;
	}
}

static void send_many_on_received(struct nopal_session *session, struct nopal_message *message,
				  void *user)
{
	struct many *many = user;
	struct destination *one = destination_find(
		many->ones, many->count, nopal_message_property(message, many->destination));
	struct transfer_note note;
	char why[TRANSFER_TEXT_ROOM];

	(void)session;
	if (!one)
		return;
	if (transfer_received(message, &note)) {
		one->heard_ns = one->spoke_ns = loop_now(many->loop);
		if (note.file != many->reader.file || one->phase == PHASE_OUT)
			return;
		if (note.type == TRANSFER_ANSWER && one->phase == PHASE_ASKED) {
			send_many_on_answer(many, one, &note);
		} else if (note.type == TRANSFER_RESULT &&
			   destination_takes(one, &note, &many->judge.facts, why)) {
			one->bytes = many->reader.source.size;
			many_leave(many, one, one->has_it ? TABLE_HERE : TABLE_COMPLETE, NULL,
				   NULL);
		} else if (note.type == TRANSFER_RESULT) {
			many_measure_all(many);
			many_leave(many, one, TABLE_FAILED, why, "mend that there, " SEND_AGAIN);
		} else if (note.type == TRANSFER_HELD && one->phase == PHASE_ENDED &&
			   many->stage == MANY_ENDING) {
			many_on_held(many, one, message);
		} else {
			return;
		}
		live_judge_moved(&many->judge);
		many_go_on(many);
		return;
	}
	many_over(many, one, TABLE_FAILED, TRANSFER_STRANGER, NULL);
	nopal_destination_remove(many->group, one->id, true);
	many_go_on(many);
}

static void send_many_on_destination(struct nopal_session *session,
				     const struct nopal_destination_info *info, void *user)
{
	struct many *many = user;
	struct destination *one;
	enum nopal_end end = info->end;
	bool returns = end == NOPAL_PEER_LOST || end == NOPAL_GAVE_UP || end == NOPAL_ABORTED;

	/* Without a handshake a receiver is open before it has its id here. */
	one = destination_find(many->ones, many->count, info->id);
	for (unsigned i = 0; i < many->count && !one; i++) {
		struct destination *at = &many->ones[i];

		if (at->phase != PHASE_OPENING || at->id ||
		    !nopal_address_equal(&at->address, &info->address))
			continue;
		destination_name(at, many->destination, info->id);
		one = at;
	}
	if (info->ended)
		live_judge_destination_ended(&many->judge, info);
	if (!one)
		return;
	live_judge_moved(&many->judge);
	one->heard_ns = loop_now(many->loop);
	if (!info->ended) {
		one->out.session = session;
		one->offered_ns = one->heard_ns;
		if (one->phase == PHASE_OPENING)
			destination_offer(one, &many->reader);
		return;
	}
	many_measure(many, one, info);
	one->id = 0;
	one->out.session = NULL;
	one->out.count = 0;
	many_forget_held(one);
	if (one->phase == PHASE_OUT)
		return;
	/* The session ended before the file was over for the receiver. */
	if (many->interrupted) {
		many_over(many, one, one->state, "interrupted", NULL);
		return;
	}
	one->dead = true;
	nopal_destination_remove_host(many->group, &one->address, true);
	many_over(many, one, table_state_of_end(end),
		  end == NOPAL_ENDED_WELL ? "it closed the session" : info->text,
		  returns ? "bring it back, " SEND_AGAIN : tool_ended_fix(end));
	many_go_on(many);
}

static void send_many_on_sent(struct nopal_session *session, uint64_t cookie,
			      enum nopal_outcome outcome, void *user)
{
	struct many *many = user;

	(void)session;
	(void)outcome;
	if (cookie != MANY_DATA)
		return;
	many->outcomes++;
	if (many->stage == MANY_DRAINING)
		many_go_on(many);
}

static void send_many_on_writable(struct nopal_session *session, void *user)
{
	(void)session;
	many_flush(user);
	many_pump(user);
}

static void send_many_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			       void *user)
{
	struct many *many = user;

	(void)text;
	live_judge_end(&many->judge, session, end);
	many->group = NULL;
	many->stage = MANY_CLOSING;
	loop_event_start(many->step, 0);
}

static const struct nopal_callbacks send_many_callbacks = {
	.received = send_many_on_received,
	.sent = send_many_on_sent,
	.writable = send_many_on_writable,
	.destination = send_many_on_destination,
	.ended = send_many_on_ended,
};

/* ------------------------------------------------------------------ one file */

static void send_many_add(struct many *many, struct destination *one)
{
	int64_t id;

	if (one->dead) {
		many_over(many, one, TABLE_DIED, "it had died before", NULL);
		return;
	}
	one->phase = PHASE_OPENING;
	id = nopal_destination_add(many->group, &one->address);
	if (id < 0)
		many_over(many, one, TABLE_FAILED, strerror((int)-id), NULL);
	else if (one->phase == PHASE_OPENING)
		destination_name(one, many->destination, (uint32_t)id);
	for (unsigned i = 1; id >= 0 && i < one->streams; i++)
		nopal_destination_add(many->group, &one->address);
}

static void send_many_forget(struct many *many)
{
	many->stage = MANY_GATHERING;
	many->outcomes = 0;
	many->rounds = 0;
	many->from = 0;
	many->enough_ns = 0;
	many->table.union_bytes = 0;
	many->table.shown_ns = loop_now(many->loop);
	many->table.file = (struct progress_file){
		.name = many->reader.source.name,
		.plan = nopal_plan_info(many->plan)->name,
		.started_ns = loop_now(many->loop),
	};
	for (unsigned i = 0; i < many->count; i++) {
		struct destination *one = &many->ones[i];

		many_forget_held(one);
		free(one->why);
		*one = (struct destination){ .peer = one->peer,
					     .address = one->address,
					     .streams = one->streams,
					     .dead = one->dead,
					     .phase = PHASE_OUT };
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
		loop_event_start(many->step, 0);
		return;
	}
	many->table.file.total_bytes = many->reader.source.size;
	/* A receiver holds RANGES_MAX pieces apart, and no more. */
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
							       .callbacks = &send_many_callbacks,
							       .user = many });
	if (!many->group) {
		many->table.file.error = "no session: out of memory";
		loop_event_start(many->step, 0);
		return;
	}
	/* Of a spread file, enough pieces for all receivers must be under way. */
	budget = *nopal_plan_budget(many->plan);
	ahead = (uint64_t)many->reader.chunk_bytes * many->count * SEND_AHEAD_CHUNKS;
	if (many->table.spread && ahead > budget.send_bytes)
		budget.send_bytes = ahead;
	nopal_session_set_budget(many->group, &budget);
	for (unsigned i = 0; i < many->count && many->group; i++)
		send_many_add(many, &many->ones[i]);
	many_go_on(many);
}

/* Goes on with a file, or, when it has ended for all receivers, with the next one. */
static void send_many_step(void *user)
{
	struct many *many = user;
	struct table *table = &many->table;

	if (many->group) {
		if (many->stage == MANY_CHECKING)
			many_check(many);
		else
			many_pump(many);
		return;
	}
	if (many->interrupted)
		table->file.error = "interrupted";
	table->file.transport = nopal_endpoint_transport(many->endpoint);
	many->judge.facts.all_receivers = table_is_kept(table);
	if (live_judge_is_broken(&many->judge, &table->progress) || table->file.error ||
	    !table_is_kept(table))
		many->exit = TOOL_FAILED;
	table->file.judged = live_judge_result(&many->judge);
	live_judge_fini(&many->judge);
	table_end(table);
	reader_close(&many->reader);
	if (++many->at == many->path_count || many->interrupted)
		loop_stop(many->loop);
	else
		send_many_begin(many);
}

/* ----------------------------------------------------------------------- time */

/* Gives up receivers that are silent, where no handshake tells that. */
static void send_many_miss(struct many *many, int64_t now_ns)
{
	size_t count = many->group && many->stage == MANY_GATHERING
			       ? nopal_destinations(many->group, many->infos, many->streams)
			       : 0;
	bool missed = false;

	for (size_t i = 0; i < count && i < many->streams; i++) {
		struct destination *one =
			destination_find(many->ones, many->count, many->infos[i].id);

		if (!one || one->phase != PHASE_ASKED ||
		    !transfer_is_alone(many->infos[i].session, many->plan,
				       now_ns - one->offered_ns))
			continue;
		many_leave(many, one, TABLE_UNREACHED, TRANSFER_ALONE,
			   tool_ended_fix(NOPAL_UNREACHABLE));
		missed = true;
	}
	if (missed)
		many_go_on(many);
}

/* Where fewer than all must have the file, and as many have answered, the others have little time
 * left to answer: the file does not wait until the dead are known to be dead. */
static void send_many_hurry(struct many *many, int64_t now_ns)
{
	unsigned answered = 0;

	if (!many->group || many->stage != MANY_GATHERING || many->table.spread)
		return;
	for (unsigned i = 0; i < many->count; i++)
		answered += many->ones[i].phase == PHASE_ANSWERED;
	if (answered < many->table.needed)
		many->enough_ns = 0;
	else if (!many->enough_ns)
		many->enough_ns = now_ns;
	if (!many->enough_ns || now_ns - many->enough_ns < SEND_GRACE_NS)
		return;
	for (unsigned i = 0; i < many->count; i++) {
		struct destination *one = &many->ones[i];

		if (one->phase != PHASE_OPENING && one->phase != PHASE_ASKED &&
		    one->phase != PHASE_WAITING)
			continue;
		many_over(many, one, TABLE_UNREACHED,
			  "no answer, and enough receivers had given one",
			  tool_ended_fix(NOPAL_UNREACHABLE));
		nopal_destination_remove_host(many->group, &one->address, true);
	}
	many_go_on(many);
}

static void send_many_tick(void *user)
{
	struct many *many = user;
	int64_t now_ns = loop_now(many->loop);

	send_many_miss(many, now_ns);
	send_many_hurry(many, now_ns);
	if (many->group) {
		struct live_judge *judge = &many->judge;
		bool lives = false;
		uint64_t moves;

		/* Ends where nothing has moved for long, or too much leaves for the data.  The
		 * counter `moves` grows while data go to any receiver. */
		moves = many->outcomes + many->reader.chunks;
		many_measure_all(many);
		for (unsigned i = 0; i < many->count; i++) {
			const struct destination *one = &many->ones[i];

			moves += one->bytes;
			/* A receiver that owes an answer says that it lives. */
			lives |= one->phase > PHASE_OPENING && one->phase != PHASE_TAKING &&
				 now_ns - one->spoke_ns < SEND_SPOKE_NS;
		}
		if (!live_judge_cuts_storm(judge, many->group)) {
			if (moves != many->moves || many->stage == MANY_CHECKING || lives)
				live_judge_moved(judge);
			many->moves = moves;
			if (live_judge_stands(judge) && !many_any(many, PHASE_OPENING))
				live_judge_cut_sender(judge, many->group);
		}
	}
	for (unsigned i = 0; i < many->count && many->group; i++) {
		struct destination *one = &many->ones[i];

		/* Offers the file again, and pings a silent receiver: while the sender only waits,
		 * nothing is on its way that could get lost. */
		if (one->phase == PHASE_WAITING && now_ns >= one->again_ns)
			destination_offer(one, &many->reader);
		else if (one->phase > PHASE_OPENING && one->phase != PHASE_TAKING)
			destination_ping(one, 0, now_ns);
	}
	if (many->group)
		table_show(&many->table, now_ns);
	loop_event_start(many->tick, SEND_TICK_NS);
}

static void send_many_on_interrupt(void *user)
{
	struct many *many = user;

	many->interrupted = true;
	if (many->group)
		nopal_session_abort(many->group, "interrupted");
}

/* --------------------------------------------------------------------- running */

/* A receiver of another address family than the channel's gets copies: where that is so for all of
 * them, the user meant another config. */
static void send_many_note_family(const struct many *many, const struct nopal_address *peers)
{
	char text[NOPAL_ADDRESS_TEXT];
	const void *parameter = send_many_parameter(many->plan, "channel", NULL, NOPAL_ADDRESS);
	struct nopal_address channel;
	unsigned others = 0;

	if (!parameter)
		return;
	memcpy(&channel, parameter, sizeof(channel));
	for (unsigned i = 0; i < many->count; i++)
		others += nopal_address_is_v4(&peers[i]) != nopal_address_is_v4(&channel);
	if (others < many->count)
		return;
	fprintf(stderr,
		"note: each receiver gets a copy of its own: %s is an address "
		"of IPv%c, and the receivers' are not\n"
		"  fix: give both sides %s\n",
		nopal_address_format(&channel, text), nopal_address_is_v4(&channel) ? '4' : '6',
		nopal_address_is_v4(&channel) ? "-c multicast6" : "-c multicast");
}

/* A row for each receiver; one that is named again gets one more stream, where the config has such.
 * False: no memory. */
static bool send_many_rows(struct many *many, char *const *names, const struct nopal_address *peers)
{
	bool several = nopal_plan_provides(many->plan, "host_streams");
	struct destination *rows;
	unsigned count = 0, row;

	if (!table_init(&many->table, names, peers, many->streams))
		return false;
	rows = many->ones = many->table.rows;
	for (unsigned i = 0; i < many->streams; i++) {
		for (row = several ? 0 : count; row < count; row++)
			if (nopal_address_equal(&rows[row].address, &peers[i]))
				break;
		if (row == count)
			rows[count++] =
				(struct destination){ .peer = names[i], .address = peers[i] };
		rows[row].streams++;
	}
	many->count = many->table.count = count;
	return true;
}

enum tool_exit send_many(const struct tool_call *call, struct nopal_plan *plan, int files,
			 const struct nopal_address *peers, int64_t rate_bps,
			 const struct properties *with)
{
	struct many many = {
		.plan = plan,
		.destination = nopal_property(plan, "destination"),
		.streams = (unsigned)(call->word_count - files),
		.paths = call->words,
		.path_count = files,
		.reader = { .pace.rate_bps = rate_bps, .with = with },
	};
	enum tool_exit exit = TOOL_BAD_INPUT;
	struct loop *loop = NULL;
	bool started;

	progress_init(&many.table.progress, call);
	if (!send_many_rows(&many, call->words + files, peers))
		return TOOL_ENVIRONMENT;
	if (send_many_rule(&many) && live_judge_read(call, &many.judges)) {
		exit = TOOL_ENVIRONMENT;
		many.infos = calloc(many.streams, sizeof(*many.infos));
		many.loop = loop = loop_new(tool_value(call, "trace"));
	}
	started = loop && many.infos && live_judge_watch(&many.judges, loop_world(loop), plan);
	if (started) {
		many.step = loop_event_new(loop, LOOP_TIMER, -1, send_many_step, &many);
		many.tick = loop_event_new(loop, LOOP_TIMER, -1, send_many_tick, &many);
		started = many.step && many.tick &&
			  loop_on_interrupt(loop, send_many_on_interrupt, &many);
	}
	if (started)
		many.endpoint = loop_endpoint_to_all(loop, peers, many.streams);
	if (many.endpoint) {
		send_many_note_family(&many, peers);
		reader_init(&many.reader, loop_world(loop), transfer_chunk_bytes(plan));
		send_many_begin(&many);
		loop_event_start(many.tick, SEND_TICK_NS);
		loop_run(loop);
		reader_close(&many.reader);
		exit = many.exit;
	}
	loop_event_free(many.step);
	loop_event_free(many.tick);
	if (loop)
		loop_free(loop);
	for (unsigned i = 0; many.ones && i < many.count; i++)
		many_forget_held(&many.ones[i]);
	table_fini(&many.table);
	free(many.infos);
	free(many.held);
	return exit;
}
