/* SPDX-License-Identifier: MIT */
/*
 * lab_12_compose.c -- the rubric of lab 12: three configs for three places.
 *
 * A config is text that others wrote: it is read here only where it names no code and no path, and
 * hosts read it behind their walls.
 */
#include <stdlib.h>
#include <string.h>

#include "frame/tool.h"
#include "lab/arena.h"
#include "labs/labs.h"
#include "labs/wire.h"

enum {
	COMPOSE_HEADERS = 28, /* of IP and UDP */
	SATELLITE_MESSAGE = 64000,
	SATELLITE_MESSAGES = 64,
	WIFI_STREAMS = 5,
	WIFI_MESSAGES = 500,
	LAN_MEMBERS = 4,
	LAN_MESSAGES = 600,
	LAN_WARM = 300, /* of these, while round trips are learnt */
};
static const char compose_satellite[] = "satellite.conf";
static const char compose_wifi[] = "wifi.conf";
static const char compose_lan[] = "lan_group.conf";

/* ----------------------------------------------------------------------- soundness */

/* Comments begin with # here.  Code, paths and variables are another lab's. */
static const char *compose_forbidden(char *text)
{
	static const char *const words[] = { "plugin", "/", "$", "\\", NULL };

	for (char *comment = text; (comment = strchr(comment, '#'));)
		while (*comment && *comment != '\n')
			*comment++ = ' ';
	for (const char *const *word = words; *word; word++)
		if (strstr(text, *word))
			return *word;
	return NULL;
}

static void compose_check(struct lab_trial *trial, const char *file)
{
	char *path = tool_printed("%s/%s", trial->arena->bench->folder[LAB_STUDENT], file);
	char *text = lab_read_file(path, LAB_FILE_MAX);
	struct nopal_problems problems = { 0 };
	const char *forbidden = text ? compose_forbidden(text) : NULL;
	struct nopal_plan *plan = NULL;

	if (!text)
		lab_fail(trial, 0, "there is no %s", file);
	else if (forbidden)
		lab_fail(trial, 0,
			 "%s says `%s`: configs of this lab have no plugin, path or variable", file,
			 forbidden);
	else
		plan = nopal_plan_parse(text, "/compose.conf", NULL, &problems);
	if (problems.count)
		lab_fail(trial, 0, "%s, line %d: %s", file, problems.entries[0].line,
			 problems.entries[0].cause);
	nopal_plan_unref(plan);
	nopal_problems_fini(&problems);
	free(text);
	free(path);
}

static void compose_sound(struct lab_trial *trial)
{
	compose_check(trial, compose_satellite);
	compose_check(trial, compose_wifi);
	compose_check(trial, compose_lan);
}

/* ------------------------------------------------------------------------- figures */

/* Bytes on all links beyond those of messages, of these, in percent. */
static double compose_overhead(const struct lab_trial *trial, uint64_t payload)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < trial->datagram_count; i++)
		bytes += trial->datagrams[i].length + COMPOSE_HEADERS;
	return 100 * ((double)bytes / (double)payload - 1);
}

static void compose_overhead_at_most(struct lab_trial *trial, uint64_t payload, double most)
{
	double overhead = compose_overhead(trial, payload);

	if (overhead > most)
		lab_fail(trial, trial->now_ns,
			 "datagrams of both sides have %.2f %% more bytes than messages; at most "
			 "%.1f %% are to be",
			 overhead, most);
}

static int compose_compare(const void *a, const void *b)
{
	double one = *(const double *)a, two = *(const double *)b;

	return (one > two) - (one < two);
}

/* ----------------------------------------------------------------------- satellite */

static void compose_satellite_run(struct lab_trial *trial)
{
	int from = lab_host(trial, LAB_STUDENT, compose_satellite);
	int to = lab_host(trial, LAB_STUDENT, compose_satellite);

	lab_link(trial, from, to, "rate 8mbit delay 300ms loss 1% limit 1000");
	lab_open(trial, from, to, 0);
	for (int i = 0; i < SATELLITE_MESSAGES; i++)
		lab_send(trial, from, 0, 0, SATELLITE_MESSAGE, NULL);
	lab_run(trial, 30 * NOPAL_SECOND);
	lab_check(trial, LAB_ALL | LAB_ONCE | LAB_ORDERED | LAB_INTACT);
}

