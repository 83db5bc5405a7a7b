/* SPDX-License-Identifier: MIT */
/*
 * progress.h -- how a transfer fares: for people on a terminal, for programs as JSON.  Talk goes to
 * stderr, results to stdout.
 */
#ifndef NOPAL_PROGRESS_H
#define NOPAL_PROGRESS_H

#include <pthread.h>
#include <jansson.h>

#include <nopal/nopal.h>
#include "frame/tool.h"

enum { PROGRESS_RATE_ROOM = 32 };

#define PROGRESS_JSON_OPTIONS                                                                      \
	{ "json", 0, NULL, "print one JSON object a file" },                                       \
	{                                                                                          \
		"jsonl", 0, NULL, "print one a second, too"                                        \
	}

/* Functions of several threads may share a struct progress. */
struct progress {
	pthread_mutex_t lock;
	const char *role; /* in JSON: "send", "recv", "fetch" */
	bool terminal;	  /* stderr is a terminal */
	bool json, jsonl;
	bool line_open;	  /* a line without its end stands on the terminal */
	int64_t shown_ns; /* when, and at how many bytes */
	uint64_t shown_bytes;
	double rate_bps; /* smoothed, for people */
};

/* One file of a transfer. */
struct progress_file {
	const char *name, *plan, *transport;
	const char *peer; /* whom it comes from; NULL: it leaves */
	uint64_t bytes, total_bytes, resumed_bytes;
	int64_t started_ns;
	uint64_t hash;
	const char *error; /* NULL: well */
	bool share;	   /* all that was for us, and others have the rest */
	json_t *judged;	   /* what became of promises; given away; NULL: nothing */
};

/* The role is the tool's name; options "json" and "jsonl" are the call's, where its tool has them. */
void progress_init(struct progress *progress, const struct tool_call *call);
/* Shows how far it is, a few times a second at most. */
void progress_show(struct progress *progress, const struct progress_file *file, int64_t now_ns);
/* The line alone, now: among others that its caller draws. */
void progress_draw(struct progress *progress, const struct progress_file *file, int64_t now_ns);
/* The file has ended. */
void progress_end(struct progress *progress, const struct progress_file *file, int64_t now_ns);
/* The line of a file that is here whole: `more` stands before the hash where bytes came, `behind`
 * after it. */
void progress_print_file(const struct progress_file *file, int64_t duration_ns, const char *more,
			 const char *behind);
/* A line of talk; ends the open line first. */
void progress_say(struct progress *progress, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "12.3 Gbit/s"; `text` has PROGRESS_RATE_ROOM. */
const char *progress_rate(double bps, char *text);
const char *progress_size(double bytes, char *text);

/* The object printed where JSON is asked for, to be added to: of a while, in which so many bytes
 * came, or of a file that has ended. */
json_t *progress_object(const struct progress *progress, const struct progress_file *file,
			const char *type, int64_t duration_ns, uint64_t bytes);
json_t *progress_result(const struct progress *progress, const struct progress_file *file,
			int64_t duration_ns);
/* Prints it on a line of its own, and gives it back. */
void progress_print(json_t *object);
/* A file's name may hold any bytes; JSON holds characters.  NULL is null. */
json_t *progress_string(const char *text);

#endif
