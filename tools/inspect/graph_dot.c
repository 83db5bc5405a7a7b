/* SPDX-License-Identifier: MIT */
/*
 * graph_dot.c -- a whole composition as a picture by Graphviz.
 *
 * Events are cards, in lanes by the way that a message goes, each with its handlers in run order;
 * barriers stand where a segment waits, with the holders of their bits.  Microprotocols stand
 * beside them, in clusters by family (by layer, where there are several), with the shared variables
 * that they write and others read; between two of them is one arrow, whatever they share.
 */
#include <string.h>

#include "inspect/graph.h"

/* In inches: 1600 dots at 96 an inch, less the rounding. */
#define DOT_SIZE "16.5,200"
#define DOT_FONT "Helvetica,Arial,sans-serif"

enum { DOT_RAISERS = 2 /* of an event, by name */ };

/* ------------------------------------------------------------------- words */

void dot_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '&')
			fputs("&amp;", stdout);
		else if (*text == '<')
			fputs("&lt;", stdout);
		else if (*text == '>')
			fputs("&gt;", stdout);
		else if (*text == '"')
			fputs("&quot;", stdout);
		else
			putchar(*text);
	}
}

const char *dot_colour(const char *family)
{
	static const struct {
		const char *family, *colour;
	} colours[] = {
		{ "base", "#e3e8ef" },	      { "status", "#fde3bd" },
		{ "reliability", "#f8cfc9" }, { "flow", "#cfead0" },
		{ "congestion", "#cfe2f8" },  { "ordering", "#e2d4f4" },
		{ "format", "#d3eeee" },      { "check", "#ece7da" },
		{ "security", "#f7d3e6" },    { "compression", "#e9e6b8" },
		{ "group", "#d9dcf9" },	      { "jitter", "#f1dccb" },
	};

	for (size_t i = 0; i < sizeof(colours) / sizeof(*colours); i++)
		if (strcmp(colours[i].family, family) == 0)
			return colours[i].colour;
	return "#f4f4f4"; /* a plug-in's own family */
}

void dot_name(const struct graph_view *view, const struct nopal_part *part)
{
	if (nopal_plan_layers(view->plan) > 1) {
		unsigned layer = nopal_plan_part_layer(view->plan, part->index);

		dot_text(nopal_plan_layer_name(view->plan, layer));
		putchar('/');
	}
	dot_text(part->microprotocol->name);
}

void dot_wrapped(const char *text, int columns)
{
	while (*text) {
		int length = (int)strlen(text), cut = columns;

		if (length > columns) {
			while (cut > 0 && text[cut] != ' ')
				cut--;
			length = cut > 0 ? cut : length;
		}
		for (int i = 0; i < length; i++)
			dot_text((char[]){ text[i], '\0' });
		printf("<br align=\"left\"/>");
		text += length;
		text += strspn(text, " ");
	}
}

void dot_open(const struct graph_view *view, const char *direction)
{
	printf("digraph \"");
	dot_text(nopal_plan_info(view->plan)->name);
	printf("\" {\n"
	       "\tgraph [rankdir=%s, size=\"" DOT_SIZE "\", bgcolor=white, pad=0.1, nodesep=0.12,\n"
	       "\t\tranksep=0.4, fontname=\"" DOT_FONT "\", fontsize=11, labelloc=t,\n"
	       "\t\tlabeljust=l];\n"
	       "\tnode [shape=plain, fontname=\"" DOT_FONT "\", fontsize=10];\n"
	       "\tedge [fontname=\"" DOT_FONT "\", fontsize=8, arrowsize=0.6,\n"
	       "\t\tcolor=\"" DOT_SHARED "\"];\n",
	       direction);
}

void dot_close(const struct graph_view *view, const char *about, const char *legend)
{
	printf("\tlabel=<<font point-size=\"15\"><b>");
	dot_text(nopal_plan_info(view->plan)->name);
	printf("</b>%s", about ? ", " : ": ");
	dot_text(about ? about : nopal_plan_info(view->plan)->description);
	printf("</font><br align=\"left\"/>%s%s>;\n}\n", legend,
	       *legend ? "<br align=\"left\"/>" : "");
}

