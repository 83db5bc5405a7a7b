/* SPDX-License-Identifier: MIT */
/*
 * one_to_many.c -- how long a file takes to a server and back: the one-to-many protocol's
 * paper, section 5.1, tables 1 to 3.
 *
 * Files of 1 to 32 MB go in pieces, each a packet with the paper's header, by Go-Back-N; every byte
 * is checked as it comes back.  The tables differ by payload, window and wait.  The first column
 * has all three as they are there.  Those of windows of 1, 32 and 128 measure how long to wait,
 * which a fixed wait is too short for where a window takes longer to cross the link.  Beside them a
 * composition that resends only what was lost, the kernel's TCP, and UDT.
 *
 * Simulated, the link is as the paper's best figures are; then it loses, which the paper's did and
 * does not say how often.  Live it is the loopback.
 */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "load/echo.h"
#include "reproduce/place.h"

enum {
	MANY_SIZES = 6,
	MANY_SIZES_QUICK = 3,
	MANY_SIZES_LOSSY = 4, /* what is larger tells no more */
	MANY_PATH = 4096,
	MANY_COMMAND = MANY_PATH + 128,
	MANY_MIB = 1 << 20,
	MANY_HEADER = 20,   /* the paper's */
	MANY_OVERHEAD = 28, /* IPv4 and UDP */
	MANY_PAPER_TABLES = 3,
	MANY_RUNS_SLOW = 3,
};
#define MANY_PATIENCE_NS (60 * NOPAL_SECOND)
#define MANY_UDT	 "echo_udt"
#define MANY_TOLERANCE	 1.1
#define MANY_TIMES	 4.0 /* as fast, says the paper */

static const char *const many_rows[MANY_SIZES] = { "1", "2", "4", "8", "16", "32" };

/* The paper's ways, as a config. */
static const char many_config[] = "transport_driver {}\n"
				  "resize { mtu = %uB }\n"
				  "sequenced_segments {}\n"
				  "%sgo_back_n { window = %u  timeout = %ums }\n"
				  "one_to_many {}\n"
				  "reliable_fifo {}\n";
static const char many_measures[] = "rtt_estimation { timeout_min = 10ms }\n";

/* A table of the paper. */
static const struct many_table {
	const char *name;
	unsigned payload, window, wait_ms;
	double paper[MANY_SIZES]; /* seconds */
} many_tables[MANY_PAPER_TABLES] = {
	{ "Table 1", 1024, 32, 50, { 1.743, 3.375, 6.784, 13.735, 27.694, 55.394 } },
	{ "Table 2", 8096, 128, 10, { 0.463, 0.867, 1.654, 3.166, 6.279, 12.563 } },
	{ "Table 3", 8096, 1, 10, { 1.187, 2.658, 4.795, 9.323, 18.333, 38.152 } },
};
enum { MANY_UNTWEAKED, MANY_TWEAKED };

enum many_kind { MANY_GO_BACK, MANY_SELECTIVE, MANY_OVER_TCP, MANY_OVER_UDT };

static const struct many_column {
	const char *name, *word; /* word: in --rows */
	enum many_kind kind;
	unsigned window; /* of Go-Back-N; 0: the table's */
	bool fixed;	 /* wait, as there */
	bool table_1;	 /* payload, window and wait are of table 1 */
} many_columns[] = {
	{ "as there", "go_back_n", MANY_GO_BACK, 0, true, false },
	{ "window 1", "go_back_n", MANY_GO_BACK, 1, false, false },
	{ "window 32", "go_back_n", MANY_GO_BACK, 32, false, false },
	{ "window 128", "go_back_n", MANY_GO_BACK, 128, false, false },
	{ "as table 1", "go_back_n", MANY_GO_BACK, 0, true, true },
	{ "bulk", "bulk", MANY_SELECTIVE, 0, false, false },
	{ "TCP", "tcp", MANY_OVER_TCP, 0, false, false },
	{ "UDT", "udt", MANY_OVER_UDT, 0, false, false },
};
enum many_column_of {
	MANY_AS_THERE,
	MANY_ONE,
	MANY_FEW,
	MANY_MANY,
	MANY_AS_TABLE_1,
	MANY_BULK,
	MANY_TCP,
	MANY_UDT_4,
	MANY_COLUMNS,
};

