/* SPDX-License-Identifier: MIT */
/*
 * drawing.c -- a ladder as an element <svg>.
 *
 * Columns stand at shares of the width and rows at pixels, and letters keep their size: the same
 * drawing fits a telephone and paper.  Down is later; a wider gap stands for a longer time.  A lost
 * datagram ends in a cross, a corrupted one is dotted, one with copies has a double line: colour
 * only repeats that.
 */
#include <string.h>

#include "lab/html.h"
#include "lab/page.h"

enum {
	TOP = 56,  /* pixels: the first row */
	ROW = 25,  /* from row to row */
	SOON = 18, /* the same, at one host at one instant */
	LONGER = 5,
	CUT_ROW = 34,
	BOTTOM = 20,
	HOST_Y = 18,
	BELOW = 12,	    /* words below a time */
	ABOVE = 6,	    /* a label above its arrow */
	BESIDE = 9,	    /* a label beside its column */
	BASE = 4,	    /* from the middle of a letter down to its base line */
	DOUBLE = 3,	    /* between the lines of a double one */
	LOST_DOWN = 12,	    /* how far down a lost datagram goes */
	FIRST_COLUMN = 210, /* thousandths of the width */
	LAST_COLUMN = 790,  /* of two */
	LAST_OF_MANY = 930,
	STUB = 80, /* of an arrow whose other end is not here */
	FULL = 1000,
	DECIMALS = 6, /* of seconds */
	KEY_MIDDLE = 8,
};

/* ------------------------------------------------------------------- places */

/* In thousandths of the width. */
static int drawing_x(const struct lab_ladder *ladder, int column)
{
	int many = ladder->host_count;
	int last = many > 2 ? LAST_OF_MANY : LAST_COLUMN;

	return many > 1 ? FIRST_COLUMN + (last - FIRST_COLUMN) * column / (many - 1) : FIRST_COLUMN;
}

/* Does the row tell of the same host at the same instant as the one before? */
static bool drawing_goes_on(const struct lab_row *before, const struct lab_row *row)
{
	return before->column >= 0 && before->column == row->column &&
	       before->time_ns == row->time_ns;
}

/* In pixels; of the row behind the last one: the height. */
static int drawing_y(const struct lab_ladder *ladder, size_t index)
{
	static const int64_t longer_ns[] = { NOPAL_MILLISECOND, 10 * NOPAL_MILLISECOND,
					     100 * NOPAL_MILLISECOND, NOPAL_SECOND };
	int y = TOP;

	for (size_t i = 1; i <= index; i++) {
		const struct lab_row *before = &ladder->rows[i - 1], *row = before + 1;

		if (i == ladder->count)
			return y + BOTTOM;
		if (row->kind == LAB_ROW_CUT || before->kind == LAB_ROW_CUT) {
			y += CUT_ROW;
			continue;
		}
		y += drawing_goes_on(before, row) ? SOON : ROW;
		/* A label stands above its arrow. */
		y += row->kind == LAB_ROW_LEAVE ? ABOVE : 0;
		for (size_t j = 0; j < sizeof(longer_ns) / sizeof(*longer_ns); j++)
			y += row->time_ns - before->time_ns >= longer_ns[j] ? LONGER : 0;
	}
	return y;
}

/* ------------------------------------------------------------------ elements */

static void drawing_line(const char *class, const char *end, int x1, int y1, int x2, int y2,
			 FILE *out)
{
	fprintf(out, "<line%s%s%s x1=\"%d.%d%%\" y1=\"%d\" x2=\"%d.%d%%\" y2=\"%d\"%s/>",
		class ? " class=\"" : "", class ? class : "", class ? "\"" : "", x1 / 10, x1 % 10,
		y1, x2 / 10, x2 % 10, y2, end);
}

/* `anchor`: which end of the text stands at x, "start", "middle" or "end"; `shift` in pixels. */
static void drawing_text(const char *class, const char *anchor, int x, int shift, int y,
			 const char *text, FILE *out)
{
	fprintf(out, "<text class=\"%s\" x=\"%d.%d%%\" dx=\"%d\" y=\"%d\" text-anchor=\"%s\">",
		class, x / 10, x % 10, shift, y, anchor);
	lab_html_text(out, text);
	fputs("</text>", out);
}

/* Beside the column of the row: inside, where it is the last of two. */
static void drawing_beside(const struct lab_ladder *ladder, const struct lab_row *row, int y,
			   const char *text, FILE *out)
{
	bool last = row->column > 0 && row->column == ladder->host_count - 1;

	drawing_text("", last ? "end" : "start", drawing_x(ladder, row->column),
		     last ? -BESIDE : BESIDE, y, text, out);
}

/* Beside the column of the row, outside: of the first host left, and of the second of two right;
 * the times of others are in one column. */
