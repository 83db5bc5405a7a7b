/* SPDX-License-Identifier: MIT */
/*
 * veth.h -- experiments whose rows are programs, between two network namespaces: nopal,
 * UDT itself, the kernel's TCP, plain UDP.
 */
#ifndef NOPAL_REPRODUCE_VETH_H
#define NOPAL_REPRODUCE_VETH_H

#include "load/veth.h"
#include "reproduce/reproduce.h"

struct reproduce_veth_row {
	const char *row;  /* in the script's words, and in --rows */
	const char *name; /* in tables */
};

struct reproduce_veth {
	const struct reproduce_options *options;
	const struct reproduce_veth_row *rows;
	int row_count;
	const char *const *paths; /* NULL-ended; --paths takes of them */
	const char *counts;	  /* of connections; NULL: one */
	int runs;		  /* unless they were asked for */
	double seconds, quick_seconds;
	/* A sound measurement of a row. */
	void (*add)(const struct reproduce_veth *veth, int row, const json_t *line);
};

/* One of `enum tool_exit`, as an experiment has to return. */
int reproduce_veth(const struct reproduce_veth *veth);

#endif
