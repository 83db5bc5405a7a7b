/* SPDX-License-Identifier: MIT */
/*
 * sim.h -- what the files of `nopal sim` share.
 *
 *   sim.c          options, the network, the run
 *   sim_traffic.c  messages: sent, received, verified
 *   sim_report.c   results for people and for programs
 */
#ifndef NOPAL_TOOL_SIM_H
#define NOPAL_TOOL_SIM_H

#include "nopal.h"

enum sim_topology { SIM_DIRECT, SIM_DUMBBELL, SIM_STAR };

struct sim_options {
	const char *config, *link_text, *trace;
	struct nopal_link forward, reverse;
	enum sim_topology topology;
	int flows;
	uint64_t seed;
	uint64_t bytes; /* of all messages of a flow */
	uint64_t messages;
	uint64_t size;	     /* of each but the last */
	int64_t interval_ns; /* between messages; 0: as fast as they go */
	int64_t deadline_ns; /* later deliveries are late; 0: none are */
	int64_t duration_ns;
	bool duration_given;
	int64_t every_ns; /* between objects of --jsonl */
	enum nopal_trace_detail detail;
	bool json, jsonl, holds;
};

/* What one session did. */
struct sim_end {
	struct nopal_session *session; /* NULL: not open, or ended */
	bool existed, ended;
	int how;    /* ended: enum nopal_end */
	char *text; /* ended: why */
	struct nopal_counters counters;
};

/* One session from end to end. */
struct sim_flow {
	struct sim_run *run;
	struct sim_end sender, receiver;
	unsigned index;
	uint64_t next; /* message to send */
	bool call_set; /* a call at the time of `next` is on its way */
	bool pumping, closed;
	int64_t start_ns; /* when it opened; -1: not yet */
	uint8_t *seen;	  /* bit i: message i was delivered */
	int64_t *sent_ns; /* when message i was sent */
	uint64_t beyond;  /* one past the highest message delivered */
	uint64_t bytes_sent;
	uint64_t delivered_messages, delivered_bytes;
	uint64_t duplicates, out_of_order, late, wrong_messages, wrong_bytes;
	int64_t last_delivery_ns;
};

struct sim_run {
	struct sim_options options;
	struct nopal_plan *plan;
	struct nopal_world *world;
	struct sim_flow *flows;
	uint8_t *pattern, *scratch;
	int64_t *delays; /* of every message delivered */
	size_t delay_count, delay_room;
	int64_t first_send_ns; /* -1: nothing was sent */
	int64_t last_ns;       /* when a session last did something */
	int senders_left, receivers_left; /* sessions that have not ended */
	bool connectionless;
	uint64_t told_bytes; /* delivered when --jsonl spoke last */
	uint64_t trace_hash;
};

/* sim_traffic.c */
bool sim_traffic_prepare(struct sim_run *run);
bool sim_traffic_open(struct sim_run *run, unsigned flow,
		      struct nopal_endpoint *from, struct nopal_endpoint *to);
/* Notes the counters of sessions that have not ended, and says what they wait
 * for where that was asked. */
void sim_traffic_finish(struct sim_run *run);
void sim_traffic_free(struct sim_run *run);
uint64_t sim_traffic_delivered(const struct sim_run *run);

/* sim_report.c */
/* One object of --jsonl; NULL-safe to call at any time of the run. */
void sim_report_moment(struct sim_run *run);
void sim_report_end(struct sim_run *run);
bool sim_report_is_good(const struct sim_run *run);

#endif
