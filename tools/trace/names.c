/* SPDX-License-Identifier: MIT */
/*
 * names.c -- records of a trace as named values.
 *
 * Names come from the file; what has none there is told by its number.
 */
#include <string.h>

#include "trace/view.h"

static const char *const names_what[] = {
	[NOPAL_TRACED_SESSION] = "session", [NOPAL_TRACED_RAISE] = "raise",
	[NOPAL_TRACED_TRANSMIT] = "leave",  [NOPAL_TRACED_ARRIVE] = "arrive",
	[NOPAL_TRACED_HOLD] = "hold",	    [NOPAL_TRACED_RELEASE] = "release",
	[NOPAL_TRACED_FREE] = "free",	    [NOPAL_TRACED_DELIVER] = "deliver",
	[NOPAL_TRACED_TIMER] = "timer",	    [NOPAL_TRACED_NOTE] = "note",
};

static const char *const names_barrier[NOPAL_BARRIERS] = {
	[NOPAL_SEND] = "send",
	[NOPAL_DONE] = "done",
	[NOPAL_DEALLOCATE] = "deallocate",
	[NOPAL_DELIVER] = "deliver",
};

static const char *const names_note[] = {
	[NOPAL_NOTE_STALE] = "stale handle",
	[NOPAL_NOTE_MISUSE] = "released a bit that was not held",
	[NOPAL_NOTE_REFUSED_SEND] = "send refused after SEGMENT_DONE",
	[NOPAL_NOTE_LONG_HOLD] = "waits too long",
	[NOPAL_NOTE_DROPPED] = "datagram dropped",
};

enum { RUNTIME = UINT8_MAX, BITS = 32 }; /* part 255 of nopal_trace_record */

static const char *names_make(const char *found, const char *what, unsigned number, char *text)
{
	if (found)
		return found;
	snprintf(text, TRACE_NAME, "%s %u", what, number);
	return text;
}

const char *trace_view_what(const struct nopal_trace_record *record)
{
	return names_what[record->what]; /* the reader knows them all */
}

const char *trace_view_barrier(unsigned barrier)
{
	return barrier < NOPAL_BARRIERS ? names_barrier[barrier] : "barrier";
}

const char *trace_view_event(const struct trace_view *view, unsigned event, char *text)
{
	return names_make(nopal_trace_event_name(view->reader, event), "event", event, text);
}

const char *trace_view_part(const struct trace_view *view, unsigned plan, unsigned part, char *text)
{
	if (part == RUNTIME)
		return "runtime";
	return names_make(nopal_trace_part_name(view->reader, plan, part), "part", part, text);
}

const char *trace_view_kind(const struct trace_view *view, unsigned plan, unsigned kind, char *text)
{
	return names_make(nopal_trace_kind_name(view->reader, plan, kind), "kind", kind, text);
}

const char *trace_view_hold(const struct trace_view *view, unsigned plan, unsigned barrier,
			    unsigned bit, char *text)
{
	return names_make(nopal_trace_hold_name(view->reader, plan, barrier, bit), "bit", bit,
			  text);
}

const char *trace_view_holds(const struct trace_view *view, unsigned plan, unsigned barrier,
			     uint32_t bits, char *text)
{
	char name[TRACE_NAME];
	size_t used = 0;

	*text = 0;
	for (unsigned bit = 0; bit < BITS && used < TRACE_TEXT; bit++)
		if (bits >> bit & 1)
			used += (size_t)snprintf(text + used, TRACE_TEXT - used, "%s%s",
						 used ? "; " : "",
						 trace_view_hold(view, plan, barrier, bit, name));
	return used ? text : "nobody";
}

const char *trace_view_during(const struct trace_view *view, const struct trace_session *session,
			      const struct nopal_trace_record *record, char *text)
{
	unsigned depth = session->depth;
	const char *part;

	if (record->b >> 32)
		return trace_view_event(view, (unsigned)(record->b >> 32), text);
	/* The event raised last may be over: most surely so where it is about another segment. */
	while (depth && session->raise[depth - 1].subject &&
	       session->raise[depth - 1].subject != record->a)
		depth--;
	if (!depth && session->timer && session->timer_ns == record->time_ns) {
		part = nopal_trace_part_name(view->reader, session->plan, session->whose);
		snprintf(text, TRACE_NAME, "a timer of %.40s", part ? part : "a part");
		return text;
	}
	if (!session->depth)
		return "no event";
	return trace_view_event(view, session->raise[depth ? depth - 1 : 0].event, text);
}