/* ------------------------------------------------------------------- cards */

/* The first microprotocols that raise an event, and how many more do. */
static void dot_raisers(const struct graph_view *view, unsigned event)
{
	int count = 0;

	for (size_t i = 0; i < nopal_plan_part_count(view->plan); i++) {
		const struct nopal_part *part = nopal_plan_part(view->plan, i);

		if (!graph_raises(part->microprotocol, event))
			continue;
		if (count == 0)
			printf("<br align=\"left\"/><font color=\"#ffd8a8\" point-size=\"8\">"
			       "raised by ");
		if (count < DOT_RAISERS) {
			printf("%s", count ? ", " : "");
			dot_name(view, part);
		}
		count++;
	}
	if (count > DOT_RAISERS)
		printf(" and %d more", count - DOT_RAISERS);
	printf("%s", count ? "<br align=\"left\"/></font>" : "");
}

/* An event with who raises it and its handlers in run order. */
static void dot_event_card(const struct graph_view *view, unsigned event)
{
	const struct nopal_part *parts[GRAPH_HANDLERS];
	size_t count = graph_handlers(view, event, parts);

	printf(DOT_TABLE "><tr><td align=\"left\" bgcolor=\"" DOT_EVENT
			 "\"><font color=\"white\"><b>%s</b></font>",
	       nopal_event_name(event));
	dot_raisers(view, event);
	printf("</td></tr>");
	for (size_t i = 0; i < count; i++) {
		printf("<tr><td align=\"left\" bgcolor=\"%s\"><font color=\"" DOT_GREY
		       "\">%zu</font> ",
		       dot_colour(parts[i]->microprotocol->family), i + 1);
		dot_name(view, parts[i]);
		printf("</td></tr>");
	}
	printf("</table>");
}

/* The next hold of the barrier, from part *index and its hold number *hold on; false: none. */
static bool dot_next_hold(const struct graph_view *view, enum nopal_barrier barrier, size_t *index,
			  size_t *hold)
{
	for (; *index < nopal_plan_part_count(view->plan); (*index)++, *hold = 0) {
		const struct nopal_hold *holds =
			nopal_plan_part(view->plan, *index)->microprotocol->holds;

		for (; holds && holds[*hold].why; (*hold)++)
			if (holds[*hold].barrier == barrier)
				return true;
	}
	return false;
}

static void dot_barrier_card(const struct graph_view *view, enum nopal_barrier barrier)
{
	printf(DOT_TABLE "><tr><td align=\"left\" bgcolor=\"" DOT_BARRIER
			 "\"><i>waits for the %s bits of</i></td></tr>",
	       show_barrier(barrier));
	for (size_t i = 0, hold = 0; dot_next_hold(view, barrier, &i, &hold); hold++) {
		const struct nopal_part *part = nopal_plan_part(view->plan, i);

		printf("<tr><td align=\"left\" bgcolor=\"%s\">",
		       dot_colour(part->microprotocol->family));
		dot_name(view, part);
		printf("</td></tr>");
	}
	printf("</table>");
}

/* ------------------------------------------------------------------- lanes */

/* A step of a lane is an event, or a barrier as a negative number.  A milestone is there even where
 * no part handles it. */
#define DOT_BARRIER_STEP(barrier) (-1 - (int)(barrier))
#define DOT_MILESTONE(event)	  ((event) | DOT_MILESTONE_BIT)
enum {
	DOT_MILESTONE_BIT = 1 << 10,
	DOT_STEPS = 18,
	/* Points, roughly: lanes of much the same height are not stretched. */
	DOT_LINE = 17,
	DOT_SMALL_LINE = 9,
	DOT_GAP = 6,
	DOT_THEN = 12,
};

