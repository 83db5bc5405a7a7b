/* SPDX-License-Identifier: MIT */
/* net_connect -- connects to the world. */
#include <sys/socket.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0)
		hostile_escaped("a socket");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
