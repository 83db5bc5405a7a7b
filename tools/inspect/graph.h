/* SPDX-License-Identifier: MIT */
/*
 * graph.h -- what the forms of `nopal graph` share: a composition, or a piece of it, as text, as
 * JSON and as a picture.
 */
#ifndef NOPAL_GRAPH_H
#define NOPAL_GRAPH_H

#include "inspect/show.h"

enum { GRAPH_HANDLERS = 256 }; /* of one event; those beyond are not shown */

struct graph_view {
	struct nopal_plan *plan;
	unsigned event;	  /* this event and its handlers alone; NOPAL_NO_EVENT: all */
	const char *part; /* this microprotocol and its neighbours alone; NULL: all */
};

/* Handlers for data in run order, at most GRAPH_HANDLERS. */
size_t graph_handlers(const struct graph_view *view, unsigned event,
		      const struct nopal_part **ret_parts);
/* Do handlers of the microprotocol raise the event? */
bool graph_raises(const struct nopal_microprotocol *one, unsigned event);
/* Shared variables that the first part writes and the other one reads: how many, and their names,
 * where `names` is not NULL, at most as many as a part can have. */
int graph_shared(const struct graph_view *view, size_t writer, size_t reader, const char **names);

/* ------------------------------------------------------------------ pictures */

/* Colours, as words of Graphviz. */
#define DOT_EVENT     "#2f3e4e"
#define DOT_BARRIER   "#fff3bf"
#define DOT_SHARED    "#2b6cb0" /* shared variables, and arrows of their values */
#define DOT_ATTRIBUTE "#2f7d4f"
#define DOT_RAISE     "#c2410c" /* arrows from a microprotocol to an event that it raises */
#define DOT_GREY      "#6b7280"
#define DOT_TABLE                                                                                    \
	"<table border=\"0\" cellborder=\"1\" cellspacing=\"0\" cellpadding=\"2\" color=\"" DOT_GREY \
	"\""

/* Prints the view as a graph for Graphviz, 1600 dots wide at most at 96 dots an inch. */
void graph_picture(const struct graph_view *view);
/* Pictures of an event, or of a microprotocol, with the neighbours. */
void graph_near_event(const struct graph_view *view);
void graph_near_part(const struct graph_view *view);

/* Text within a label. */
void dot_text(const char *text);
/* The pale colour of a family. */
const char *dot_colour(const char *family);
/* A part's name, with its layer where the plan has several. */
void dot_name(const struct graph_view *view, const struct nopal_part *part);
/* The same in lines of at most so many letters, each of which ends. */
void dot_wrapped(const char *text, int columns);
/* Everything of the graph that comes before its nodes. */
void dot_open(const struct graph_view *view, const char *direction);
/* The heading and the end: the name of the composition, with `about` (NULL: its description), and
 * the legend, which is markup. */
void dot_close(const struct graph_view *view, const char *about, const char *legend);

#endif
