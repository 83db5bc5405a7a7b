/* SPDX-License-Identifier: MIT */
/*
 * stream.c -- `nopal stream`: messages from an input over a session of any composition to an
 * output.
 *
 * With a composition that is one to many, several addresses are one session: each receiver gets the
 * messages by a copy, or all of them by multicast, as the composition says.  The input is read when
 * all have answered or are given up, or a second after the first answer.
 *
 * Either side may send, receive, or both.  What is lost stays lost where the composition does not
 * resend: the line an interval says how it fares.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nopal/microprotocol.h>
#include "frame/properties.h"
#include "frame/tool.h"
#include "peer/live_judge.h"
#include "peer/listen.h"
#include "peer/progress.h"
#include "peer/rendezvous.h"
#include "run/stream.h"

enum { STREAM_RELIABLE_BYTES = 64 << 10 };
#define STREAM_INTERVAL_NS NOPAL_SECOND
/* So long a flow below the session may take to close, once that has ended. */
#define STREAM_LINGER_NS (2 * NOPAL_SECOND)
#define STREAM_LOOK_NS	 (10 * NOPAL_MILLISECOND)
#define STREAM_GATHER_NS NOPAL_SECOND

struct stream {
	struct loop *loop;
	struct nopal_plan *plan;
	struct nopal_endpoint *endpoint;
	struct nopal_session *session;
	struct stream_in *in;
	struct stream_out *out;
	struct stream_report report;
	struct loop_event *tick;
	bool said_silent;
	struct live_judge judge;
	struct live_judge_options judges;
	uint64_t moves; /* counters that grow while it goes on, in either direction */
	bool no_room;	/* the session had no memory for a message */
	bool held_said; /* who holds what, while it is open */
	int64_t interval_ns, idle_ns, heard_ns, over_ns;
	size_t size;
	struct properties with;
	char with_names[PROPERTIES_TEXT];
	uint64_t taken; /* messages of the input */
	struct rendezvous rendezvous;
	bool reliable, flow_controlled, over, closing, interrupted;
	/* Of many receivers: those that have opened, or ended before, and by when they must. */
	struct nopal_address *peers;
	unsigned peer_count, settled;
	bool gathers;
	int64_t gathered_ns;
	enum tool_exit exit;
};

static int64_t stream_now(const struct stream *stream)
{
	return nopal_world_now(loop_world(stream->loop));
}

/* -------------------------------------------------------------------- input */

static bool stream_got(void *user, const uint8_t *bytes, size_t length)
{
	struct nopal_property properties[PROPERTIES_MAX];
	struct nopal_outgoing outgoing = { .bytes = bytes,
					   .length = length,
					   .properties = properties };
	struct stream *stream = user;
	unsigned class;
	int error;

	if (!stream->session || stream->gathers) /* it ended in this turn of the loop */
		return false;
	outgoing.property_count = properties_of(&stream->with, stream->taken, properties, &class);
	error = nopal_send_message(stream->session, &outgoing);
	stream->taken += error == 0;
	if (error == -EMSGSIZE)
		stream->report.too_long++;
	if (error == -ENOBUFS) {
		stream->no_room = true;
		nopal_session_abort(stream->session, strerror(-error));
	} else if (error == -EINVAL)
		stream->report.empty++;
	return error == 0 || error == -EMSGSIZE || error == -EINVAL;
}

static void stream_close(void *user)
{
	struct stream *stream = user;

	if (stream->closing || !stream->session)
		return;
	stream->closing = true;
	nopal_session_close(stream->session);
}

/* ------------------------------------------------------------------ callbacks */

static void stream_judge_begin(struct stream *stream)
{
	live_judge_begin(&stream->judge, stream->plan, loop_world(stream->loop), &stream->judges,
			 stream->in != NULL);
	stream->judge.both = stream->in && stream->out;
	/* Which of the messages came is not known: all are judged by the promise of a message that
	 * has each of the properties. */
	stream->judge.facts.names =
		properties_names(&stream->with, properties_all(&stream->with), stream->with_names);
}

static void stream_on_opened(struct nopal_session *session, void *user)
{
	struct stream *stream = user;

	if (!stream) {
		nopal_session_abort(session, "the listener has its session");
		return;
	}
	stream->session = session;
	stream->heard_ns = stream_now(stream);
	stream_report_begin(&stream->report, session, stream->heard_ns);
	live_judge_moved(&stream->judge);
	if (stream->in)
		stream_in_resume(stream->in);
}

