/* SPDX-License-Identifier: MIT */
/*
 * names.h -- records of a trace as named values.
 */
#ifndef NOPAL_NAMES_H
#define NOPAL_NAMES_H

#include "trace/view.h"

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

#endif
