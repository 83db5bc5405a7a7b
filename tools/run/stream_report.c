/* SPDX-License-Identifier: MIT */
/*
 * stream_report.c -- how a stream fares, an interval a line.
 *
 * Out and in are message bytes.  `lost` is what the composition itself knows of transmissions that
 * were lost; clocks of two machines are not compared, so the delay shown is the round trip, where a
 * microprotocol measures one.
 */
#include <string.h>
#include <jansson.h>

#include "peer/progress.h"
#include "run/stream_report.h"

enum { STREAM_JSON_VERSION = 1, STREAM_BITS = 8 };
#define STREAM_NS_PER_S	 1e9
#define STREAM_NS_PER_MS 1e6

void stream_report_begin(struct stream_report *report, const struct nopal_session *session,
			 int64_t now_ns)
{
	struct nopal_address peer;

	nopal_session_peer(session, &peer);
	nopal_address_format(&peer, report->peer);
	if (!report->jsonl)
		fprintf(stderr, "with %s:\n", report->peer);
	report->begun = true;
	report->begun_ns = now_ns;
	report->last_ns = now_ns;
	report->last = *nopal_session_counters(session);
}

/* The growth since `last`, over `ns`. */
struct stream_growth {
	const struct nopal_counters *now, *last;
	int64_t ns, at_ns;
	int64_t rtt_ns; /* -1: nobody measures it */
};

static double stream_rate(const struct stream_growth *growth, uint64_t bytes)
{
	if (growth->ns <= 0)
		return 0;
	return (double)bytes * STREAM_BITS * STREAM_NS_PER_S / (double)growth->ns;
}

static void stream_talk(const struct stream_report *report, const struct stream_growth *growth)
{
	const struct nopal_counters *now = growth->now, *last = growth->last;
	char out[PROGRESS_RATE_ROOM], in[PROGRESS_RATE_ROOM];

	fprintf(stderr, "%8.1f s  out %s  in %s  lost %llu  rebuilt %llu  discarded %llu",
		(double)growth->at_ns / STREAM_NS_PER_S,
		progress_rate(stream_rate(growth, now->bytes_sent - last->bytes_sent), out),
		progress_rate(stream_rate(growth, now->bytes_delivered - last->bytes_delivered),
			      in),
		(unsigned long long)(now->segments_lost + now->segments_timeout -
				     last->segments_lost - last->segments_timeout),
		(unsigned long long)(now->segments_rebuilt - last->segments_rebuilt),
		(unsigned long long)(now->messages_discarded - last->messages_discarded));
	if (report->overflowed > 0)
		fprintf(stderr, "  overflowed %llu", (unsigned long long)report->overflowed);
	if (report->too_long > 0)
		fprintf(stderr, "  too long %llu", (unsigned long long)report->too_long);
	if (report->empty > 0)
		fprintf(stderr, "  empty, dropped %llu", (unsigned long long)report->empty);
	if (growth->rtt_ns > 0)
		fprintf(stderr, "  rtt %.3f ms", (double)growth->rtt_ns / STREAM_NS_PER_MS);
	fputc('\n', stderr);
}

static void stream_json(const struct stream_report *report, const struct stream_growth *growth,
			const char *type)
{
	const struct nopal_counters *now = growth->now, *last = growth->last;
	FILE *out = report->to_stderr ? stderr : stdout;
	double sent_bps = stream_rate(growth, now->bytes_sent - last->bytes_sent);
	double goodput_bps = stream_rate(growth, now->bytes_delivered - last->bytes_delivered);
	json_t *rtt = growth->rtt_ns > 0 ? json_integer(growth->rtt_ns) : json_null();
	json_t *object = json_pack(
		"{s:s, s:i, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:I}", "schema",
		"nopal.stream", "version", STREAM_JSON_VERSION, "type", type, "plan", report->plan,
		"peer", report->peer, "at_ns", (json_int_t)growth->at_ns, "duration_ns",
		(json_int_t)growth->ns, "sent_bps", (json_int_t)sent_bps, "goodput_bps",
		(json_int_t)goodput_bps, "rtt_ns", rtt, "overflowed_messages",
		(json_int_t)report->overflowed, "too_long_messages", (json_int_t)report->too_long,
		"empty_messages", (json_int_t)report->empty);

#define STREAM_JSON_COUNTER(name, doc)                                                             \
	json_object_set_new(object, #name, json_integer((json_int_t)(now->name - last->name)));
	NOPAL_COUNTERS(STREAM_JSON_COUNTER)
#undef STREAM_JSON_COUNTER
	if (report->judgement)
		json_object_set_new(object, "judged", judge_json(report->judgement));
	json_dumpf(object, out, JSON_COMPACT);
	fputc('\n', out);
	fflush(out);
	json_decref(object);
}

static void stream_report_say(struct stream_report *report, const struct nopal_session *session,
			      const struct nopal_counters *last, int64_t from_ns, int64_t now_ns,
			      const char *type)
{
	struct stream_growth growth = {
		.now = nopal_session_counters(session),
		.last = last,
		.ns = now_ns - from_ns,
		.at_ns = now_ns - report->begun_ns,
	};

	if (!nopal_session_shared(session, "smoothed_rtt_ns", &growth.rtt_ns))
		growth.rtt_ns = -1;
	if (report->jsonl)
		stream_json(report, &growth, type);
	else
		stream_talk(report, &growth);
}

void stream_report_line(struct stream_report *report, const struct nopal_session *session,
			int64_t now_ns)
{
	stream_report_say(report, session, &report->last, report->last_ns, now_ns, "interval");
	report->last = *nopal_session_counters(session);
	report->last_ns = now_ns;
}

void stream_report_end(struct stream_report *report, const struct nopal_session *session,
		       int64_t now_ns)
{
	static const struct nopal_counters nothing;

	if (!report->begun)
		return;
	if (!report->jsonl)
		fprintf(stderr, "in all, with %s:\n", report->peer);
	stream_report_say(report, session, &nothing, report->begun_ns, now_ns, "result");
	if (report->judgement && !report->jsonl)
		judge_say_not(report->judgement, stderr);
}
