/* SPDX-License-Identifier: MIT */
/*
 * message.h -- messages, cut and put together: message.c.
 */
#ifndef NOPAL_MESSAGE_H
#define NOPAL_MESSAGE_H

#include "engine/composite.h"

/* NULL: over budget. */
struct nopal_message *nopal__message_make(struct nopal_composite *composite, uint64_t length);
void nopal__message_tell_outcome(struct nopal_composite *composite, struct nopal_message *message,
				 enum nopal_outcome outcome);
enum nopal_outcome nopal__message_outcome(const struct nopal_message *message);
/* Of all that rode in a segment which is done. */
void nopal__messages_segment_done(struct nopal_composite *composite, struct nopal_message *message,
				  enum nopal_outcome outcome);
void nopal__message_free(struct nopal_composite *composite, struct nopal_message *message);
void nopal__message_unpin(struct nopal_composite *composite, struct nopal_message *message);
void nopal__messages_end(struct nopal_composite *composite);
/* Spare rooms for fragments go back to the session's memory. */
void nopal__fragments_give_back(struct nopal_composite *composite);
void nopal__messages_free(struct nopal_composite *composite);
void nopal__message_deliver(struct nopal_composite *composite, struct nopal_message *message);

/* The outcome of a segment that came from above without a message. */
void nopal__segment_tell_outcome(struct nopal_composite *composite,
				 const struct nopal_segment *segment);

#endif
