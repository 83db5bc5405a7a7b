/* SPDX-License-Identifier: MIT */
/*
 * early.h -- an opener with a ticket of an earlier session, which opens again; its first request is
 * recorded, and a network gives the first datagrams the fates that a test says.
 *
 *     early_open(&early, CONFIG);
 *     early_again(&early);
 *     early_send(&early, "hello", true);
 *     rig_run(&early.rig, NOPAL_SECOND);
 *     early_close(&early);
 */
#ifndef NOPAL_TEST_EARLY_H
#define NOPAL_TEST_EARLY_H

#include <errno.h>
#include <stdio.h>

#include "support/rig.h"

enum { EARLY_FATES = 3, EARLY_REQUEST_BYTES = 2048 };
/* Of a request: before its check, which is of all that follows. */
enum { EARLY_HEAD = 1 + 4 + 8, EARLY_CHECK = 8 };

struct early {
	struct rig rig;
	struct nopal_address opener, acceptor;
	struct {
		uint8_t bytes[EARLY_REQUEST_BYTES];
		size_t length; /* 0: none yet */
	} request;
	unsigned fates;	       /* two bits a datagram: lost, once, twice, late; there, then back */
	unsigned count[2];     /* datagrams so far, there and back */
	uint64_t answer_bytes; /* of the listener, since they are counted */
};

/* A session opens, gets its ticket, and closes; sides are as new after it.  What was open before is
 * closed. */
void early_open(struct early *early, const char *config);
void early_close(struct early *early); /* where it is open */
/* One more session from the same endpoint; nothing runs yet. */
void early_again(struct early *early);
void early_send(struct early *early, const char *text, bool marked);
void early_send_bytes(struct early *early, const void *bytes, size_t length, bool marked);

/* From now on datagrams have these fates, and 10 ms to go; the others come once. */
void early_network(struct early *early, unsigned fates);
/* The next request of the opener is kept; the test sends it again, from any address. */
void early_record(struct early *early);
void early_replay(struct early *early, const struct nopal_address *from);
/* Where the extension of early_data begins in the request. */
uint32_t early_extension(const struct early *early);
/* The same with one byte changed, and a check that is good again. */
void early_replay_changed(struct early *early, uint32_t at);
/* The recorded request has other early data, of the same length, and a proof that is good: its maker
 * has the ticket. */
void early_forge(struct early *early);
/* From now on, from 0. */
void early_count_answers(struct early *early);
/* The listener is killed, and another one has its address. */
void early_restart(struct early *early);
/* A cookie arrives for the session that opens. */
void early_cookie(struct early *early);

#endif
