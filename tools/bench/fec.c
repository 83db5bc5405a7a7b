/* SPDX-License-Identifier: MIT */
/*
 * fec.c -- erasure codes: ours against ISA-L's own encoding, on the same buffers.
 *
 *     nopal bench fec
 *
 * The program tests/bench/fec_speed measures, as it uses names that are not for applications; a
 * line of it is "WHAT SHAPE MEASURE GBYTES_A_SECOND".
 */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "frame/tool.h"
#include "load/pair.h"

enum {
	FEC_PATH_ROOM = 4096,
	FEC_COMMAND_ROOM = FEC_PATH_ROOM + 64,
	FEC_LINE_ROOM = 256,
	FEC_WORD_ROOM = 64,
	FEC_MEASUREMENTS = 21, /* of one round */
	FEC_MS_PER_S = 1000,
};
#define FEC_PROGRAM "fec_speed"

/* "isal 4+1 encode 45.1" */
static bool fec_line(struct bench_report *report, const char *line, int round)
{
	char what[FEC_WORD_ROOM], shape[FEC_WORD_ROOM], measure[FEC_WORD_ROOM];
	char path[2 * FEC_WORD_ROOM + sizeof(" ")];
	double value;

	if (sscanf(line, "%63s %63s %63s %lf", what, shape, measure, &value) != 4)
		return false;
	snprintf(path, sizeof(path), "%s %s", shape, measure);
	bench_add(report, &(struct bench_value){ .what = what,
						 .path = path,
						 .measure = "speed",
						 .class = BENCH_NONE,
						 .round = round,
						 .value = value });
	return true;
}

static bool fec_round(struct bench_report *report, const char *program, int round)
{
	double seconds = bench_options(report)->seconds;
	char command[FEC_COMMAND_ROOM], line[FEC_LINE_ROOM];
	FILE *lines;
	bool good = true;

	snprintf(command, sizeof(command), "'%s' %d", program,
		 (int)(seconds * FEC_MS_PER_S / FEC_MEASUREMENTS) + 1);
	lines = popen(command, "r");
	if (!lines)
		return false;
	while (good && fgets(line, sizeof(line), lines))
		good = fec_line(report, line, round);
	return pclose(lines) == 0 && good;
}

int bench_fec(int argc, char **argv, struct bench_report *report)
{
	char program[FEC_PATH_ROOM];

	(void)argc;
	(void)argv;
	if (!bench_program(FEC_PROGRAM, program, sizeof(program))) {
		fprintf(stderr,
			"error: there is no %s\n"
			"  fix: build with tests and with ISA-L, or set "
			"NOPAL_BENCH_DIR to BUILD/tests/bench\n",
			program);
		return TOOL_SKIPPED;
	}
	bench_measure(report, "speed", "GB/s", BENCH_MORE_IS_BETTER);
	bench_reference(report, BENCH_NONE, "isal");
	bench_note(report, "gigabytes of source bytes a second, in symbols of "
			   "1400 bytes, on one core");
	bench_note(report, "isal has its tables and inverses before; ours keeps the inverse while "
			   "the same symbols are lost (rebuild), and finds it where others are "
			   "(anew)");
	for (int round = 0; round < bench_options(report)->rounds; round++) {
		if (fec_round(report, program, round))
			continue;
		fprintf(stderr, "error: %s failed\n", program);
		return TOOL_FAILED;
	}
	return TOOL_GOOD;
}
