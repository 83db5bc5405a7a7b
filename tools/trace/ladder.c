/* SPDX-License-Identifier: MIT */
/*
 * ladder.c -- the segments of one connection between two columns.
 *
 *                   opener                                       listener
 *                   data 5 ---------------->    0.000100
 *                                               0.025100 ----------------> data 5
 *          data 6 (resend) ----------x          0.030000
 *
 * A segment is a line where it leaves and a line where it arrives.  The two are known to belong
 * together by packet number; arriving segments are shown under the number that the sender gave
 * them.  Compositions without packet numbers on the wire, and control segments, show arrows alone:
 * nothing says which one arrived.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/view.h"

enum {
	LABEL = 26,			  /* columns */
	LABEL_TEXT = 2 * TRACE_NAME + 32, /* bytes; what is longer is cut */
	ARROW = 16,
	FIRST_ROWS = 256,
	ROW_KEYS = 4,
};

struct ladder_row {
	struct nopal_trace_record record;
	uint64_t key[ROW_KEYS]; /* to sort by; the last one is the place in the file */
	bool left;		/* at the opener */
	bool data;
	bool numbered;	 /* leaves or arrives, and may have a packet number */
	bool again;	 /* leaves, and not for the first time */
	bool gone;	 /* leaves, and does not arrive in this trace */
	bool duplicate;	 /* arrives, and not for the first time */
	uint64_t number; /* to show; 0: none */
};

struct ladder {
	struct trace_view *view;
	struct trace_session *opener, *listener;
	struct ladder_row *rows;
	size_t count, room;
};

/* Raises that are worth a line, and how it reads. */
static const struct {
	const char *event, *label;
} ladder_events[] = {
	{ "SESSION_OPENED", "opened" }, { "PEER_CLOSED", "peer closed" },
	{ "SESSION_CLOSED", "closed" }, { "SESSION_BROKEN", "broken" },
	{ "SEGMENT_LOST", "lost" },	{ "SEGMENT_TIMEOUT", "timed out" },
	{ "MSG_DONE", "message done" },
};

/* --------------------------------------------------------------- reading */

static const char *ladder_raised(const struct trace_view *view,
				 const struct nopal_trace_record *record)
{
	char text[TRACE_NAME];
	const char *name = trace_view_event(view, record->number, text);

	for (size_t i = 0; i < sizeof(ladder_events) / sizeof(*ladder_events); i++)
		if (strcmp(name, ladder_events[i].event) == 0)
			return ladder_events[i].label;
	return NULL;
}

/* Reads the whole trace, whatever its options leave out.  Each record of the two sides that is
 * worth a line is a row; before the sides are chosen, sessions become known alone. */
static void ladder_scan(struct ladder *ladder)
{
	struct trace_view *view = ladder->view, whole = *view;
	struct nopal_trace_record record;
	struct trace_session *session;
	char text[TRACE_NAME];

	view->from_ns = INT64_MIN;
	view->until_ns = INT64_MAX;
	view->wanted = 0;
	while (trace_view_next(view, &record, &session)) {
		bool left = session == ladder->opener;
		bool moves =
			record.what == NOPAL_TRACED_TRANSMIT || record.what == NOPAL_TRACED_ARRIVE;
		bool data = false;

		if ((!left && session != ladder->listener) ||
		    (!moves && record.what != NOPAL_TRACED_DELIVER &&
		     (record.what != NOPAL_TRACED_RAISE || !ladder_raised(view, &record))))
			continue;
		if (ladder->count == ladder->room) {
			size_t room = ladder->room * 2 + FIRST_ROWS;
			void *rows = realloc(ladder->rows, room * sizeof(*ladder->rows));

			if (!rows) {
				fprintf(stderr, "%s: error: out of memory\n", view->file);
				view->damaged = true;
				break;
			}
			ladder->rows = rows;
			ladder->room = room;
		}
		if (moves) {
			/* The runtime's "data" and "opening data". */
			const char *kind =
				trace_view_kind(view, session->plan, record.number, text);

			data = strcmp(kind, "data") == 0 || strcmp(kind, "opening data") == 0;
		}
		ladder->rows[ladder->count] = (struct ladder_row){
			.record = record,
			.key[ROW_KEYS - 1] = ladder->count,
			.left = left,
			.data = data,
			.numbered = data || (moves && record.b), /* carried kinds */
			.number = record.a,
		};
		ladder->count++;
	}
	view->from_ns = whole.from_ns;
	view->until_ns = whole.until_ns;
	view->wanted = whole.wanted;
}

