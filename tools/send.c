/* SPDX-License-Identifier: MIT */
/*
 * send.c -- `nopal send FILE... HOST:PORT`: files to a `nopal recv`.
 *
 *   OPENING -> OFFERED -> CHECKING -> SENDING -> ENDED -> next file ... -> close
 *                 ^  |    (compares    (DATA)    (waits for RESULT)
 *                 |  v     what is
 *                WAITING   there)
 *
 * A file is read once, straight into the buffers that leave, and hashed on the
 * way.  It may not change meanwhile: size and time are looked at again before
 * the END.  Nothing here decides that the peer is gone: the composition does,
 * and pings give it something to find that out with while we only wait.
 */
#include <errno.h>
#include <string.h>

#include "loop.h"
#include "microprotocol.h"
#include "pace.h"
#include "progress.h"
#include "send_words.h"
#include "source.h"
#include "tool.h"
#include "transfer.h"

enum {
	SEND_BURST_CHUNKS = 2,
	SEND_TEXT_ROOM = 4096, /* a diff of compositions is long */
};
#define SEND_OFFER_AGAIN_NS (500 * NOPAL_MILLISECOND)
#define SEND_OFFER_FOR_NS   (60 * NOPAL_SECOND)
#define SEND_PING_NS	    (5 * NOPAL_SECOND)

enum send_state {
	SEND_OPENING,
	SEND_OFFERED,
	SEND_WAITING, /* to offer again */
	SEND_CHECKING,
	SEND_SENDING,
	SEND_ENDED, /* END left; RESULT comes */
	SEND_CLOSING,
};

struct sender {
	struct loop *loop;
	const char *trace; /* into this file; NULL: none */
	struct nopal_plan *plan;
	struct nopal_endpoint *endpoint;
	struct transfer_outbox out;
	struct progress progress;
	struct progress_file file;
	char **paths;
	const char *peer;
	int path_count, at; /* which one is on its way */
	enum send_state state;
	enum tool_exit exit;
	bool interrupted, over;
	struct source source;
	char error[TRANSFER_TEXT_ROOM];
	uint64_t offset; /* bytes that the session took */
	uint64_t check_to, check_hash;
	uint32_t chunk_bytes;
	struct nopal_buffer *chunk; /* read, and not taken yet */
	uint32_t chunk_length;
	int64_t offered_ns, heard_ns;
	struct pace pace;
	struct loop_event *step, *paced, *again, *ping;
};

static void send_next_file(struct sender *sender);
static void send_pump(struct sender *sender);

static int64_t send_now(const struct sender *sender)
{
	return nopal_world_now(loop_world(sender->loop));
}

/* ------------------------------------------------------- a file ends, somehow */

static void send_file_over(struct sender *sender, const char *error)
{
	sender->file.error = error;
	sender->file.bytes = sender->offset;
	if (error)
		sender->exit = TOOL_FAILED;
	sender->file.transport = nopal_endpoint_transport(sender->endpoint);
	progress_end(&sender->progress, &sender->file, send_now(sender));
	source_close(&sender->source);
	if (sender->chunk)
		nopal_buffer_free(sender->chunk);
	sender->chunk = NULL;
	loop_event_stop(sender->step);
	loop_event_stop(sender->paced);
	sender->at++;
	send_next_file(sender);
}

/* The fault is here, and `error` says what: the other side is told. */
static void send_file_fails(struct sender *sender)
{
	struct transfer_note note = { .type = TRANSFER_ABORT,
				      .file = (uint32_t)sender->at };

	snprintf(note.text, sizeof(note.text), "%s", sender->error);
	transfer_say(&sender->out, &note);
	send_file_over(sender, sender->error);
}

/* ------------------------------------------------------------------ offering */

static void send_offer(struct sender *sender)
{
	struct transfer_note note = {
		.type = TRANSFER_OFFER,
		.file = (uint32_t)sender->at,
		.size = sender->source.size,
		.mtime_ns = sender->source.mtime_ns,
	};

	snprintf(note.text, sizeof(note.text), "%s", sender->source.name);
	note.id = transfer_id(note.text, note.size, note.mtime_ns);
	sender->state = SEND_OFFERED;
	transfer_say(&sender->out, &note);
}

static void send_again(void *user)
{
	struct sender *sender = user;

	if (sender->state == SEND_WAITING)
		send_offer(sender);
}

static void send_begin_file(struct sender *sender, const char *name)
{
	sender->file = (struct progress_file){
		.name = name,
		.plan = nopal_plan_name(sender->plan),
		.started_ns = send_now(sender),
	};
}