static void *stream_on_accepted(struct nopal_session *session, void *user)
{
	struct stream *stream = user;

	if (stream->session)
		return NULL;
	stream->session = session;
	stream_judge_begin(stream);
	return stream;
}

static void stream_on_received(struct nopal_session *session, struct nopal_message *message,
			       void *user)
{
	struct stream *stream = user;

	if (!stream)
		return;
	stream->heard_ns = stream_now(stream);
	if (stream->out && !stream_out_put(stream->out, session, message,
					   !stream->reliable || !stream->flow_controlled)) {
		stream->exit = TOOL_ENVIRONMENT;
		nopal_session_abort(session, "the output is broken");
	}
}

static void stream_on_writable(struct nopal_session *session, void *user)
{
	struct stream *stream = user;

	(void)session;
	if (stream && stream->in)
		stream_in_resume(stream->in);
}

static void stream_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			    void *user)
{
	struct stream *stream = user;
	const char *fix;

	if (!stream)
		return;
	fix = rendezvous_ended_fix(stream->rendezvous.wanted, end);
	if (stream->out) {
		if (!stream_out_drain(stream->out, session))
			stream->exit = TOOL_ENVIRONMENT;
		stream->report.overflowed = stream_out_dropped(stream->out);
	}
	/* Messages of a stream have no numbers of ours: which of them came, in which order, and
	 * with which bytes, is not judged. */
	if (!stream->interrupted || end == NOPAL_ENDED_WELL) {
		if (stream->report.begun) {
			const struct nopal_counters *counters = nopal_session_counters(session);
			struct judge_facts *facts = &stream->judge.facts;

			/* How many of ours have arrived the session counts, where somebody
			 * tells. */
			facts->counted = stream->in && stream->reliable;
			facts->sent = counters->messages_sent;
			facts->delivered = counters->messages_arrived;
		}
		live_judge_end(&stream->judge, session, stream->no_room ? NOPAL_RESOURCE : end);
		if (live_judge_is_broken(&stream->judge, NULL) && stream->exit == TOOL_GOOD)
			stream->exit = TOOL_FAILED;
		stream->report.judgement = &stream->judge.judgement;
	}
	stream_report_end(&stream->report, session, stream_now(stream));
	if (end != NOPAL_ENDED_WELL && !stream->interrupted) {
		if (!text || !*text)
			text = "broken";
		tool_error("%s%s%.*s", stream->report.peer, stream->report.begun ? ": " : "",
			   tool_text_length(text), text);
		if (fix)
			fprintf(stderr, "  fix: %s\n", fix);
		if (stream->exit == TOOL_GOOD)
			stream->exit = TOOL_FAILED;
	}
	stream->session = NULL;
	stream->over = true;
	stream->over_ns = stream_now(stream);
	loop_event_start(stream->tick, 0);
}

/* ------------------------------------------------------------ several receivers */

static void stream_gathered(struct stream *stream)
{
	stream->gathers = false;
	if (stream->session && stream->in)
		stream_in_resume(stream->in);
}

static void stream_on_destination(struct nopal_session *session,
				  const struct nopal_destination_info *info, void *user)
{
	struct stream *stream = user;
	char address[NOPAL_ADDRESS_TEXT];

	(void)session;
	if (!stream || !stream->peer_count)
		return;
	if (stream->gathers && ++stream->settled >= stream->peer_count)
		stream_gathered(stream);
	if (!stream->gathered_ns)
		stream->gathered_ns = stream_now(stream) + STREAM_GATHER_NS;
	if (!info->ended)
		return;
	live_judge_destination_ended(&stream->judge, info);
	if (!stream->interrupted && info->end != NOPAL_ENDED_WELL)
		fprintf(stderr, "%s: %llu of %llu bytes arrived: %.*s\n",
			nopal_address_format(&info->address, address),
			(unsigned long long)info->arrived_bytes,
			(unsigned long long)info->given_bytes, tool_text_length(info->text),
			info->text);
}

/* The first receiver is there. */
static bool stream_add_others(struct stream *stream)
{
	char address[NOPAL_ADDRESS_TEXT];

	for (unsigned i = 1; i < stream->peer_count && stream->session; i++) {
		int64_t id = nopal_destination_add(stream->session, &stream->peers[i]);

		if (id >= 0)
			continue;
		tool_error("%s: %s", nopal_address_format(&stream->peers[i], address),
			   strerror((int)-id));
		nopal_session_abort(stream->session, "a receiver could not be added");
		return false;
	}
	return true;
}

