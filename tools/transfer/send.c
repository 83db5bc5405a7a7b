/* SPDX-License-Identifier: MIT */
/*
 * send.c -- `nopal send FILE... HOST:PORT`: files to a `nopal recv`; to several, see send_many.c.
 *
 *   OPENING -> OFFERED -> CHECKING -> SENDING -> ENDED -> next file ... -> close
 *                 ^  |    (compares    (DATA)    (waits for RESULT)
 *                 |  v     what is
 *                WAITING   there)
 *
 * A file is read once, straight into the buffers that leave, and hashed on the way.  It may not
 * change meanwhile: size and time are looked at again before the END.  Nothing here decides that
 * the peer is gone: the composition does, and pings give it something to find that out with while
 * we only wait.
 */
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "transfer/send_end.h"
#include "transfer/send_many.h"
#include "transfer/send_words.h"

#define SEND_OFFER_AGAIN_NS (500 * NOPAL_MILLISECOND)
#define SEND_OFFER_FOR_NS   (60 * NOPAL_SECOND)

static void send_next_file(struct sender *sender);
static void send_pump(struct sender *sender);

/* ------------------------------------------------------- a file ends, somehow */

static void send_file_over(struct sender *sender, const char *error)
{
	sender->file.error = error;
	sender->file.bytes = sender->reader.offset;
	if (error)
		sender->exit = TOOL_FAILED;
	sender->file.transport = nopal_endpoint_transport(sender->endpoint);
	sender->file.judged = live_judge_json(&sender->judge, sender->out.session);
	progress_end(&sender->progress, &sender->file, send_now(sender));
	reader_close(&sender->reader);
	loop_event_stop(sender->step);
	loop_event_stop(sender->paced);
	sender->at++;
	send_next_file(sender);
}

/* The fault is here, and `error` says what: the other side is told. */
static void send_file_fails(struct sender *sender)
{
	struct transfer_note note = { .type = TRANSFER_ABORT, .file = (uint32_t)sender->at };

	snprintf(note.text, sizeof(note.text), "%s", sender->reader.error);
	transfer_say(&sender->out, &note);
	send_file_over(sender, sender->reader.error);
}

/* ------------------------------------------------------------------ offering */

static void send_offer(struct sender *sender)
{
	struct transfer_note note;

	reader_offer(&sender->reader, &note);
	sender->state = SEND_OFFERED;
	transfer_say(&sender->out, &note);
}

static void send_again(void *user)
{
	struct sender *sender = user;

	if (sender->state == SEND_WAITING)
		send_offer(sender);
}

void send_begin_file(struct sender *sender, const char *name)
{
	sender->file = (struct progress_file){
		.name = name,
		.plan = nopal_plan_name(sender->plan),
		.started_ns = send_now(sender),
	};
}

/* All results are here; where one was ours to tell, it may be under way yet. */
static void send_close(struct sender *sender)
{
	sender->state = SEND_CLOSING;
	if (!transfer_flush(&sender->out))
		return;
	if (sender->exit == TOOL_GOOD && !transfer_plan_tells(sender->plan))
		nopal_session_abort(sender->out.session, "all was sent");
	else
		nopal_session_close(sender->out.session);
}

static void send_next_file(struct sender *sender)
{
	if (!sender->out.session)
		return;
	if (sender->at == sender->path_count) {
		send_close(sender);
		return;
	}
	sender->offered_ns = send_now(sender);
	send_begin_file(sender, sender->reader.source.name);
	if (!reader_open(&sender->reader, (uint32_t)sender->at, sender->paths[sender->at])) {
		send_file_over(sender, sender->reader.error);
		return;
	}
	sender->file.total_bytes = sender->reader.source.size;
	send_offer(sender);
}

/* ------------------------------------------------------------------ checking */

static void send_start(struct sender *sender, uint64_t offset)
{
	struct transfer_note note = { .type = TRANSFER_START,
				      .file = (uint32_t)sender->at,
				      .offset = offset };

	reader_from(&sender->reader, offset);
	sender->file.resumed_bytes = offset;
	sender->state = SEND_SENDING;
	transfer_say(&sender->out, &note);
	send_pump(sender);
}

