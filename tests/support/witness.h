/* SPDX-License-Identifier: MIT */
/*
 * witness.h -- a microprotocol above destinations that sees every copy's outcome before fan_out
 * does, and after it whether fan_out kept the rule:
 *
 *   once:    a copy has one outcome, a message has one outcome, and it stays
 *   at once: the outcome is told with the very copy that decides it, not before
 *   true:    a destination that is said to have a message has delivered it
 *
 * A config for it holds `a_witness {}` in the group's layer.  Destinations that take part have ids
 * below 64.
 */
#ifndef NOPAL_TEST_WITNESS_H
#define NOPAL_TEST_WITNESS_H

#include "support/many.h"

struct witness_message {
	uint32_t given;			    /* copies that left */
	uint64_t arrived, unknown, missing; /* destinations, by id */
	uint64_t removed;		    /* those that were given up with their removal */
	bool named, left;
	int verdict; /* NOPAL_OUTCOME_UNKNOWN ... once it is decided; else UNDECIDED */
};

struct witness {
	struct many *many;
	uint32_t acks;	  /* as fan_out's */
	uint64_t members; /* by id: who is to get what is sent now */
	bool members_known;
	bool may_wait; /* at a destination, for one before it that was lost */
	unsigned violations;
	char violation[256]; /* the first one */
	uint64_t copies;
	uint32_t used; /* messages that were seen */
	struct witness_message message[MANY_MESSAGES];
};
extern struct witness witness;

void witness_begin(struct many *many, uint32_t acks);
void witness_wants(bool kept, const char *rule, uint32_t message);
uint32_t witness_needed(const struct witness_message *of);

/* After a copy's outcome, and after it was sent. */
void witness_check(uint32_t number);
void witness_enter(void);

#endif