static void send_next_file(struct sender *sender)
{
	if (!sender->out.session)
		return;
	if (sender->at == sender->path_count) {
		sender->state = SEND_CLOSING;
		if (transfer_flush(&sender->out))
			nopal_session_close(sender->out.session);
		return;
	}
	sender->offset = 0;
	sender->offered_ns = send_now(sender);
	send_begin_file(sender, sender->source.name);
	if (!source_open(&sender->source, sender->paths[sender->at],
			 sender->error)) {
		send_file_over(sender, sender->error);
		return;
	}
	sender->file.total_bytes = sender->source.size;
	send_offer(sender);
}

/* ------------------------------------------------------------------ checking */

static void send_start(struct sender *sender, uint64_t offset)
{
	struct transfer_note note = { .type = TRANSFER_START,
				      .file = (uint32_t)sender->at,
				      .offset = offset };

	if (offset == 0)
		source_rewind(&sender->source);
	sender->offset = offset;
	sender->file.resumed_bytes = offset;
	pace_begin(&sender->pace, send_now(sender), offset);
	sender->state = SEND_SENDING;
	transfer_say(&sender->out, &note);
	send_pump(sender);
}

/* Is what the receiver has the beginning of this file?  A step at a time. */
static void send_check(void *user)
{
	static uint8_t bytes[TRANSFER_STEP_BYTES];
	struct sender *sender = user;
	uint64_t left = sender->check_to - sender->source.offset;
	size_t length;

	if (!source_read(&sender->source, bytes,
			 left < sizeof(bytes) ? (size_t)left : sizeof(bytes),
			 &length, sender->error))
		send_file_fails(sender);
	else if (sender->source.offset < sender->check_to)
		loop_event_start(sender->step, 0);
	else if (source_hash(&sender->source) == sender->check_hash)
		send_start(sender, sender->check_to);
	else
		send_start(sender, 0);
}

static void send_on_answer(struct sender *sender,
			   const struct transfer_note *note)
{
	if (note->verdict == TRANSFER_NO) {
		snprintf(sender->error, sizeof(sender->error),
			 "refused: %.200s", note->text);
		send_file_over(sender, sender->error);
	} else if (note->verdict == TRANSFER_LATER) {
		if (send_now(sender) - sender->offered_ns > SEND_OFFER_FOR_NS) {
			snprintf(sender->error, sizeof(sender->error), "%s",
				 note->text);
			send_file_fails(sender);
			return;
		}
		sender->state = SEND_WAITING;
		loop_event_start(sender->again, SEND_OFFER_AGAIN_NS);
	} else if (note->offset == 0 ||
		   note->offset > sender->file.total_bytes) {
		send_start(sender, 0);
	} else {
		sender->state = SEND_CHECKING;
		sender->check_to = note->offset;
		sender->check_hash = note->hash;
		loop_event_start(sender->step, 0);
	}
}

/* ------------------------------------------------------------------- sending */

static void send_end(struct sender *sender)
{
	struct transfer_note note = { .type = TRANSFER_END,
				      .file = (uint32_t)sender->at,
				      .size = sender->offset,
				      .hash = source_hash(&sender->source) };

	if (!source_is_same(&sender->source, sender->error)) {
		send_file_fails(sender);
		return;
	}
	sender->file.hash = note.hash;
	sender->state = SEND_ENDED;
	transfer_say(&sender->out, &note);
}

/* Reads the next chunk; false: there is none, or it failed. */
static bool send_read_chunk(struct sender *sender)
{
	struct transfer_note note = { .type = TRANSFER_DATA,
				      .file = (uint32_t)sender->at,
				      .offset = sender->offset };
	uint64_t left = sender->source.size - sender->offset;
	size_t room =
		left < sender->chunk_bytes ? (size_t)left : sender->chunk_bytes;
	size_t length;
	uint8_t *bytes;

	sender->chunk =
		nopal_buffer_new(TRANSFER_DATA_HEADER + sender->chunk_bytes);
	if (!sender->chunk) {
		snprintf(sender->error, sizeof(sender->error), "out of memory");
		send_file_fails(sender);
		return false;
	}
	bytes = nopal_buffer_bytes(sender->chunk);
	if (!source_read(&sender->source, bytes + transfer_encode(&note, bytes),
			 room, &length, sender->error)) {
		send_file_fails(sender);
		return false;
	}
	sender->chunk_length = TRANSFER_DATA_HEADER + (uint32_t)length;
	return true;
}

