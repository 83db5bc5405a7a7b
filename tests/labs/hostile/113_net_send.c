/* SPDX-License-Identifier: MIT */
/* net_send -- sends to an address. */
#include <sys/socket.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	const struct sockaddr address = { .sa_family = AF_UNIX };

	for (int to = 3; to < 64; to++)
		if (sendto(to, "x", 1, 0, &address, sizeof(address)) >= 0)
			hostile_escaped("a datagram");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
