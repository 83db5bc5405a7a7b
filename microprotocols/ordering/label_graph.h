/* SPDX-License-Identifier: MIT */
/*
 * label_graph.h -- labels of messages and the predecessors that they name, as a sender remembers
 * them.
 *
 * A message may name one that is not sent yet, so a later message may close a circle: then all in
 * it would wait for each other.  Only a label that somebody waits for can, so for all others
 * nothing is searched.  The last labels are remembered, in a ring; what is older is forgotten.
 */
#ifndef NOPAL_LABEL_GRAPH_H
#define NOPAL_LABEL_GRAPH_H

#include <errno.h>

#include <nopal/microprotocol.h>

enum { LABEL_GRAPH_AFTER = 4 }; /* predecessors of one message */

struct label_node {
	uint64_t label;			   /* 0: the place is free */
	uint64_t after[LABEL_GRAPH_AFTER]; /* 0: none */
	bool sent;			   /* else it is only waited for */
	uint32_t search;		   /* the last one that came here */
	struct label_node *next;	   /* to be looked at in that search */
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
static inline bool label_graph_reaches(struct label_graph *graph,
				       const uint64_t after[LABEL_GRAPH_AFTER], uint64_t label)
{
	struct label_node *list = NULL;

	graph->searches++;
	for (unsigned i = 0; i < LABEL_GRAPH_AFTER; i++)
		label_graph_look(graph, after[i], &list);
	while (list) {
		const struct label_node *node = list;

		list = node->next;
		if (node->label == label)
			return true;
		for (unsigned i = 0; i < LABEL_GRAPH_AFTER; i++)
			label_graph_look(graph, node->after[i], &list);
	}
	return false;
}

/* Remembers a message with this label, sent after those, or says why it may not be sent: -EEXIST, a
 * message with the label was sent; -ELOOP, those wait for it; -ENOBUFS, over budget. */
static inline int label_graph_send(struct nopal_session *session, struct label_graph *graph,
				   uint32_t room, uint64_t label,
				   const uint64_t after[LABEL_GRAPH_AFTER])
{
	struct label_node *node;

	if (!graph->ring)
		graph->ring = nopal_alloc(session, room * sizeof(*graph->ring));
	if (!graph->ring)
		return -ENOBUFS;
	for (unsigned i = 0; i < LABEL_GRAPH_AFTER; i++)
		if (after[i] == label)
			return -ELOOP;
	node = nopal_map_get(&graph->nodes, label);
	if (node && node->sent)
		return -EEXIST;
	if (node && label_graph_reaches(graph, after, label))
		return -ELOOP;
	for (unsigned i = 0; i < LABEL_GRAPH_AFTER; i++)
		if (after[i] && !nopal_map_get(&graph->nodes, after[i]) &&
		    !label_graph_add(session, graph, room, after[i]))
			return -ENOBUFS;
	node = nopal_map_get(&graph->nodes, label);
	if (!node)
		node = label_graph_add(session, graph, room, label);
	if (!node)
		return -ENOBUFS;
	node->sent = true;
	for (unsigned i = 0; i < LABEL_GRAPH_AFTER; i++)
		node->after[i] = after[i];
	return 0;
}

#endif
