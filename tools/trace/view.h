/* SPDX-License-Identifier: MIT */
/*
 * view.h -- a trace as its readers see it: sessions with small numbers, records with names; and
 * these as a ladder.
 *
 * Sessions are s1, s2, ... in the order of their first record, whatever is left out; `--session`
 * takes that number, or the id of eight hex digits.
 */
#ifndef NOPAL_TRACE_VIEW_H
#define NOPAL_TRACE_VIEW_H

#include <nopal/microprotocol.h>
#include "frame/tool.h"

enum { TRACE_DEPTH = 32 }; /* deeper raises are not remembered */

struct trace_session {
	uint32_t id, peer; /* peer: the other side's id; 0: not known */
	unsigned number;   /* 1, 2, ... in the file */
	unsigned plan;
	bool begun; /* its SESSION record was read */
	bool opener;
	/* Raises in progress by depth, as far as records tell. */
	struct trace_raise {
		uint64_t subject;
		uint16_t event;
	} raise[TRACE_DEPTH];
	unsigned depth;
	bool timer; /* they began at `timer_ns` in a timer of part `whose` */
	uint8_t whose;
	int64_t timer_ns;
	struct trace_session *other; /* the other side, when both are here */
};

struct trace_view {
	const char *file;
	struct nopal_trace_reader *reader;
	struct trace_session **sessions; /* in the order of the file */
	struct trace_session **table;	 /* by id, open addressing */
	unsigned count, room;		 /* sessions; room of both, a power of two */
	int64_t from_ns, until_ns;
	uint32_t wanted; /* --session: number or id; 0: all */
	bool wanted_is_id;
	uint64_t records;
	bool damaged;
};

/* Options of every reader of traces. */
#define TRACE_VIEW_OPTIONS                                                                         \
	{                                                                                          \
		"session", 0, "N",                                                                 \
			"only this session: its number in the file, "                              \
			"or its id of eight hex digits"                                            \
	}

/* Opens the file and takes the options.  TOOL_GOOD, or what to exit with: the cause was printed. */
enum tool_exit trace_view_open(struct trace_view *view, const struct tool_call *call,
			       const char *file);
void trace_view_close(struct trace_view *view);
/* Takes --from and --until. */
enum tool_exit trace_view_span(struct trace_view *view, const struct tool_call *call);
/* Back to the start; sessions stay known. */
bool trace_view_rewind(struct trace_view *view);

/* The next record that the options let through; false at the end, and where the file is damaged:
 * said on stderr. */
bool trace_view_next(struct trace_view *view, struct nopal_trace_record *record,
		     struct trace_session **ret_session);
bool trace_view_wants(const struct trace_view *view, const struct trace_session *session);

/* A record as named values, in the order of telling. */
struct trace_field {
	const char *key;
	const char *text; /* NULL: a number */
	uint64_t number;
};
enum { TRACE_FIELDS = 6, TRACE_TEXT = 1024, TRACE_NAME = 64 };
struct trace_fields {
	struct trace_field field[TRACE_FIELDS];
	size_t count;
	char name[3][TRACE_NAME];
	char bits[TRACE_TEXT];
};
void trace_view_fields(const struct trace_view *view, const struct trace_session *session,
		       const struct nopal_trace_record *record, struct trace_fields *ret_fields);

/* Names; where the file has none, made in `text` of TRACE_NAME bytes. */
const char *trace_view_what(const struct nopal_trace_record *record);
const char *trace_view_barrier(unsigned barrier);
const char *trace_view_event(const struct trace_view *view, unsigned event, char *text);
const char *trace_view_part(const struct trace_view *view, unsigned plan, unsigned part,
			    char *text);
const char *trace_view_kind(const struct trace_view *view, unsigned plan, unsigned kind,
			    char *text);
const char *trace_view_hold(const struct trace_view *view, unsigned plan, unsigned barrier,
			    unsigned bit, char *text);
/* In the course of what a bit of `subject` is released by this record. */
const char *trace_view_during(const struct trace_view *view, const struct trace_session *session,
			      const struct nopal_trace_record *record, char *text);
/* All bits of a mask, joined by "; ", in `text` of TRACE_TEXT bytes. */
const char *trace_view_holds(const struct trace_view *view, unsigned plan, unsigned barrier,
			     uint32_t bits, char *text);

/* The segments of one connection between two columns: see ladder.c. */
enum tool_exit trace_ladder(struct trace_view *view);

#endif
