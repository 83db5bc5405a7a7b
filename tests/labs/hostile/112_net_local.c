/* SPDX-License-Identifier: MIT */
/* net_local -- makes a socket on this machine. */
#include <sys/socket.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (socket(AF_UNIX, SOCK_DGRAM, 0) >= 0)
		hostile_escaped("a socket");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
