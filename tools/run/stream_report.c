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
#include "run/stream.h"

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

static double stream_rate(uint64_t bytes, int64_t ns)
{
	return ns > 0 ? (double)bytes * STREAM_BITS * STREAM_NS_PER_S / (double)ns : 0;
}

/* The growth since `last`, which was at `from_ns`. */
static void stream_report_say(const struct stream_report *report,
			      const struct nopal_session *session,
			      const struct nopal_counters *last, int64_t from_ns, int64_t now_ns,
			      const char *type)
{
	const struct nopal_counters *now = nopal_session_counters(session);
	int64_t ns = now_ns - from_ns, at_ns = now_ns - report->begun_ns, rtt_ns;
	double sent_bps = stream_rate(now->bytes_sent - last->bytes_sent, ns);
	double goodput_bps = stream_rate(now->bytes_delivered - last->bytes_delivered, ns);
	char out[PROGRESS_RATE_ROOM], in[PROGRESS_RATE_ROOM];
	FILE *file = report->to_stderr ? stderr : stdout;
	json_t *object;

	if (!nopal_session_shared(session, "smoothed_rtt_ns", &rtt_ns))
		rtt_ns = 0;
	if (!report->jsonl) {
		fprintf(stderr, "%8.1f s  out %s  in %s  lost %llu  rebuilt %llu  discarded %llu",
			(double)at_ns / STREAM_NS_PER_S, progress_rate(sent_bps, out),
			progress_rate(goodput_bps, in),
			(unsigned long long)(now->segments_lost + now->segments_timeout -
					     last->segments_lost - last->segments_timeout),
			(unsigned long long)(now->segments_rebuilt - last->segments_rebuilt),
			(unsigned long long)(now->messages_discarded - last->messages_discarded));
		if (report->overflowed > 0)
			fprintf(stderr, "  overflowed %llu",
				(unsigned long long)report->overflowed);
		if (report->too_long > 0)
			fprintf(stderr, "  too long %llu", (unsigned long long)report->too_long);
		if (report->empty > 0)
			fprintf(stderr, "  empty, dropped %llu", (unsigned long long)report->empty);
		if (rtt_ns > 0)
			fprintf(stderr, "  rtt %.3f ms", (double)rtt_ns / STREAM_NS_PER_MS);
		fputc('\n', stderr);
		return;
	}
	object = json_pack(
		"{s:s, s:i, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:I}", "schema",
		"nopal.stream", "version", STREAM_JSON_VERSION, "type", type, "plan", report->plan,
		"peer", report->peer, "at_ns", (json_int_t)at_ns, "duration_ns", (json_int_t)ns,
		"sent_bps", (json_int_t)sent_bps, "goodput_bps", (json_int_t)goodput_bps, "rtt_ns",
		rtt_ns > 0 ? json_integer(rtt_ns) : json_null(), "overflowed_messages",
		(json_int_t)report->overflowed, "too_long_messages", (json_int_t)report->too_long,
		"empty_messages", (json_int_t)report->empty);
#define STREAM_JSON_COUNTER(name, doc)                                                             \
	json_object_set_new(object, #name, json_integer((json_int_t)(now->name - last->name)));
	NOPAL_COUNTERS(STREAM_JSON_COUNTER)
#undef STREAM_JSON_COUNTER
	if (report->judgement)
		json_object_set_new(object, "judged", judge_json(report->judgement));
	json_dumpf(object, file, JSON_COMPACT);
	fputc('\n', file);
	fflush(file);
	json_decref(object);
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
