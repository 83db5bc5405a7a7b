/* SPDX-License-Identifier: MIT */
/*
 * labels.h -- labels of messages and the predecessors that they name: as a sender remembers
 * them, and as a receiver keeps those that wait.
 *
 * A message may name one that is not sent yet, so a later message may close a circle: then all in
 * it would wait for each other.  Only a label that somebody waits for can, so for all others
 * nothing is searched.  The last labels are remembered, in a ring; what is older is forgotten.
 *
 * A waiter is in one list for each label that it lacks; when a message with the label is delivered,
 * the list is taken down, and each waiter that lacks nothing any more is ready.  All waiters are in
 * a list by due time, too: those that are hurried, and behind them the others, by age.  The labels
 * that were delivered last are remembered, in a ring.
 */
#ifndef NOPAL_LABELS_H
#define NOPAL_LABELS_H

#include <errno.h>

#include <nopal/microprotocol.h>

enum { LABEL_AFTER = 4 }; /* predecessors of one message */

/* ------------------------------------------------------------------ the sender */

struct label_node {
	uint64_t label;		     /* 0: the place is free */
	uint64_t after[LABEL_AFTER]; /* 0: none */
	bool sent;		     /* else it is only waited for */
	uint32_t search;	     /* the last one that came here */
	struct label_node *next;     /* to be looked at in that search */
};

struct label_graph {
	struct nopal_map nodes;	 /* by label */
	struct label_node *ring; /* made with the first label */
	uint32_t next;
	uint32_t searches;
};

/* A node for the label, in the place of the oldest; NULL: over budget. */
static inline struct label_node *label_graph_add(struct nopal_session *session,
						 struct label_graph *graph, uint32_t room,
						 uint64_t label)
{
	struct label_node *node = &graph->ring[graph->next];

	graph->next = (graph->next + 1) % room;
	if (node->label)
		nopal_map_take(&graph->nodes, node->label);
	*node = (struct label_node){ 0 };
	if (nopal_map_put(session, &graph->nodes, label, node) < 0)
		return NULL;
	node->label = label;
	return node;
}

static inline void label_graph_look(struct label_graph *graph, uint64_t label,
				    struct label_node **list)
{
	struct label_node *node = label ? nopal_map_get(&graph->nodes, label) : NULL;

	if (!node || node->search == graph->searches)
		return;
	node->search = graph->searches;
	node->next = *list;
	*list = node;
}

/* Does a path lead from one of these predecessors to the label? */
static inline bool label_graph_reaches(struct label_graph *graph, const uint64_t after[LABEL_AFTER],
				       uint64_t label)
{
	struct label_node *list = NULL;

	graph->searches++;
	for (unsigned i = 0; i < LABEL_AFTER; i++)
		label_graph_look(graph, after[i], &list);
	while (list) {
		const struct label_node *node = list;

		list = node->next;
		if (node->label == label)
			return true;
		for (unsigned i = 0; i < LABEL_AFTER; i++)
			label_graph_look(graph, node->after[i], &list);
	}
	return false;
}

/* Remembers a message with this label, sent after those, or says why it may not be sent: -EEXIST, a
 * message with the label was sent; -ELOOP, those wait for it; -ENOBUFS, over budget. */
static inline int label_graph_send(struct nopal_session *session, struct label_graph *graph,
				   uint32_t room, uint64_t label, const uint64_t after[LABEL_AFTER])
{
	struct label_node *node;

	if (!graph->ring)
		graph->ring = nopal_alloc(session, room * sizeof(*graph->ring));
	if (!graph->ring)
		return -ENOBUFS;
	for (unsigned i = 0; i < LABEL_AFTER; i++)
		if (after[i] == label)
			return -ELOOP;
	node = nopal_map_get(&graph->nodes, label);
	if (node && node->sent)
		return -EEXIST;
	if (node && label_graph_reaches(graph, after, label))
		return -ELOOP;
	for (unsigned i = 0; i < LABEL_AFTER; i++)
		if (after[i] && !nopal_map_get(&graph->nodes, after[i]) &&
		    !label_graph_add(session, graph, room, after[i]))
			return -ENOBUFS;
	node = nopal_map_get(&graph->nodes, label);
	if (!node)
		node = label_graph_add(session, graph, room, label);
	if (!node)
		return -ENOBUFS;
	node->sent = true;
	for (unsigned i = 0; i < LABEL_AFTER; i++)
		node->after[i] = after[i];
	return 0;
}

struct label_waiter;

/* One label that a waiter lacks; in the list of all that lack it. */
struct label_link {
	struct label_link *next, *previous;
	struct label_waiter *waiter;
	uint64_t label; /* 0: not in use */
};

struct label_waiter {
	struct label_waiter *older, *newer; /* or the next free one */
	struct label_waiter *after_it;	    /* ready: the next; given up: the one that lacks it */
	struct nopal_handle message;
	uint64_t label;	 /* its own, or 0 */
	int64_t due_ns;	 /* it waits no longer */
	uint64_t number; /* of its message's first segment, or 0 */
	unsigned lacks;
	bool asked; /* somebody who is given up lacks it */
	struct label_link link[LABEL_AFTER];
};

struct label_waiters {
	struct nopal_map lacking; /* label -> first link */
	struct nopal_map waiting; /* label -> waiter */
	struct nopal_map known;	  /* delivered label -> its place in the ring */
	uint32_t *delivered;	  /* the ring; made with the first label */
	uint32_t next;
	struct label_waiter *oldest, *newest, *free;
	struct label_waiter *hurried; /* the last one that is, or NULL */
	struct label_waiter *ready, *ready_last;
	uint32_t count;
};