/* The rate is the least at which table 2 is possible, in whole fives. */
static const struct many_place {
	enum reproduce_world world;
	const char *text, *link;
	bool lossy;
} many_places[] = {
	{ REPRODUCE_SIMULATED, "simulated: 25 Mbit/s, 1 ms each way",
	  "rate 25mbit delay 1ms limit 1000 mtu 9000", false },
	{ REPRODUCE_SIMULATED, "simulated: the same, 1 % loss",
	  "rate 25mbit delay 1ms loss 1% limit 1000 mtu 9000", true },
	/* six of them, and one that is lost takes the others with it */
	{ REPRODUCE_SIMULATED, "simulated: 1 % loss of fragments of 1500 B",
	  "rate 25mbit delay 1ms loss 5.85% limit 1000 mtu 9000", true },
	{ REPRODUCE_LOOPBACK, "live over loopback", NULL, false },
};
enum many_place_of { MANY_CALM, MANY_LOSSY, MANY_CUT, MANY_LIVE, MANY_PLACES };

struct many {
	const struct reproduce_options *options;
	const struct many_table *table;
};

/* --------------------------------------------------------------------- cells */

static struct report_cell many_cell(const struct many *many, int place, int column, int row)
{
	const char *table = report_format(many->options->report, "%s, %s; MB there and back",
					  many->table->name, many_places[place].text);

	return (struct report_cell){ table, many_rows[row], many_columns[column].name, "s" };
}

static double many_mean(const struct many *many, int place, int column, int row)
{
	return report_mean(many->options->report, many_cell(many, place, column, row));
}

static int many_sizes(const struct many *many, int place)
{
	if (many->options->quick)
		return MANY_SIZES_QUICK;
	return many_places[place].lossy ? MANY_SIZES_LOSSY : MANY_SIZES;
}

/* Is the column there, in this place of this table? */
static bool many_wants(const struct many *many, int place, int column)
{
	bool simulated = many_places[place].world == REPRODUCE_SIMULATED;
	enum many_kind kind = many_columns[column].kind;
	bool small = many->table == &many_tables[MANY_UNTWEAKED];

	if (!reproduce_wanted(many->options->rows, many_columns[column].word))
		return false;
	if (place == MANY_CUT && (small || kind != MANY_GO_BACK))
		return false; /* they are never cut */
	if (column == MANY_AS_TABLE_1)
		return !small && place != MANY_CUT;
	return !simulated || kind == MANY_GO_BACK || kind == MANY_SELECTIVE;
}

/* ---------------------------------------------------------------------- runs */

static const struct many_table *many_table_of(const struct many *many, int column)
{
	return many_columns[column].table_1 ? &many_tables[MANY_UNTWEAKED] : many->table;
}

/* UDT is another program, and another language's. */
static bool many_udt(const struct many *many, struct echo *echo)
{
	char path[MANY_PATH], command[MANY_COMMAND];
	long long took_ns = 0;
	FILE *said;

	if (!bench_program(MANY_UDT, X_OK, path, sizeof(path))) {
		report_refused(many->options->report,
			       "no column of UDT: there is no %s, which is built where libudt is",
			       path);
		return false;
	}
	snprintf(command, sizeof(command), "'%s' %llu %u %d", path, (unsigned long long)echo->size,
		 (unsigned)echo->piece, ECHO_AHEAD);
	fflush(stdout);
	said = popen(command, "r");
	echo->done = said && fscanf(said, "%lld", &took_ns) == 1;
	if (said && pclose(said) != 0)
		echo->done = false;
	echo->took_ns = took_ns;
	return true;
}

