/* SPDX-License-Identifier: MIT */
/*
 * rig.h -- a pair of sessions of one composition in the simulated world, and a microprotocol
 * `a_tap` (by its name it runs first) that shows what happens inside.
 *
 *     struct rig rig;
 *     rig_open(&rig, "transport_driver {} fixed_size {} a_tap {}", NULL);
 *     rig_send(&rig, "hello");
 *     rig_run(&rig, NOPAL_SECOND);
 *     assert_int_equal(rig.acceptor.delivered, 1);
 *     rig_close(&rig);
 */
#ifndef NOPAL_TEST_RIG_H
#define NOPAL_TEST_RIG_H

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "session/endpoint_sessions.h"
#include "support/test.h"

enum { RIG_OPENER_PORT = 1000, RIG_ACCEPTOR_PORT = 2000 };
enum { RIG_MESSAGES = 4096, RIG_EVENTS = 65536, RIG_TEXT = 64 };

/* Events as one side saw them. */
struct rig_side {
	struct rig *rig;
	struct nopal_endpoint *endpoint;
	struct nopal_session *session; /* NULL before and after its life */
	uint32_t opened, peer_closed, writable, ended;
	enum nopal_end end;
	char end_text[1024];
	uint32_t delivered; /* messages */
	uint64_t delivered_bytes;
	char text[RIG_MESSAGES][RIG_TEXT]; /* their first bytes, as strings */
	uint64_t length[RIG_MESSAGES];
	int64_t delivered_ns[RIG_MESSAGES];
	uint32_t outcomes[3];		/* `sent` callbacks, by enum nopal_outcome */
	struct nopal_counters counters; /* as of the session's end */
	/* raises that a_tap saw, in order */
	uint32_t events;
	struct rig_event {
		enum nopal_event event;
		uint32_t number; /* of the segment or message */
		uint8_t kind;
		int64_t time_ns;
	} event[RIG_EVENTS];
};

struct rig {
	struct nopal_world *world;
	struct nopal_plan *plan;
	struct rig_side opener, acceptor;
	uint64_t cookie;
};

struct rig_options {
	const char *link;	 /* netem words; default: delay 10ms */
	const char *edge;	 /* of links before and behind it; default: none */
	uint64_t seed;		 /* default 1 */
	const char *const *sets; /* overrides, NULL-ended */
	bool stay_closed;	 /* make endpoints and plan; open no session */
};

/* Composes, opens, and runs until both sides are open (or, without a handshake, leaves the acceptor
 * to the first datagram).  Fails the test on any problem. */
void rig_open(struct rig *rig, const char *config, const struct rig_options *options);
/* Opens the session of a rig that was told to stay closed. */
void rig_start(struct rig *rig);
/* Ends what lives, and demands that nothing was misused on the way. */
void rig_close(struct rig *rig);
/* Runs virtual time on by this much. */
void rig_run(struct rig *rig, int64_t duration_ns);
/* The same, even where nothing is going to happen. */
void rig_pass(struct rig *rig, int64_t duration_ns);
/* Sends a message from the opener; returns what nopal_send returned. */
int rig_send(struct rig *rig, const char *text);
/* So many messages of one byte, which are all taken. */
void rig_send_many(struct rig *rig, unsigned count);
int rig_send_bytes(struct rig *rig, size_t length); /* a counting pattern */
/* Closes the opener's side and runs until both have ended, 120 s at most. */
void rig_finish(struct rig *rig);

/* Opens, and one message is delivered: nothing is outstanding then. */
void rig_open_spoken(struct rig *rig, const char *config, const char *link);

/* Change the link words: of what travels to the acceptor alone, or both ways. */
void rig_change(struct rig *rig, const char *words);
void rig_change_both(struct rig *rig, const char *words);
/* Opens, and has one message cross, so that the acceptor is there. */
void rig_begin(struct rig *rig, const char *config);
/* Lets the registry have a microprotocol of the test; again does no harm. */
void rig_add(const struct nopal_microprotocol *microprotocol);

/* The awake part of the session, as which it is left. */
static inline struct nopal_awake *rig_awake(const struct nopal_session *session)
{
	nopal__be_awake(nopal__composite(session));
	return nopal__composite(session)->awake;
}
/* A part of the session, which is awake then, by name; its state; the segment with a number. */
const struct nopal_part *rig_part(const struct nopal_session *session, const char *name);
struct nopal_at rig_at(struct nopal_session *session, const char *name);
void *rig_state(struct nopal_session *session, const char *name);
struct nopal_segment *rig_segment(struct nopal_session *session, uint32_t number);
/* A shared variable; fails the test when there is none. */
int64_t rig_shared(const struct nopal_session *session, const char *name);
/* How often a_tap saw an event. */
uint32_t rig_count(const struct rig_side *side, enum nopal_event event);

/* The plan of a config that must be good; a config that must be refused gives NULL, with the
 * problems printed into `text`. */
struct nopal_plan *rig_plan(const char *config);
bool rig_refused(const char *config, char *text, size_t room);

#endif