/* Is what the receiver has the beginning of this file?  A step at a time. */
static void send_check(void *user)
{
	static uint8_t bytes[TRANSFER_STEP_BYTES];
	struct sender *sender = user;
	uint64_t left = sender->check_to - sender->reader.source.offset;
	size_t length;

	live_judge_moved(&sender->judge);
	if (!source_read(&sender->reader.source, bytes,
			 left < sizeof(bytes) ? (size_t)left : sizeof(bytes), &length,
			 sender->reader.error))
		send_file_fails(sender);
	else if (sender->reader.source.offset < sender->check_to)
		loop_event_start(sender->step, 0);
	else if (source_hash(&sender->reader.source) == sender->check_hash)
		send_start(sender, sender->check_to);
	else
		send_start(sender, 0);
}

static void send_on_answer(struct sender *sender, const struct transfer_note *note)
{
	if (note->verdict == TRANSFER_NO) {
		snprintf(sender->reader.error, sizeof(sender->reader.error), "refused: %.200s",
			 note->text);
		send_file_over(sender, sender->reader.error);
	} else if (note->verdict == TRANSFER_LATER) {
		if (send_now(sender) - sender->offered_ns > SEND_OFFER_FOR_NS) {
			snprintf(sender->reader.error, sizeof(sender->reader.error), "%s",
				 note->text);
			send_file_fails(sender);
			return;
		}
		sender->state = SEND_WAITING;
		loop_event_start(sender->again, SEND_OFFER_AGAIN_NS);
	} else if (note->offset == 0 || note->offset > sender->file.total_bytes) {
		send_start(sender, 0);
	} else {
		sender->state = SEND_CHECKING;
		sender->check_to = note->offset;
		sender->check_hash = note->hash;
		loop_event_start(sender->step, 0);
	}
}

/* ------------------------------------------------------------------- sending */

static void send_pump(struct sender *sender)
{
	enum reader_stop stop;
	int64_t wait_ns;

	if (sender->state != SEND_SENDING || !sender->out.session || sender->interrupted ||
	    !transfer_flush(&sender->out))
		return;
	stop = reader_pump(&sender->reader, &sender->out.session, 0, &wait_ns);
	sender->file.bytes = sender->reader.offset;
	progress_show(&sender->progress, &sender->file, send_now(sender));
	if (stop == READER_ALL) {
		struct transfer_note note;

		if (!reader_end(&sender->reader, &note)) {
			send_file_fails(sender);
			return;
		}
		sender->file.hash = note.hash;
		sender->state = SEND_ENDED;
		transfer_say(&sender->out, &note);
	} else if (stop == READER_PACED) {
		/* We wait, and not for the receiver. */
		loop_event_start(sender->paced, wait_ns);
		sender->judge.moved_ns = send_now(sender) + wait_ns;
	} else if (stop == READER_FAILED) {
		send_file_fails(sender);
	}
}

static void send_on_pace(void *user)
{
	send_pump(user);
}

/* ------------------------------------------------------------------ callbacks */

static void send_on_opened(struct nopal_session *session, void *user)
{
	struct sender *sender = user;

	sender->out.session = session;
	live_judge_moved(&sender->judge);
	send_next_file(sender);
}

static void send_on_writable(struct nopal_session *session, void *user)
{
	struct sender *sender = user;

	(void)session;
	if (sender->state == SEND_CLOSING)
		send_close(sender);
	else if (transfer_flush(&sender->out))
		send_pump(sender);
}

static void send_on_received(struct nopal_session *session, struct nopal_message *message,
			     void *user)
{
	struct sender *sender = user;
	struct transfer_note note;

	if (!transfer_received(message, &note)) {
		sender->judge.facts.garbled = sender->noted;
		nopal_session_abort(session, TRANSFER_STRANGER);
		return;
	}
	sender->noted = true;
	sender->heard_ns = send_now(sender);
	if (note.file != (uint32_t)sender->at || sender->state == SEND_OPENING ||
	    sender->state == SEND_CLOSING)
		return;
	if (note.type == TRANSFER_ANSWER && sender->state == SEND_OFFERED) {
		send_on_answer(sender, &note);
	} else if (note.type == TRANSFER_RESULT) {
		if (note.verdict == TRANSFER_YES && sender->state == SEND_ENDED) {
			sender->judge.facts.bytes_seen = true;
			sender->judge.facts.counted = true;
			send_file_over(sender, NULL);
			return;
		}
		sender->judge.facts.garbled = strcmp(note.text, TRANSFER_HASH_DIFFERS) == 0;
		snprintf(sender->reader.error, sizeof(sender->reader.error), "the receiver: %.200s",
			 note.verdict == TRANSFER_YES ? "done before the end" : note.text);
		send_file_over(sender, sender->reader.error);
	}
}

