/* SPDX-License-Identifier: MIT */
/*
 * stack.h -- what passes between the layers of a stack: stack.c says how, and send.c has where it
 * comes in.
 */
#ifndef NOPAL_STACK_H
#define NOPAL_STACK_H

#include <nopal/microprotocol.h>

struct nopal_composite;

/* stack.c */
/* True: it is the layer's below now. */
bool nopal__stack_down(struct nopal_composite *composite, struct nopal_segment *segment);
void nopal__stack_up(struct nopal_composite *composite, struct nopal_message *message);
/* Does this layer, or one below it, send again what is lost?  Then nobody above does:
 * what there is no memory for is lost for good. */
bool nopal__is_reliable(const struct nopal_composite *composite);
/* The outcome of a message here is that of its segment, or message, above. */
void nopal__stack_outcome(struct nopal_composite *composite, const struct nopal_message *message,
			  enum nopal_outcome outcome);
void nopal__stack_segment_outcome(struct nopal_composite *composite,
				  const struct nopal_segment *segment);
/* The composite above to whose item these attributes belong; NULL: it waits for nothing, as an idle
 * one does. */
struct nopal_composite *nopal__stack_waits(const struct nopal_composite *composite,
					   const uint64_t *attribute);
/* A first transmission of the layer above's is on the network. */
void nopal__stack_left(struct nopal_composite *composite, const uint64_t *attribute,
		       struct nopal_handle above, const struct nopal_segment *taken);
/* The peer has closed, and the layer above learns it. */
void nopal__layer_peer_closed(struct nopal_composite *composite);
/* The layer has closed in good order, and the layer below closes, too. */
void nopal__layer_closed(struct nopal_composite *composite);

/* send.c */
/* Negative: errno value. */
int nopal__message_from_above(struct nopal_composite *composite, const struct nopal_segment *from);
/* The same where no message is made of it; and where it becomes this layer's, and is no longer the
 * one's above. */
int nopal__segment_from_above(struct nopal_composite *composite, const struct nopal_segment *from);
void nopal__segment_take(struct nopal_composite *composite, struct nopal_composite *above,
			 struct nopal_segment *segment);

#endif
