/* SPDX-License-Identifier: MIT */
/* bottleneck.c -- a path that is narrow at one place, and its queue. */
#include "labs/bottleneck.h"

#include <stdio.h>
#include <stdlib.h>

#include "frame/tool.h"

enum { BOTTLENECK_PACKET = 1500 /* bytes of a full segment on the link */ };

void bottleneck_draw(struct lab_trial *trial, struct bottleneck *ret_path)
{
	struct bottleneck *path = ret_path;
	int64_t trip = lab_between(trial, 16, 24);

	path->rate_kbit = lab_between(trial, 2000, 6000);
	path->packets_s = (double)path->rate_kbit * 1000 / 8 / BOTTLENECK_PACKET;
	path->delay_us = (int64_t)((double)trip / path->packets_s / 2 * 1e6);
	path->limit = trip * lab_between(trial, 70, 150) / 100;
	path->window = (double)(trip + path->limit);
	snprintf(path->link, sizeof(path->link), "rate %lldkbit delay %lldus limit %lld",
		 (long long)path->rate_kbit, (long long)path->delay_us, (long long)path->limit);
}

void bottleneck_fill(struct lab_trial *trial, int host, int64_t at_ns,
		     const struct bottleneck *path, double seconds)
{
	double bytes = (double)path->rate_kbit * 1000 / 8 * seconds;

	for (unsigned i = 0; i < bytes / BOTTLENECK_MESSAGE; i++)
		lab_send(trial, host, 0, at_ns, BOTTLENECK_MESSAGE, NULL);
}

static int bottleneck_compare(const void *a, const void *b)
{
	double one = *(const double *)a, two = *(const double *)b;

	return (one > two) - (one < two);
}

double bottleneck_queue(const struct lab_trial *trial, int host, const struct bottleneck *path,
			int64_t from_ns)
{
	double *queue_ms = tool_need(calloc(trial->datagram_count + 1, sizeof(*queue_ms))), value;
	double path_ms = (double)path->delay_us / 1000 + 1000 / path->packets_s;
	size_t count = 0;

	for (size_t i = 0; i < trial->datagram_count; i++) {
		const struct lab_datagram *datagram = &trial->datagrams[i];

		if (datagram->from == host && datagram->message && datagram->arrived_ns >= 0 &&
		    datagram->time_ns > from_ns)
			queue_ms[count++] = (double)(datagram->arrived_ns - datagram->time_ns) /
						    (double)NOPAL_MILLISECOND -
					    path_ms;
	}
	if (count)
		qsort(queue_ms, count, sizeof(*queue_ms), bottleneck_compare);
	value = count ? queue_ms[count * 95 / 100] : 0;
	free(queue_ms);
	return value;
}

double bottleneck_fairness(double one, double two)
{
	if (one + two <= 0)
		return 0;
	return (one + two) * (one + two) / (2 * (one * one + two * two));
}
