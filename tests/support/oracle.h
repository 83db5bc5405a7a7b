/* SPDX-License-Identifier: MIT */
/*
 * oracle.h -- sessions that are held to what their composition promises, after every event.
 *
 * The promises are those of nopal_plan_service(), for each message by the properties that it has.
 * The oracle then watches all ends: a microprotocol `an_oracle`, put into any layer, looks at the
 * barriers, windows and budgets after each event, and the application's side looks at the delivered
 * messages.  The first violation is kept as text.
 *
 *   pairs:    opener 0 <--> listener n+0    one session, or n streams of one flow
 *             opener 1 <--> listener n+1
 *   a group:  opener 0 <--> listeners 1..n  destinations on hosts of their own
 *
 * Either the openers talk alone, all at once, and the network may stay as bad as it is; or all
 * talk, in bursts over a while, and have some messages left for the time after the network has
 * become calm: these arrive whatever the composition, or something got stuck.
 */
#ifndef NOPAL_TEST_ORACLE_H
#define NOPAL_TEST_ORACLE_H

#include "support/draw.h"
#include <nopal/nopal.h>
#include "session/endpoint_sessions.h"
#include "support/weather.h"

enum {
	ORACLE_MESSAGES = 128, /* of a side */
	ORACLE_LONGEST = 20000,
	ORACLE_PAIRS = 4,
	ORACLE_SIDES = 2 * ORACLE_PAIRS,
	ORACLE_LATE = 6, /* of a side's messages, sent when it is calm */
	ORACLE_TAGS = 3,
};

/* The sender's attributes of a message, where somebody listens; a class has a bit for each. */
enum {
	ORACLE_URGENT_BIT,
	ORACLE_OUT_OF_BAND_BIT,
	ORACLE_DEADLINE_BIT,
	ORACLE_ATTEMPTS_BIT,
	ORACLE_LABEL_BIT,
	ORACLE_AFTER_BIT,
	ORACLE_TAG_BIT,
	ORACLE_DESTINATION_BIT,
	ORACLE_PROPERTIES,
};
enum {
	ORACLE_DEADLINE = 1 << ORACLE_DEADLINE_BIT,
	ORACLE_ATTEMPTS = 1 << ORACLE_ATTEMPTS_BIT,
	ORACLE_LABEL = 1 << ORACLE_LABEL_BIT,
	ORACLE_AFTER = 1 << ORACLE_AFTER_BIT,
	ORACLE_TAG = 1 << ORACLE_TAG_BIT,
	ORACLE_DESTINATION = 1 << ORACLE_DESTINATION_BIT,
	ORACLE_CLASSES = 1 << ORACLE_PROPERTIES,
};

struct oracle_promise {
	bool known;
	unsigned value[NOPAL_QUALITIES];
	int64_t bound[NOPAL_QUALITIES]; /* T, or P; 0: none is named */
	int part_of_death;		/* who notices the death of a peer */
};

struct oracle_message {
	int64_t due_ns, sent_ns;
	uint32_t length;
	uint8_t class;
	uint8_t tag;
	uint8_t only;	 /* 1 + the side that it is for; 0: for all that hear */
	uint8_t outcome; /* 1 + enum nopal_outcome; 0: not known yet */
	bool withdrawn;	 /* taken back before it left */
	int16_t after;	 /* the message that goes before, or -1 */
};

struct oracle;

/* Datagrams that left all hosts, and their bytes. */
struct oracle_traffic {
	uint64_t datagrams, bytes;
};

/* Messages that a side has heard of one that speaks to it. */
struct oracle_heard {
	uint32_t delivered;
	uint8_t seen[ORACLE_MESSAGES]; /* how often, by index */
	int latest;		       /* the highest index of these; or -1 */
	int newest[2];		       /* of those that are in order, for all or for one; or -1 */
	int newest_of_tag[ORACLE_TAGS];
};

struct oracle_side {
	struct oracle *oracle;
	unsigned number;
	bool opener;
	struct nopal_session *session;
	int64_t destination; /* its id in the group */
	struct oracle_message message[ORACLE_MESSAGES];
	uint32_t messages, pushed; /* that it sends */
	uint32_t outcomes, delivered;
	/* Of its messages, by side that they are for: those that arrived, a duplicate not counted;
	 * of these, those that came after a later one; sums of their delays, in seconds, and of the
	 * squares. */
	uint32_t arrivals, overtaken;
	double delays, delay_squares;
	struct oracle_heard heard[ORACLE_SIDES]; /* by sender */
	bool begun, ended, closing;
	bool orphan; /* of a damaged request, and heard nothing */
	bool peer_closed;
	bool gathers; /* its destinations are not all added yet */
	/* The session ended in silence, as without a handshake it must some time; data that come
	 * later begin another session. */
	bool deserted;
	bool dropped; /* a destination that the group has lost */
	int end;
	int64_t end_ns;
	char end_text[96];
	uint64_t hash;			/* of what was delivered, in order */
	struct nopal_counters counters; /* as of its end */
};

