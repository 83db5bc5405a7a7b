/* SPDX-License-Identifier: MIT */
/*
 * send_table.c -- lines, tables and JSON about a file and several peers.
 */
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "transfer/send_table.h"

enum {
	TABLE_LINES_MAX = 24, /* of a terminal */
	TABLE_PERCENT = 100,
	TABLE_TEXT_ROOM = 160,
};
#define TABLE_TERMINAL_NS INT64_C(200000000)
#define TABLE_JSONL_NS	  INT64_C(1000000000)
#define TABLE_NS_PER_S	  1e9

bool table_init(struct table *table, char *const *peers, const struct nopal_address *addresses,
		unsigned count)
{
	table->rows = calloc(count, sizeof(*table->rows));
	table->count = table->rows ? count : 0;
	for (unsigned i = 0; i < table->count; i++) {
		table->rows[i].peer = peers[i];
		table->rows[i].address = addresses[i];
	}
	return table->rows != NULL;
}

void table_fini(struct table *table)
{
	for (unsigned i = 0; i < table->count; i++)
		free(table->rows[i].why);
	free(table->rows);
}

static const char *table_word(enum table_state state)
{
	static const char *const words[] = {
		[TABLE_WAITING] = "waits",	 [TABLE_TAKING] = "incomplete",
		[TABLE_COMPLETE] = "complete",	 [TABLE_HERE] = "was there",
		[TABLE_SHARE] = "share",	 [TABLE_REFUSED] = "refused",
		[TABLE_UNREACHED] = "no answer", [TABLE_DIED] = "died",
		[TABLE_FAILED] = "failed",
	};

	return words[state];
}

static unsigned table_complete(const struct table *table)
{
	unsigned count = 0;

	for (unsigned i = 0; i < table->count; i++)
		count += destination_is_whole(&table->rows[i]);
	return count;
}

bool table_is_kept(const struct table *table)
{
	if (table->spread)
		return table->union_bytes == table->file.total_bytes;
	return table_complete(table) >= table->needed;
}

/* Bytes that as many peers have as must have them; or that all peers have together. */
static uint64_t table_bytes(const struct table *table)
{
	uint64_t max = 0, sum = 0;

	for (unsigned i = 0; i < table->count; i++) {
		uint64_t bytes = table->rows[i].bytes;
		unsigned so_far = 0;

		sum += bytes;
		for (unsigned j = 0; j < table->count; j++)
			so_far += table->rows[j].bytes >= bytes;
		if (so_far >= table->needed && bytes > max)
			max = bytes;
	}
	if (table->fetched)
		return table->union_bytes;
	if (!table->spread)
		return max;
	return sum < table->file.total_bytes ? sum : table->file.total_bytes;
}

/* ------------------------------------------------------------------- terminal */

static void table_clear(struct table *table)
{
	if (table->lines)
		fprintf(stderr, "\r\033[%uA\033[J", table->lines);
	table->lines = 0;
	table->progress.line_open = false;
}

static bool table_is_same(const struct destination *a, const struct destination *b)
{
	return a->why && b->why && strcmp(a->why, b->why) == 0;
}

/* Differences of compositions, once for all peers that have the same ones. */
static void table_print_rest(const struct table *table, unsigned first)
{
	const char *rest = strchr(table->rows[first].why, '\n');
	int length = tool_text_length(rest);

	fputs("  differences at", stderr);
	for (unsigned i = first; i < table->count; i++)
		if (table_is_same(&table->rows[i], &table->rows[first]))
			fprintf(stderr, " %s", table->rows[i].peer);
	fputc(':', stderr);
	for (int i = 0; i < length; i++) {
		fputc(rest[i], stderr);
		if (rest[i] == '\n')
			fputs("      ", stderr);
	}
	fputc('\n', stderr);
}

static unsigned table_gave(const struct table *table)
{
	unsigned count = 0;

	for (unsigned i = 0; i < table->count; i++)
		count += table->rows[i].bytes > 0;
	return count;
}

static void table_print(const struct table *table, const char *error, int64_t duration_ns)
{
	char text[TABLE_TEXT_ROOM], size[PROGRESS_RATE_ROOM];

	if (error && strncmp(error, table->file.name, strlen(table->file.name)) == 0) {
		tool_error("%s", error);
	} else if (error) {
		tool_error("%s: %s", table->file.name, error);
	} else if (table->fetched) {
		snprintf(text, sizeof(text), ", from %u of %u", table_gave(table), table->count);
		progress_print_file(&table->file, duration_ns, text, "");
	} else {
		fprintf(stderr, "%s: %s in %.2f s, %s: %u of %u have it%s", table->file.name,
			progress_size((double)table->file.total_bytes, size),
			(double)duration_ns / TABLE_NS_PER_S, table->mode, table_complete(table),
			table->count, table->spread ? " whole, together they do" : "");
		if (table->file.resumed_bytes)
			fprintf(stderr, ", resumed at %s",
				progress_size((double)table->file.resumed_bytes, size));
		fprintf(stderr, ", hash %016llx\n", (unsigned long long)table->file.hash);
	}
	for (unsigned i = 0; i < table->count; i++) {
		const struct destination *row = &table->rows[i];

		fprintf(stderr, "  %-24s %-10s %10s %8.2f s", row->peer, table_word(row->state),
			progress_size((double)row->bytes, size),
			(double)row->took_ns / TABLE_NS_PER_S);
		if (row->streams > 1)
			fprintf(stderr, "  by %u streams", row->streams);
		if (row->why) {
			const char *why = row->why;
			int length = (int)strcspn(why, "\n");

			/* The first line alone: the next ones list how two compositions differ. */
			while (length > 0 && why[length - 1] == ':')
				length--;
			fprintf(stderr, "  %.*s", length, row->why);
		}
		if (row->fix)
			fprintf(stderr, "; fix: %s", row->fix);
		fputc('\n', stderr);
	}
	for (unsigned i = 0; i < table->count; i++) {
		const char *why = table->rows[i].why;
		const char *rest = why ? strchr(why, '\n') : NULL;
		unsigned first = 0;

		if (!rest || tool_text_length(rest) == 0)
			continue;
		while (!table_is_same(&table->rows[first], &table->rows[i]))
			first++;
		if (first == i)
			table_print_rest(table, i);
	}
}