/* False: no room, or the session is gone. */
static bool send_chunk(struct sender *sender)
{
	int error = nopal_send_buffer(sender->out.session, sender->chunk, 0,
				      sender->chunk_length, 0);

	if (error == -EAGAIN || error == -EPIPE)
		return false;
	nopal_buffer_free(sender->chunk);
	sender->chunk = NULL;
	if (error) {
		snprintf(sender->error, sizeof(sender->error), "%s",
			 strerror(-error));
		send_file_fails(sender);
		return false;
	}
	sender->offset += sender->chunk_length - TRANSFER_DATA_HEADER;
	return true;
}

static void send_pump(struct sender *sender)
{
	while (sender->state == SEND_SENDING && sender->out.session &&
	       !sender->interrupted && transfer_flush(&sender->out)) {
		int64_t wait_ns = pace_wait_ns(&sender->pace, send_now(sender),
					       sender->offset);

		if (!sender->chunk && sender->offset == sender->source.size) {
			send_end(sender);
			break;
		}
		if (wait_ns > 0) {
			loop_event_start(sender->paced, wait_ns);
			break;
		}
		if (!sender->chunk && !send_read_chunk(sender))
			break;
		if (!send_chunk(sender))
			break;
	}
	sender->file.bytes = sender->offset;
	if (sender->state == SEND_SENDING)
		progress_show(&sender->progress, &sender->file,
			      send_now(sender));
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
	send_next_file(sender);
}

static void send_on_writable(struct nopal_session *session, void *user)
{
	struct sender *sender = user;

	if (transfer_flush(&sender->out) && sender->state == SEND_CLOSING)
		nopal_session_close(session);
	send_pump(sender);
}

static void send_on_result(struct sender *sender,
			   const struct transfer_note *note)
{
	if (note->verdict == TRANSFER_YES && sender->state == SEND_ENDED) {
		send_file_over(sender, NULL);
		return;
	}
	snprintf(sender->error, sizeof(sender->error), "the receiver: %.200s",
		 note->verdict == TRANSFER_YES ? "done before the end"
					       : note->text);
	send_file_over(sender, sender->error);
}

static void send_on_received(struct nopal_session *session,
			     struct nopal_message *message, void *user)
{
	struct sender *sender = user;
	struct transfer_note note;

	if (!transfer_received(message, &note)) {
		nopal_session_abort(session,
				    "the peer speaks no file protocol");
		return;
	}
	sender->heard_ns = send_now(sender);
	if (note.file != (uint32_t)sender->at ||
	    sender->state == SEND_OPENING || sender->state == SEND_CLOSING)
		return;
	if (note.type == TRANSFER_ANSWER && sender->state == SEND_OFFERED)
		send_on_answer(sender, &note);
	else if (note.type == TRANSFER_RESULT)
		send_on_result(sender, &note);
}

static const char *send_broke_fix(const struct sender *sender, int end)
{
	if (sender->interrupted || end == NOPAL_ENDED_WELL ||
	    !tool_ended_fix(end))
		return sender->offset > 0 ? "the same command again goes on "
					    "where this ended"
					  : NULL;
	return tool_ended_fix(end);
}

/* The session broke, and with it the file that was on its way. */
static void send_broke(struct sender *sender, int end, const char *text)
{
	char error[SEND_TEXT_ROOM];
	const char *fix = send_broke_fix(sender, end);

	if (sender->exit == TOOL_GOOD)
		sender->exit = TOOL_FAILED;
	if (sender->interrupted)
		text = "interrupted";
	else if (!text || !*text)
		text = "the receiver closed the session";
	snprintf(error, sizeof(error), "%s: %.*s", sender->peer,
		 tool_text_length(text), text);
	if (sender->at < sender->path_count) {
		if (!sender->file.name)
			send_begin_file(sender, sender->paths[sender->at]);
		sender->file.bytes = sender->offset;
		sender->file.error = error;
		sender->file.transport =
			nopal_endpoint_transport(sender->endpoint);
		progress_end(&sender->progress, &sender->file,
			     send_now(sender));
	} else {
		progress_say(&sender->progress, "error: %s", error);
	}
	if (fix)
		progress_say(&sender->progress, "  fix: %s", fix);
}

static void send_on_ended(struct nopal_session *session, int end,
			  const char *text, void *user)
{
	struct sender *sender = user;

	(void)session;
	if (end != NOPAL_ENDED_WELL || sender->state != SEND_CLOSING)
		send_broke(sender, end, text);
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

	if (sender->out.session && sender->state != SEND_OPENING &&
	    sender->state != SEND_SENDING &&
	    send_now(sender) - sender->heard_ns >= SEND_PING_NS &&
	    sender->out.count == 0)
		transfer_say(&sender->out, &note);
	loop_event_start(sender->ping, SEND_PING_NS);
}

