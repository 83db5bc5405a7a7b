/* SPDX-License-Identifier: MIT */
/* class_page.c -- a class as one page: points, where they were lost, and who is alike. */
#include <stdlib.h>

#include "frame/tool.h"
#include "lab/class.h"
#include "lab/html.h"

enum { PAGE_BINS = 11, PAGE_BAR_HEIGHT = 90, PAGE_BAR_WIDTH = 28, PAGE_ALL = 100 };

static const char page_style[] =
	"<style>main{max-width:70rem}"
	".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}"
	"th,td{padding:.2rem .45rem;border-bottom:1px solid var(--line);text-align:left}"
	"td.n{text-align:right}td.c{text-align:center;border-left:1px solid var(--line)}"
	"td.no{background:var(--bad-pale);color:var(--bad)}"
	"td.yes{background:var(--good-pale);color:var(--good)}"
	"tr.item td{white-space:normal}rect{fill:var(--wire)}"
	"svg text{fill:var(--soft);font-size:10px}</style>\n";

static void page_text(FILE *out, const char *open, const char *text, const char *close)
{
	fputs(open, out);
	lab_html_text(out, text);
	fputs(close, out);
}

static int page_by_points(const void *one, const void *other)
{
	return *(const int *)one - *(const int *)other;
}

static int page_median(const struct class *class)
{
	int *points = tool_need(calloc(class->count + 1, sizeof(*points))), median;

	for (size_t i = 0; i < class->count; i++)
		points[i] = class_points(&class->submissions[i]);
	qsort(points, class->count, sizeof(*points), page_by_points);
	median = class->count ? points[class->count / 2] : 0;
	free(points);
	return median;
}

/* Bars of ten points each; full marks have their own. */
static void page_histogram(const struct class *class, FILE *out)
{
	unsigned bins[PAGE_BINS] = { 0 }, most = 1;

	for (size_t i = 0; i < class->count; i++) {
		int bin = class_points(&class->submissions[i]) / (PAGE_BINS - 1);

		if (++bins[bin < PAGE_BINS ? bin : PAGE_BINS - 1] > most)
			most = bins[bin < PAGE_BINS ? bin : PAGE_BINS - 1];
	}
	fprintf(out,
		"<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" aria-label=\"how many "
		"submissions have how many points\" style=\"max-width:100%%\">\n",
		PAGE_BINS * PAGE_BAR_WIDTH, PAGE_BAR_HEIGHT + 30, PAGE_BINS * PAGE_BAR_WIDTH);
	for (int bin = 0; bin < PAGE_BINS; bin++) {
		unsigned height = bins[bin] * PAGE_BAR_HEIGHT / most;

		fprintf(out,
			"<rect x=\"%d\" y=\"%u\" width=\"%d\" height=\"%u\"/>"
			"<text x=\"%d\" y=\"%u\" text-anchor=\"middle\">%u</text>"
			"<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%d%s</text>\n",
			bin * PAGE_BAR_WIDTH + 2, PAGE_BAR_HEIGHT + 14 - height, PAGE_BAR_WIDTH - 4,
			height, bin * PAGE_BAR_WIDTH + PAGE_BAR_WIDTH / 2,
			PAGE_BAR_HEIGHT + 11 - height, bins[bin],
			bin * PAGE_BAR_WIDTH + PAGE_BAR_WIDTH / 2, PAGE_BAR_HEIGHT + 27,
			bin * (PAGE_BINS - 1), bin == PAGE_BINS - 1 ? "" : "+");
	}
	fputs("</svg>\n", out);
}

static void page_items(const struct class *class, FILE *out)
{
	fputs("<section><h2>Where points were lost</h2><div class=\"wide\"><table>\n"
	      "<tr><th>item</th><th>points</th><th>have it</th><th></th></tr>\n",
	      out);
	for (size_t item = 0; class->lab->items[item].name; item++) {
		size_t have = 0;

		for (size_t i = 0; i < class->count; i++)
			have += class_item_points(&class->submissions[i], item) > 0;
		fprintf(out, "<tr class=\"item\"><td class=\"n\">%zu</td><td class=\"n\">%d</td>",
			item + 1, class->lab->items[item].points);
		fprintf(out, "<td class=\"n\">%zu %%</td>",
			class->count ? have * PAGE_ALL / class->count : 0);
		page_text(out, "<td>", class->lab->items[item].name, "</td></tr>\n");
	}
	fputs("</table></div></section>\n", out);
}

static void page_submissions(const struct class *class, FILE *out)
{
	fputs("<section><h2>Submissions</h2><p class=\"soft\">Point at a cell to read the "
	      "reason.</p><div class=\"wide\"><table>\n<tr><th>submission</th><th>points</th>",
	      out);
	for (size_t item = 0; class->lab->items[item].name; item++)
		fprintf(out, "<th>%zu</th>", item + 1);
	fputs("</tr>\n", out);
	for (size_t i = 0; i < class->count; i++) {
		const struct class_submission *submission = &class->submissions[i];

		page_text(out, "<tr><td>", submission->folder, "</td>");
		fprintf(out, "<td class=\"n\">%d</td>", class_points(submission));
		for (size_t item = 0; class->lab->items[item].name; item++) {
			bool has = class_item_points(submission, item) > 0;

			fprintf(out, "<td class=\"c %s\"", has ? "yes" : "no");
			page_text(out, " title=\"", class_item_reason(submission, item), "\">");
			fputs(has ? "&#10003;</td>" : "&#10007;</td>", out);
		}
		fputs("</tr>\n", out);
	}
	fputs("</table></div></section>\n", out);
}

static void page_alike(const struct class *class, FILE *out)
{
	size_t count;
	struct class_pair *pairs = class_pairs(class, &count);

	fputs("<section><h2>Alike</h2><p class=\"soft\">The share of fingerprints that two sources "
	      "have in common, beside the skeleton's. It is a reason to read both, and no "
	      "proof.</p>\n",
	      out);
	if (!count)
		fprintf(out, "<p>No two have more than %.0f %% in common.</p>\n",
			PAGE_ALL * CLASS_ALIKE);
	fputs("<table>\n", out);
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "<tr><td class=\"n\">%.0f %%</td>", PAGE_ALL * pairs[i].share);
		page_text(out, "<td>", class->submissions[pairs[i].one].folder, "</td>");
		page_text(out, "<td>", class->submissions[pairs[i].other].folder, "</td></tr>\n");
	}
	fputs("</table></section>\n", out);
	free(pairs);
}

void class_page(const struct class *class, FILE *out)
{
	char *title = tool_printed("Lab %d: %s", class->lab->number, class->lab->title);

	lab_html_open(out, title);
	fputs(page_style, out);
	page_text(out, "<header><p class=\"over\">", title, "</p>\n");
	fprintf(out, "<h1>%zu submissions, median %d points</h1></header>\n", class->count,
		page_median(class));
	fputs("<section><h2>Points</h2>\n", out);
	page_histogram(class, out);
	fputs("</section>\n", out);
	page_items(class, out);
	page_submissions(class, out);
	page_alike(class, out);
	lab_html_close(out);
	free(title);
}
