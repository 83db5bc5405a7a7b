/* SPDX-License-Identifier: MIT */
/*
 * trace.c -- nopal trace: a trace as text, as a ladder, as JSON lines.
 */
#include <string.h>

#include "trace/view.h"

/* "   0.025000000 s1 release  send, segment 5, by windowed_cc, left nobody" */
static void trace_text(const struct trace_view *view, const struct trace_session *session,
		       const struct nopal_trace_record *record)
{
	struct trace_fields fields;
	int64_t time_ns;
	uint64_t whole;

	trace_view_fields(view, session, record, &fields);
	time_ns = record->time_ns;
	whole = time_ns < 0 ? -(uint64_t)time_ns : (uint64_t)time_ns;
	printf("%s%6llu.%09llu", time_ns < 0 ? "-" : " ",
	       (unsigned long long)(whole / (uint64_t)NOPAL_SECOND),
	       (unsigned long long)(whole % (uint64_t)NOPAL_SECOND));
	printf(" s%-3u %-8s", session->number, trace_view_what(record));
	for (size_t i = 0; i < fields.count; i++) {
		const struct trace_field *field = &fields.field[i];

		fputs(i ? ", " : " ", stdout);
		if (!field->text)
			printf("%s %llu", field->key, (unsigned long long)field->number);
		else if (i == 0)
			fputs(field->text, stdout);
		else
			printf("%s %s", field->key, field->text);
	}
	putchar('\n');
}

static void trace_json(const struct trace_view *view, const struct trace_session *session,
		       const struct nopal_trace_record *record)
{
	struct trace_fields fields;

	trace_view_fields(view, session, record, &fields);
	printf("{\"time_ns\":%lld,\"session\":%u,\"what\":\"%s\"", (long long)record->time_ns,
	       session->number, trace_view_what(record));
	for (size_t i = 0; i < fields.count; i++) {
		const struct trace_field *field = &fields.field[i];

		printf(",\"%s\":", field->key);
		if (!field->text) {
			printf("%llu", (unsigned long long)field->number);
			continue;
		}
		putchar('"');
		for (const char *at = field->text; *at; at++) {
			if (*at == '"' || *at == '\\')
				putchar('\\');
			putchar(*at); /* the reader gives printable ASCII alone */
		}
		putchar('"');
	}
	puts("}");
}

static enum tool_exit trace_run(const struct tool_call *call)
{
	const char *form = tool_value(call, "to") ? tool_value(call, "to") : "text";
	bool json = strcmp(form, "json") == 0, text = strcmp(form, "text") == 0;
	struct nopal_trace_record record;
	struct trace_session *session;
	struct trace_view view;
	enum tool_exit code = trace_view_open(&view, call, call->words[0]);

	if (code == TOOL_GOOD)
		code = trace_view_span(&view, call);
	if (code == TOOL_GOOD && strcmp(form, "seq") == 0) {
		code = trace_ladder(&view);
	} else if (code == TOOL_GOOD && (json || text)) {
		while (!ferror(stdout) && trace_view_next(&view, &record, &session))
			(json ? trace_json : trace_text)(&view, session, &record);
		code = view.damaged ? TOOL_FAILED : TOOL_GOOD;
	} else if (code == TOOL_GOOD) {
		fprintf(stderr, "--to: `%s` is no form\n  fix: text, seq or json\n", form);
		code = TOOL_BAD_INPUT;
	}
	trace_view_close(&view);
	return code;
}

const struct tool tool_trace = {
	.name = "trace",
	.words = "FILE",
	.summary = "show a trace as text, as a ladder of segments, or as JSON lines",
	.help = "Reads a trace that `nopal sim --trace FILE` or a live tool wrote.  A trace that "
		"was\ncut short (a killed process, a full disk) is read up to the cut.\n\n"
		"  text   a line a record\n"
		"  seq    segments between the two sides of a connection; both must be in the "
		"file; x: it did not arrive\n"
		"  json   an object a line, with the same names\n\n"
		"  nopal trace run.trace --to seq --until 200ms\n"
		"  nopal trace run.trace --to json | jq 'select(.what==\"leave\")'\n",
	.min_words = 1,
	.max_words = 1,
	.options =
		(const struct tool_option[]){
			{ "to", 0, "text|seq|json", "the form; default text" },
			TRACE_VIEW_OPTIONS,
			{ "from", 0, "TIME", "leave out what was before" },
			{ "until", 0, "TIME", "leave out what was at or after" },
			{ 0 } },
	.run = trace_run,
};