/* ----------------------------------------------------------------------- JSON */

static json_t *table_rows_json(const struct table *table)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < table->count; i++) {
		const struct destination *row = &table->rows[i];
		json_t *object = json_pack(
			"{s:o, s:s, s:o, s:o, s:I, s:I}", table->fetched ? "server" : "receiver",
			progress_string(row->peer), "state", table_word(row->state), "why",
			progress_string(row->why), "fix", progress_string(row->fix), "bytes",
			(json_int_t)row->bytes, "duration_ns", (json_int_t)row->took_ns);

		if (table->fetched)
			json_object_set_new(object, "twice_bytes",
					    json_integer((json_int_t)row->twice_bytes));
		else
			json_object_set_new(object, "streams", json_integer(row->streams));
		json_array_append_new(array, object);
	}
	return array;
}

static void table_print_json(const struct table *table, json_t *object)
{
	json_object_set_new(object, "mode", json_string(table->mode));
	if (table->fetched) {
		json_object_set_new(object, "gave", json_integer(table_gave(table)));
		json_object_set_new(object, "servers", table_rows_json(table));
	} else {
		json_object_set_new(object, "needed", json_integer(table->needed));
		json_object_set_new(object, "complete", json_integer(table_complete(table)));
		json_object_set_new(object, "receivers", table_rows_json(table));
	}
	progress_print(object);
}

/* ---------------------------------------------------------------------- both */

void table_show(struct table *table, int64_t now_ns)
{
	const struct progress *progress = &table->progress;
	uint64_t bytes = table_bytes(table), more;

	if ((!progress->terminal && !progress->jsonl) ||
	    now_ns - table->shown_ns < (progress->jsonl ? TABLE_JSONL_NS : TABLE_TERMINAL_NS))
		return;
	more = bytes > table->file.bytes ? bytes - table->file.bytes : 0;
	table->file.bytes = bytes;
	if (table->progress.jsonl)
		table_print_json(table, progress_object(&table->progress, &table->file, "interval",
							now_ns - table->shown_ns, more));
	if (table->progress.terminal) {
		unsigned shown = table->count;

		table_clear(table);
		if (shown > TABLE_LINES_MAX)
			shown = TABLE_LINES_MAX;
		for (unsigned i = 0; i < shown; i++) {
			char done[PROGRESS_RATE_ROOM];
			unsigned percent = TABLE_PERCENT;

			if (table->file.total_bytes > 0)
				percent = (unsigned)((double)table->rows[i].bytes * TABLE_PERCENT /
						     (double)table->file.total_bytes);
			fprintf(stderr, "%-28.40s %3u%%  %10s  %s\n", table->rows[i].peer, percent,
				progress_size((double)table->rows[i].bytes, done),
				table->rows[i].state == TABLE_TAKING
					? ""
					: table_word(table->rows[i].state));
		}
		table->lines = shown;
		if (table->fetched) {
			progress_draw(&table->progress, &table->file, now_ns);
		} else {
			fprintf(stderr, "%.40s: %u of %u have it\n", table->file.name,
				table_complete(table), table->count);
			table->lines++;
		}
	}
	table->shown_ns = now_ns;
}

void table_end(struct table *table)
{
	int64_t duration_ns;
	char text[TABLE_TEXT_ROOM];
	const char *error = table->file.error;

	/* Until the state of the last peer was known, without the close of its session. */
	duration_ns = table->ended_ns ? table->ended_ns - table->file.started_ns : 0;
	for (unsigned i = 0; i < table->count && !table->ended_ns; i++)
		if (table->rows[i].took_ns > duration_ns)
			duration_ns = table->rows[i].took_ns;
	table_clear(table);
	if (!error && !table_is_kept(table)) {
		if (table->spread)
			snprintf(text, TABLE_TEXT_ROOM,
				 "%llu of %llu bytes are at the receivers that are left",
				 (unsigned long long)table->union_bytes,
				 (unsigned long long)table->file.total_bytes);
		else
			snprintf(text, TABLE_TEXT_ROOM, "%u of %u have it, and %u must",
				 table_complete(table), table->count, table->needed);
		error = text;
	}
	table->file.error = error;
	table->file.bytes = table->spread ? table->union_bytes : table_bytes(table);
	if (table->file.resumed_bytes > table->file.bytes)
		table->file.resumed_bytes = table->file.bytes;
	table_print(table, error, duration_ns);
	if (table->progress.json || table->progress.jsonl)
		table_print_json(table,
				 progress_result(&table->progress, &table->file, duration_ns));
	else
		json_decref(table->file.judged);
	table->file.judged = NULL;
	table->file.error = NULL;
}
