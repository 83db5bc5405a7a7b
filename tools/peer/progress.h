/* SPDX-License-Identifier: MIT */
/*
 * progress.h -- progress and results of a transfer: lines for a terminal, JSON for programs.  Lines
 * go to stderr, results to stdout.
 */
#ifndef NOPAL_PROGRESS_H
#define NOPAL_PROGRESS_H

#include <pthread.h>
#include <jansson.h>

#include <nopal/nopal.h>
#include "frame/tool.h"

enum { PROGRESS_RATE_ROOM = 32 };

/* The interval at which tools look for silent peers and sessions that stand still. */
#define PROGRESS_LOOK_NS INT64_C(1000000000)

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
	const char *peer; /* source of the file; NULL: the file leaves */
	uint64_t bytes, total_bytes, resumed_bytes;
	int64_t started_ns;
	uint64_t hash;
	const char *error; /* NULL: well */
	bool share;	   /* the file is a share, and others have the rest */
	json_t *judged;	   /* verdicts of promises, given away; NULL: none */
};

/* The role is the tool's name; options "json" and "jsonl" are the call's, where its tool has
 * them. */
void progress_init(struct progress *progress, const struct tool_call *call);
/* Shows a line, a few times a second at most. */
void progress_show(struct progress *progress, const struct progress_file *file, int64_t now_ns);
/* The line alone, now: among others that its caller draws. */
void progress_draw(struct progress *progress, const struct progress_file *file, int64_t now_ns);
/* The file has ended. */
void progress_end(struct progress *progress, const struct progress_file *file, int64_t now_ns);
/* The line of a file that is here whole: `more` stands before the hash where bytes came, `behind`
 * after it. */
void progress_print_file(const struct progress_file *file, int64_t duration_ns, const char *more,
			 const char *behind);
/* A line on stderr, after the end of an open line.  `progress` NULL: no line is open. */
void progress_say(struct progress *progress, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Reports a peer that owes an answer, once after 2 s of silence, and once when it is heard again.
 * `*said` begins false; `progress` may be NULL. */
void progress_say_silence(struct progress *progress, const struct nopal_session *session,
			  bool *said);
/* "12.3 Gbit/s"; `text` has PROGRESS_RATE_ROOM. */
const char *progress_rate(double bps, char *text);
const char *progress_size(double bytes, char *text);

/* The JSON object, which its caller may add to: of an interval, in which `bytes` came, or of a file
 * that has ended. */
json_t *progress_object(const struct progress *progress, const struct progress_file *file,
			const char *type, int64_t duration_ns, uint64_t bytes);
json_t *progress_result(const struct progress *progress, const struct progress_file *file,
			int64_t duration_ns);
/* Prints the object on a line of its own, and releases it. */
void progress_print(json_t *object);
/* A file's name may hold any bytes; JSON holds characters.  NULL is null. */
json_t *progress_string(const char *text);

#endif