struct oracle {
	struct nopal_world *world;
	struct nopal_plan *plan;
	const struct oracle_run *run;
	struct weather weather;
	struct draw draw;
	struct oracle_promise promise[ORACLE_CLASSES];
	unsigned property[8]; /* of the plan, by bit of the class; 0: not there */
	bool set;	      /* some parameter of its config is not as it is by default */
	bool cruel;	      /* weather_is_cruel(), or what leaves does so at a fixed rate */
	bool corrupts;	      /* the network damages datagrams */
	/* The network repeats datagrams, or lets one overtake another by longer than until a
	 * session is idle; a seal refuses these like damage. */
	bool replays;
	bool interop;	/* a stranger's numbers begin with what is heard first */
	bool handshake; /* each direction says when it is at its end */
	bool group;
	bool unheard; /* without a handshake: all that would introduce it was lost */
	bool told;    /* a checker ended it, for what the composition never promised;
		    * nothing is watched from then on */
	bool tired;   /* it was given up after very many steps without progress */
	bool busy;    /* and data left all the while, or seldom in many hours */
	bool broken;  /* a session ended because of silence, as it may */
	unsigned pairs, openers, sides;
	struct oracle_side side[ORACLE_SIDES];
	struct nopal_endpoint *endpoint[1 + ORACLE_PAIRS]; /* by host */
	uint32_t longest;
	uint32_t moves; /* deliveries, outcomes, ends: what is progress */
	int64_t moved_ns;
	const char *kind;    /* of the violation: its text before it was filled in */
	char violation[256]; /* empty: none */
	struct oracle_traffic traffic;
	/* At the last arrival; 0: there was none. */
	struct oracle_traffic traffic_then;
	int64_t last_ns;
	uint64_t events;
	uint64_t trace; /* its hash, where the run is traced */
};

struct oracle_run {
	const char *config;	 /* name or text with a newline */
	struct nopal_plan *plan; /* (optional) its oracle_plan() */
	const char *weather;	 /* weather.h */
	uint64_t seed;
	unsigned pairs;	   /* streams or destinations, where there can be several */
	uint32_t messages; /* of an opener, at most ORACLE_MESSAGES */
	/* all talk: */
	uint32_t answers;  /* messages of a listener; 0: the openers alone talk */
	int64_t spread_ns; /* time in which all but the last ORACLE_LATE are sent */
	bool plain;	   /* no message has a property */
	int64_t cut_ns;	   /* from then on nothing passes any more; 0: never */
	int64_t rebind_ns; /* then a NAT gives the openers another port; 0: never */
	/* Bytes of a message at most; 0: as the composition's segments suggest. */
	uint32_t longest;
	bool uneven; /* each opener but the first has a tenth of the messages */
	bool strict; /* no session may end but well */
	bool traced;
	const char *trace_file; /* (optional) where the trace goes */
};

/* Runs sessions to their end.  Fills `oracle` (its world is gone) and returns true when no promise
 * was broken. */
bool oracle_run(struct oracle *oracle, const struct oracle_run *run);
/* The microprotocol, for configs of one's own. */
void oracle_register(void);
/* The config with an_oracle in each of its layers, by malloc. */
char *oracle_watched(const char *config);
/* The plan of that; NULL: it is bad, and stderr says why. */
struct nopal_plan *oracle_plan(const char *config);

/* Keeps the first violation. */
void oracle_violated(struct oracle *oracle, const char *how, ...)
	__attribute__((format(printf, 2, 3)));

/* ------------------------------------------- between the files of the oracle */

/* oracle_inside.c: has the layer of this part segments that have left, and whose status is not
 * known? */
bool oracle_waits_for_ack(const struct oracle_side *side, int part);
/* Wait messages that arrived for an order, or for their time? */
bool oracle_keeps_messages(const struct oracle_side *side);
/* Of data, in all layers of all sides that live. */
uint64_t oracle_transmissions(const struct oracle *oracle);
/* For people: where each side is, and what it holds. */
void oracle_dump(const struct oracle *oracle);

/* oracle_talk.c: when its messages are due, and sending those that are. */
void oracle_plan_messages(struct oracle_side *side, uint32_t messages);
void oracle_push(struct oracle_side *side);
void oracle_close(struct oracle_side *side);
/* Where a direction's end is told, a side closes when it has said all. */
bool oracle_closes_itself(const struct oracle *oracle);
/* The index of a message of `sender`; negative: it sent no such message. */
int oracle_index_of(const struct oracle_side *sender, const uint8_t *bytes, size_t length);

/* oracle_early.c: may messages travel in the request to open?  A ticket for that. */
bool oracle_has_early(const struct oracle *oracle);
void oracle_get_ticket(struct oracle *oracle);

/* oracle_ends.c */
extern const struct nopal_callbacks oracle_callbacks;

/* oracle_judge.c */
extern const char *const oracle_properties[ORACLE_PROPERTIES];
const struct oracle_promise *oracle_promise(struct oracle *oracle, unsigned class);
static inline bool oracle_promised(struct oracle *oracle, unsigned class,
				   enum nopal_quality quality, unsigned guarantee)
{
	return (oracle_promise(oracle, class)->value[quality] & guarantee) == guarantee;
}
/* Does `from` speak to `to`, or this message of it? */
bool oracle_speaks_to(const struct oracle_side *from, const struct oracle_side *to);
bool oracle_is_for(const struct oracle_side *from, const struct oracle_message *message,
		   const struct oracle_side *to);
void oracle_heard(struct oracle_side *side, struct oracle_side *from, int index,
		  const struct nopal_message *message);
void oracle_outcome(struct oracle_side *side, uint64_t cookie, enum nopal_outcome outcome);
void oracle_judge(struct oracle *oracle);

#endif