/* --------------------------------------------------------------- matching */

/* Did it leave from the left? */
static bool ladder_rightwards(const struct ladder_row *row)
{
	return row->left == (row->record.what == NOPAL_TRACED_TRANSMIT);
}

static int ladder_compare(const void *left, const void *right)
{
	const uint64_t *a = (*(const struct ladder_row *const *)left)->key;
	const uint64_t *b = (*(const struct ladder_row *const *)right)->key;
	size_t i = 0;

	while (i < ROW_KEYS - 1 && a[i] == b[i])
		i++;
	return (a[i] > b[i]) - (a[i] < b[i]);
}

/* Sorts by direction and packet number, a transmission before its arrivals, or by side and segment,
 * transmissions in their order. */
static void ladder_sort(struct ladder_row **rows, size_t count, bool by_packet)
{
	for (size_t i = 0; i < count; i++) {
		const struct nopal_trace_record *record = &rows[i]->record;

		rows[i]->key[0] = by_packet ? ladder_rightwards(rows[i]) : rows[i]->left;
		rows[i]->key[1] = by_packet ? record->b : record->what;
		rows[i]->key[2] = by_packet ? record->what : record->a;
	}
	qsort(rows, count, sizeof(struct ladder_row *), ladder_compare);
}

static bool ladder_same_packet(const struct ladder_row *a, const struct ladder_row *b)
{
	return ladder_rightwards(a) == ladder_rightwards(b) && a->record.b == b->record.b;
}

/* Do segments of this direction carry packet numbers?  Where they do not, all arrive as number
 * 0. */
static bool ladder_has_numbers(const struct ladder *ladder, bool rightwards)
{
	bool arrivals = false;

	for (size_t i = 0; i < ladder->count; i++) {
		const struct ladder_row *row = &ladder->rows[i];

		if (row->record.what != NOPAL_TRACED_ARRIVE || !row->data ||
		    ladder_rightwards(row) != rightwards)
			continue;
		arrivals = true;
		if (row->record.b)
			return true;
	}
	return !arrivals;
}

/* Marks resends, losses and duplicates, and shows arrivals under the sender's numbers. */
static bool ladder_mark(struct ladder *ladder)
{
	const bool numbers[2] = { ladder_has_numbers(ladder, false),
				  ladder_has_numbers(ladder, true) };
	struct ladder_row **rows, *sent = NULL, *before = NULL;
	size_t count = 0;

	rows = calloc(ladder->count + 1, sizeof(struct ladder_row *));
	if (!rows)
		return false;
	for (size_t i = 0; i < ladder->count; i++)
		if (ladder->rows[i].numbered)
			rows[count++] = &ladder->rows[i];
	ladder_sort(rows, count, false);
	for (size_t i = 1; i < count; i++)
		rows[i]->again = rows[i]->left == rows[i - 1]->left &&
				 rows[i]->record.what == rows[i - 1]->record.what &&
				 rows[i]->record.a == rows[i - 1]->record.a;
	count = 0;
	for (size_t i = 0; i < ladder->count; i++) {
		struct ladder_row *row = &ladder->rows[i];

		if (!row->numbered)
			continue;
		if (numbers[ladder_rightwards(row)])
			rows[count++] = row;
		else if (row->record.what == NOPAL_TRACED_ARRIVE)
			row->number = 0;
	}
	ladder_sort(rows, count, true);
	for (size_t i = 0; i < count; before = rows[i++]) {
		if (rows[i]->record.what == NOPAL_TRACED_TRANSMIT) {
			sent = rows[i];
			sent->gone = true;
			continue;
		}
		rows[i]->number = 0;
		rows[i]->duplicate =
			before && before != sent && ladder_same_packet(before, rows[i]);
		if (!sent || !ladder_same_packet(sent, rows[i]))
			continue;
		sent->gone = false;
		rows[i]->number = sent->number;
	}
	free(rows);
	return true;
}