static void send_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			  void *user)
{
	struct sender *sender = user;

	send_end(sender, session, end, text);
	sender->out.session = NULL;
	sender->over = true;
	loop_stop(sender->loop);
}

static const struct nopal_callbacks send_callbacks = {
	.opened = send_on_opened,
	.received = send_on_received,
	.writable = send_on_writable,
	.ended = send_on_ended,
};

static void send_on_interrupt(void *user)
{
	struct sender *sender = user;

	sender->interrupted = true;
	sender->exit = TOOL_FAILED;
	if (sender->out.session)
		nopal_session_abort(sender->out.session, "interrupted");
}

/* While we only wait nothing of ours is on its way that could get lost. */
static void send_on_ping(void *user)
{
	struct transfer_note note = { .type = TRANSFER_PING };
	struct sender *sender = user;

	hush_look(&sender->hush, sender->out.session, &sender->progress);
	sender->alone = sender->out.session && sender->state == SEND_OFFERED &&
			transfer_is_alone(sender->out.session, sender->plan,
					  send_now(sender) - sender->offered_ns);
	if (sender->alone) {
		nopal_session_abort(sender->out.session, TRANSFER_ALONE);
		return;
	}
	if (send_end_stuck(sender))
		return;
	if (sender->out.session && sender->state != SEND_OPENING && sender->state != SEND_SENDING &&
	    send_now(sender) - sender->heard_ns >= HUSH_LOOK_NS && sender->out.count == 0) {
		sender->pings++;
		transfer_say(&sender->out, &note);
	}
	loop_event_start(sender->ping, HUSH_LOOK_NS);
}

/* --------------------------------------------------------------------- running */

static bool send_setup(struct sender *sender)
{
	struct loop *loop = sender->loop;

	sender->step = loop_event_new(loop, LOOP_TIMER, -1, send_check, sender);
	sender->paced = loop_event_new(loop, LOOP_TIMER, -1, send_on_pace, sender);
	sender->again = loop_event_new(loop, LOOP_TIMER, -1, send_again, sender);
	sender->ping = loop_event_new(loop, LOOP_TIMER, -1, send_on_ping, sender);
	return sender->step && sender->paced && sender->again && sender->ping &&
	       loop_on_interrupt(loop, send_on_interrupt, sender);
}

static enum tool_exit send_open(struct sender *sender, const struct nopal_address *peer)
{
	struct nopal_session *session;

	sender->endpoint = rendezvous_endpoint(&sender->rendezvous, sender->loop, peer);
	if (!sender->endpoint)
		return TOOL_ENVIRONMENT;
	live_judge_begin(&sender->judge, sender->plan, loop_world(sender->loop), &sender->judges,
			 true);
	session = rendezvous_open(&sender->rendezvous, sender->endpoint, sender->plan, peer,
				  &send_callbacks, sender);
	if (!session) {
		fprintf(stderr, "error: no session: out of memory\n");
		return TOOL_ENVIRONMENT;
	}
	if (sender->over)
		return sender->exit;
	sender->out.session = session;
	loop_event_start(sender->ping, HUSH_LOOK_NS);
	loop_run(sender->loop);
	return sender->exit;
}

/* These take over the plan. */
static enum tool_exit send_one(const struct tool_call *call, struct nopal_plan *plan, int files,
			       const struct nopal_address *peer,
			       const struct rendezvous *rendezvous, int64_t rate_bps)
{
	struct sender sender = { .reader.pace.rate_bps = rate_bps,
				 .trace = tool_value(call, "trace"),
				 .plan = plan,
				 .rendezvous = *rendezvous,
				 .paths = call->words,
				 .path_count = files,
				 .peer = call->words[files] };
	enum tool_exit exit;

	if (!live_judge_read(call, &sender.judges)) {
		nopal_plan_unref(plan);
		return TOOL_BAD_INPUT;
	}
	progress_init(&sender.progress, "send", tool_value(call, "json") != NULL,
		      tool_value(call, "jsonl") != NULL);
	sender.loop = loop_new(sender.trace);
	if (!sender.loop) {
		nopal_plan_unref(sender.plan);
		return TOOL_ENVIRONMENT;
	}
	reader_init(&sender.reader, loop_world(sender.loop), transfer_chunk_bytes(sender.plan));
	exit = live_judge_watch(&sender.judges, loop_world(sender.loop), sender.plan) &&
			       send_setup(&sender)
		       ? send_open(&sender, peer)
		       : TOOL_ENVIRONMENT;
	loop_event_free(sender.step);
	loop_event_free(sender.paced);
	loop_event_free(sender.again);
	loop_event_free(sender.ping);
	live_judge_fini(&sender.judge);
	loop_free(sender.loop);
	reader_close(&sender.reader);
	nopal_plan_unref(sender.plan);
	return exit;
}