/* ---------------------------------------------------------------- fields */

static void names_text(struct trace_fields *fields, const char *key, const char *text)
{
	fields->field[fields->count++] = (struct trace_field){ .key = key, .text = text };
}

static void names_number(struct trace_fields *fields, const char *key, uint64_t number)
{
	fields->field[fields->count++] = (struct trace_field){ .key = key, .number = number };
}

static void names_part(struct trace_fields *fields, const char *key, const struct trace_view *view,
		       unsigned plan, unsigned part)
{
	names_text(fields, key, trace_view_part(view, plan, part, fields->name[2]));
}

static void names_bits(const struct trace_view *view, const struct trace_session *session,
		       const struct nopal_trace_record *record, struct trace_fields *fields)
{
	bool release = record->what == NOPAL_TRACED_RELEASE;
	unsigned plan = session->plan;

	names_text(fields, "barrier", trace_view_barrier(record->number));
	names_number(fields, record->number == NOPAL_DELIVER ? "message" : "segment", record->a);
	if (release)
		names_part(fields, "by", view, plan, record->part);
	names_text(fields, release ? "left" : "waits",
		   trace_view_holds(view, plan, record->number, (uint32_t)record->b, fields->bits));
	if (release)
		names_text(fields, "in", trace_view_during(view, session, record, fields->name[1]));
}

void trace_view_fields(const struct trace_view *view, const struct trace_session *session,
		       const struct nopal_trace_record *record, struct trace_fields *fields)
{
	unsigned plan = session->plan, number = record->number;
	unsigned peer = (unsigned)(record->b >> 32);
	const char *name;

	fields->count = 0;
	switch ((enum nopal_trace_what)record->what) {
	case NOPAL_TRACED_SESSION:
		name = nopal_trace_plan_name(view->reader, number);
		snprintf(fields->name[0], TRACE_NAME, "%08x", record->session);
		snprintf(fields->name[1], TRACE_NAME, "%08x", peer);
		names_text(fields, "plan", name ? name : "?");
		names_text(fields, "role", record->b & 1 ? "opener" : "listener");
		names_text(fields, "id", fields->name[0]);
		if (peer)
			names_text(fields, "peer", fields->name[1]);
		break;
	case NOPAL_TRACED_RAISE:
		name = trace_view_event(view, number, fields->name[0]);
		names_text(fields, "event", name);
		if (record->a)
			names_number(fields,
				     strstr(name, "SEGMENT")	     ? "segment"
				     : strncmp(name, "MSG_", 4) == 0 ? "message"
								     : "number",
				     record->a);
		names_number(fields, "depth", record->b);
		break;
	case NOPAL_TRACED_TRANSMIT:
	case NOPAL_TRACED_ARRIVE:
		names_text(fields, "kind", trace_view_kind(view, plan, number, fields->name[0]));
		if (record->a)
			names_number(fields, "segment", record->a);
		names_number(fields, "packet", record->b);
		break;
	case NOPAL_TRACED_HOLD:
	case NOPAL_TRACED_RELEASE:
		names_bits(view, session, record, fields);
		break;
	case NOPAL_TRACED_FREE:
		names_number(fields, "number", record->a);
		break;
	case NOPAL_TRACED_DELIVER:
		names_number(fields, "message", record->a);
		names_number(fields, "bytes", record->b);
		break;
	case NOPAL_TRACED_TIMER:
		names_part(fields, "part", view, plan, record->part);
		names_number(fields, "timer", number);
		break;
	case NOPAL_TRACED_NOTE:
		name = number < sizeof(names_note) / sizeof(char *) ? names_note[number] : NULL;
		names_text(fields, "note", names_make(name, "note", number, fields->name[0]));
		names_part(fields, "by", view, plan, record->part);
		if (record->a)
			names_number(fields, "number", record->a);
		if (record->b)
			names_number(fields, "detail", record->b);
		break;
	}
}