static void compose_satellite_goodput(struct lab_trial *trial)
{
	int64_t last_ns = 0;
	double mbit;

	compose_satellite_run(trial);
	for (size_t i = 0; i < trial->delivery_count; i++)
		if (trial->deliveries[i].time_ns > last_ns)
			last_ns = trial->deliveries[i].time_ns;
	mbit = last_ns ? SATELLITE_MESSAGE * 8.0 * SATELLITE_MESSAGES / 1e6 / wire_seconds(last_ns)
		       : 0;
	if (mbit < 4)
		lab_fail(trial, last_ns, "4 MB take %.2f s: %.2f Mbit/s, and 4 are wanted",
			 wire_seconds(last_ns), mbit);
}

static void compose_satellite_overhead(struct lab_trial *trial)
{
	compose_satellite_run(trial);
	compose_overhead_at_most(trial, (uint64_t)SATELLITE_MESSAGE * SATELLITE_MESSAGES, 6);
}

/* ---------------------------------------------------------------------- bursty Wi-Fi */

static void compose_wifi_run(struct lab_trial *trial)
{
	for (int i = 0; i < WIFI_STREAMS; i++) {
		int from = lab_host(trial, LAB_STUDENT, compose_wifi);
		int to = lab_host(trial, LAB_STUDENT, compose_wifi);

		lab_link(trial, from, to, "rate 20mbit delay 8ms 2ms loss gemodel 3% 40%");
		lab_open(trial, from, to, 0);
		for (int j = 0; j < WIFI_MESSAGES; j++)
			lab_send(trial, from, 0, NOPAL_SECOND + j * 10 * NOPAL_MILLISECOND, 800,
				 NULL);
	}
	lab_run(trial, 10 * NOPAL_SECOND);
	lab_check(trial, LAB_ONCE | LAB_INTACT);
}

/* Messages of a host, from number `first` on, that did not come to `receivers` hosts within this
 * time, in percent. */
static double compose_late(const struct lab_trial *trial, int from, size_t first, int64_t limit_ns,
			   unsigned receivers)
{
	unsigned *in_time = tool_need(calloc(trial->message_count, sizeof(*in_time)));
	unsigned late = 0, count = 0;

	for (size_t i = 0; i < trial->delivery_count; i++) {
		const struct lab_delivery *delivery = &trial->deliveries[i];

		if (delivery->message &&
		    delivery->time_ns - trial->messages[delivery->message - 1].sent_ns <= limit_ns)
			in_time[delivery->message - 1]++;
	}
	for (size_t i = first - 1; i < trial->message_count; i++) {
		count += trial->messages[i].host == from;
		late += trial->messages[i].host == from && in_time[i] < receivers;
	}
	free(in_time);
	return count ? 100.0 * late / count : 0;
}

/* The median of the streams. */
static void compose_wifi_late(struct lab_trial *trial)
{
	double late[WIFI_STREAMS];

	compose_wifi_run(trial);
	for (int i = 0; i < WIFI_STREAMS; i++)
		late[i] = compose_late(trial, 2 * i, 1, 50 * NOPAL_MILLISECOND, 1);
	qsort(late, WIFI_STREAMS, sizeof(*late), compose_compare);
	if (late[WIFI_STREAMS / 2] > 2.5)
		lab_fail(
			trial, trial->now_ns,
			"%.1f %% of the messages do not come within 50 ms, and at most 2.5 %% may not",
			late[WIFI_STREAMS / 2]);
}

static void compose_wifi_overhead(struct lab_trial *trial)
{
	compose_wifi_run(trial);
	compose_overhead_at_most(trial, (uint64_t)WIFI_STREAMS * WIFI_MESSAGES * 800, 30);
}

