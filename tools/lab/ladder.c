/* SPDX-License-Identifier: MIT */
/*
 * ladder.c -- the rows of a trial, and a ladder of them as text.
 *
 *                                  sender     seconds receiver
 *                          send message 2    0.020000
 *                    message 2 ----------x   0.020000
 *                    message 2 (again) ->    0.220000
 *                                            0.230000 ----------------> message 2 (again)
 *                                            0.230000 deliver message 2
 *
 * Three hosts and more have a column each, and an arrow names the host at its other end.
 */
#include "lab/ladder.h"

#include <stdlib.h>
#include <string.h>

#include "frame/tool.h"

enum {
	LABEL = 26, /* columns, as in the ladder of `nopal trace` */
	ARROW = 16,
	SIDE = LABEL + 1 + ARROW,
	SECONDS = 11,
	TIME = 32,
	TEXT = 256,
	LEAST_CUT = 2,	 /* fewer rows stay */
	FIRST_ROWS = 4,	 /* of a ladder that is cut */
	AFTER_ROWS = 2,	 /* behind the failure */
	BEFORE_PART = 2, /* of the rest, one row of so many stands right before the failure */
};

/* ------------------------------------------------------------------ columns */

/* -1: the host has none. */
static int ladder_column(const struct lab_ladder *ladder, int host)
{
	for (int i = 0; i < ladder->host_count; i++)
		if (ladder->hosts[i] == host)
			return i;
	return -1;
}

/* Of more hosts than there are columns, the first one and those that lost a datagram come first. */
static void ladder_columns(const struct lab_trial *trial, struct lab_ladder *ladder)
{
	bool wanted[LAB_HOSTS] = { true };
	int left = LAB_LADDER_HOSTS - 1;

	for (size_t i = 0; i < trial->datagram_count && left > 0; i++) {
		const struct lab_datagram *one = &trial->datagrams[i];

		if (one->arrived_ns >= 0 || wanted[one->to])
			continue;
		wanted[one->to] = true;
		left--;
	}
	for (int host = 0; host < trial->host_count && left > 0; host++) {
		left -= !wanted[host];
		wanted[host] = true;
	}
	for (int host = 0; host < trial->host_count; host++)
		if (wanted[host])
			ladder->hosts[ladder->host_count++] = host;
	ladder->hosts_left_out = trial->host_count - ladder->host_count;
}

/* --------------------------------------------------------------------- rows */

/* At one instant what causes comes first: what arrives, then what it brings.  Where a datagram
 * takes no time, its departure comes before both. */
enum { ARRIVED, DELIVERED, SENT, LEFT, ARRIVED_AT_ONCE, DELIVERED_AT_ONCE, ORDERS };

/* Has an earlier datagram carried the same to the same host? */
static bool ladder_again(const struct lab_trial *trial, size_t index)
{
	const struct lab_datagram *one = &trial->datagrams[index], *before = trial->datagrams;

	if (one->again)
		for (; before < one; before++)
			if (before->from == one->from && before->to == one->to &&
			    before->message == one->message && before->from_byte == one->from_byte)
				return true;
	return false;
}

static void ladder_datagram(const struct lab_trial *trial, size_t index, struct lab_ladder *ladder)
{
	const struct lab_datagram *one = &trial->datagrams[index];
	const bool again = ladder_again(trial, index);
	struct lab_row row = {
		.kind = LAB_ROW_LEAVE,
		.time_ns = one->time_ns,
		.column = ladder_column(ladder, one->from),
		.peer = ladder_column(ladder, one->to),
		.datagram = index,
		.lost = one->arrived_ns < 0,
		.corrupt = one->corrupt,
		.copies = one->copies,
		.odd = one->arrived_ns < 0 || one->corrupt || one->copies > 1 || again,
		.order = LEFT,
	};

	if (row.column < 0 || row.peer < 0)
		return;
	if (one->message)
		snprintf(row.label, sizeof(row.label),
			 one->from_byte ? "message %u%s, byte %u" : "message %u%s", one->message,
			 again ? " (again)" : "", one->from_byte);
	else
		snprintf(row.label, sizeof(row.label), "%u byte%s", one->length,
			 one->length == 1 ? "" : "s");
	ladder->rows[ladder->count++] = row;
	if (row.lost)
		return;
	row.kind = LAB_ROW_ARRIVE;
	row.time_ns = one->arrived_ns;
	row.order = one->arrived_ns == one->time_ns ? ARRIVED_AT_ONCE : ARRIVED;
	row.column = ladder_column(ladder, one->to);
	row.peer = ladder_column(ladder, one->from);
	ladder->rows[ladder->count++] = row;
}

