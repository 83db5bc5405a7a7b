/* SPDX-License-Identifier: MIT */
/*
 * why.c -- nopal why: the life of one segment, and who held it how long.
 *
 * Every barrier is followed bit by bit: when it was armed, who released it, in the course of which
 * event.  Messages are told in the same way: they have numbers of the same count.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/view.h"

enum { BITS = 32, DECIMAL = 10, SPAN_TEXT = 32 };

/* One bit of a barrier over the life of the segment. */
struct why_bit {
	int64_t since_ns, total_ns;
	unsigned times;
};

struct why_longest {
	bool found, still;
	unsigned barrier, bit;
	int64_t span_ns;
	char event[TRACE_NAME];
};

struct why {
	struct trace_view *view;
	struct trace_session *session;
	uint64_t number;
	bool events; /* the trace has more than packets */
	/* The life. */
	uint32_t held[NOPAL_BARRIERS];
	struct why_bit bit[NOPAL_BARRIERS][BITS];
	struct why_longest longest, sending; /* sending: of the send barrier */
	bool begun, freed;
	int64_t first_ns, last_ns, transmitted_ns;
	unsigned transmissions;
};

/* ------------------------------------------------------------ first reading */

/* The number that a record is about; 0: none. */
static uint64_t why_subject(const struct nopal_trace_record *record)
{
	return record->what == NOPAL_TRACED_SESSION || record->what == NOPAL_TRACED_TIMER
		       ? 0
		       : record->a;
}

/* The first session with that number.  TOOL_BAD_INPUT: there is none, which is told. */
static enum tool_exit why_find(struct why *why)
{
	const char *file = why->view->file;
	struct nopal_trace_record record;
	struct trace_session *session;
	uint64_t below = 0, above = 0; /* nearest numbers; 0: none */

	while (trace_view_next(why->view, &record, &session)) {
		uint64_t number = why_subject(&record);

		why->events |= record.what == NOPAL_TRACED_HOLD;
		if (number == why->number && !why->session)
			why->session = session;
		if (number && number < why->number && number > below)
			below = number;
		if (number > why->number && (!above || number < above))
			above = number;
	}
	why->view->damaged = false;
	if (why->session)
		return trace_view_rewind(why->view) ? TOOL_GOOD : TOOL_FAILED;
	fprintf(stderr, "%s: no segment %llu\n  fix: ", file, (unsigned long long)why->number);
	if (below && above)
		fprintf(stderr, "nearest are %llu and %llu\n", (unsigned long long)below,
			(unsigned long long)above);
	else if (below || above)
		fprintf(stderr, "nearest is %llu\n", (unsigned long long)(below ? below : above));
	else
		fprintf(stderr, "`nopal trace %s` shows what is in it\n", file);
	return TOOL_BAD_INPUT;
}

/* ----------------------------------------------------------------- telling */

/* Times of a hostile file may be anything: they wrap. */
static int64_t why_between(int64_t from_ns, int64_t to_ns)
{
	return (int64_t)((uint64_t)to_ns - (uint64_t)from_ns);
}

/* "24.900 ms" */
static const char *why_span(int64_t span_ns, char *text)
{
	static const struct {
		int64_t ns;
		const char *name;
	} units[] = { { NOPAL_SECOND, "s" },
		      { NOPAL_MILLISECOND, "ms" },
		      { NOPAL_MICROSECOND, "us" } };

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (span_ns >= units[i].ns) {
			int64_t part = units[i].ns / 1000;

			snprintf(text, SPAN_TEXT, "%lld.%03lld %s",
				 (long long)(span_ns / units[i].ns),
				 (long long)(span_ns % units[i].ns / part), units[i].name);
			return text;
		}
	snprintf(text, SPAN_TEXT, "%lld ns", (long long)span_ns);
	return text;
}

static void why_time(const struct why *why, int64_t time_ns)
{
	char span[SPAN_TEXT];

	printf("%6lld.%09lld  %11s  ", (long long)(time_ns / NOPAL_SECOND),
	       (long long)(time_ns % NOPAL_SECOND),
	       why_span(why_between(why->first_ns, time_ns), span));
}

static const char *why_hold_name(const struct why *why, unsigned barrier, unsigned bit, char *text)
{
	return trace_view_hold(why->view, why->session->plan, barrier, bit, text);
}

/* ------------------------------------------------------------------- holds */