/* --------------------------------------------------------------- printing */

static void ladder_print(const struct ladder *ladder, const struct ladder_row *row)
{
	const struct nopal_trace_record *record = &row->record;
	bool leaves = record->what == NOPAL_TRACED_TRANSMIT;
	bool arrives = record->what == NOPAL_TRACED_ARRIVE;
	long long us = record->time_ns / NOPAL_MICROSECOND;
	char label[LABEL_TEXT], arrow[ARROW + 1] = { 0 };
	char name[TRACE_NAME], number[TRACE_NAME] = "";
	const char *what = "deliver message", *mark = "";

	if (leaves || arrives)
		what = trace_view_kind(ladder->view,
				       (row->left ? ladder->opener : ladder->listener)->plan,
				       record->number, name);
	else if (record->what == NOPAL_TRACED_RAISE)
		what = ladder_raised(ladder->view, record);
	if (leaves && row->again)
		mark = " (resend)";
	else if (arrives && row->duplicate)
		mark = " (again)";
	if (row->number && (row->numbered || (!leaves && !arrives)))
		snprintf(number, sizeof(number), " %llu", (unsigned long long)row->number);
	snprintf(label, LABEL_TEXT, "%.*s%s%s", TRACE_NAME, what, number, mark);
	memset(arrow, leaves || arrives ? '-' : ' ', ARROW);
	if (row->gone) {
		/* A segment that is lost stops half way. */
		memset(row->left ? arrow + ARROW / 2 : arrow, ' ', ARROW / 2);
		arrow[ARROW / 2 - !row->left] = 'x';
	} else if (leaves || arrives) {
		arrow[ladder_rightwards(row) ? ARROW - 1 : 0] = ladder_rightwards(row) ? '>' : '<';
	}
	if (row->left)
		printf("%*.*s %s %4lld.%06lld\n", LABEL, LABEL, label, arrow, us / 1000000,
		       us % 1000000);
	else
		printf("%*s %*s %4lld.%06lld %s %.*s\n", LABEL, "", ARROW, "", us / 1000000,
		       us % 1000000, arrow, LABEL, label);
}

/* --------------------------------------------------------------- choosing */

enum tool_exit trace_ladder(struct trace_view *view)
{
	struct ladder ladder = { .view = view };
	enum tool_exit code = TOOL_FAILED;
	unsigned connections = 0;

	/* All sessions must be known before one is chosen. */
	ladder_scan(&ladder);
	for (unsigned i = 0; i < view->count; i++) {
		struct trace_session *session = view->sessions[i];

		if (!session->other)
			continue;
		connections += session->opener;
		if (ladder.opener || !trace_view_wants(view, session))
			continue;
		ladder.opener = session->opener ? session : session->other;
		ladder.listener = ladder.opener->other;
	}
	if (!ladder.opener) {
		fprintf(stderr,
			"%s: no connection with both its sides\n  fix: trace a "
			"simulation, or choose --to text\n",
			view->file);
		return TOOL_BAD_INPUT;
	}
	if (connections > 1 && !view->wanted)
		fprintf(stderr, "s%u and s%u, of %u connections; --session N shows another\n",
			ladder.opener->number, ladder.listener->number, connections);
	view->damaged = false;
	if (trace_view_rewind(view)) {
		ladder_scan(&ladder);
		if (ladder_mark(&ladder)) {
			printf("%*s %*s %11s %*s %s\n", LABEL, "opener", ARROW, "", "seconds",
			       ARROW, "", "listener");
			for (size_t i = 0; i < ladder.count && !ferror(stdout); i++)
				if (ladder.rows[i].record.time_ns >= view->from_ns &&
				    ladder.rows[i].record.time_ns < view->until_ns)
					ladder_print(&ladder, &ladder.rows[i]);
			code = view->damaged ? TOOL_FAILED : TOOL_GOOD;
		}
	}
	free(ladder.rows);
	return code;
}