/* ----------------------------------------------------------------------- a LAN group */

static void compose_lan_run(struct lab_trial *trial)
{
	int from = lab_host(trial, LAB_STUDENT, compose_lan);

	for (int i = 0; i < LAN_MEMBERS; i++) {
		int member = lab_host(trial, LAB_STUDENT, compose_lan);

		lab_link(trial, from, member, "rate 100mbit delay 500us loss 2%");
		if (i == 0)
			lab_open(trial, from, member, 0);
		else
			lab_destination(trial, from, 0, member, 0);
	}
	for (int i = 0; i < LAN_MESSAGES; i++)
		lab_send(trial, from, 0, 5 * NOPAL_SECOND + i * 5 * NOPAL_MILLISECOND, 1000, NULL);
	lab_run(trial, 12 * NOPAL_SECOND);
	lab_check(trial, LAB_ONCE | LAB_ORDERED | LAB_INTACT);
}

static void compose_lan_late(struct lab_trial *trial)
{
	double late;

	compose_lan_run(trial);
	late = compose_late(trial, 0, LAN_WARM + 1, 5 * NOPAL_MILLISECOND, LAN_MEMBERS);
	if (late > 3)
		lab_fail(
			trial, trial->now_ns,
			"%.1f %% of the messages do not come to all %d members within 5 ms, and at "
			"most 3 %% may not",
			late, LAN_MEMBERS);
}

static void compose_lan_overhead(struct lab_trial *trial)
{
	compose_lan_run(trial);
	compose_overhead_at_most(trial, (uint64_t)LAN_MEMBERS * LAN_MESSAGES * 1000, 20);
}

/* --------------------------------------------------------------------------- rubric */

static const char *const compose_files[] = { compose_satellite, compose_wifi, compose_lan, NULL };

static const struct lab_item compose_items[] = {
	{ .name = "three configs, good and without a warning",
	  .points = 10,
	  .seeds = 1,
	  .run = compose_sound,
	  .section = "The rules",
	  .hint = "`nopal check CONF` says what is wrong, and how to mend it" },
	{ .name = "satellite: 4 Mbit/s",
	  .points = 15,
	  .hidden = true,
	  .seeds = 2,
	  .run = compose_satellite_goodput,
	  .section = "The places",
	  .hint = "a loss is no sign of congestion there: which policies know that?" },
	{ .name = "satellite: 6 % of overhead",
	  .points = 15,
	  .hidden = true,
	  .seeds = 2,
	  .run = compose_satellite_overhead,
	  .section = "The places",
	  .hint = "acks are datagrams, and what is sent twice for safety counts twice" },
	{ .name = "Wi-Fi: 2.5 % late",
	  .points = 15,
	  .hidden = true,
	  .seeds = 2,
	  .run = compose_wifi_late,
	  .section = "The places",
	  .hint = "who waits for whom behind a loss, and how soon is it known?" },
	{ .name = "Wi-Fi: 30 % of overhead",
	  .points = 15,
	  .hidden = true,
	  .seeds = 2,
	  .run = compose_wifi_overhead,
	  .section = "The places",
	  .hint = "count an ack for each message, and each copy" },
	{ .name = "LAN: 3 % late at one of four",
	  .points = 15,
	  .hidden = true,
	  .seeds = 2,
	  .run = compose_lan_late,
	  .section = "The places",
	  .hint = "a round trip takes 1 ms there; how long does the timer wait?" },
	{ .name = "LAN: 20 % of overhead",
	  .points = 15,
	  .hidden = true,
	  .seeds = 2,
	  .run = compose_lan_overhead,
	  .section = "The places",
	  .hint = "count the acks of four members" },
	{ 0 },
};

const struct lab lab_12_compose = {
	.number = 12,
	.name = "compose",
	.title = "compose for a place: satellite, Wi-Fi, a group",
	.files = compose_files,
	.items = compose_items,
};
