/* SPDX-License-Identifier: MIT */
/*
 * script.h -- the bytes of an input as a script for the arena: what the applications do, what the
 * network does, and what a forger puts into it.
 *
 * An action is one byte and, behind it, what it asks for.  What an input says about datagrams it
 * says relative to those that left in this very run (the last but two, four bytes from its end), so
 * that a script keeps its meaning though ids differ.
 */
#ifndef NOPAL_FUZZ_SCRIPT_H
#define NOPAL_FUZZ_SCRIPT_H

#include "arena.h"
#include "input.h"

enum { SCRIPT_ACTIONS = 48 }; /* of one execution, at most */

/* Deeds of the applications: say, close, open more, keep messages; and what befalls them: a
 * restart, another address, and hints of the network. */
void script_act(struct arena *arena, struct input *input);
/* Deeds of a forger alone: an edited copy of a datagram that left, or one that never did, most
 * often with its checks repaired. */
void script_forge(struct arena *arena, struct input *input);
/* The same, but the datagram is not delivered; false: none has left that it would be a copy of. */
bool script_forged(struct arena *arena, struct input *input, struct arena_datagram *ret_datagram);
/* Time steps, of 1 ms to 65 s. */
void script_pass(struct arena *arena, struct input *input);

#endif
