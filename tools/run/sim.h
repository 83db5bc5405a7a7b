/* SPDX-License-Identifier: MIT */
/*
 * sim.h -- a simulated run: its options, its flows, its progress, its traffic, verdicts, results.
 */
#ifndef NOPAL_TOOL_SIM_H
#define NOPAL_TOOL_SIM_H

#include "run/sim_kinds.h"

enum sim_topology { SIM_DIRECT, SIM_DUMBBELL, SIM_STAR };

enum {
	SIM_LINKS = 64,
	SIM_LOADS = 64,
	SIM_DESTINATIONS = 1024,
	SIM_STREAMS = 4096,
	SIM_DEADLINES = 16
};

struct sim_options {
	const char *link_text, *trace; /* link_text: of the first link */
	/* Of the first link, and of each destination; the last one stands for those behind it. */
	struct nopal_link forward[SIM_LINKS], reverse[SIM_LINKS];
	unsigned link_count;
	enum sim_topology topology;
	bool topology_given;
	int pairs;		  /* of hosts, or a group: who sends, and who receives */
	int streams;		  /* sessions of each pair, which share a flow */
	int destinations;	  /* of a group; 0: none is opened */
	int flows;		  /* all sessions that send */
	uint64_t seed, last_seed; /* a run for each */
	int64_t duration_ns;
	bool duration_given;
	int64_t every_ns; /* between objects of --jsonl */
	enum nopal_trace_detail detail;
	bool json, jsonl, holds, watch;
};

/* The messages of a session: by which config, how many, and when. */
struct sim_load {
	struct nopal_plan *plan;
	bool connectionless;
	uint64_t bytes; /* of all messages of a flow */
	uint64_t messages;
	uint64_t size;	     /* of each but the last */
	int64_t interval_ns; /* between messages; 0: as fast as they go */
	/* Later deliveries are late, of kinds and sessions by the first deadline; none: none are. */
	int64_t deadline_ns[SIM_DEADLINES];
	unsigned deadline_count;
	int64_t start_ns; /* when its sessions open */
	struct sim_kinds kinds;
};

/* The history of one session. */
struct sim_end {
	struct nopal_session *session; /* NULL: not open, or ended */
	bool existed, ended;
	int how;		    /* ended: enum nopal_end */
	char *text;		    /* ended: why */
	uint64_t hoarded, stranded; /* as in struct judge_facts */
	struct nopal_counters counters;
};

/* Counts of a receiver, by the names of their JSON. */
#define SIM_TALLY(X)                                                                               \
	X(delivered_messages)                                                                      \
	X(delivered_bytes)                                                                         \
	X(duplicate_messages)                                                                      \
	X(out_of_order_messages)                                                                   \
	X(late_messages)                                                                           \
	X(wrong_messages)                                                                          \
	X(wrong_bytes)
struct sim_tally {
#define SIM_TALLY_FIELD(name) uint64_t name;
	SIM_TALLY(SIM_TALLY_FIELD)
#undef SIM_TALLY_FIELD
};

/* The end that messages of a flow come to. */
struct sim_receiver {
	struct sim_flow *flow;
	struct sim_end end;
	unsigned accepted; /* sessions */
	uint8_t *seen;	   /* bit i: message i was delivered */
	int64_t *delay_ns; /* of message i; SIM_NO_DELAY: it was not delivered, or has no number */
	struct sim_history history;
	struct sim_tally tally;
	int64_t last_delivery_ns;
};
enum { SIM_NO_DELAY = -1 };

/* One session from end to end. */
struct sim_flow {
	struct sim_run *run;
	const struct sim_load *load;
	struct sim_end sender;
	struct sim_receiver *receivers; /* one, or one at each destination, by id - 1 */
	unsigned receiver_count;
	unsigned index, pair, stream;
	bool complete;		       /* judged: each message is where it is to be */
	unsigned destination;	       /* property of its messages; 0: there is none */
	uint64_t next;		       /* message to send */
	uint64_t sent_bytes;	       /* of those before it */
	bool call_set;		       /* a call at the time of `next` is on its way */
	bool pumping, closed, no_room; /* no_room: a message was refused so */
	int64_t start_ns;	       /* when it opened; -1: not yet */
	uint8_t *told;		       /* bit i: the sender was told that it arrived */
	uint8_t *given_up;	       /* or that it did not, or that nobody can say */
	int64_t *sent_ns;	       /* when message i was sent */
	struct judge_facts gone;       /* what destinations counted that have ended */
};

