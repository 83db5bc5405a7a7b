/* SPDX-License-Identifier: MIT */
/* spoil_session -- overwrites the session. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	memset(at.session, 0xff, sizeof(*at.session));
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