static const struct nopal_callbacks stream_callbacks = {
	.accepted = stream_on_accepted,
	.opened = stream_on_opened,
	.received = stream_on_received,
	.writable = stream_on_writable,
	.destination = stream_on_destination,
	.ended = stream_on_ended,
};

/* ----------------------------------------------------------------------- time */

static void stream_on_tick(void *user)
{
	struct stream *stream = user;
	int64_t now_ns = stream_now(stream);
	const struct nopal_counters *counters;
	uint64_t moves;

	if (stream->over) {
		/* A side that goes before the flow has closed cuts off what the peer has not heard
		 * yet. */
		if (!nopal_endpoint_counters(stream->endpoint)->sessions ||
		    now_ns - stream->over_ns > STREAM_LINGER_NS)
			loop_stop(stream->loop);
		else
			loop_event_start(stream->tick, STREAM_LOOK_NS);
		return;
	}
	if (stream->session && stream->report.begun) {
		if (stream->out)
			stream->report.overflowed = stream_out_dropped(stream->out);
		stream_report_line(&stream->report, stream->session, now_ns);
		counters = nopal_session_counters(stream->session);
		moves = counters->transmissions - counters->resends + counters->messages_arrived +
			counters->messages_delivered;
		if (moves != stream->moves)
			live_judge_moved(&stream->judge);
		stream->moves = moves;
		/* While it is open its application may just have nothing to say, or not read; once
		 * it closes, nobody may keep it. */
		if (live_judge_stands(&stream->judge) && stream->closing) {
			live_judge_stuck(&stream->judge, stream->session,
					 "the session was to close, and nothing moved");
			nopal_session_abort(stream->session, "it does not close");
		} else if (live_judge_stands(&stream->judge) && !stream->held_said) {
			live_judge_say_held(stream->session);
			stream->held_said = true;
		}
	}
	progress_say_silence(NULL, stream->session, &stream->said_silent);
	loop_event_start(stream->tick, stream->interval_ns);
	if (stream->gathers && stream->gathered_ns && now_ns >= stream->gathered_ns)
		stream_gathered(stream);
	if (stream->session && stream->report.begun && stream->idle_ns > 0 &&
	    now_ns - stream->heard_ns > stream->idle_ns)
		stream_close(stream);
}

/* In good order; a second interrupt ends the program. */
static void stream_on_interrupt(void *user)
{
	struct stream *stream = user;

	stream->interrupted = true;
	if (stream->session && stream->report.begun)
		stream_close(stream);
	else
		loop_stop(stream->loop);
}

/* --------------------------------------------------------------------- running */

static bool stream_start(const struct tool_call *call, struct stream *stream,
			 const struct nopal_address *address, bool opener)
{
	struct stream_in_calls calls = { stream_got, stream_close, stream };
	const char *in = tool_value(call, "in"), *out = tool_value(call, "out");
	struct nopal_problems problems = { 0 };
	struct nopal_address bound;
	int64_t rate_bps;

	if (!in && !out && opener)
		in = "pipe:";
	if (!in && !out)
		out = "pipe:";
	stream->tick = loop_event_new(stream->loop, LOOP_TIMER, -1, stream_on_tick, stream);
	stream->exit = TOOL_BAD_INPUT;
	if (!tool_quantity(call, "rate", NOPAL_RATE, 0, &rate_bps))
		return false;
	if (in)
		stream->in = stream_in_new(stream->loop, in, stream->size, rate_bps, &calls);
	if (out)
		stream->out = stream_out_new(stream->loop, out);
	if ((in && !stream->in) || (out && !stream->out))
		return false;
	stream->exit = TOOL_GOOD;
	stream->report.to_stderr = stream->out && stream_out_is_pipe(stream->out);
	if (!stream->tick || !loop_on_interrupt(stream->loop, stream_on_interrupt, stream))
		return false;
	loop_event_start(stream->tick, stream->interval_ns);
	if (opener) {
		struct nopal_session *session;

		stream->gathers = stream->peer_count > 1;
		if (stream->peer_count > 1)
			stream->endpoint = loop_endpoint_to_all(stream->loop, stream->peers,
								stream->peer_count);
		else
			stream->endpoint =
				rendezvous_endpoint(&stream->rendezvous, stream->loop, address);
		if (!stream->endpoint)
			return false;
		stream_judge_begin(stream);
		session = rendezvous_open(&stream->rendezvous, stream->endpoint, stream->plan,
					  address, &stream_callbacks, stream);
		if (session && !stream->over)
			stream->session = session;
		return session && stream_add_others(stream);
	}
	stream->endpoint = nopal_endpoint_open(loop_world(stream->loop), address, &problems);
	tool_problems(&problems);
	if (!stream->endpoint)
		return false;
	nopal_endpoint_local(stream->endpoint, &bound);
	listen_print("nopal stream", &bound, call);
	return nopal_endpoint_allow(stream->endpoint, stream->plan, NOPAL_ALLOW_CONNECTIONLESS,
				    &stream_callbacks, stream) == 0;
}