static void ladder_message(int host, int64_t time_ns, const char *verb, uint32_t message,
			   struct lab_row row, struct lab_ladder *ladder)
{
	row.time_ns = time_ns;
	row.column = ladder_column(ladder, host);
	row.peer = -1;
	row.odd = message == 0;
	if (message)
		snprintf(row.label, sizeof(row.label), "%s message %u", verb, message);
	else
		snprintf(row.label, sizeof(row.label), "%s what nobody sent", verb);
	if (row.column >= 0 && time_ns >= 0)
		ladder->rows[ladder->count++] = row;
}

static int ladder_compare(const void *left, const void *right)
{
	const struct lab_row *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return (a->serial > b->serial) - (a->serial < b->serial);
}

/* All rows, sorted. */
static void ladder_fill(const struct lab_trial *trial, struct lab_ladder *ladder)
{
	bool at_once = false;

	for (size_t i = 0; i < trial->datagram_count; i++) {
		at_once |= trial->datagrams[i].arrived_ns == trial->datagrams[i].time_ns;
		ladder_datagram(trial, i, ladder);
	}
	for (size_t i = 0; i < trial->message_count; i++)
		ladder_message(trial->messages[i].host, trial->messages[i].sent_ns, "send",
			       (uint32_t)i + 1,
			       (struct lab_row){ .kind = LAB_ROW_SEND, .order = SENT }, ladder);
	for (size_t i = 0; i < trial->delivery_count; i++)
		ladder_message(trial->deliveries[i].host, trial->deliveries[i].time_ns, "deliver",
			       trial->deliveries[i].message,
			       (struct lab_row){ .kind = LAB_ROW_DELIVER,
						 .order = at_once ? DELIVERED_AT_ONCE : DELIVERED },
			       ladder);
	/* The acts of hosts at one instant are told host by host, where nothing links them. */
	for (size_t i = 0; i < ladder->count; i++) {
		ladder->rows[i].serial = i;
		ladder->rows[i].order += at_once ? 0 : ORDERS * (unsigned)ladder->rows[i].column;
	}
	qsort(ladder->rows, ladder->count, sizeof(*ladder->rows), ladder_compare);
}

/* ------------------------------------------------------------------ cutting */

static const struct lab_step *ladder_failure(const struct lab_trial *trial)
{
	for (size_t i = 0; i < trial->step_count; i++)
		if (trial->steps[i].failed)
			return &trial->steps[i];
	return NULL;
}

/* Marks `most` of the first `end` rows: how the trial began, the last ones before the end, and of
 * those between what was odd; the latest first. */
static void ladder_choose(const struct lab_ladder *ladder, size_t end, size_t most, bool *keep)
{
	size_t chosen = 0;

	for (size_t i = 0; i < FIRST_ROWS && i < end && chosen < most; i++, chosen++)
		keep[i] = true;
	for (size_t i = end; i-- > 0 && chosen < most / BEFORE_PART;)
		if (!keep[i]) {
			keep[i] = true;
			chosen++;
		}
	for (int odd = 1; odd >= 0; odd--)
		for (size_t i = end; i-- > 0 && chosen < most;)
			if (!keep[i] && ladder->rows[i].odd == odd) {
				keep[i] = true;
				chosen++;
			}
}

