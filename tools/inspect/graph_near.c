/* SPDX-License-Identifier: MIT */
/*
 * graph_near.c -- one event of a composition, or one microprotocol, as a picture by Graphviz.
 *
 * An event: its handlers from the first to the last, the events that these raise, and which of them
 * writes what a later or an earlier one reads.  A microprotocol: the events that it handles, and
 * where in the run order; its holds; what it reads and writes, from whom and for whom; the events
 * that it raises.  Shared variables are notes, attributes of segments and messages tabs.
 */
#include <stdlib.h>
#include <string.h>

#include "inspect/graph.h"

enum { NEAR_LETTERS = 52, NEAR_VARIABLES = 2 * NOPAL_MAX_SHARED };

/* A card of one event without its handlers. */
static void near_event(const char *id, const char *name, const char *words)
{
	printf("\t%s [label=<" DOT_TABLE "><tr><td align=\"left\" bgcolor=\"" DOT_EVENT
	       "\"><font color=\"white\"><b>%s</b></font></td></tr><tr><td align=\"left\" "
	       "bgcolor=\"#f3f4f6\"><font point-size=\"8\">",
	       id, name);
	dot_wrapped(words, NEAR_LETTERS);
	printf("</font></td></tr></table>>];\n");
}

/* The first rows of a microprotocol's box, and its holds. */
static void near_box(const struct graph_view *view, const struct nopal_part *part, const char *mark,
		     bool raises)
{
	const char *const *raised = raises ? part->microprotocol->raises : NULL;

	const struct nopal_microprotocol *one = part->microprotocol;

	printf("label=<" DOT_TABLE " bgcolor=\"white\"><tr><td align=\"left\" bgcolor=\"%s\">%s",
	       dot_colour(one->family), mark);
	dot_name(view, part);
	printf("</td></tr><tr><td align=\"left\"><font point-size=\"8\">");
	dot_wrapped(one->summary, NEAR_LETTERS);
	printf("</font></td></tr>");
	for (const struct nopal_hold *hold = one->holds; hold && hold->why; hold++) {
		printf("<tr><td align=\"left\" bgcolor=\"" DOT_BARRIER
		       "\"><font point-size=\"8\">holds the %s bit of %s:<br align=\"left\"/>",
		       show_barrier(hold->barrier), show_kinds(one, hold->kinds));
		dot_wrapped(hold->why, NEAR_LETTERS);
		printf("</font></td></tr>");
	}
	for (bool any = false; raised && *raised; raised++, any = true)
		printf("%s%s<br align=\"left\"/>%s",
		       any ? ""
			   : "<tr><td align=\"left\"><font point-size=\"8\" color=\"" DOT_RAISE
			     "\">raises ",
		       *raised, raised[1] ? "" : "</font></td></tr>");
	printf("</table>>");
}

/* The event by its name; NOPAL_NO_EVENT: there is none. */
static unsigned near_find(const char *name)
{
	unsigned event = NOPAL_NO_EVENT + 1;

	while (nopal_event_name(event) && strcmp(nopal_event_name(event), name) != 0)
		event++;
	return nopal_event_name(event) ? event : NOPAL_NO_EVENT;
}

/* ------------------------------------------------------------------- an event */

/* One arrow between two handlers, from the writer of shared variables to their reader. */
static void near_arrow(const struct graph_view *view, const struct nopal_part *const *parts,
		       size_t one, size_t other)
{
	const char *names[NEAR_VARIABLES];
	int there = graph_shared(view, parts[one]->index, parts[other]->index, names);
	int back = graph_shared(view, parts[other]->index, parts[one]->index, names + there);

	if (there + back == 0)
		return;
	printf("\th%zu -> h%zu [constraint=false, dir=%s, label=<<font color=\"" DOT_SHARED "\">",
	       one, other,
	       !back   ? "forward"
	       : there ? "both"
		       : "back");
	for (int i = 0; i < there + back; i++)
		dot_wrapped(names[i], NEAR_LETTERS);
	printf("</font>>];\n");
}

void graph_near_event(const struct graph_view *view)
{
	const struct nopal_part *parts[GRAPH_HANDLERS];
	size_t count = graph_handlers(view, view->event, parts);
	const char *name = nopal_event_name(view->event);
	char mark[SHOW_VALUE_ROOM];

	dot_open(view, "TB");
	near_event("event", name, nopal_event_doc(view->event));
	for (size_t i = 0; i < count; i++) {
		snprintf(mark, sizeof(mark), "<font color=\"" DOT_GREY "\">%zu</font> ", i + 1);
		printf("\th%zu [", i);
		near_box(view, parts[i], mark, true);
		printf("];\n");
		if (i == 0)
			printf("\tevent -> h0 [color=\"" DOT_GREY "\", penwidth=2, weight=20];\n");
		else
			printf("\th%zu -> h%zu [color=\"" DOT_GREY "\", penwidth=2, weight=20];\n",
			       i - 1, i);
		for (size_t j = 0; j < i; j++)
			near_arrow(view, parts, j, i);
	}
	dot_close(view, name,
		  "<font color=\"" DOT_GREY "\">&#9660; run order</font>   "
		  "<font color=\"" DOT_SHARED "\">&#9472;&#9654; shared variables, from their "
		  "writer to a reader</font>");
}

/* ------------------------------------------------------------ a microprotocol */

