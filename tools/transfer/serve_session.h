/* SPDX-License-Identifier: MIT */
/*
 * serve_session.h -- the sessions of `nopal serve`: each gets the parts that it asks for.
 *
 *   IDLE --ASK--> READING --OFFER, END--> GIVING --LIST---> HASHES
 *     ^              |                       |   \--WANT...--> DATA...
 *     +--------------+--ANSWER: no-----------+--RESULT: it has all
 *
 * Parts leave in the order of the WANTs, as the session takes them. The sessions know no loop:
 * their user calls serve_step() after `wake`, and serve_tick() now and then.
 */
#ifndef NOPAL_SERVE_SESSION_H
#define NOPAL_SERVE_SESSION_H

#include "peer/guests.h"
#include "transfer/serve_file.h"

struct serve_session;

struct serve {
	struct nopal_world *world;
	struct nopal_plan *plan;
	struct serve_files files;
	struct serve_session *sessions;
	struct guests_house house;
	struct guests guests;
	void *user;
	/* There is a file to read: serve_step(), soon. */
	void (*wake)(void *user);
	/* A line about the session with this peer. */
	void (*say)(void *user, const char *peer, const char *text);
};

/* So many sessions of one address may ask for something. */
void serve_init(struct serve *serve, unsigned sessions_each);
/* When the sessions of its world have ended. */
void serve_fini(struct serve *serve);
/* For nopal_endpoint_allow; the listener's user is the struct serve. */
extern const struct nopal_callbacks serve_callbacks;
/* Reads some; true: there is more. */
bool serve_step(struct serve *serve);
/* Asks silent peers whether they live. */
void serve_tick(struct serve *serve);

#endif