/* Keeps rows between kept ones, where a line that leaves them out would save none. */
static void ladder_close(const struct lab_ladder *ladder, bool *keep)
{
	size_t last = 0; /* kept, and one more */

	for (size_t i = 0; i < ladder->count; i++) {
		if (!keep[i])
			continue;
		if (i - last <= LEAST_CUT)
			memset(keep + last, true, i - last);
		last = i + 1;
	}
	if (ladder->count - last <= LEAST_CUT)
		memset(keep + last, true, ladder->count - last);
}

/* Rows that stay, with one for each gap and one for the failure among them. */
static void ladder_cut(struct lab_ladder *ladder, const struct lab_step *failure, size_t most)
{
	struct lab_row *rows = tool_need(calloc(ladder->count * 2 + 2, sizeof(*rows)));
	bool *keep = tool_need(calloc(ladder->count + 1, sizeof(*keep)));
	size_t count = 0, left_out = 0, fails = 0, end;

	while (failure && fails < ladder->count && ladder->rows[fails].time_ns <= failure->time_ns)
		fails++;
	end = failure && fails + AFTER_ROWS < ladder->count ? fails + AFTER_ROWS : ladder->count;
	if (!failure && end > most)
		end = most;
	ladder_choose(ladder, end, most, keep);
	ladder_close(ladder, keep);
	for (size_t i = 0; i <= ladder->count; i++) {
		if (left_out && (i == ladder->count || keep[i] || (failure && i == fails))) {
			rows[count] = (struct lab_row){ .kind = LAB_ROW_CUT, .left_out = left_out };
			rows[count++].column = -1;
			left_out = 0;
		}
		if (failure && i == fails)
			rows[count++] = (struct lab_row){ .kind = LAB_ROW_FAIL,
							  .time_ns = failure->time_ns,
							  .text = failure->text,
							  .column = -1 };
		if (i < ladder->count && keep[i])
			rows[count++] = ladder->rows[i];
		else
			left_out++;
	}
	free(keep);
	free(ladder->rows);
	ladder->rows = rows;
	ladder->count = count;
}

void lab_ladder_make(const struct lab_trial *trial, const char *const *names, size_t most,
		     struct lab_ladder *ret_ladder)
{
	size_t rows = trial->datagram_count * 2 + trial->message_count + trial->delivery_count;

	*ret_ladder = (struct lab_ladder){ .names = names };
	ret_ladder->rows = tool_need(calloc(rows + 1, sizeof(*ret_ladder->rows)));
	ladder_columns(trial, ret_ladder);
	ladder_fill(trial, ret_ladder);
	ladder_cut(ret_ladder, ladder_failure(trial), most ? most : LAB_LADDER_ROWS);
}

void lab_ladder_fini(struct lab_ladder *ladder)
{
	free(ladder->rows);
	ladder->rows = NULL;
	ladder->count = 0;
}

/* ----------------------------------------------------------------- printing */

/* A sentence of its own, wrapped at the width of the ladder. */
static void ladder_say(const char *mark, const char *text, FILE *out)
{
	const int width = LAB_LADDER_WIDTH - (int)strlen(mark) - 1;

	while (*text) {
		int length = (int)strlen(text), cut = width;

		if (length > width) {
			while (cut > 0 && text[cut] != ' ')
				cut--;
			length = cut > 0 ? cut : width;
		}
		fprintf(out, "%s %.*s\n", mark, length, text);
		text += length;
		text += strspn(text, " ");
	}
}

/* "message 2 (again)", and what the network does to it. */
static void ladder_label(const struct lab_row *row, char *ret_text)
{
	int length = snprintf(ret_text, TEXT, "%s", row->label);

	if (row->kind == LAB_ROW_ARRIVE && row->corrupt)
		length += snprintf(ret_text + length, (size_t)(TEXT - length), " corrupted");
	if (row->kind == LAB_ROW_ARRIVE && row->copies > 1)
		snprintf(ret_text + length, (size_t)(TEXT - length), " x%u", row->copies);
}

