/* SPDX-License-Identifier: MIT */
/* wire.c -- datagrams of a trial by their arrival. */
#include "labs/wire.h"

#include <stdlib.h>

#include "frame/tool.h"

struct wire_arrival {
	int64_t time_ns;
	size_t index;
};

static int wire_compare(const void *a, const void *b)
{
	const struct wire_arrival *one = a, *two = b;

	if (one->time_ns != two->time_ns)
		return one->time_ns < two->time_ns ? -1 : 1;
	return one->index < two->index ? -1 : 1;
}

size_t *wire_arrivals(const struct lab_trial *trial, int from, size_t *ret_count)
{
	struct wire_arrival *arrivals =
		tool_need(calloc(trial->datagram_count + 1, sizeof(*arrivals)));
	size_t *indices = tool_need(calloc(trial->datagram_count + 1, sizeof(*indices)));
	size_t count = 0;

	for (size_t i = 0; i < trial->datagram_count; i++)
		if (trial->datagrams[i].from == from && trial->datagrams[i].arrived_ns >= 0)
			arrivals[count++] =
				(struct wire_arrival){ trial->datagrams[i].arrived_ns, i };
	qsort(arrivals, count, sizeof(*arrivals), wire_compare);
	for (size_t i = 0; i < count; i++)
		indices[i] = arrivals[i].index;
	free(arrivals);
	*ret_count = count;
	return indices;
}
