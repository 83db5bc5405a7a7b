/* SPDX-License-Identifier: MIT */
/*
 * page.c -- a trial as a page: see page.h.
 */
#include "lab/page.h"

#include <stdlib.h>
#include <string.h>

#include "frame/tool.h"
#include "lab/html.h"

static void page_element(FILE *out, const char *open, const char *text, const char *close)
{
	fputs(open, out);
	lab_html_text(out, text);
	fputs(close, out);
}

static void page_heading(const struct lab_page *page, FILE *out)
{
	const struct lab_step *failure = NULL;
	char time[LAB_HTML_TIME];

	for (size_t i = 0; i < page->trial->step_count && !failure; i++)
		if (page->trial->steps[i].failed)
			failure = &page->trial->steps[i];
	page_element(out, "<header>\n<p class=\"over\">", page->lab, "</p>\n");
	page_element(out, "<h1>", page->trial->name, "</h1>\n");
	if (failure) {
		fprintf(out, "<p><span class=\"verdict bad\">&#10007; fails at %s s</span></p>\n",
			lab_html_time(failure->time_ns, LAB_HTML_EXACT, time));
		page_element(out, "<p class=\"reason\">", failure->text, "</p>\n");
	} else {
		fputs("<p><span class=\"verdict good\">&#10003; passes</span></p>\n", out);
	}
	if (page->about)
		page_element(out, "<p class=\"soft\">", page->about, "</p>\n");
	fputs("</header>\n", out);
}

static void page_steps(const struct lab_trial *trial, FILE *out)
{
	char time[LAB_HTML_TIME];

	if (!trial->step_count)
		return;
	fputs("<section>\n<h2>Step by step</h2>\n<ol class=\"steps\">\n", out);
	for (size_t i = 0; i < trial->step_count; i++) {
		const struct lab_step *step = &trial->steps[i];

		fprintf(out, "<li%s><time>%s s</time><p>", step->failed ? " class=\"bad\"" : "",
			lab_html_time(step->time_ns, LAB_HTML_EXACT, time));
		page_element(out, "", step->text, "</p></li>\n");
	}
	fputs("</ol>\n</section>\n", out);
}

static void page_ladder(const struct lab_page *page, FILE *out)
{
	struct lab_ladder ladder;
	char *text = NULL;
	size_t length;
	FILE *memory;

	lab_ladder_make(page->trial, page->names, page->most_rows, &ladder);
	if (ladder.count) {
		memory = tool_need(open_memstream(&text, &length));
		lab_ladder_print(&ladder, memory);
		fclose(memory);
		tool_need(text);
		fputs("<section>\n<h2>The ladder</h2>\n", out);
		lab_drawing_print(&ladder, out);
		page_element(out, "<details><summary>The same as text</summary>\n<pre>", text,
			     "</pre></details>\n</section>\n");
		free(text);
	}
	lab_ladder_fini(&ladder);
}

static void page_holders(const char *holders, FILE *out)
{
	if (holders && *holders)
		page_element(out,
			     "<section>\n<h2>Who holds what at the end</h2>\n"
			     "<pre class=\"holders\">",
			     holders, "</pre>\n</section>\n");
}

static void page_questions(const struct lab_page *page, FILE *out)
{
	if (!page->asked_count)
		return;
	fputs("<section>\n<h2>Questions</h2>\n<ol>\n", out);
	for (int i = 0; i < page->asked_count; i++)
		page_element(out, "<li>", page->asked[i].text, "</li>\n");
	fputs("</ol>\n</section>\n", out);
}

static void page_hint(const struct lab_page *page, FILE *out)
{
	if (!page->hint)
		return;
	page_element(out, "<section class=\"hint\">\n<h2>A hint</h2>\n<p>", page->hint, "</p>\n");
	if (page->section) {
		fputs("<p class=\"soft\">Read in the hand-out: ", out);
		if (page->link)
			page_element(out, "<a href=\"", page->link, "\">");
		page_element(out, "", page->section, page->link ? "</a></p>\n" : "</p>\n");
	}
	fputs("</section>\n", out);
}

void lab_page_print(const struct lab_page *page, FILE *out)
{
	lab_html_open(out, page->trial->name);
	page_heading(page, out);
	page_questions(page, out);
	page_steps(page->trial, out);
	page_ladder(page, out);
	page_holders(page->holders, out);
	page_hint(page, out);
	lab_html_close(out);
}
