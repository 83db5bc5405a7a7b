/* SPDX-License-Identifier: MIT */
/*
 * stream_report.h -- how a stream fares, an interval a line.
 */
#ifndef NOPAL_STREAM_REPORT_H
#define NOPAL_STREAM_REPORT_H

#include "judge/judge.h"

struct stream_report {
	const char *plan;
	char peer[NOPAL_ADDRESS_TEXT]; /* of its session */
	bool jsonl, begun;
	bool to_stderr; /* standard output carries messages */
	/* Of the input, dropped: longer than a message may be, or empty where the composition puts
	 * nothing around it. */
	uint64_t too_long, empty;
	uint64_t overflowed;		   /* messages that the output had no room for */
	const struct judgement *judgement; /* of the whole; NULL: none */
	int64_t begun_ns, last_ns;
	struct nopal_counters last; /* at the last line */
};

void stream_report_begin(struct stream_report *report, const struct nopal_session *session,
			 int64_t now_ns);
void stream_report_line(struct stream_report *report, const struct nopal_session *session,
			int64_t now_ns);
/* The whole of it. */
void stream_report_end(struct stream_report *report, const struct nopal_session *session,
		       int64_t now_ns);

#endif