static void drawing_outside(const struct lab_ladder *ladder, const struct lab_row *row, int y,
			    const char *text, FILE *out)
{
	if (ladder->host_count == 2 && row->column == 1)
		drawing_text("time", "start", LAST_COLUMN, BESIDE, y + BASE, text, out);
	else
		drawing_text("time", "end", FIRST_COLUMN, -BESIDE, y + BASE, text, out);
}

/* -------------------------------------------------------------------- arrows */

/* The shapes of arrows, their classes in the style, and their words in the key. */
enum shape { WHOLE, LOST, CORRUPT, TWICE, SHAPES };
static const struct {
	const char *class, *words;
} shapes[SHAPES] = {
	[WHOLE] = { "whole", "arrives" },
	[LOST] = { "lost", "is lost" },
	[CORRUPT] = { "corrupt", "arrives with other bytes" },
	[TWICE] = { "twice", "arrives more than once" },
};

static enum shape drawing_shape(const struct lab_row *row)
{
	return row->lost ? LOST : row->corrupt ? CORRUPT : row->copies > 1 ? TWICE : WHOLE;
}

static void drawing_arrow(enum shape shape, int x1, int y1, int x2, int y2, FILE *out)
{
	if (shape == TWICE)
		drawing_line(NULL, "", x1, y1 - DOUBLE, x2, y2 - DOUBLE, out);
	drawing_line(NULL,
		     shape == LOST	? ""
		     : shape == CORRUPT ? " marker-end=\"url(#head-corrupt)\""
					: " marker-end=\"url(#head)\"",
		     x1, y1, x2, y2, out);
	if (shape == LOST)
		fprintf(out,
			"<svg x=\"%d.%d%%\" y=\"%d\" overflow=\"visible\">"
			"<path d=\"M-6-6L6 6M-6 6L6-6\"/></svg>",
			x2 / 10, x2 % 10, y2);
}

/* The row in which the other end of the datagram stands; `count`: it is not here. */
static size_t drawing_other(const struct lab_ladder *ladder, size_t index)
{
	const struct lab_row *row = &ladder->rows[index];
	size_t i = 0;

	while (i < ladder->count &&
	       (i == index || ladder->rows[i].kind == LAB_ROW_CUT ||
		ladder->rows[i].kind + row->kind != LAB_ROW_LEAVE + LAB_ROW_ARRIVE ||
		ladder->rows[i].datagram != row->datagram))
		i++;
	return i;
}

static void drawing_datagram(const struct lab_ladder *ladder, size_t index, int y, FILE *out)
{
	const struct lab_row *row = &ladder->rows[index];
	const bool leaves = row->kind == LAB_ROW_LEAVE;
	size_t other = drawing_other(ladder, index);
	int x = drawing_x(ladder, row->column);
	int far = row->peer >= 0 ? drawing_x(ladder, row->peer) : x + STUB;

	if (leaves && other < ladder->count) {
		drawing_arrow(drawing_shape(row), x, y, far, drawing_y(ladder, other), out);
	} else if (leaves) {
		drawing_arrow(drawing_shape(row), x, y,
			      row->lost ? (x + far) / 2
			      : far < x ? x - STUB
					: x + STUB,
			      y + LOST_DOWN, out);
	} else if (other == ladder->count) {
		drawing_arrow(drawing_shape(row), far < x ? x - STUB : x + STUB, y - LOST_DOWN, x,
			      y, out);
	}
	if (leaves)
		drawing_beside(ladder, row, y - ABOVE, row->label, out);
	else if (row->corrupt)
		drawing_outside(ladder, row, y + BELOW, "corrupted", out);
	else if (row->copies > 1)
		drawing_outside(ladder, row, y + BELOW, "copies", out);
	if (leaves && row->lost)
		drawing_text("", "middle", (x + far) / 2, far < x ? -24 : 24, y + LOST_DOWN + BASE,
			     "lost", out);
}

/* ---------------------------------------------------------------------- rows */