static const struct dot_lane {
	const char *title;
	bool ordered; /* the steps follow each other */
	int steps[DOT_STEPS];
} dot_lanes[] = {
	{ "A message goes down",
	  true,
	  { DOT_MILESTONE(NOPAL_MSG_FROM_USER), NOPAL_SEGMENT_FROM_USER,
	    DOT_MILESTONE(NOPAL_SEGMENT_TO_NET), DOT_BARRIER_STEP(NOPAL_SEND),
	    DOT_MILESTONE(NOPAL_SEND_SEGMENT), NOPAL_SEGMENT_RESEND } },
	{ "A message goes up",
	  true,
	  { DOT_MILESTONE(NOPAL_SEGMENT_FROM_NET), NOPAL_SEGMENT_VERIFIED,
	    DOT_MILESTONE(NOPAL_MSG_FROM_NET), DOT_BARRIER_STEP(NOPAL_DELIVER),
	    DOT_MILESTONE(NOPAL_MSG_TO_USER), NOPAL_MSG_CONSUMED, NOPAL_FORWARD_RECEIVED } },
	{ "Acknowledgements, losses",
	  false,
	  { NOPAL_ACK_FROM_NET, NOPAL_SEGMENT_RECEIVED, NOPAL_SEGMENT_LOST, NOPAL_SEGMENT_TIMEOUT,
	    NOPAL_SEGMENT_ABANDONED, NOPAL_ACK_PROCESSED } },
	{ "A segment ends",
	  true,
	  { DOT_BARRIER_STEP(NOPAL_DONE), NOPAL_SEGMENT_DONE, DOT_BARRIER_STEP(NOPAL_DEALLOCATE),
	    NOPAL_MSG_DONE } },
	{ "A session",
	  false,
	  { NOPAL_OPEN_SESSION, NOPAL_SESSION_OPENED, NOPAL_TURN_END, NOPAL_RATE_FROM_USER,
	    NOPAL_RECEIVE_POSTED, NOPAL_CONGESTION_MARKED, NOPAL_PATH_NARROWED,
	    NOPAL_SEGMENT_FROM_ELSEWHERE, NOPAL_CLOSE_SESSION, NOPAL_PEER_CLOSED,
	    NOPAL_SESSION_CLOSED, NOPAL_SESSION_BROKEN } },
	{ "Streams, destinations",
	  false,
	  { NOPAL_FLOW_TURN, NOPAL_COPIES_LEAVE, NOPAL_COPY_DONE, NOPAL_DESTINATION_ADDED,
	    NOPAL_DESTINATION_OPENED, NOPAL_DESTINATION_ENDED, NOPAL_DESTINATION_JOINED,
	    NOPAL_CHANNEL_REPORT } },
};
enum { DOT_LANES = sizeof(dot_lanes) / sizeof(*dot_lanes) };

/* In points; 0: the composition has no such step. */
static int dot_step_height(const struct graph_view *view, int step)
{
	const struct nopal_part *parts[GRAPH_HANDLERS];
	unsigned event = (unsigned)step & ~(unsigned)DOT_MILESTONE_BIT;
	int lines = 0, small = 0;

	if (step > 0) {
		lines = (int)graph_handlers(view, event, parts);
		for (size_t i = 0; i < nopal_plan_part_count(view->plan) && !small; i++)
			small = graph_raises(nopal_plan_part(view->plan, i)->microprotocol, event);
		if (!lines && step & DOT_MILESTONE_BIT)
			return DOT_LINE + small * DOT_SMALL_LINE + DOT_GAP;
	} else {
		for (size_t i = 0, hold = 0;
		     dot_next_hold(view, (enum nopal_barrier)(-1 - step), &i, &hold); hold++)
			lines++;
	}
	return lines ? (lines + 1) * DOT_LINE + small * DOT_SMALL_LINE + DOT_GAP : 0;
}