struct sim_series;

/* When something happened last that brings the run nearer to its end. */
struct sim_progress {
	uint64_t count;	 /* of such things, up to now */
	uint64_t marked; /* of these, when the rest was noted: */
	int64_t at_ns;
	uint64_t marked_steps, transmissions;
	struct nopal_link_counters link;
	struct judge_patience patience; /* 0: the run has not begun */
	uint64_t tries;			/* transmissions, resends among them, up to */
	int64_t tried_ns;		/* this time */
	uint64_t steps;			/* all of the run */
};

/* Receives what is sent to one host by the flows of one pair. */
struct sim_listener {
	struct sim_run *run;
	unsigned pair, place; /* place: in the receivers of each flow */
	struct nopal_endpoint *endpoint;
	struct sim_guest *guests;
};

struct sim_run {
	struct sim_options options;
	const struct sim_load *loads; /* pairs have them in turn */
	unsigned load_count;
	struct sim_listener *listeners; /* by pair, and in it by place */
	struct nopal_world *world;
	struct sim_flow *flows;
	uint8_t *pattern, *scratch;
	int64_t first_send_ns;		  /* -1: nothing was sent */
	int64_t last_ns;		  /* when a session last did something */
	int senders_left, receivers_left; /* sessions that have not ended */
	struct sim_progress progress;
	char stuck[JUDGE_TEXT]; /* why it was cut; "": it was not */
	struct judgement judgement;
	struct judge_suspects *suspects;
	bool lacks_messages; /* a message is missing that was promised to arrive */
	bool failed;	     /* a session could not be opened in the middle of the run */
	bool stranded;	     /* a session that ended kept messages from delivery */
	uint64_t told_bytes; /* delivered when --jsonl spoke last */
	uint64_t trace_hash;
};

/* The same run once more, up to its end, without a word; the caller frees the world and the
 * traffic.  False: out of memory. */
bool sim_again(const struct sim_run *run, struct sim_run *ret_again);

/* -------------------------------------------------------- sim_options.c: the command line */

#define SIM_LINK "rate 100mbit delay 25ms limit 400"
/* False: a problem was printed; so of the next one, which is given the plan. */
bool sim_options_read(const struct tool_call *call, struct sim_options *options);
bool sim_load_read(const struct tool_call *call, struct sim_load *load);
/* The config of a word, and the call with the options that follow it there: "udt4 --bytes 1MB".
 * `ret_text` is what both point into; the caller frees it.  False: a problem was printed. */
bool sim_word_read(const struct tool_call *call, const char *word, struct tool_call *ret_call,
		   const char **ret_config, char **ret_text);
/* Do --streams and --destinations go with the plan?  False: a problem was printed. */
bool sim_layers_fit(const struct sim_options *options, const struct nopal_plan *plan);

/* -------------------------------------------------- sim_message.c: messages, known by their bytes */

/* Bytes of a message that is long enough to tell its number. */
enum { SIM_HEAD_BYTES = 16 };
uint64_t sim_message_length(const struct sim_load *load, uint64_t number);
/* Writes message `number` of the flow, which is sent now. */
void sim_message_write(const struct sim_flow *flow, uint64_t number, int64_t now_ns,
		       uint8_t *bytes);
/* The stream of a message that has a head. */
unsigned sim_message_stream(const struct nopal_message *message);
/* Is this a message of the flow?  Its number, where it has a head, or 0. */
bool sim_message_is_ours(const struct sim_flow *flow, const struct nopal_message *message,
			 uint64_t *ret_number);
/* Bytes that are not as they were sent. */
uint64_t sim_message_wrong_bytes(const struct sim_flow *flow, const struct nopal_message *message,
				 uint64_t number);
