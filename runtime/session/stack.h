/* SPDX-License-Identifier: MIT */
/*
 * stack.h -- what passes between the layers of a stack: stack.c says how, and send.c has where it
 * comes in.
 */
#ifndef NOPAL_STACK_H
#define NOPAL_STACK_H

#include <nopal/microprotocol.h>

struct nopal_core;

/* stack.c */
/* True: it is the layer's below now. */
bool nopal__stack_down(struct nopal_core *core, struct nopal_segment *segment);
void nopal__stack_up(struct nopal_core *core, struct nopal_message *message);
/* Does this layer, or one below it, send again what is lost?  Then nobody above does:
 * what there is no memory for is lost for good. */
bool nopal__is_reliable(const struct nopal_core *core);
/* What has these attributes here is a segment above, or all that waits above for the fate of this
 * one is its message. */
void nopal__stack_done(struct nopal_core *core, const uint64_t *attribute,
		       struct nopal_handle above, enum nopal_fate fate);
void nopal__stack_message_done(struct nopal_core *core, const struct nopal_segment *segment);

/* send.c */
/* Negative: errno value. */
int nopal__message_from_above(struct nopal_core *core, const struct nopal_segment *from);
/* The same where no message is made of it; and where it becomes this layer's, and is no longer the
 * one's above. */
int nopal__segment_from_above(struct nopal_core *core, const struct nopal_segment *from);
void nopal__segment_take(struct nopal_core *core, struct nopal_core *above,
			 struct nopal_segment *segment);

/* message.c */
/* Of a segment that came from above so. */
void nopal__segment_tell_fate(struct nopal_core *core, const struct nopal_segment *segment);

#endif