static enum tool_exit send_run(const struct tool_call *call)
{
	int files = send_words_files(call);
	struct nopal_address *peers = calloc((size_t)(call->word_count - files), sizeof(*peers));
	enum tool_exit exit = TOOL_BAD_INPUT;

	if (!peers)
		return TOOL_ENVIRONMENT;
	if (send_words_peers(call, files, peers) && send_words_may_read(call, files)) {
		const char *config = tool_value(call, "config");
		struct nopal_plan *plan;
		struct rendezvous rendezvous;
		int64_t rate_bps;

		if (!tool_quantity(call, "rate", NOPAL_RATE, 0, &rate_bps)) {
			exit = TOOL_BAD_INPUT;
		} else {
			plan = tool_plan(call, config ? config : "bulk");
			if (!plan) {
				exit = TOOL_BAD_INPUT;
			} else if (!send_words_fit(call, files, plan) ||
				   !transfer_plan_fits(plan) ||
				   !rendezvous_parse(call, peers, plan, &rendezvous)) {
				nopal_plan_unref(plan);
				exit = TOOL_BAD_INPUT;
			} else if (nopal_plan_provides(plan, "fan_out")) {
				exit = send_many(call, plan, files, peers, rate_bps);
			} else {
				exit = send_one(call, plan, files, peers, &rendezvous, rate_bps);
			}
		}
	}
	free(peers);
	return exit;
}

static const struct tool_option send_options[] = {
	{ "config", 'c', "CONF", "composition, the same on both sides (default bulk)" },
	{ "rate", 0, "RATE", "read the file no faster, as 100Mbit" },
	{ "rendezvous", 0, "[ADDR:]PORT", "meet `nopal recv --rendezvous` from there" },
	LIVE_JUDGE_OPTIONS,
	TOOL_SET_OPTION,
	TOOL_TRACE_OPTION,
	{ "json", 0, NULL, "print one JSON object a file" },
	{ "jsonl", 0, NULL, "print one a second, too" },
	{ NULL },
};

const struct tool tool_send = {
	.name = "send",
	.words = "FILE... HOST:PORT...",
	.summary = "send files to `nopal recv`",
	.help = "Sends files, one after the other in one session, to a `nopal recv` with the same "
		"composition.  A transfer that was cut short goes on where it ended when the same "
		"command is given again: the receiver's beginning is compared by hash first.\n"
		"\n"
		"  nopal recv -o incoming\n"
		"  nopal send big.iso HOST:9000\n"
		"\n"
		"Where firewalls let nobody in both sides open, --rendezvous: see `nopal recv "
		"--help`.\n\n"
		"Several addresses at the end: the file goes to all of them at once, by a "
		"composition that is one to many; each file has a session of its own.  It begins "
		"when each has answered or is given up, and ends when it has ended for each, with "
		"a table: complete (its hash agrees, and it is on disk), was there, share, "
		"refused, failed, no answer, died.  Who dies is no matter for the others.  The "
		"exit code is 0 where the composition's rule is kept: one_to_many_all, every "
		"receiver has the file; _any, one has; _quorum, as many as --set fan_out.acks=N "
		"says.  The others get it, too, but for those that fall too far behind.  "
		"Receivers run one_to_many_all for all three.\n\n"
		"one_to_many_balance, on both sides, spreads the file: each piece goes to one "
		"receiver, which keeps it at its place in .NAME.nopal-part and calls it no file.  "
		"The rule is that those that are there at the end have all of it together: what "
		"was with one that died is sent again to those that are left.\n\n"
		"Who has the whole file is left alone.  The others go on from the shortest "
		"beginning that one of them has, when all of them have one; else all begin anew, "
		"as always where the file is spread.\n\n"
		"  nopal send big.iso A:9000 B:9000 C:9000 -c one_to_many_all\n",
	.min_words = 2,
	.max_words = -1,
	.options = send_options,
	.run = send_run,
};
