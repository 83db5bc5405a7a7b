/* SPDX-License-Identifier: MIT */
/*
 * view.c -- reads traces for people: sessions, filters, names.
 *
 * The file may be hostile: numbers in it are looked up, never indexed with.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/view.h"

enum { FIRST_ROOM = 64, ID_DIGITS = 8, HEX = 16, DECIMAL = 10 };

/* -------------------------------------------------------------- sessions */

static struct trace_session **trace_view_slot(struct trace_session **table, unsigned room,
					      uint32_t id)
{
	unsigned at = (id * UINT32_C(0x9e3779b9) >> 7) & (room - 1);

	while (table[at] && table[at]->id != id)
		at = (at + 1) & (room - 1);
	return &table[at];
}

/* Finds the session, or makes it; NULL: out of memory. */
static struct trace_session *trace_view_session(struct trace_view *view, uint32_t id)
{
	struct trace_session **slot;
	unsigned room = view->room ? view->room * 2 : FIRST_ROOM;
	struct trace_session **table, **sessions;

	if (view->count * 2 >= view->room) {
		sessions = realloc(view->sessions, room * sizeof(*sessions));
		if (!sessions)
			return NULL;
		view->sessions = sessions;
		table = calloc(room, sizeof(*table));
		if (!table)
			return NULL;
		for (unsigned i = 0; i < view->count; i++)
			*trace_view_slot(table, room, sessions[i]->id) = sessions[i];
		free(view->table);
		view->table = table;
		view->room = room;
	}
	slot = trace_view_slot(view->table, view->room, id);
	if (*slot)
		return *slot;
	*slot = calloc(1, sizeof(**slot));
	if (!*slot)
		return NULL;
	view->sessions[view->count++] = *slot;
	(*slot)->id = id;
	(*slot)->number = view->count;
	(*slot)->plan = UINT16_MAX;
	return *slot;
}

/* --------------------------------------------------------------- options */

static bool trace_view_start(struct trace_view *view)
{
	struct nopal_problems problems = { 0 };

	if (access(view->file, R_OK)) {
		fprintf(stderr,
			"%s: error: cannot open the trace: %s\n"
			"  fix: give a file that `--trace FILE` wrote\n",
			view->file, strerror(errno));
		return false;
	}
	view->reader = nopal_trace_open(view->file, &problems);
	tool_problems(&problems);
	nopal_problems_fini(&problems);
	return view->reader != NULL;
}

enum tool_exit trace_view_open(struct trace_view *view, const struct tool_call *call,
			       const char *file)
{
	const char *text = tool_value(call, "session");
	unsigned long long value;
	char *end;

	*view = (struct trace_view){
		.file = file,
		.from_ns = INT64_MIN,
		.until_ns = INT64_MAX,
	};
	if (text) {
		view->wanted_is_id = strlen(text) == ID_DIGITS;
		if (*text == 's' && !view->wanted_is_id)
			text++;
		value = strtoull(text, &end, view->wanted_is_id ? HEX : DECIMAL);
		view->wanted = (uint32_t)value;
		if (*text < '0' || *text > 'f' || *end || !value || value > UINT32_MAX) {
			fprintf(stderr,
				"--session: `%s` is no session\n  fix: give its number in the "
				"file, or its id of eight hex digits\n",
				text);
			return TOOL_BAD_INPUT;
		}
	}
	return trace_view_start(view) ? TOOL_GOOD : TOOL_BAD_INPUT;
}

enum tool_exit trace_view_span(struct trace_view *view, const struct tool_call *call)
{
	return tool_quantity(call, "from", NOPAL_TIME, INT64_MIN, &view->from_ns) &&
			       tool_quantity(call, "until", NOPAL_TIME, INT64_MAX, &view->until_ns)
		       ? TOOL_GOOD
		       : TOOL_BAD_INPUT;
}

bool trace_view_rewind(struct trace_view *view)
{
	nopal_trace_close(view->reader);
	view->records = 0;
	return trace_view_start(view);
}

void trace_view_close(struct trace_view *view)
{
	nopal_trace_close(view->reader);
	for (unsigned i = 0; i < view->count; i++)
		free(view->sessions[i]);
	free(view->sessions);
	free(view->table);
}

/* --------------------------------------------------------------- records */

bool trace_view_wants(const struct trace_view *view, const struct trace_session *session)
{
	if (!view->wanted)
		return true;
	return view->wanted == (view->wanted_is_id ? session->id : session->number);
}

/* Takes what the record says of its session: its side, its peer, the raises in progress. */
static void trace_view_learn(struct trace_view *view, struct trace_session *session,
			     const struct nopal_trace_record *record)
{
	uint32_t peer = (uint32_t)(record->b >> 32);
	struct trace_session *other;
	unsigned at = session->depth;

	/* The layers of a stack begin one by one: the first tells, until it gives way to a peer
	 * that it meets. */
	if (record->what == NOPAL_TRACED_SESSION &&
	    (!session->begun || session->opener != (record->b & 1))) {
		session->begun = true;
		session->plan = record->number;
		session->opener = record->b & 1;
		session->peer = peer;
		other = peer ? *trace_view_slot(view->table, view->room, peer) : NULL;
		if (other && !other->other && other->opener != session->opener) {
			other->other = session;
			other->peer = session->id;
			session->other = other;
		}
	}
	/* A raise of depth n ends all that were as deep; a timer and an arriving segment begin
	 * anew. */
	if (record->what == NOPAL_TRACED_RAISE && record->b < TRACE_DEPTH) {
		if (record->b < at)
			at = (unsigned)record->b;
		else if (at == TRACE_DEPTH)
			return;
		session->raise[at] = (struct trace_raise){ record->a, record->number };
		session->depth = at + 1;
	} else if (record->what == NOPAL_TRACED_TIMER || record->what == NOPAL_TRACED_ARRIVE) {
		session->depth = 0;
		session->timer = record->what == NOPAL_TRACED_TIMER;
		session->timer_ns = record->time_ns;
		session->whose = record->part;
	}
}

bool trace_view_next(struct trace_view *view, struct nopal_trace_record *record,
		     struct trace_session **ret_session)
{
	int more;

	while ((more = nopal_trace_next(view->reader, record)) > 0) {
		struct trace_session *session = trace_view_session(view, record->session);

		view->records++;
		if (!session) {
			fprintf(stderr, "%s: error: out of memory\n", view->file);
			view->damaged = true;
			return false;
		}
		trace_view_learn(view, session, record);
		*ret_session = session;
		if (record->time_ns >= view->from_ns && record->time_ns < view->until_ns &&
		    trace_view_wants(view, session))
			return true;
	}
	if (more < 0) {
		fprintf(stderr, "%s: error: damaged after %llu records\n", view->file,
			(unsigned long long)view->records);
		view->damaged = true;
	}
	return false;
}
