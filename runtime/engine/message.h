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

/* Data that nobody has transmitted yet.  So many bytes of the message, and of those behind it in
 * the same segment, are on the network now; or all of a segment, in this layer or in one below it;
 * or what is left of a message never will be. */
void nopal__messages_left(struct nopal_composite *composite, struct nopal_message *message,
			  uint64_t bytes);
void nopal__segment_left(struct nopal_composite *composite, struct nopal_segment *segment);
static inline void nopal__message_unsent_no_more(struct nopal_composite *composite,
						 struct nopal_message *message)
{
	composite->awake->unsent_bytes -= message->unsent;
	composite->awake->unsent--;
	message->unsent = 0;
	message->is_unsent = false;
}

/* The outcome of a segment that came from above without a message. */
void nopal__segment_tell_outcome(struct nopal_composite *composite,
				 const struct nopal_segment *segment);

#endif