static void why_arm(struct why *why, unsigned barrier, uint32_t bits, int64_t now_ns)
{
	uint32_t fresh = bits & ~why->held[barrier];

	for (unsigned i = 0; i < BITS; i++)
		if (fresh >> i & 1)
			why->bit[barrier][i].since_ns = now_ns;
	why->held[barrier] = bits;
}

static void why_compare(struct why_longest *longest, unsigned barrier, unsigned bit,
			int64_t span_ns, const char *event)
{
	if (longest->found && span_ns <= longest->span_ns)
		return;
	*longest = (struct why_longest){
		.found = true,
		.still = !event,
		.barrier = barrier,
		.bit = bit,
		.span_ns = span_ns,
	};
	snprintf(longest->event, sizeof(longest->event), "%s", event ? event : "");
}

/* A bit is released, or the trace ends (`event` is NULL). */
static void why_held(struct why *why, unsigned barrier, unsigned i, int64_t now_ns,
		     const char *event)
{
	struct why_bit *bit = &why->bit[barrier][i];
	int64_t span_ns = why_between(bit->since_ns, now_ns);

	bit->total_ns = (int64_t)((uint64_t)bit->total_ns + (uint64_t)span_ns);
	bit->times++;
	why_compare(&why->longest, barrier, i, span_ns, event);
	if (barrier == NOPAL_SEND)
		why_compare(&why->sending, barrier, i, span_ns, event);
}

static void why_on_release(struct why *why, const struct nopal_trace_record *record)
{
	char part[TRACE_NAME], event[TRACE_NAME], span[SPAN_TEXT] = "", text[TRACE_NAME];
	char bits[TRACE_TEXT];
	unsigned barrier = record->number;
	uint32_t left = (uint32_t)record->b, freed;
	const char *who = trace_view_part(why->view, why->session->plan, record->part, part);
	const char *name = trace_view_during(why->view, why->session, record, event);
	size_t length = strlen(who);

	freed = why->held[barrier] & ~left;
	/* Armed by its transmission, without a record: the bit has the part's name. */
	for (unsigned i = 0; !freed && i < BITS; i++) {
		const char *bit = why_hold_name(why, barrier, i, text);

		if (strncmp(bit, who, length) == 0 && bit[length] == ':')
			freed = UINT32_C(1) << i;
	}
	why_arm(why, barrier, why->held[barrier] | left | freed,
		why->transmissions ? why->transmitted_ns : record->time_ns);
	why->held[barrier] = left;
	for (unsigned i = 0; i < BITS; i++)
		if (freed >> i & 1) {
			why_held(why, barrier, i, record->time_ns, name);
			why_span(why_between(why->bit[barrier][i].since_ns, record->time_ns), span);
		}
	why_time(why, record->time_ns);
	printf("%s released by %s after %s, in %s; left: %s\n", trace_view_barrier(barrier), who,
	       span, name, trace_view_holds(why->view, why->session->plan, barrier, left, bits));
}

/* -------------------------------------------------------------------- life */

static void why_on_record(struct why *why, const struct nopal_trace_record *record)
{
	bool barrier = record->number < NOPAL_BARRIERS;
	struct trace_fields fields;
	char bits[TRACE_TEXT];

	if (!why->begun) {
		why->begun = true;
		why->first_ns = record->time_ns;
	}
	why->last_ns = record->time_ns;
	why->freed |= record->what == NOPAL_TRACED_FREE;
	if (record->what == NOPAL_TRACED_RELEASE && barrier) {
		why_on_release(why, record);
		return;
	}
	trace_view_fields(why->view, why->session, record, &fields);
	why_time(why, record->time_ns);
	if (record->what == NOPAL_TRACED_HOLD && barrier) {
		why_arm(why, record->number, (uint32_t)record->b, record->time_ns);
		printf("%s waits for %s\n", trace_view_barrier(record->number),
		       trace_view_holds(why->view, why->session->plan, record->number,
					(uint32_t)record->b, bits));
	} else if (record->what == NOPAL_TRACED_TRANSMIT) {
		printf("%s leaves%s, packet %llu\n", fields.field[0].text,
		       why->transmissions ? " again" : "", (unsigned long long)record->b);
		why->transmissions++;
		why->transmitted_ns = record->time_ns;
	} else if (record->what == NOPAL_TRACED_RAISE) {
		printf("%s\n", fields.field[0].text);
	} else if (record->what == NOPAL_TRACED_ARRIVE) {
		printf("%s arrives, packet %llu\n", fields.field[0].text,
		       (unsigned long long)record->b);
	} else if (record->what == NOPAL_TRACED_DELIVER) {
		printf("delivered, %llu bytes\n", (unsigned long long)record->b);
	} else if (record->what == NOPAL_TRACED_NOTE) {
		printf("note: %s, by %s\n", fields.field[0].text, fields.field[1].text);
	} else {
		puts("freed");
	}
}

