/* SPDX-License-Identifier: MIT */
/*
 * gathering.h -- a group whose members speak, too: a hub and its destinations in the simulated
 * world, a star, and what each of them delivered, with place and view.
 *
 *     static struct gathering all;
 *     gathering_open(&all, GATHERING("total_order {}"), 3, "delay 10ms", 1);
 *     gathering_say(&all, 2);          (the second member, to all; 0: the hub)
 *     gathering_run(&all, NOPAL_SECOND);
 *     gathering_agrees(&all);
 *     gathering_close(&all);
 */
#ifndef NOPAL_TEST_GATHERING_H
#define NOPAL_TEST_GATHERING_H

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>

enum {
	GATHERING_HOSTS = 8, /* and the hub is number 0 */
	GATHERING_LOG = 4096,
	GATHERING_BYTES = 64, /* of a message, as it begins */
	GATHERING_LONGEST = 100000,
	GATHERING_VIEWS = 64,
	GATHERING_PORT = 9000,
};

/* A config: what is in the layer of the group, above sessions that lose nothing, and in order. */
#define GATHERING(group) GATHERING_OVER("reliable_fifo {}", group)
/* The same with another order of each session, or none. */
#define GATHERING_OVER(order, group)                                                               \
	"layer \"group\" { transport_driver {} whole_messages {} fan_out {} " group                \
	" }\nlayer \"destination\" {\n multiplicity = per_destination\n"                           \
	" transport_driver {} virtual_circuit {} keep_alive { interval = 1s timeout = 5s }\n"      \
	" resize {} sequenced_segments {} positive_ack { selective = on }\n"                       \
	" retransmission_timer {} duplicate_ack {} rtt_estimation { timeout_min = 20ms }\n"        \
	" retransmit { attempts = 6 } checksum {} " order "\n}\n"

/* Messages that came, or, at the hub, were said. */
struct gathering_entry {
	uint32_t who, number; /* who said it, and its how manieth that was */
	uint64_t place, view, sender;
};

struct gathering_view {
	uint32_t number;
	uint64_t members;   /* a bit for each id */
	uint32_t entries;   /* of its log, when it began */
	uint32_t privately; /* and messages without a place */
};

struct gathering_one {
	struct gathering *all;
	uint32_t index;
	struct nopal_endpoint *endpoint;
	struct nopal_address address;
	struct nopal_session *session;
	int64_t id;	  /* as the hub knows it; 0: not added */
	uint32_t lives;	  /* sessions that it had */
	uint32_t said;	  /* messages to all */
	uint32_t refused; /* of these, by nopal_send_message() */
	uint32_t outcomes[3];
	uint32_t outcome_entries; /* of its log, when the last outcome was told */
	uint32_t privately;	  /* messages that came for it alone */
	uint32_t wrong;		  /* no message of anybody's */
	uint32_t entries, views;
	struct gathering_entry log[GATHERING_LOG];
	struct gathering_view view[GATHERING_VIEWS];
	int end; /* enum nopal_end of its last session, or of the destination at the hub */
	bool ended;
	char end_text[160];
};

struct gathering {
	struct nopal_world *world;
	struct nopal_plan *plan;
	uint32_t count;	     /* of members */
	size_t length;	     /* of a message; GATHERING_BYTES unless it is set */
	int64_t deadline_ns; /* of a member's message; 0: none */
	unsigned to_all, place, sender, view, destination; /* properties of the plan */
	/* (optional) one delivers */
	void (*on_delivery)(struct gathering_one *one, uint32_t who);
	struct gathering_one one[1 + GATHERING_HOSTS];
};

/* With a plan of its own: hosts that listen, and a group that has no destination yet. */
void gathering_prepare(struct gathering *all, const char *config, uint32_t count, const char *link,
		       uint64_t seed);
/* All added, and open.  Either closes what was open before. */
void gathering_open(struct gathering *all, const char *config, uint32_t count, const char *link,
		    uint64_t seed);
void gathering_close(struct gathering *all); /* where it is open */

void gathering_add(struct gathering *all, uint32_t index);
/* Both ways of its ray from now on, or one of them. */
void gathering_link(struct gathering *all, uint32_t index, const char *link);
void gathering_down(struct gathering *all, uint32_t index, const char *link);
void gathering_up(struct gathering *all, uint32_t index, const char *link);
void gathering_run(struct gathering *all, int64_t for_ns);

/* The ways in which a member goes. */
enum gathering_leaving { GATHERING_LEAVES, GATHERING_AT_ONCE, GATHERING_CUT, GATHERING_LEAVINGS };
void gathering_leave(struct gathering *all, uint32_t index, enum gathering_leaving how);

/* Returns as nopal_send_message(). */
int gathering_say(struct gathering *all, uint32_t index);
/* To the hub alone, or of the hub's to member `to` alone. */
int gathering_whisper(struct gathering *all, uint32_t index, uint32_t to);

/* Does the log of each member go on as the hub's, from `from` of the hub's entries, without gap,
 * each with its place and sender?  Fails the test where one does not. */
void gathering_agrees(const struct gathering *all);
/* The same after so much time, when the hub has so many entries. */
void gathering_settles(struct gathering *all, int64_t after_ns, uint32_t entries);
void gathering_agrees_from(const struct gathering *all, uint32_t index, uint32_t from);

#endif
