/* SPDX-License-Identifier: MIT */
/*
 * endpoint_sessions.c -- the lists of sessions that an endpoint has: those that are awake, and the
 * idle ones.
 */
#include "session/endpoint_sessions.h"

void nopal__endpoint_unlink(struct nopal_composite *bottom)
{
	if (!bottom->at)
		return;
	*bottom->at = bottom->next;
	if (bottom->next)
		bottom->next->at = bottom->at;
	bottom->at = NULL;
}

void nopal__endpoint_link(struct nopal_composite *bottom, struct nopal_composite **list)
{
	nopal__endpoint_unlink(bottom);
	bottom->next = *list;
	bottom->at = list;
	if (bottom->next)
		bottom->next->at = &bottom->next;
	*list = bottom;
}