static int dot_lane_height(const struct graph_view *view, const struct dot_lane *lane)
{
	int height = 0;

	for (int i = 0; i < DOT_STEPS && lane->steps[i]; i++) {
		int step = dot_step_height(view, lane->steps[i]);

		height += step + (height && step && lane->ordered ? DOT_THEN + DOT_GAP : 0);
	}
	return height;
}

static void dot_lane(const struct graph_view *view, const struct dot_lane *lane, int height)
{
	int rest = height - dot_lane_height(view, lane);
	bool any = false;

	printf("\t\t<td valign=\"top\"><table border=\"0\" cellspacing=\"0\" cellpadding=\"3\">"
	       "<tr><td align=\"left\"><font point-size=\"12\"><b>%s</b></font></td></tr>\n",
	       lane->title);
	for (int i = 0; i < DOT_STEPS && lane->steps[i]; i++) {
		int step = lane->steps[i];

		if (dot_step_height(view, step) == 0)
			continue;
		if (any && lane->ordered)
			printf("\t\t\t<tr><td cellpadding=\"0\"><font color=\"" DOT_GREY
			       "\">&#9660;</font></td></tr>\n");
		any = true;
		printf("\t\t\t<tr><td align=\"left\">");
		if (step > 0)
			dot_event_card(view, (unsigned)step & ~(unsigned)DOT_MILESTONE_BIT);
		else
			dot_barrier_card(view, (enum nopal_barrier)(-1 - step));
		printf("</td></tr>\n");
	}
	if (rest > 0)
		printf("\t\t\t<tr><td height=\"%d\"></td></tr>\n", rest);
	printf("\t\t</table></td>\n");
}

static void dot_legend(const struct graph_view *view, int columns)
{
	size_t parts = nopal_plan_part_count(view->plan);

	printf("\t</tr><tr><td colspan=\"%d\" align=\"left\"><table border=\"0\" cellborder=\"0\" "
	       "cellspacing=\"2\" cellpadding=\"2\">\n"
	       "\t\t<tr><td bgcolor=\"" DOT_EVENT "\"><font color=\"white\"><b>EVENT</b></font>"
	       "</td><td align=\"left\">with its handlers for data, in run order</td>"
	       "<td bgcolor=\"" DOT_BARRIER
	       "\"><i>waits</i></td><td align=\"left\">barrier, with the "
	       "holders of its bits</td></tr>\n"
	       "\t\t<tr><td border=\"1\" color=\"" DOT_GREY "\">name<br/><font point-size=\"8\" "
	       "color=\"" DOT_SHARED "\">variable</font></td><td align=\"left\">microprotocol, and "
	       "shared variables<br align=\"left\"/>that it writes and others read<br "
	       "align=\"left\"/></td><td><font color=\"" DOT_SHARED "\">&#9472;&#9654;</font></td>"
	       "<td align=\"left\">from the writer of shared variables to<br align=\"left\"/>a "
	       "reader; thicker: more of them<br align=\"left\"/></td></tr>\n"
	       "\t</table></td></tr><tr><td colspan=\"%d\" align=\"left\"><table border=\"0\" "
	       "cellborder=\"0\" cellspacing=\"2\" cellpadding=\"2\"><tr><td>families:</td>",
	       columns, columns);
	for (size_t i = 0; i < parts; i++) {
		const char *family = nopal_plan_part(view->plan, i)->microprotocol->family;
		size_t before = 0;

		while (strcmp(nopal_plan_part(view->plan, before)->microprotocol->family, family))
			before++;
		if (before < i)
			continue;
		printf("<td bgcolor=\"%s\">", dot_colour(family));
		dot_text(family);
		printf("</td>");
	}
	printf("</tr></table></td>\n");
}

static void dot_events(const struct graph_view *view)
{
	int height = 0, columns = 0;

	for (size_t i = 0; i < DOT_LANES; i++) {
		int lane = dot_lane_height(view, &dot_lanes[i]);

		height = lane > height ? lane : height;
		columns += lane > 0;
	}
	printf("\tevents [label=<<table border=\"0\" cellspacing=\"5\"><tr>\n");
	for (size_t i = 0; i < DOT_LANES; i++)
		if (dot_lane_height(view, &dot_lanes[i]))
			dot_lane(view, &dot_lanes[i], height);
	dot_legend(view, columns);
	printf("\t</tr></table>>];\n");
}

