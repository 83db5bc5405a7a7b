/* SPDX-License-Identifier: MIT */
/*
 * promise.h -- what a composition guarantees: a vector of qualities of service, computed as data
 * flow.  Part of microprotocol.h, which includes it.
 *
 * The network under a stack offers the least of each quality.  A layer's service begins as that of
 * what it stands on; its microprotocols then raise or lower it, stage by stage, in the order in
 * which data travel.  Within a stage the rows that require or forbid act first, then those that
 * give, and last those that lower.  The result is what the layer above stands on, and at the top the
 * application.
 *
 * A value is a set of guarantees, a bit each: to give is to unite, to lower is to intersect, and
 * more bits are never worse.
 *
 *   network --> opening, seal, recovery, filter, reassembly, sending, order,
 *               timing, giving up, fan-out --> the layer above
 *
 * Paper:  Hayden, The Ensemble System, 1998 (properties of stacks).  Differs: values
 * are computed along stages, hold for a class of messages, and runs are judged by them.
 */
#ifndef NOPAL_PROMISE_H
#define NOPAL_PROMISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nopal_plan;

enum nopal_quality {
	NOPAL_DELIVERY,	    /* which of the messages that are sent arrive */
	NOPAL_ORDER,	    /* in which order */
	NOPAL_DUPLICATES,   /* whether one arrives twice */
	NOPAL_INTEGRITY,    /* whether its bytes are those that were sent */
	NOPAL_LATENESS,	    /* how late one can arrive */
	NOPAL_OUTCOME,	    /* whose having it makes its outcome `delivered` */
	NOPAL_RECEIVERS,    /* of a group: how many get it */
	NOPAL_PACE,	    /* who sets the rate of sending */
	NOPAL_BUFFER,	    /* what bounds the data that a receiver holds */
	NOPAL_DEATH,	    /* whether the death of a peer is noticed */
	NOPAL_OPENING,	    /* what is known of a peer before its data count */
	NOPAL_MESSAGE_SIZE, /* how long a message may be */
	NOPAL_LABELS,	    /* attributes of a layer above: for which messages */
	NOPAL_PROGRESS,	    /* whether every session ends or goes on */
	NOPAL_QUALITIES,
};

/* Guarantees of each quality.  0 is the least of each: some arrive, in any order, perhaps twice,
 * perhaps changed, whenever; and so on. */
enum {
	/* delivery: a chain */
	NOPAL_REPAIRED = 1, /* what redundancy can repair, and more by luck */
	NOPAL_IN_TIME = 3,  /* all but those dropped for their deadline,
			     * their attempts, or their place in a schedule */
	NOPAL_ALL = 7,	    /* all, or the session ends and says so */
	/* order: independent of each other; all of them: as sent */
	NOPAL_AFTER_NAMED = 1, /* after the predecessors that the message names */
	NOPAL_FORWARD = 2,     /* never after one that was sent later */
	NOPAL_BY_TAG = 4,      /* those with one tag as they were sent */
	NOPAL_GAPLESS = 8,     /* never before one that was sent earlier and comes
				* yet, or was lost; falls with delivery of all */
	NOPAL_AS_SENT = 15,
	/* duplicates: a chain */
	NOPAL_ONCE_A_SESSION = 1, /* none, until the receiver forgets the session */
	NOPAL_ONCE = 3,
	/* integrity: a chain */
	NOPAL_ACCIDENTS = 1, /* accidental damage is found */
	NOPAL_FORGERS = 3,   /* and so is deliberate damage */
	NOPAL_READERS = 7,   /* and nobody on the way reads */
	/* lateness */
	NOPAL_LATE_DROPPED = 1, /* later than the bound: dropped */
	/* outcome: a chain */
	NOPAL_AT_TRANSPORT = 1,	  /* the transport of the peer has it */
	NOPAL_AT_APPLICATION = 3, /* the application of the peer had it */
	/* receivers: a chain; without a group there is one receiver, which is all */
	NOPAL_SO_MANY = 1,    /* the number of the bound */
	NOPAL_KEEPING_UP = 3, /* all but those that are too slow */
	NOPAL_EVERY = 7,
	/* pace: a chain */
	NOPAL_FIXED_RATE = 1,	/* the configured one */
	NOPAL_NETWORK_PACE = 3, /* what the network bears */
	/* buffer */
	NOPAL_BOUNDED = 1, /* by the receiver */
	/* death: a chain */
	NOPAL_WHILE_SENDING = 1, /* noticed while data wait for an ack */
	NOPAL_NOTICED = 3,	 /* noticed in silence, too */
	/* opening: independent of each other */
	NOPAL_AGREED = 1,     /* the composition is the same */
	NOPAL_PROVEN = 2,     /* its address is its own */
	NOPAL_KNOWN_PEER = 4, /* it has the key that both had before */
	/* size */
	NOPAL_ANY_SIZE = 1, /* more than one segment */
	/* labels */
	NOPAL_EACH_MESSAGE = 1, /* travel with each message, not only with the first
				 * of several that share a segment */
	/* progress */
	NOPAL_GOES_ON = 1, /* nothing waits for ever */
};

/* Where in the life of a message a row acts, in this order. */
enum nopal_stage {
	NOPAL_OPENING_STAGE, /* the handshake */
	NOPAL_SEAL_STAGE,    /* checksum, encryption */
	NOPAL_RECOVERY,	     /* resends, redundancy */
	NOPAL_FILTER,	     /* duplicates */
	NOPAL_REASSEMBLY,    /* messages from segments */
	NOPAL_SENDING,	     /* the order and the pace of sending */
	NOPAL_ORDERING,
	NOPAL_TIMING,	 /* play-out, discards of what is late */
	NOPAL_GIVING_UP, /* the sender's discards */
	NOPAL_FAN_OUT,	 /* destinations of a group */
	NOPAL_STAGES,
};