static void drawing_row(const struct lab_ladder *ladder, size_t index, FILE *out)
{
	const struct lab_row *row = &ladder->rows[index];
	int y = drawing_y(ladder, index);
	char text[LAB_ROW_LABEL], time[LAB_HTML_TIME];

	switch (row->kind) {
	case LAB_ROW_LEAVE:
	case LAB_ROW_ARRIVE:
		fprintf(out, "<g class=\"%s\">", shapes[drawing_shape(row)].class);
		drawing_datagram(ladder, index, y, out);
		break;
	case LAB_ROW_SEND:
	case LAB_ROW_DELIVER:
		fprintf(out, "<g class=\"local\"><circle cx=\"%d.%d%%\" cy=\"%d\" r=\"4\"/>",
			drawing_x(ladder, row->column) / 10, drawing_x(ladder, row->column) % 10,
			y);
		drawing_beside(ladder, row, y + BASE, row->label, out);
		break;
	case LAB_ROW_CUT:
		fputs("<g class=\"cut\">", out);
		snprintf(text, sizeof(text), "%zu row%s left out", row->left_out,
			 row->left_out == 1 ? " is" : "s are");
		drawing_text("soft", "middle", FULL / 2, 0, y + BASE, text, out);
		fputs("</g>\n", out);
		return;
	case LAB_ROW_FAIL:
		fputs("<g class=\"fails\"><title>", out);
		lab_html_text(out, row->text);
		fputs("</title>", out);
		drawing_line(NULL, "", 0, y, FULL, y, out);
		snprintf(text, sizeof(text), "%s s: here it fails",
			 lab_html_time(row->time_ns, DECIMALS, time));
		drawing_text("", "middle", FULL / 2, 0, y - ABOVE, text, out);
		fputs("</g>\n", out);
		return;
	}
	if (index == 0 || !drawing_goes_on(row - 1, row))
		drawing_outside(ladder, row, y, lab_html_time(row->time_ns, DECIMALS, time), out);
	fputs("</g>\n", out);
}

static void drawing_columns(const struct lab_ladder *ladder, int height, FILE *out)
{
	char brief[LAB_ROW_LABEL];
	const char *name;

	for (int column = 0; column < ladder->host_count; column++) {
		int x = drawing_x(ladder, column), from = HOST_Y + BESIDE;

		for (size_t i = 0; i < ladder->count; i++) {
			int y = drawing_y(ladder, i);

			if (ladder->rows[i].kind != LAB_ROW_CUT)
				continue;
			drawing_line("life", "", x, from, x, y - BESIDE, out);
			from = y + BESIDE;
		}
		drawing_line("life", "", x, from, x, height - BASE, out);
		name = ladder->names[ladder->hosts[column]];
		/* Names of two stand at the edges, where long ones have room; of more, what stands
		 * before a comma. */
		if (ladder->host_count == 2) {
			drawing_text("host", column ? "end" : "start", column ? FULL : 0, 0, HOST_Y,
				     name, out);
		} else {
			snprintf(brief, sizeof(brief), "%.*s", (int)strcspn(name, ","), name);
			drawing_text("host", "middle", x, 0, HOST_Y, brief, out);
		}
		fputc('\n', out);
	}
}

/* The shapes that the drawing has, in words. */
static void drawing_key(const struct lab_ladder *ladder, FILE *out)
{
	fputs("<ul class=\"key\">\n", out);
	for (enum shape shape = WHOLE; shape < SHAPES; shape++) {
		size_t i = 0;

		while (i < ladder->count && (ladder->rows[i].kind != LAB_ROW_LEAVE ||
					     drawing_shape(&ladder->rows[i]) != shape))
			i++;
		if (i == ladder->count)
			continue;
		fprintf(out,
			"<li><svg class=\"ladder\" height=\"16\" aria-hidden=\"true\">"
			"<g class=\"%s\">",
			shapes[shape].class);
		drawing_arrow(shape, 0, KEY_MIDDLE, shape == LOST ? LAST_COLUMN : FULL, KEY_MIDDLE,
			      out);
		fprintf(out, "</g></svg>%s</li>\n", shapes[shape].words);
	}
	fputs("<li>times in seconds</li>\n", out);
	if (ladder->hosts_left_out)
		fprintf(out, "<li>%d host%s not shown</li>\n", ladder->hosts_left_out,
			ladder->hosts_left_out == 1 ? " is" : "s are");
	fputs("</ul>\n", out);
}

static void drawing_marker(const char *id, const char *class, FILE *out)
{
	fprintf(out,
		"<marker id=\"%s\" viewBox=\"0 0 10 10\" refX=\"10\" refY=\"5\" markerWidth=\"9\" "
		"markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><g class=\"%s\">"
		"<path class=\"head\" d=\"M0 0L10 5L0 10z\"/></g></marker>",
		id, class);
}

void lab_drawing_print(const struct lab_ladder *ladder, FILE *out)
{
	int height = drawing_y(ladder, ladder->count);

	fprintf(out,
		"<svg class=\"ladder\" height=\"%d\" role=\"img\" aria-label=\"Datagrams between the "
		"hosts; the same stands below as text\">\n"
		"<defs>",
		height);
	drawing_marker("head", shapes[WHOLE].class, out);
	drawing_marker("head-corrupt", shapes[CORRUPT].class, out);
	fputs("</defs>\n", out);
	drawing_columns(ladder, height, out);
	for (size_t i = 0; i < ladder->count; i++)
		drawing_row(ladder, i, out);
	fputs("</svg>\n", out);
	drawing_key(ladder, out);
}