/* The bytes that messages are pieces of.  NULL: out of memory. */
uint8_t *sim_message_pattern(uint64_t size);

/* ------------------------------------------------- sim_traffic.c: sent, received, verified */

enum { SIM_SEEN_AT_ONCE = 8, SIM_SEEN_ALL = 0xff }; /* of a byte of bits */
static inline bool sim_traffic_seen(const uint8_t *bits, uint64_t number)
{
	return bits[number / SIM_SEEN_AT_ONCE] >> number % SIM_SEEN_AT_ONCE & 1;
}
bool sim_traffic_prepare(struct sim_run *run);
/* The next session of the pair: its first one opens `from` there to the first listener, and adds
 * the others as destinations. */
bool sim_traffic_open(struct sim_run *run, unsigned flow, struct nopal_endpoint *from);
/* Notes the counters of sessions that have not ended, and says what they wait for where that was
 * asked. */
void sim_traffic_finish(struct sim_run *run);
void sim_traffic_free(struct sim_run *run);
uint64_t sim_traffic_delivered(const struct sim_run *run);
/* Something happened; or something that brings the run nearer to its end. */
void sim_traffic_touch(struct sim_run *run);
void sim_traffic_advance(struct sim_run *run);
/* True: the bit was set before. */
bool sim_traffic_mark(uint8_t *bits, uint64_t number);
void sim_traffic_end(struct sim_run *run, struct sim_end *end, struct nopal_session *session,
		     enum nopal_end how, const char *text);

/* ------------------------------------------------------------ sim_receive.c: what comes */

bool sim_receive_prepare(struct sim_flow *flow);
void sim_receive_free(struct sim_flow *flow);
/* Listens at the endpoint.  False: out of memory. */
bool sim_receive_listen(struct sim_listener *listener, struct nopal_plan *plan);
void sim_receive_leave(struct sim_listener *listener);
/* The flows of a pair are in a row. */
static inline struct sim_flow *sim_flow_of(const struct sim_run *run, unsigned pair,
					   unsigned stream)
{
	return &run->flows[pair * (unsigned)run->options.streams + stream];
}
static inline unsigned sim_places(const struct sim_run *run)
{
	return run->options.destinations ? (unsigned)run->options.destinations : 1;
}

/* ---------------------------------------------- sim_judge.c: facts, and a run that stands still */

/* From time to time while it runs; false: it stands still, and is cut. */
bool sim_judge_goes_on(struct sim_run *run);
/* Is it time for that?  After each step: so many have passed, or so much time. */
enum { SIM_JUDGE_STEPS = 4096 };
static inline bool sim_judge_is_due(struct sim_run *run)
{
	struct sim_progress *progress = &run->progress;

	return ++progress->steps % SIM_JUDGE_STEPS == 0 ||
	       nopal_world_now(run->world) >= progress->tried_ns + progress->patience.wait_ns;
}
/* Has nothing new happened for long, though not for long enough to be judged? */
bool sim_judge_waits(const struct sim_run *run);
/* Nothing is left to happen. */
void sim_judge_idle(struct sim_run *run);
/* The holds of a session when it ended, or holds when the run does. */
void sim_judge_held(struct sim_run *run, struct sim_end *end, const struct nopal_session *session);
/* One of the destinations of the flow's sender ended: the same. */
void sim_judge_destination(struct sim_flow *flow, const struct nopal_destination_info *info);
/* Is this receiver to have the message, and has it not? */
bool sim_judge_misses(const struct sim_receiver *receiver, uint64_t number);
/* When all has ended: verdicts, and whom they blame. */
void sim_judge(struct sim_run *run);

/* --------------------------------------------------- sim_report.c: results as text and as JSON */

/* One object of --jsonl, at any time of the run. */
void sim_report_moment(struct sim_run *run);
/* False: the run failed. */
bool sim_report_end(struct sim_run *run);
/* The same of one of several runs, which goes into the series in place of a report of its own. */
bool sim_report_one(struct sim_run *run, struct sim_series *series);
/* Mean time in the queue of the datagrams that it took. */
int64_t sim_report_queue_ns(const struct nopal_link_counters *link);

#endif
