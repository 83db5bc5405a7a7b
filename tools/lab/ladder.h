/* SPDX-License-Identifier: MIT */
/*
 * ladder.h -- the datagrams and messages of a trial, in rows between columns of its hosts: as text
 * by ladder.c, as a drawing by drawing.c.
 */
#ifndef NOPAL_LAB_LADDER_H
#define NOPAL_LAB_LADDER_H

#include <stdio.h>

#include "lab/lab.h"

enum {
	LAB_LADDER_WIDTH = 100, /* columns of text */
	LAB_LADDER_ROWS = 48,	/* of a ladder that was cut */
	LAB_LADDER_HOSTS = 5,	/* columns, at most */
	LAB_ROW_LABEL = 64,
};

enum lab_row_kind {
	LAB_ROW_ARRIVE,	 /* a datagram */
	LAB_ROW_DELIVER, /* a message, to the application */
	LAB_ROW_SEND,	 /* a message, by the application */
	LAB_ROW_LEAVE,	 /* a datagram */
	LAB_ROW_CUT,	 /* `left_out` rows are not here */
	LAB_ROW_FAIL,	 /* the trial fails here, as `text` says */
};

struct lab_row {
	enum lab_row_kind kind;
	int64_t time_ns;
	int column, peer;   /* in lab_ladder.hosts; -1: not shown */
	size_t datagram;    /* of the trial, where it leaves or arrives */
	bool lost, corrupt; /* datagrams */
	unsigned copies;    /* datagrams: that come out */
	bool odd;	    /* the network, or a sender for the second time: worth a row */
	unsigned order;	    /* among rows of one instant, and then: */
	size_t serial;
	size_t left_out;
	const char *text; /* the trial's */
	char label[LAB_ROW_LABEL];
};

struct lab_ladder {
	int hosts[LAB_LADDER_HOSTS]; /* of the trial, by column */
	int host_count;
	int hosts_left_out;
	const char *const *names; /* of all hosts of the trial */
	struct lab_row *rows;	  /* by time */
	size_t count;
};

/* Rows of the trial, cut to `most` (0: LAB_LADDER_ROWS) that lead to its first failure; of a trial
 * that has not failed, the first ones.  `names` are those of its hosts, and stay the caller's. */
void lab_ladder_make(const struct lab_trial *trial, const char *const *names, size_t most,
		     struct lab_ladder *ret_ladder);
void lab_ladder_fini(struct lab_ladder *ladder);
/* As text, LAB_LADDER_WIDTH columns wide. */
void lab_ladder_print(const struct lab_ladder *ladder, FILE *out);

#endif
