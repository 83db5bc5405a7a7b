/* SPDX-License-Identifier: MIT */
/*
 * endpoint_sessions.h -- one UDP port, as the sessions on it and the wire see it: its struct, and
 * its list of sessions.
 */
#ifndef NOPAL_SESSION_ENDPOINT_H
#define NOPAL_SESSION_ENDPOINT_H

#include "engine/composite.h"
#include "base/hash.h"

struct nopal_id_table {
	struct nopal_composite **slots;
	uint32_t room, used;
};

/* Callbacks that the openers of some sessions share. */
struct nopal_shared_callbacks {
	struct nopal_callbacks callbacks; /* first: what sessions point to */
	struct nopal_shared_callbacks *next;
	uint32_t sessions;
};

struct nopal_listener_entry {
	struct nopal_listener_entry *next;
	struct nopal_plan *plan;
	unsigned flags;
	struct nopal_callbacks callbacks;
	void *user;
	struct nopal_guard *guard; /* of early data; NULL: no ticket was given */
};

struct nopal_ready {
	struct nopal_composite *composite;
	struct nopal_handle segment;
};

struct nopal_endpoint {
	struct nopal_port port; /* first: the world's view */
	struct nopal_endpoint *next, *next_unflushed;
	struct nopal_listener_entry *listeners;
	struct nopal_shared_callbacks *callbacks;
	struct nopal_composite *sessions, *idle; /* awake, and not */
	struct nopal_id_table by_id;
	/* keyed hash of (address, peer id); id 0: who is found by address */
	struct nopal_map by_opening;
	struct nopal_map meetings; /* rendezvous.c, by address */
	struct nopal_pool *pools;  /* one for each size of object */
	uint64_t secret[2];
	uint64_t reset_key[2]; /* reset.c */
	int64_t reset_ns;      /* when `resets_left` was counted */
	int32_t resets_left;
	uint32_t half_open; /* sessions that are */
	/* the train that is being built */
	struct nopal_address train_to;
	struct nopal_composite *train_of;
	uint32_t train_length, train_stride, train_count;
	uint32_t unsealed; /* bytes of the last datagram, to be sealed yet */
	bool train_closed, train_fragments, busy, unflushed;
	bool demux_is_set; /* by the first plan that is allowed or opened here */
	enum nopal_demux demux;
	/* what arrives now, here or at an alias: enum nopal_ecn, where, and whence */
	uint8_t arrived_ecn;
	struct nopal_endpoint *arrived_at;
	const struct nopal_address *arrived_from; /* NULL: nothing does */
	const struct nopal_composite *arrived_of; /* whose path is `arrived_path` */
	uint8_t arrived_path;
	/* another address of the endpoint whose alias it is */
	struct nopal_endpoint *alias_of, *aliases, *next_alias;
	/* sessions that receive a channel at this alias, and the function for its datagrams */
	uint32_t channels;
	void (*channel_receive)(struct nopal_endpoint *alias, const struct nopal_arrival *arrival,
				uint8_t *bytes, uint32_t length);
	struct nopal_farewells *farewells; /* farewell.c; NULL: none yet */
	struct nopal_ready *ready;	   /* transmissions that wait for the kernel */
	uint32_t ready_head, ready_count, ready_room;
	uint8_t train[NOPAL_TRAIN_BYTES + 600];
};

/* A copy that all sessions with the same callbacks share; NULL: no memory. */
const struct nopal_callbacks *nopal__callbacks_share(struct nopal_endpoint *endpoint,
						     const struct nopal_callbacks *callbacks);
void nopal__callbacks_unshare(struct nopal_endpoint *endpoint,
			      const struct nopal_callbacks *callbacks);

/* Leaves the list of sessions that it is in, and becomes the first of this one. */
void nopal__endpoint_unlink(struct nopal_composite *bottom);
void nopal__endpoint_link(struct nopal_composite *bottom, struct nopal_composite **list);

#endif