static void near_handles(const struct graph_view *view, const struct nopal_part *part)
{
	const struct nopal_part *parts[GRAPH_HANDLERS];
	const char *name;

	for (unsigned event = NOPAL_NO_EVENT + 1; (name = nopal_event_name(event)); event++) {
		size_t count = graph_handlers(view, event, parts), i = 0;

		while (i < count && parts[i]->index != part->index)
			i++;
		if (i == count)
			continue;
		printf("\te%u [label=<" DOT_TABLE "><tr><td align=\"left\" bgcolor=\"" DOT_EVENT
		       "\"><font color=\"white\"><b>%s</b></font></td></tr><tr><td "
		       "align=\"left\" bgcolor=\"#f3f4f6\"><font point-size=\"8\">handler %zu of "
		       "%zu%s",
		       event, name, i + 1, count, i ? ", after " : "");
		if (i > 0)
			dot_name(view, parts[i - 1]);
		printf("%s",
		       i + 1 < count ? i ? "<br align=\"left\"/>and before " : ", before " : "");
		if (i + 1 < count)
			dot_name(view, parts[i + 1]);
		printf("<br align=\"left\"/></font></td></tr></table>>];\n"
		       "\te%u -> part:w [color=\"" DOT_GREY "\", penwidth=1.5];\n",
		       event);
	}
}

/* A user of a variable; the same microprotocol may stand on both sides. */
static void near_neighbour(const struct graph_view *view, const struct nopal_part *part,
			   const char *side)
{
	printf("\t%s%u [label=<" DOT_TABLE "><tr><td bgcolor=\"%s\">", side, part->index,
	       dot_colour(part->microprotocol->family));
	dot_name(view, part);
	printf("</td></tr></table>>];\n");
}

/* A shared variable or attribute of the part between its writer and its readers. */
static void near_variable(const struct graph_view *view, const struct nopal_part *part,
			  enum show_table table, const struct show_entry *ours)
{
	const char *colour = table == SHOW_SHARED ? DOT_SHARED : DOT_ATTRIBUTE;
	const bool writes = ours->access == NOPAL_WRITE;
	struct show_entry theirs;

	printf("\t\"%s\" [shape=%s, style=filled, fillcolor=white, color=\"%s\", "
	       "fontcolor=\"%s\", fontsize=9, margin=\"0.06,0.03\", height=0.2];\n"
	       "\t%s%s%s -> %s%s%s [color=\"%s\"];\n",
	       ours->name, table == SHOW_SHARED ? "note" : "tab", colour, colour,
	       writes ? "part:e" : "\"", writes ? "" : ours->name, writes ? "" : "\"",
	       writes ? "\"" : "part:w", writes ? ours->name : "", writes ? "\"" : "", colour);
	for (size_t i = 0; i < nopal_plan_part_count(view->plan); i++) {
		const struct nopal_part *other = nopal_plan_part(view->plan, i);

		if (i == part->index ||
		    nopal_plan_part_layer(view->plan, i) !=
			    nopal_plan_part_layer(view->plan, part->index) ||
		    !show_find(other->microprotocol, table, ours->name, &theirs) ||
		    writes == (theirs.access == NOPAL_WRITE))
			continue;
		near_neighbour(view, other, writes ? "to" : "from");
		if (writes)
			printf("\t\"%s\" -> to%zu [color=\"%s\"];\n", ours->name, i, colour);
		else
			printf("\tfrom%zu -> \"%s\" [color=\"%s\"];\n", i, ours->name, colour);
	}
}

/* Has the variable another user in the layer? */
static bool near_is_shared(const struct graph_view *view, const struct nopal_part *part,
			   enum show_table table, const struct show_entry *ours)
{
	struct show_entry theirs;

	for (size_t i = 0; i < nopal_plan_part_count(view->plan); i++)
		if (i != part->index &&
		    nopal_plan_part_layer(view->plan, i) ==
			    nopal_plan_part_layer(view->plan, part->index) &&
		    show_find(nopal_plan_part(view->plan, i)->microprotocol, table, ours->name,
			      &theirs) &&
		    (ours->access == NOPAL_WRITE) != (theirs.access == NOPAL_WRITE))
			return true;
	return false;
}

void graph_near_part(const struct graph_view *view)
{
	static const enum show_table tables[] = { SHOW_SHARED, SHOW_ATTRIBUTES };
	const struct nopal_part *part = NULL;
	const char *const *raised;
	struct show_entry entry;

	for (size_t i = 0; i < nopal_plan_part_count(view->plan) && !part; i++)
		if (strcmp(nopal_plan_part(view->plan, i)->microprotocol->name, view->part) == 0)
			part = nopal_plan_part(view->plan, i);
	if (!part)
		return;
	dot_open(view, "LR");
	printf("\tpart [");
	near_box(view, part, "", false);
	printf("];\n");
	near_handles(view, part);
	for (raised = part->microprotocol->raises; raised && *raised; raised++) {
		near_event(*raised, *raised, nopal_event_doc(near_find(*raised)));
		printf("\tpart:e -> %s [color=\"" DOT_RAISE "\", style=dashed];\n", *raised);
	}
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		const char **names = show_names(view->plan, tables[i]);

		for (const char **name = names; *name; name++)
			if (show_find(part->microprotocol, tables[i], *name, &entry) &&
			    near_is_shared(view, part, tables[i], &entry))
				near_variable(view, part, tables[i], &entry);
		free(names);
	}
	dot_close(view, view->part,
		  "<font color=\"" DOT_GREY "\">&#9472;&#9654; handles</font>   "
		  "<font color=\"" DOT_RAISE "\">- -&#9654; raises</font>   "
		  "<font color=\"" DOT_SHARED "\">&#9472;&#9654; shared variable</font>   "
		  "<font color=\"" DOT_ATTRIBUTE "\">&#9472;&#9654; attribute of segments and "
		  "messages</font>");
}
