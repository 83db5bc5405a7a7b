/* SPDX-License-Identifier: MIT */
/*
 * port.h -- the narrow interface between layers, after the x-kernel: who is below a composite and
 * takes the segments that it transmits, and who is above it and takes the messages that arrive.
 *
 *         application                 nopal__application_up
 *   ----------|-------- up
 *         composite                   asks `up` and `down`, and knows neither
 *   ----------|-------- down
 *      a layer, a flow, destinations, an endpoint
 *
 * Each kind of neighbour is one const table in one file; every composite has two of them, chosen
 * when it is made (session/session.c).  A fused unit knows most of them as constants.
 */
#ifndef NOPAL_PORT_H
#define NOPAL_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>

struct nopal_composite;
struct nopal_endpoint;

/* Below.  All functions but `push` and `closed` are optional: NULL does nothing. */
struct nopal_down {
	const char *name;
	bool same_stack; /* the composite below opens, ends and is freed with this one */
	bool many;	 /* several stacks are below: it opens with the first of them */
	bool leaves;	 /* a segment that was pushed has left: no outcome follows from below */
	/* State of this place, made with the composite.  Negative: errno value. */
	int (*attach)(struct nopal_composite *composite);
	void (*detach)(struct nopal_composite *composite);
	/* False: the kernel is busy, and the segment waits at the endpoint.  NULL: it always
	 * may. */
	bool (*may_leave)(struct nopal_composite *composite, const struct nopal_segment *segment);
	/* True: the segment belongs to the layer below now. */
	bool (*push)(struct nopal_composite *composite, struct nopal_segment *segment);
	/* A segment of control, which nobody keeps.  NULL: it is pushed. */
	void (*control)(struct nopal_composite *composite, struct nopal_segment *segment);
	void (*control_by)(struct nopal_composite *composite, const struct nopal_segment *segment,
			   unsigned path);
	/* Twice a second while segments are under way: is the peer still there? */
	void (*watch)(struct nopal_composite *composite);
	/* The composite has closed in good order. */
	void (*closed)(struct nopal_composite *composite);
	/* `end`: the composite ends, and all that is below with it.  `ended`: the composite is
	 * about to be freed. */
	void (*end)(struct nopal_composite *composite, enum nopal_end end, const char *text);
	void (*ended)(struct nopal_composite *composite);
	/* Stacks below are there yet: the composite cannot be freed before them. */
	bool (*in_use)(const struct nopal_composite *composite);
	/* Adds to the words of an end which peers were lost; NULL: there is one peer. */
	void (*add_lost)(const struct nopal_composite *composite, char *words);
};

/* Above.  All but `pop`, `outcome` and `peer_closed` are optional. */
struct nopal_up {
	const char *name;
	bool same_stack;
	int (*attach)(struct nopal_composite *composite);
	void (*detach)(struct nopal_composite *composite);
	void (*opened)(struct nopal_composite *composite);
	/* The composite above that takes an arriving item with these attributes, which returns NULL
	 * where none does; and the one that waits for the outcome of such an item.  Both optional:
	 * NULL is `above`. */
	struct nopal_composite *(*taker)(struct nopal_composite *composite,
					 const uint64_t *attribute);
	struct nopal_composite *(*waiting)(const struct nopal_composite *composite,
					   const uint64_t *attribute);
	/* An arriving segment is about to enter the layer above: its attributes by this place. */
	void (*arrives)(struct nopal_composite *composite, struct nopal_segment *segment);
	/* A message arrived whole, and is delivered. */
	void (*pop)(struct nopal_composite *composite, struct nopal_message *message);
	void (*outcome)(struct nopal_composite *composite, const struct nopal_message *message,
			enum nopal_outcome outcome);
	/* An item that was pushed from above is on the network for the first time: the segment
	 * `above` there, or, where `taken` was that layer's, the bytes of it of a message there.
	 * NULL: nobody counts them. */
	void (*left)(struct nopal_composite *composite, const uint64_t *attribute,
		     struct nopal_handle above, const struct nopal_segment *taken);
	/* The same of a segment that was pushed from above without a message. */
	void (*segment_outcome)(struct nopal_composite *composite,
				const struct nopal_segment *segment);
	void (*peer_closed)(struct nopal_composite *composite);
	/* Of those to which several stand, or NULL: the first of ours, NULL where it ends instead;
	 * and what was ours is the peer's, since two opened towards each other. */
	struct nopal_composite *(*begin)(struct nopal_composite *composite,
					 const struct nopal_callbacks *callbacks, void *user);
	void (*turned)(struct nopal_composite *composite);
	void (*turn_end)(struct nopal_composite *composite);
	void (*end)(struct nopal_composite *composite, enum nopal_end end, const char *text);
	void (*ended)(struct nopal_composite *composite, enum nopal_end end, const char *text);
	bool (*in_use)(const struct nopal_composite *composite);
	/* Several stacks stand on it: is nothing under way on any?  NULL: one does. */
	bool (*idle)(const struct nopal_composite *composite);
};

/* The application; the next layer of the same stack, by stack.c; an endpoint of datagrams. */
extern const struct nopal_up nopal__application_up;
extern const struct nopal_up nopal__layer_up;
extern const struct nopal_down nopal__layer_down;
extern const struct nopal_down nopal__endpoint_down;

/* Where one stack is not enough: what is between two layers, by the multiplicity of either.
 * `whole` where both are of one stack, as at the listener of a group. */
struct nopal_junction {
	const struct nopal_down *down, *whole_down; /* of the upper one */
	const struct nopal_up *up, *whole_up;	    /* of the lower one */
};
extern const struct nopal_junction nopal__destinations, nopal__streams;

/* The life of sessions, for the engine below them. */
struct nopal_session_ops {
	void (*end)(struct nopal_composite *composite, enum nopal_end end, const char *text);
	void (*break_off)(struct nopal_session *session, enum nopal_end end, const char *text);
	void (*drained)(struct nopal_composite *composite); /* an outcome was settled */
	void (*free_stack)(struct nopal_composite *bottom);
	bool (*resume)(struct nopal_composite *composite);
	void (*idle_watch)(struct nopal_world *world);
	void (*idle_walk)(struct nopal_world *world);
};
extern const struct nopal_session_ops nopal__session_ops;

/* Endpoints, for the sessions that stand on them. */
struct nopal_endpoint_ops {
	int (*enter)(struct nopal_composite *bottom); /* negative: errno value */
	void (*forget)(struct nopal_composite *bottom);
	void (*opened)(struct nopal_composite *composite);
	/* True: the session ends otherwise, and it was seen to. */
	bool (*ends)(struct nopal_composite *bottom, enum nopal_end end);
	/* A copy of the text, with what the endpoint knows of the end; the caller frees it. */
	char *(*end_text)(const struct nopal_composite *bottom, enum nopal_end end,
			  const char *text);
	void (*tell_end)(struct nopal_composite *bottom);  /* to the peer */
	void (*finish)(struct nopal_composite *composite); /* before its parts close */
	void (*wait)(struct nopal_composite *composite, const struct nopal_segment *segment);
	void (*flush)(struct nopal_world *world); /* all trains that wait */
	bool (*suits)(struct nopal_endpoint *endpoint, const struct nopal_plan *plan);
};
extern const struct nopal_endpoint_ops nopal__endpoint_ops;

#endif