enum nopal_act {
	NOPAL_GIVES,	/* the value is united with what was there */
	NOPAL_LOWERS,	/* of what was there no more than the value stays */
	NOPAL_REQUIRES, /* a service that lacks the value refuses the composition */
	NOPAL_FORBIDS,	/* a service that has the value refuses the composition */
};

/* A row of a microprotocol's promises, about one quality.  Written as
 * { quality, stage, act, value, "because" }, and conditions behind by name. */
struct nopal_promise {
	enum nopal_quality quality;
	enum nopal_stage stage;
	enum nopal_act act;
	unsigned value;
	const char *because; /* (required) for people; NULL ends the table */
	/* (optional) The row acts where the service, as it stands at its stage, has this guarantee;
	 * or, of `unless_`, where it has not. */
	enum nopal_quality where, unless;
	unsigned where_has, unless_has; /* 0: no condition */
	/* (optional) Roles or names, joined by '|': one of its layer has one; or none has. */
	const char *with, *without;
	/* (optional) Own parameter: `name` is not 0, `name=word` has this value; `!` before it
	 * turns the condition around. */
	const char *when;
	/* (optional) Acts only where all messages of this class arrive below, and those of other
	 * classes need not: what is missing may be one of these. */
	bool amid_partial;
	/* (optional) Acts only for messages with one of these properties, joined by '|'
	 * (out_of_band, deadline, ...); NULL: for all messages. */
	const char *of;
	const char *bound; /* (optional) own parameter that is T, or P */
};

/* A table of rows, for a descriptor. */
#define NOPAL_PROMISES(...) ((const struct nopal_promise[]){ __VA_ARGS__, { 0 } })

/* Rows that several microprotocols declare alike. */
#define NOPAL_CONGESTION_CONTROLLED                                                                \
	{                                                                                          \
		NOPAL_PACE, NOPAL_SENDING, NOPAL_GIVES, NOPAL_NETWORK_PACE,                        \
			.because = "losses, marks or delays of the network set the rate"           \
	}
#define NOPAL_FLOW_CONTROLLED                                                                      \
	{ NOPAL_BUFFER, NOPAL_SENDING, NOPAL_GIVES, NOPAL_BOUNDED,                                 \
	  .because = "the receiver says how much may come" },                                      \
	{                                                                                          \
		NOPAL_DEATH, NOPAL_SENDING, NOPAL_LOWERS, 0,                                       \
			"a peer that is gone lets nothing go, and its sender stays silent",        \
			.unless = NOPAL_DEATH, .unless_has = NOPAL_NOTICED                         \
	}
#define NOPAL_NUMBERS_ONCE                                                                         \
	{ NOPAL_DUPLICATES, NOPAL_FILTER, NOPAL_GIVES, NOPAL_ONCE_A_SESSION,                       \
	  .because = "each number is let in once" },                                               \
	{                                                                                          \
		NOPAL_DUPLICATES, NOPAL_FILTER, NOPAL_GIVES, NOPAL_ONCE,                           \
			"each number is let in once, and nobody opens an old session again",       \
			.where = NOPAL_OPENING, .where_has = NOPAL_PROVEN                          \
	}
#define NOPAL_NAMELESS_FORMAT                                                                      \
	{                                                                                          \
		NOPAL_OPENING, NOPAL_OPENING_STAGE, NOPAL_LOWERS, NOPAL_PROVEN | NOPAL_KNOWN_PEER, \
			.because = "the format has no place for the name of a composition"         \
	}

/* -------------------------------------------------------- what a plan promises */

/* One quality of a layer's service. */
struct nopal_guarantee {
	unsigned value, below; /* below: what the layer stands on gives */
	/* The part whose row changed it last, in this layer or one below, by its index for
	 * nopal_plan_part(), and that row; -1 and NULL: no part did. */
	int part;
	const struct nopal_promise *row;
};

struct nopal_service {
	struct nopal_guarantee quality[NOPAL_QUALITIES];
};

/* The service of the layer `layer` (0 is the top: what the application has; the number of layers:
 * the network itself) for messages that have the properties `names`, joined by '|'; NULL: messages
 * with none.  Pure: the same plan gives the same service. */
void nopal_plan_service(const struct nopal_plan *plan, unsigned layer, const char *names,
			struct nopal_service *ret_service);
unsigned nopal_plan_layers(const struct nopal_plan *plan);
const char *nopal_plan_layer_name(const struct nopal_plan *plan, unsigned layer);

/* Has the service this guarantee, all bits of it? */
static inline bool nopal_promises(const struct nopal_service *service, enum nopal_quality quality,
				  unsigned guarantee)
{
	return (service->quality[quality].value & guarantee) == guarantee;
}

/* Names for people and JSON: "delivery"; "all"; "every message arrives, or ...". Of any value, also
 * one between those named above. */
const char *nopal_quality_name(enum nopal_quality quality);
const char *nopal_quality_word(enum nopal_quality quality, unsigned value);
const char *nopal_quality_meaning(enum nopal_quality quality, unsigned value);
const char *nopal_stage_name(enum nopal_stage stage);

#ifdef __cplusplus
}
#endif

#endif