/* ------------------------------------------------------------- what is known */

static inline bool label_is_known(const struct label_waiters *all, uint64_t label)
{
	return nopal_map_get(&all->known, label) != NULL;
}

/* Places are told apart by their addresses.  False: over budget. */
static inline bool label_learn(struct nopal_session *session, struct label_waiters *all,
			       uint32_t room, uint64_t label)
{
	uint32_t *place;

	if (!all->delivered)
		all->delivered = nopal_alloc(session, room * sizeof(*all->delivered));
	if (!all->delivered)
		return false;
	place = &all->delivered[all->next];
	all->next = (all->next + 1) % room;
	if (*place && nopal_map_get(&all->known, *place) == place)
		nopal_map_take(&all->known, *place);
	*place = (uint32_t)label;
	return nopal_map_put(session, &all->known, label, place) == 0;
}

/* ------------------------------------------------------------------ the lists */

/* Behind `last`; NULL: at the front. */
static inline void label_list_add(struct label_waiters *all, struct label_waiter *waiter,
				  struct label_waiter *last)
{
	waiter->older = last;
	waiter->newer = last ? last->newer : all->oldest;
	if (waiter->newer)
		waiter->newer->older = waiter;
	else
		all->newest = waiter;
	if (last)
		last->newer = waiter;
	else
		all->oldest = waiter;
	all->count++;
}

static inline void label_list_remove(struct label_waiters *all, struct label_waiter *waiter)
{
	if (all->hurried == waiter)
		all->hurried = waiter->older;
	if (waiter->older)
		waiter->older->newer = waiter->newer;
	else
		all->oldest = waiter->newer;
	if (waiter->newer)
		waiter->newer->older = waiter->older;
	else
		all->newest = waiter->older;
	all->count--;
}

/* In front of the others that lack the label.  False: over budget. */
static inline bool label_link_add(struct nopal_session *session, struct label_waiters *all,
				  struct label_waiter *waiter, uint64_t label)
{
	struct label_link *link = &waiter->link[waiter->lacks];
	struct label_link *first = nopal_map_get(&all->lacking, label);

	if (nopal_map_put(session, &all->lacking, label, link) < 0)
		return false;
	*link = (struct label_link){ .next = first, .waiter = waiter, .label = label };
	if (first)
		first->previous = link;
	waiter->lacks++;
	return true;
}

/* The slot of the label is there, so that putting another value cannot fail. */
static inline void label_link_remove(struct nopal_session *session, struct label_waiters *all,
				     struct label_link *link)
{
	if (!link->label)
		return;
	if (link->next)
		link->next->previous = link->previous;
	if (link->previous) {
		link->previous->next = link->next;
	} else {
		nopal_map_take(&all->lacking, link->label);
		if (link->next)
			nopal_map_put(session, &all->lacking, link->label, link->next);
	}
	link->label = 0;
}

/* ---------------------------------------------------------------- the waiters */

/* Takes the waiter out of all lists; its record is free again. */
static inline void label_waiter_remove(struct nopal_session *session, struct label_waiters *all,
				       struct label_waiter *waiter)
{
	for (unsigned i = 0; i < LABEL_AFTER; i++)
		label_link_remove(session, all, &waiter->link[i]);
	if (waiter->label && nopal_map_get(&all->waiting, waiter->label) == waiter)
		nopal_map_take(&all->waiting, waiter->label);
	label_list_remove(all, waiter);
	waiter->newer = all->free;
	all->free = waiter;
}

/* A waiter that lacks nothing yet; NULL: over budget. */
static inline struct label_waiter *label_waiter_new(struct nopal_session *session,
						    struct label_waiters *all,
						    struct nopal_handle message, uint64_t label)
{
	struct label_waiter *waiter = all->free;

	if (waiter)
		all->free = waiter->newer;
	else
		waiter = nopal_alloc(session, sizeof(*waiter));
	if (!waiter)
		return NULL;
	*waiter = (struct label_waiter){ .message = message, .label = label };
	label_list_add(all, waiter, all->newest);
	if (label && nopal_map_put(session, &all->waiting, label, waiter) < 0) {
		label_waiter_remove(session, all, waiter);
		return NULL;
	}
	return waiter;
}

/* The label is delivered: the waiters that lacked nothing else are ready, the oldest first. */
static inline void label_wake(struct label_waiters *all, uint64_t label)
{
	struct label_link *link = nopal_map_take(&all->lacking, label), *next;
	struct label_waiter *woken = NULL, *last = NULL;

	for (; link; link = next) {
		struct label_waiter *waiter = link->waiter;

		next = link->next;
		link->label = 0;
		if (--waiter->lacks || waiter->asked)
			continue;
		waiter->after_it = woken;
		woken = waiter;
		if (!last)
			last = waiter;
	}
	if (!woken)
		return;
	if (all->ready)
		all->ready_last->after_it = woken;
	else
		all->ready = woken;
	all->ready_last = last;
}

/* A message that waits itself and that this one lacks, not asked for yet. */
static inline struct label_waiter *label_lacked(const struct label_waiters *all,
						const struct label_waiter *waiter)
{
	for (unsigned i = 0; i < LABEL_AFTER; i++) {
		struct label_waiter *lacked = NULL;

		if (waiter->link[i].label)
			lacked = nopal_map_get(&all->waiting, waiter->link[i].label);
		if (lacked && !lacked->asked)
			return lacked;
	}
	return NULL;
}

#endif