/* Either a peer to open to, or an address to listen on. */
static bool stream_address(const struct tool_call *call, struct nopal_address *ret_address,
			   bool *ret_opener)
{
	const char *listen = tool_value(call, "listen");

	*ret_opener = call->word_count > 0;
	if (*ret_opener == (listen != NULL))
		return tool_error("one side listens, the other opens\n"
				  "  fix: give HOST:PORT or --listen ADDR:PORT");
	if (*ret_opener)
		return tool_destination(call->words[0], ret_address);
	if (tool_value(call, "rendezvous"))
		return tool_error("who listens meets nobody\n"
				  "  fix: give HOST:PORT in place of --listen");
	return tool_address(listen, ret_address);
}

static bool stream_options_of(const struct tool_call *call, const struct nopal_address *peer,
			      struct stream *stream)
{
	uint64_t limit = nopal_plan_info(stream->plan)->message_limit;
	int64_t size = nopal_plan_info(stream->plan)->body_bytes;

	stream->reliable = nopal_plan_provides(stream->plan, "reliability");
	stream->flow_controlled = nopal_plan_provides(stream->plan, "flow_control");
	if (stream->reliable)
		size = STREAM_RELIABLE_BYTES;
	if ((uint64_t)size > limit)
		size = (int64_t)limit;
	if (!tool_quantity(call, "size", NOPAL_SIZE, size, &size) ||
	    !tool_quantity(call, "interval", NOPAL_TIME, STREAM_INTERVAL_NS,
			   &stream->interval_ns) ||
	    !tool_quantity(call, "idle", NOPAL_TIME, 0, &stream->idle_ns) ||
	    !live_judge_read(call, &stream->judges) ||
	    !properties_read(call, stream->plan, 1, &stream->with))
		return false;
	if (size < 1 || (uint64_t)size > limit || stream->interval_ns <= 0) {
		tool_error("--size is 1 to %llu bytes with config %s, --interval above 0",
			   (unsigned long long)limit, nopal_plan_info(stream->plan)->name);
		return false;
	}
	stream->size = (size_t)size;
	if (!rendezvous_parse(call, peer, stream->plan, &stream->rendezvous))
		return false;
	/* Both open, so neither is the one that is read from by itself. */
	if (!stream->rendezvous.wanted || tool_value(call, "in") || tool_value(call, "out"))
		return true;
	return tool_error("--rendezvous says not who sends\n"
			  "  fix: give --in pipe:, --out pipe:, or both");
}

/* False: a problem was printed. */
static bool stream_peers(const struct tool_call *call, struct stream *stream)
{
	if (!call->word_count || !nopal_plan_provides(stream->plan, "fan_out")) {
		if (call->word_count <= 1)
			return true;
		return tool_error("%s and %s: config %s has one destination\n"
				  "  fix: take -c one_to_many_all or multicast, on all sides",
				  call->words[0], call->words[1],
				  nopal_plan_info(stream->plan)->name);
	}
	stream->peer_count = (unsigned)call->word_count;
	stream->peers = tool_need(calloc(stream->peer_count, sizeof(*stream->peers)));
	return tool_destinations(call, 0, stream->peers) &&
	       (nopal_plan_provides(stream->plan, "host_streams") ||
		tool_destinations_differ(call, 0, stream->peers, ""));
}

