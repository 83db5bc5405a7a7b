/* SPDX-License-Identifier: MIT */
/*
 * fec.c -- erasure codes: ours against ISA-L's own encoding, on the same buffers.
 *
 *     nopal bench fec
 *
 * The program tests/bench/fec_speed measures, as it uses names that are not for applications; a
 * line of it is "CODE SHAPE OPERATION GBYTES_A_SECOND".
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"

enum {
	FEC_PATH_ROOM = 4096,
	FEC_COMMAND_ROOM = FEC_PATH_ROOM + 64,
	FEC_LINE_ROOM = 256,
	FEC_WORD_ROOM = 64,
	FEC_MEASUREMENTS = 21, /* of one round */
	FEC_MS_PER_S = 1000,
};
#define FEC_PROGRAM "fec_speed"

static enum tool_exit fec_round(struct bench *bench)
{
	char program[FEC_PATH_ROOM], command[FEC_COMMAND_ROOM], line[FEC_LINE_ROOM];
	char code[FEC_WORD_ROOM], shape[FEC_WORD_ROOM], operation[FEC_WORD_ROOM];
	char path[2 * FEC_WORD_ROOM + sizeof(" ")];
	bool good = true;
	double speed;
	FILE *lines;

	if (!bench_program(FEC_PROGRAM, X_OK, program, sizeof(program))) {
		tool_error("there is no %s\n"
			   "  fix: build with tests and with ISA-L, or set NOPAL_BENCH_DIR to "
			   "BUILD/tests/bench",
			   program);
		return TOOL_SKIPPED;
	}
	snprintf(command, sizeof(command), "'%s' %d", program,
		 (int)(bench->seconds * FEC_MS_PER_S / FEC_MEASUREMENTS) + 1);
	lines = popen(command, "r");
	while (lines && good && fgets(line, sizeof(line), lines)) {
		/* "isal 4+1 encode 45.1" */
		good = sscanf(line, "%63s %63s %63s %lf", code, shape, operation, &speed) == 4;
		if (!good)
			break;
		snprintf(path, sizeof(path), "%s %s", shape, operation);
		bench_add(bench, path, code, "speed", speed);
	}
	if (lines && pclose(lines) == 0 && good)
		return TOOL_GOOD;
	tool_error("%s failed", program);
	return TOOL_FAILED;
}

const struct bench_measurement bench_fec = {
	.name = "fec",
	.uses = BENCH_USE_SECONDS,
	.columns = { { "speed", "GB/s", REPORT_MORE_IS_BETTER } },
	.reference = "isal",
	.notes =
		(const char *const[]){
			"gigabytes of source bytes a second, in symbols of 1400 bytes, on one core",
			"isal has its tables and inverses before; ours keeps the inverse while the same "
			"symbols are lost (rebuild), and finds it where others are (anew)",
			NULL,
		},
	.round = fec_round,
};
