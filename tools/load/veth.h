/* SPDX-License-Identifier: MIT */
/*
 * veth.h -- floods between two network namespaces: runs tests/bench/veth.sh, which runs the
 * programs of the rows, and reads what it prints.
 */
#ifndef NOPAL_VETH_H
#define NOPAL_VETH_H

#include <jansson.h>
#include <stdbool.h>

struct veth {
	const char *paths, *rows; /* in the script's words: "V,W", "tcp,udt" */
	const char *counts;	  /* of connections: "10,100"; NULL: one */
	int rounds;
	double seconds; /* of each measurement */
	/* A line of the script: of a measurement, or {"left_out", "program"} of a row whose program
	 * was not built. */
	void (*line)(void *user, const json_t *line);
	void *user;
};

/* Enough for all rows of a run, and the NUL. */
enum { VETH_ROWS_ROOM = 1024 };

/* The script's exit: one of `enum tool_exit`; 77 where this machine refuses network namespaces,
 * which was said on stderr; TOOL_ENVIRONMENT where there is no script, likewise. */
int veth_run(const struct veth *veth);

/* Of a measurement. */
const char *veth_text(const json_t *line, const char *key);
double veth_number(const json_t *line, const char *key);
/* The same of a side: "send" or "recv". */
double veth_side(const json_t *line, const char *side, const char *key);
/* Bytes were delivered, and none of them wrong. */
bool veth_is_sound(const json_t *line);
/* 10^9 bits a second that were delivered. */
double veth_goodput(const json_t *line);
/* Seconds of the processor, of both sides and of the kernel's own threads, for each 10^9 bytes. */
double veth_cpu(const json_t *line);

#endif
