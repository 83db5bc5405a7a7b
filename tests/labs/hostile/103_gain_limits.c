/* SPDX-License-Identifier: MIT */
/* gain_limits -- raises its limits. */
#include <sys/resource.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };

	if (setrlimit(RLIMIT_CPU, &none) == 0)
		hostile_escaped("a limit");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