static bool many_test(const struct many *many, int place, int column, int row,
		      struct nopal_plan *plan, int run)
{
	struct report_cell cell = many_cell(many, place, column, row);
	struct echo echo = {
		.protocol = plan ? SIDE_CONFIG : SIDE_TCP,
		.plan = plan,
		.piece = many_table_of(many, column)->payload,
		.size = UINT64_C(1) * MANY_MIB << row,
		.patience_ns = MANY_PATIENCE_NS,
	};
	struct reproduce_place where;
	bool good;

	if (many_columns[column].kind == MANY_OVER_UDT) {
		good = many_udt(many, &echo);
	} else {
		if (!reproduce_place_open(&where, many->options, many_places[place].world,
					  many_places[place].link,
					  many->options->seed + (uint64_t)run))
			return false;
		good = echo_run(&echo, &where.sides);
		reproduce_place_close(&where, many->options);
	}
	if (good && echo.done)
		report_add(many->options->report, cell, (double)echo.took_ns / NOPAL_SECOND);
	else if (good)
		report_note(many->options->report, "%s, %s MB, %s: not all came back as it was",
			    cell.column, cell.row, many_places[place].text);
	return good;
}

static void many_column_run(const struct many *many, int place, int column)
{
	const struct many_column *how = &many_columns[column];
	const struct many_table *table = many_table_of(many, column);
	bool random = many_places[place].lossy || many_places[place].world != REPRODUCE_SIMULATED;
	struct nopal_plan *plan = NULL;
	int runs = many->options->runs;
	bool good;

	if (how->kind == MANY_GO_BACK)
		plan = bench_parse(report_format(many->options->report, many_config,
						 table->payload + MANY_HEADER + MANY_OVERHEAD,
						 how->fixed ? "" : many_measures,
						 how->window ? how->window : table->window,
						 table->wait_ms),
				   "one_to_many");
	else if (how->kind == MANY_SELECTIVE)
		plan = bench_load("bulk", NULL);
	good = plan || how->kind == MANY_OVER_TCP || how->kind == MANY_OVER_UDT;
	/* Where nothing is random all runs are the same; UDT takes its time. */
	if (!random)
		runs = 1;
	else if (how->kind == MANY_OVER_UDT && !many->options->runs_given && runs > MANY_RUNS_SLOW)
		runs = MANY_RUNS_SLOW;
	for (int row = 0; good && row < many_sizes(many, place); row++) {
		for (int run = 0; good && run < runs; run++)
			good = many_test(many, place, column, row, plan, run);
		if (good)
			reproduce_say(many->options, "%s, %s, %s MB: %.3f s",
				      many_places[place].text, how->name, many_rows[row],
				      many_mean(many, place, column, row));
	}
	nopal_plan_unref(plan);
}

/* -------------------------------------------------------------------- claims */

/* The time of the largest file of a column. */
static double many_largest(const struct many *many, int place, int column)
{
	return many_mean(many, place, column, many_sizes(many, place) - 1);
}

/* The paper's claims about pieces of 8096 bytes against those of 1024. */
static void many_claims_tweaked(const struct many *many)
{
	static const struct {
		int place;
		const char *live, *where;
	} places[] = { { MANY_CALM, "", "s, simulated" }, { MANY_LIVE, ", live", "s, live" } };
	struct report *report = many->options->report;

	for (int i = 0; i < 2; i++)
		report_less(
			report,
			report_format(
				report,
				"8096 bytes, a window of 128 and a wait of 10 ms are four times as "
				"fast as 1024, 32 and 50 ms%s",
				places[i].live),
			MANY_TIMES * many_largest(many, places[i].place, MANY_AS_THERE),
			many_largest(many, places[i].place, MANY_AS_TABLE_1),
			report_format(report, "%s, four times theirs against 1024 bytes",
				      places[i].where));
	for (int i = 0; i < 2; i++)
		report_less(
			report,
			report_format(
				report,
				"ours: 8096 bytes in a window of 128 are faster than 1024 in 32%s",
				places[i].live),
			many_largest(many, places[i].place, MANY_MANY),
			many_largest(many, places[i].place, MANY_AS_TABLE_1), places[i].where);
	report_less(report, "where packets are lost, fragments cost more than whole ones",
		    many_largest(many, MANY_LOSSY, MANY_MANY),
		    many_largest(many, MANY_CUT, MANY_MANY),
		    "s at 1 % loss, 8096 bytes whole against in six");
	report_less(report, "where fragments are lost, 1024 bytes are faster than 8096",
		    many_largest(many, MANY_LOSSY, MANY_AS_TABLE_1),
		    many_largest(many, MANY_CUT, MANY_MANY), "s at 1 % loss, whole against in six");
}