static enum tool_exit stream_run(const struct tool_call *call)
{
	const char *config = tool_value(call, "config");
	struct stream stream = { .interval_ns = 0 };
	struct nopal_address address;
	enum tool_exit exit = TOOL_BAD_INPUT;
	bool opener;

	if (!config) {
		tool_error("-c CONF is missing\n  fix: `nopal list configs` names them");
		return TOOL_BAD_INPUT;
	}
	if (!stream_address(call, &address, &opener))
		return TOOL_BAD_INPUT;
	stream.plan = tool_plan(call, config);
	if (!stream.plan)
		return TOOL_BAD_INPUT;
	signal(SIGPIPE, SIG_IGN); /* a reader that went is an error of a write */
	stream.report.jsonl = tool_value(call, "jsonl") != NULL;
	stream.report.plan = nopal_plan_info(stream.plan)->name;
	if (stream_peers(call, &stream) && stream_options_of(call, &address, &stream)) {
		bool started;

		stream.loop = loop_new(tool_value(call, "trace"));
		started = stream.loop &&
			  live_judge_watch(&stream.judges, loop_world(stream.loop), stream.plan) &&
			  stream_start(call, &stream, &address, opener);
		if (!started && stream.exit == TOOL_GOOD)
			stream.exit = TOOL_ENVIRONMENT;
		else if (started && !stream.over)
			loop_run(stream.loop);
		if (stream.loop)
			loop_end_world(stream.loop);
		live_judge_fini(&stream.judge);
		stream_in_free(stream.in);
		stream_out_free(stream.out);
		loop_event_free(stream.tick);
		if (stream.loop)
			loop_free(stream.loop);
		exit = stream.exit;
	}
	free(stream.peers);
	nopal_plan_unref(stream.plan);
	return exit;
}

static const struct tool_option stream_options[] = {
	{ "config", 'c', "CONF", "composition, the same on both sides" },
	{ "listen", 0, "ADDR:PORT", "wait for the other side there" },
	{ "rendezvous", 0, "[ADDR:]PORT", "from there, while the other side opens to us, too" },
	{ "in", 0, "WHERE", "pipe: | file:PATH | udp://ADDR:PORT (who opens: pipe:)" },
	{ "out", 0, "WHERE", "the same; who listens: pipe:" },
	{ "size", 0, "SIZE", "longest message from a pipe or a file" },
	{ "rate", 0, "RATE", "read a file no faster, as 2Mbit" },
	{ "interval", 0, "TIME", "time between lines (default 1s)" },
	{ "idle", 0, "TIME", "end when nothing arrived for so long" },
	TOOL_WITH_OPTION,
	LIVE_JUDGE_OPTIONS,
	TOOL_SET_OPTION,
	TOOL_TRACE_OPTION,
	{ "jsonl", 0, NULL, "one JSON object an interval, and one at the end" },
	{ NULL },
};

const struct tool tool_stream = {
	.name = "stream",
	.words = "[HOST:PORT...]",
	.summary = "carry messages of pipes, files and UDP over any composition",
	.help = "One side listens, the other opens.  What comes in at --in leaves the other side "
		"at --out, message by message; both may do both.  A line an interval says how it "
		"fares.  JSON goes to standard output, or to standard error where --out is "
		"pipe:.\n"
		"\n"
		"  nopal stream -c ctp_audio --listen 0.0.0.0:9000 > heard.raw\n"
		"  nopal stream -c ctp_audio HOST:9000 --in file:song.raw --rate 256kbit\n"
		"\n"
		"With a composition that is one to many, several addresses get the stream at once, by "
		"copies or by multicast; the input is read when each has answered or is given up, or "
		"a second after the first answer.  A receiver that is lost is named, and the others "
		"go on.\n"
		"\n"
		"  nopal stream -c multicast A:9000 B:9000 --in file:song.raw --rate 256kbit\n"
		"\n"
		"With --rendezvous neither side listens, as where firewalls let nobody in: both open, "
		"each to the port that the other one opens from.\n"
		"\n"
		"  nopal stream -c bulk B:9000 --rendezvous 9001 --in pipe:\n"
		"  nopal stream -c bulk A:9001 --rendezvous 9000 --out pipe:\n" TOOL_WITH_HELP "\n"
		"  nopal stream -c ctp_mixed HOST:9000 --with deadline=200ms < camera\n",
	.min_words = 0,
	.max_words = -1,
	.options = stream_options,
	.run = stream_run,
};
