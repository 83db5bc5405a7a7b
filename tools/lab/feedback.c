/* SPDX-License-Identifier: MIT */
/* feedback.c -- a failed trial, told so that a student learns from it. */
#include "lab/feedback.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frame/tool.h"
#include "lab/page.h"

enum {
	FEEDBACK_STEPS = 16, /* told of one message */
	FEEDBACK_LADDER = 24,
	FEEDBACK_HOLDERS = 6, /* lines */
	FEEDBACK_COPY = 1 << 16,
};

/* ------------------------------------------------------------------------- steps */

static const char *feedback_reason(const struct lab_trial *trial)
{
	for (size_t i = 0; i < trial->step_count; i++)
		if (trial->steps[i].failed)
			return trial->steps[i].text;
	return "";
}

/* "message 7 is ..." is about message 7; 0: it names none. */
static uint32_t feedback_message(const struct lab_trial *trial)
{
	static const char word[] = "essage ";
	const char *at = strstr(feedback_reason(trial), word);
	unsigned long number = at ? strtoul(at + strlen(word), NULL, 10) : 0;

	return number <= trial->message_count ? (uint32_t)number : 0;
}

static void feedback_datagram(struct lab_trial *trial, const struct lab_datagram *datagram)
{
	char carried[64] = "";

	if (datagram->message)
		snprintf(carried, sizeof(carried), " with message %u%s", datagram->message,
			 datagram->again ? " again" : "");
	lab_say(trial, datagram->time_ns, "host %d sends a datagram of %u bytes%s", datagram->from,
		datagram->length, carried);
	if (datagram->arrived_ns < 0)
		lab_say(trial, datagram->time_ns, "the network loses it");
	else
		lab_say(trial, datagram->arrived_ns, "it arrives at host %d%s%s", datagram->to,
			datagram->copies > 1 ? ", more than once" : "",
			datagram->corrupt ? ", with a bit that has flipped" : "");
}

/* Of the whole trial what the network did to it, where no message is in question. */
void feedback_steps(struct lab_trial *trial)
{
	uint32_t number = feedback_message(trial);
	const struct lab_message *message = number ? &trial->messages[number - 1] : NULL;
	int told = 0;

	if (message && message->sent_ns >= 0)
		lab_say(trial, message->sent_ns,
			"the application of host %d sends message %u, %u bytes", message->host,
			number, message->length);
	for (size_t i = 0; i < trial->datagram_count && told < FEEDBACK_STEPS; i++) {
		const struct lab_datagram datagram = trial->datagrams[i];

		if (message ? datagram.message == number
			    : datagram.copies != 1 || datagram.corrupt) {
			feedback_datagram(trial, &datagram);
			told++;
		}
	}
	for (size_t i = 0; number && i < trial->delivery_count; i++)
		if (trial->deliveries[i].message == number)
			lab_say(trial, trial->deliveries[i].time_ns, "host %d delivers message %u",
				trial->deliveries[i].host, number);
}

/* ------------------------------------------------------------------------- output */

/* "host 0, yours"; the caller frees all. */
static void feedback_names(const struct lab_trial *trial, char *ret_names[LAB_HOSTS])
{
	for (int host = 0; host < trial->host_count; host++)
		ret_names[host] = tool_printed(
			"host %d, %s", host,
			lab_host_code(trial, host) == LAB_STUDENT ? "yours" : "the reference");
}

static void feedback_free(const struct lab_trial *trial, char *names[LAB_HOSTS])
{
	for (int host = 0; host < trial->host_count; host++)
		free(names[host]);
}

static void feedback_lines(const char *text, int most, FILE *out)
{
	for (; *text && most; most--) {
		int length = (int)strcspn(text, "\n");

		fprintf(out, "    %.*s\n", length, text);
		text += length + (text[length] == '\n');
	}
	if (*text)
		fputs("    ...\n", out);
}

void feedback_print(const struct lab *lab, const struct grade_result *result, FILE *out)
{
	const struct lab_trial *trial = result->trial;
	char *names[LAB_HOSTS];
	struct lab_ladder ladder;

	(void)lab;
	if (!trial)
		return;
	fputs("\n  step by step\n", out);
	for (size_t i = 0; i < trial->step_count; i++)
		fprintf(out, "    %12.6f s  %s%s\n",
			(double)trial->steps[i].time_ns / (double)NOPAL_SECOND,
			trial->steps[i].failed ? "FAILS: " : "", trial->steps[i].text);
	feedback_names(trial, names);
	lab_ladder_make(trial, (const char *const *)names, FEEDBACK_LADDER, &ladder);
	if (ladder.count) {
		fputs("\n", out);
		lab_ladder_print(&ladder, out);
	}
	lab_ladder_fini(&ladder);
	feedback_free(trial, names);
	if (result->holders && *result->holders) {
		fputs("\n  who holds what at the end\n", out);
		feedback_lines(result->holders, FEEDBACK_HOLDERS, out);
	}
}

bool feedback_copy(int from, FILE *out)
{
	char *bytes = tool_need(malloc(FEEDBACK_COPY));
	ssize_t got;
	off_t at = 0;
	bool good = true;

	while (good && (got = pread(from, bytes, FEEDBACK_COPY, at)) > 0) {
		good = fwrite(bytes, 1, (size_t)got, out) == (size_t)got;
		at += got;
	}
	free(bytes);
	return good;
}

/* Writes the page or the trace, in place of what was there; a problem is printed. */
static bool feedback_file(const char *path, const struct lab_page *page, int trace_fd)
{
	FILE *out = unlink(path) == 0 || errno == ENOENT ? fopen(path, "wx") : NULL;
	bool good = out != NULL;

	if (good && page)
		lab_page_print(page, out);
	else if (good)
		good = feedback_copy(trace_fd, out);
	if (out && fclose(out))
		good = false;
	if (!good)
		fprintf(stderr, "nopal: cannot write %s: %s\n  fix: make room there\n", path,
			strerror(errno));
	return good;
}

bool feedback_write(const struct lab *lab, const struct grade_result *result, const char *folder)
{
	const struct lab_trial *trial = result->trial;
	char *names[LAB_HOSTS], *path = tool_printed("%s/feedback.html", folder);
	struct lab_page page = { .trial = trial,
				 .names = (const char *const *)names,
				 .holders = result->holders,
				 .hint = result->item->hint,
				 .section = result->item->section,
				 .link = "README.md" };
	char *title = tool_printed("Lab %d: %s", lab->number, lab->title);
	char *about =
		tool_printed("%s; seed %llu", result->item->name, (unsigned long long)result->seed);
	bool good;

	page.lab = title;
	page.about = about;
	feedback_names(trial, names);
	good = feedback_file(path, &page, -1);
	free(path);
	for (int host = 0; host < trial->host_count && good; host++) {
		if (lab_host_code(trial, host) != LAB_STUDENT || lab_host_trace(trial, host) < 0)
			continue;
		path = tool_printed("%s/host-%d.trace", folder, host);
		good = feedback_file(path, NULL, lab_host_trace(trial, host));
		free(path);
	}
	feedback_free(trial, names);
	free(title);
	free(about);
	return good;
}