/* ---------------------------------------------------------- microprotocols */

/* A box with the shared variables that it writes and others read. */
static void dot_part(const struct graph_view *view, size_t index, const char *colour)
{
	const struct nopal_part *part = nopal_plan_part(view->plan, index);
	const struct nopal_shared *shared = part->microprotocol->shared;
	const char *names[NOPAL_MAX_SHARED];
	bool any = false;

	printf("\t\tp%zu [tooltip=\"", index);
	dot_text(part->microprotocol->summary);
	printf("\", label=<" DOT_TABLE " bgcolor=\"white\"><tr><td bgcolor=\"%s\">", colour);
	dot_text(part->microprotocol->name);
	printf("</td></tr>");
	for (; shared && shared->name; shared++) {
		bool read = false;

		for (size_t i = 0; i < nopal_plan_part_count(view->plan) && !read; i++)
			for (int n = graph_shared(view, index, i, names); n > 0 && !read; n--)
				read = strcmp(names[n - 1], shared->name) == 0;
		if (!read)
			continue;
		printf("%s", any ? ""
				 : "<tr><td align=\"left\"><font point-size=\"8\" "
				   "color=\"" DOT_SHARED "\">");
		dot_text(shared->name);
		printf("<br align=\"left\"/>");
		any = true;
	}
	printf("%s</table>>];\n", any ? "</font></td></tr>" : "");
}

/* Clusters by layer, or by family where there is one layer. */
static void dot_parts(const struct graph_view *view)
{
	size_t count = nopal_plan_part_count(view->plan);
	bool layers = nopal_plan_layers(view->plan) > 1;

	for (size_t i = 0; i < count; i++) {
		const char *family = nopal_plan_part(view->plan, i)->microprotocol->family;
		unsigned layer = nopal_plan_part_layer(view->plan, i);

		printf("\tsubgraph \"cluster_");
		dot_text(layers ? nopal_plan_layer_name(view->plan, layer) : family);
		printf("\" {\n\t\tlabel=\"");
		dot_text(layers ? nopal_plan_layer_name(view->plan, layer) : family);
		printf("\"; style=\"rounded,filled\"; color=\"" DOT_GREY "\"; fillcolor=\"%s\";\n",
		       layers ? "#fafafa" : dot_colour(family));
		dot_part(view, i, layers ? dot_colour(family) : "white");
		printf("\t}\n");
	}
}

/* One arrow between two microprotocols, with a head at each reader; its names are its tooltip. */
static void dot_arrow(const struct graph_view *view, size_t one, size_t other)
{
	const char *names[2 * NOPAL_MAX_SHARED];
	int there = graph_shared(view, one, other, names);
	int back = graph_shared(view, other, one, names + there);
	const double thin = 0.8, each = 0.25;

	if (there + back == 0)
		return;
	printf("\tp%zu -> p%zu [penwidth=%.2f%s, edgetooltip=\"", there < back ? other : one,
	       there < back ? one : other, thin + each * (there + back),
	       there && back ? ", dir=both" : "");
	for (int i = 0; i < there + back; i++) {
		printf("%s", i ? ", " : "");
		dot_text(names[i]);
	}
	printf("\"];\n");
}

void graph_picture(const struct graph_view *view)
{
	size_t count = nopal_plan_part_count(view->plan);

	if (view->event != NOPAL_NO_EVENT || view->part) {
		view->part ? graph_near_part(view) : graph_near_event(view);
		return;
	}
	dot_open(view, "LR");
	dot_events(view);
	dot_parts(view);
	for (size_t i = 0; i < count; i++)
		printf("\tevents -> p%zu [style=invis];\n", i);
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			dot_arrow(view, i, j);
	dot_close(view, NULL, "");
}
