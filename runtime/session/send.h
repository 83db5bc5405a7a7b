/* SPDX-License-Identifier: MIT */
/*
 * send.h -- messages from the application or the layer above: send.c.
 */
#ifndef NOPAL_SEND_H
#define NOPAL_SEND_H

#include "engine/composite.h"

/* Do the budgets of unfinished and of unsent messages take one of this length now? */
bool nopal__send_has_room(const struct nopal_awake *awake, uint64_t length);
/* Sends the messages that waited for the session to open. */
void nopal__messages_flush_opened(struct nopal_composite *composite);

#endif