/* ----------------------------------------------------------------- summary */

static void why_name(const struct why *why, const char *title, const struct why_longest *longest)
{
	char name[TRACE_NAME], span[SPAN_TEXT];

	printf("%s: %s; it held %s for %s, ", title,
	       why_hold_name(why, longest->barrier, longest->bit, name),
	       trace_view_barrier(longest->barrier), why_span(longest->span_ns, span));
	if (longest->still)
		puts("and still holds at the end of the trace");
	else
		printf("until %s\n", longest->event);
}

static void why_totals(const struct why *why)
{
	char name[TRACE_NAME], span[SPAN_TEXT];

	printf("\n%-10s  %12s  %5s  %s\n", "barrier", "held", "times", "by");
	for (unsigned barrier = 0; barrier < NOPAL_BARRIERS; barrier++)
		for (unsigned i = 0; i < BITS; i++) {
			const struct why_bit *bit = &why->bit[barrier][i];

			if (!bit->times)
				continue;
			printf("%-10s  %12s  %5u  %s%s\n", trace_view_barrier(barrier),
			       why_span(bit->total_ns, span), bit->times,
			       why_hold_name(why, barrier, i, name),
			       !why->freed && why->held[barrier] >> i & 1 ? " (still holds)" : "");
		}
	putchar('\n');
	if (why->sending.found && why->longest.barrier != NOPAL_SEND)
		why_name(why, "longest before it left", &why->sending);
	why_name(why, "longest", &why->longest);
}

static enum tool_exit why_run(const struct tool_call *call)
{
	struct trace_view view;
	struct why why = { .view = &view };
	enum tool_exit code = trace_view_open(&view, call, call->words[0]);
	struct nopal_trace_record record;
	struct trace_session *session;
	int64_t last_ns = 0;
	char *end;

	why.number = strtoull(call->words[1], &end, DECIMAL);
	if (*end || !why.number) {
		fprintf(stderr,
			"`%s` is no segment\n  fix: give its number, as `nopal "
			"trace FILE` shows it\n",
			call->words[1]);
		code = TOOL_BAD_INPUT;
	}
	if (code != TOOL_GOOD || (code = why_find(&why)) != TOOL_GOOD) {
		trace_view_close(&view);
		return code;
	}
	printf("segment %llu of s%u (%08x, %s)\n\n", (unsigned long long)why.number,
	       why.session->number, why.session->id, why.session->opener ? "opener" : "listener");
	while (trace_view_next(&view, &record, &session)) {
		last_ns = record.time_ns;
		if (session == why.session && why_subject(&record) == why.number)
			why_on_record(&why, &record);
	}
	if (!why.freed)
		why.last_ns = last_ns;
	/* A hold that was never released held until the end. */
	for (unsigned barrier = 0; !why.freed && barrier < NOPAL_BARRIERS; barrier++)
		for (unsigned i = 0; i < BITS; i++)
			if (why.held[barrier] >> i & 1)
				why_held(&why, barrier, i, why.last_ns, NULL);
	if (!why.longest.found)
		puts(why.events ? "\nnobody held it"
				: "\nholds are not in this trace: it has packets alone");
	else
		why_totals(&why);
	trace_view_close(&view);
	return view.damaged ? TOOL_FAILED : TOOL_GOOD;
}

const struct tool tool_why = {
	.name = "why",
	.words = "FILE SEGMENT",
	.summary = "the life of a segment: who held it, how long, what released it",
	.help = "SEGMENT is a number as `nopal trace FILE` shows it; messages work too.  "
		"Without\n--session it is looked for in the sessions in the order of the file.  "
		"The trace must\nhave events, not packets alone, for holds to be told.\n\n"
		"  nopal why run.trace 17\n"
		"  nopal why run.trace 17 --session 2\n",
	.min_words = 2,
	.max_words = 2,
	.options = (const struct tool_option[]){ TRACE_VIEW_OPTIONS, { 0 } },
	.run = why_run,
};