/* Between the columns of two hosts. */
static void ladder_between(const struct lab_row *row, const char *time, FILE *out)
{
	const bool arrow = row->kind == LAB_ROW_LEAVE || row->kind == LAB_ROW_ARRIVE;
	const bool left = row->column == 0, right = left == (row->kind == LAB_ROW_LEAVE);
	char label[TEXT], line[ARROW + 1] = "";

	ladder_label(row, label);
	if (arrow) {
		memset(line, row->corrupt ? '~' : row->copies > 1 ? '=' : '-', ARROW);
		line[right ? ARROW - 1 : 0] = right ? '>' : '<';
	}
	if (row->lost) {
		memset(right ? line + ARROW / 2 : line, ' ', ARROW / 2);
		line[ARROW / 2 - !right] = 'x';
	}
	if (left && arrow)
		fprintf(out, "%*.*s %s %*s\n", LABEL, LABEL, label, line, SECONDS, time);
	else if (left)
		fprintf(out, "%*.*s %*s\n", SIDE, SIDE, label, SECONDS, time);
	else
		fprintf(out, "%*s %*s %s%s%.*s\n", SIDE, "", SECONDS, time, line, arrow ? " " : "",
			arrow ? LABEL : SIDE, label);
}

/* In the column of one host of many. */
static void ladder_among(const struct lab_ladder *ladder, const struct lab_row *row,
			 const char *time, FILE *out)
{
	const int width = (LAB_LADDER_WIDTH - SECONDS) / ladder->host_count - 1;
	const char *mark = row->kind == LAB_ROW_ARRIVE ? "<" : row->lost ? "x" : ">";
	char label[TEXT], text[TEXT * 2];

	ladder_label(row, label);
	if (row->kind == LAB_ROW_LEAVE || row->kind == LAB_ROW_ARRIVE)
		snprintf(text, sizeof(text), "%s%s %s", mark,
			 ladder->names[ladder->hosts[row->peer]], label);
	else
		snprintf(text, sizeof(text), "%s", label);
	fprintf(out, "%*s %*s%.*s\n", SECONDS, time, row->column * (width + 1), "", width, text);
}

static void ladder_heading(const struct lab_ladder *ladder, FILE *out)
{
	const int width = (LAB_LADDER_WIDTH - SECONDS) / ladder->host_count - 1;

	if (ladder->host_count == 2) {
		fprintf(out, "%*s %*s %s\n", SIDE, ladder->names[ladder->hosts[0]], SECONDS,
			"seconds", ladder->names[ladder->hosts[1]]);
		return;
	}
	fprintf(out, "%*s", SECONDS, "seconds");
	for (int i = 0; i < ladder->host_count; i++)
		fprintf(out, " %-*.*s", i + 1 < ladder->host_count ? width : 0, width,
			ladder->names[ladder->hosts[i]]);
	fputc('\n', out);
}

void lab_ladder_print(const struct lab_ladder *ladder, FILE *out)
{
	char time[TIME], text[TEXT];

	if (ladder->host_count == 0)
		return;
	ladder_heading(ladder, out);
	for (size_t i = 0; i < ladder->count; i++) {
		const struct lab_row *row = &ladder->rows[i];
		long long us = row->time_ns / NOPAL_MICROSECOND;

		snprintf(time, sizeof(time), "%lld.%06lld", us / 1000000, us % 1000000);
		if (row->kind == LAB_ROW_CUT) {
			snprintf(text, sizeof(text), "%zu row%s left out", row->left_out,
				 row->left_out == 1 ? " is" : "s are");
			ladder_say("  ...", text, out);
		} else if (row->kind == LAB_ROW_FAIL) {
			fprintf(out, ">>> %s s: here it fails.\n", time);
			ladder_say(">>>", row->text, out);
		} else if (ladder->host_count == 2) {
			ladder_between(row, time, out);
		} else {
			ladder_among(ladder, row, time, out);
		}
	}
}