static void many_claims(const struct many *many)
{
	struct report *report = many->options->report;
	int last = many_sizes(many, MANY_CALM) - 1;
	unsigned window = many->table->window;
	int own = window == 1 ? MANY_ONE : window == 32 ? MANY_FEW : MANY_MANY;
	/* "the speed increased slightly as the file size went up" */
	report_less(report, "the time grows no faster than the file",
		    many_largest(many, MANY_CALM, own) / (double)(1 << last),
		    many_mean(many, MANY_CALM, own, 0),
		    "s a MB, simulated, largest file against 1 MB");
	report_less(report, "a window of one packet takes longer",
		    many_largest(many, MANY_CALM, MANY_MANY),
		    many_largest(many, MANY_CALM, MANY_ONE), "s, window 128 against 1");
	report_less(report, "a window of one packet takes longer, live",
		    many_largest(many, MANY_LIVE, MANY_MANY),
		    many_largest(many, MANY_LIVE, MANY_ONE), "s, window 128 against 1");
	report_less(report, "where packets are lost, selective repeat is faster",
		    many_largest(many, MANY_LOSSY, MANY_BULK),
		    many_largest(many, MANY_LOSSY, MANY_MANY),
		    "s at 1 % loss, bulk against window 128");
	report_less(report, "ours: over loopback UDT is slower than Go-Back-N",
		    many_largest(many, MANY_LIVE, MANY_MANY),
		    many_largest(many, MANY_LIVE, MANY_UDT_4), "s, window 128 against UDT");
	/* Does the wait that the paper set do, within a tenth, where ours is measured? */
	report_less(report, "a fixed wait of the paper's length is long enough",
		    many_largest(many, MANY_CALM, MANY_AS_THERE),
		    many_largest(many, MANY_CALM, own) * MANY_TOLERANCE,
		    "s, simulated, against eleven tenths of a measured one");
	if (many->table == &many_tables[MANY_TWEAKED])
		many_claims_tweaked(many);
}

int reproduce_one_to_many(const struct reproduce_options *options)
{
	struct many many = { options, &many_tables[options->table - 1] };
	struct report *report = options->report;

	for (int place = 0; place < MANY_PLACES; place++) {
		if (!reproduce_place_wanted(options, many_places[place].world, NULL))
			continue;
		if (many_wants(&many, place, MANY_AS_THERE))
			for (int row = 0; row < many_sizes(&many, place); row++)
				report_paper(report, many_cell(&many, place, MANY_AS_THERE, row),
					     many.table->paper[row], 0);
		for (int column = 0; column < MANY_COLUMNS; column++)
			if (many_wants(&many, place, column))
				many_column_run(&many, place, column);
	}
	many_claims(&many);
	if (options->live)
		report_note(report, "the paper's link was 802.11g, and its times those of a whole "
				    "program; loopback has no delay and no loss, and packets as "
				    "large as these are whole there");
	if (many.table == &many_tables[MANY_UNTWEAKED])
		report_note(report,
			    "the paper's figures of this table are 54 ms for each window of 32 "
			    "packets, whatever the size: as long as its wait of 50 ms");
	report_note(report,
		    "what the paper calls MB/s is Mbit/s: 32 MB in 12.563 s are 2.7 MB/s each way");
	return TOOL_GOOD;
}