/* --------------------------------------------------------------------- running */

static bool send_setup(struct sender *sender)
{
	struct loop *loop = sender->loop;

	sender->step = loop_event_new(loop, LOOP_TIMER, -1, send_check, sender);
	sender->paced =
		loop_event_new(loop, LOOP_TIMER, -1, send_on_pace, sender);
	sender->again =
		loop_event_new(loop, LOOP_TIMER, -1, send_again, sender);
	sender->ping =
		loop_event_new(loop, LOOP_TIMER, -1, send_on_ping, sender);
	return sender->step && sender->paced && sender->again && sender->ping &&
	       loop_on_interrupt(loop, send_on_interrupt, sender);
}

static void send_cleanup(struct sender *sender)
{
	loop_event_free(sender->step);
	loop_event_free(sender->paced);
	loop_event_free(sender->again);
	loop_event_free(sender->ping);
	loop_free(sender->loop);
	if (sender->chunk)
		nopal_buffer_free(sender->chunk);
	source_close(&sender->source);
	nopal_plan_unref(sender->plan);
}

static enum tool_exit send_open(struct sender *sender,
				const struct nopal_address *peer)
{
	struct nopal_session *session;

	sender->endpoint = loop_endpoint_to(sender->loop, peer);
	if (!sender->endpoint)
		return TOOL_ENVIRONMENT;
	session = nopal_session_open(sender->endpoint, sender->plan, peer,
				     &send_callbacks, sender);
	if (!session) {
		fprintf(stderr, "error: no session: out of memory\n");
		return TOOL_ENVIRONMENT;
	}
	if (sender->over)
		return sender->exit;
	sender->out.session = session;
	loop_event_start(sender->ping, SEND_PING_NS);
	loop_run(sender->loop);
	return sender->exit;
}

static enum tool_exit send_with(struct sender *sender,
				const struct nopal_address *peer)
{
	enum tool_exit exit;

	if (!transfer_plan_fits(sender->plan)) {
		nopal_plan_unref(sender->plan);
		return TOOL_BAD_INPUT;
	}
	sender->chunk_bytes = transfer_chunk_bytes(sender->plan);
	sender->pace.burst_bytes =
		(uint64_t)sender->chunk_bytes * SEND_BURST_CHUNKS;
	sender->loop = loop_new(sender->trace);
	if (!sender->loop) {
		nopal_plan_unref(sender->plan);
		return TOOL_ENVIRONMENT;
	}
	exit = send_setup(sender) ? send_open(sender, peer) : TOOL_ENVIRONMENT;
	send_cleanup(sender);
	return exit;
}

static enum tool_exit send_run(const struct tool_call *call)
{
	const char *config = tool_value(call, "config");
	struct sender sender = { .source.fd = -1,
				 .trace = tool_value(call, "trace"),
				 .paths = call->words,
				 .path_count = call->word_count - 1,
				 .peer = call->words[call->word_count - 1] };
	struct nopal_address peer;

	if (!send_words_peer(call, &peer) || !send_words_may_read(call) ||
	    !tool_quantity(call, "rate", NOPAL_RATE, 0, &sender.pace.rate_bps))
		return TOOL_BAD_INPUT;
	sender.plan = tool_plan(call, config ? config : "bulk");
	if (!sender.plan)
		return TOOL_BAD_INPUT;
	progress_init(&sender.progress, "send",
		      tool_value(call, "json") != NULL,
		      tool_value(call, "jsonl") != NULL);
	return send_with(&sender, &peer);
}

static const struct tool_option send_options[] = {
	{ "config", 'c', "CONF",
	  "composition, the same on both sides (default bulk)" },
	{ "rate", 0, "RATE", "read the file no faster, as 100Mbit" },
	TOOL_SET_OPTION,
	TOOL_TRACE_OPTION,
	{ "json", 0, NULL, "print one JSON object a file" },
	{ "jsonl", 0, NULL, "print one a second, too" },
	{ NULL },
};

const struct tool tool_send = {
	.name = "send",
	.words = "FILE... HOST:PORT",
	.summary = "send files to `nopal recv`",
	.help = "Sends files, one after the other in one session, to a `nopal "
		"recv` "
		"with the same composition.  A transfer that was cut short "
		"goes on "
		"where it ended when the same command is given again: the "
		"receiver's "
		"beginning is compared by hash first.\n"
		"\n"
		"  nopal recv -o incoming\n"
		"  nopal send big.iso HOST:9000\n",
	.least_words = 2,
	.most_words = -1,
	.options = send_options,
	.run = send_run,
};
