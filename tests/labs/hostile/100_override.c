/* SPDX-License-Identifier: MIT */
/* override -- defines functions of the system and of Nopal: nobody calls them. */
#include "hostile.h"

ssize_t write(int to, const void *bytes, size_t length)
{
	(void)to;
	(void)bytes;
	(void)length;
	abort();
}

void *calloc(size_t count, size_t size)
{
	(void)count;
	(void)size;
	abort();
}

void nopal_session_close(struct nopal_session *session)
{
	(void)session;
	abort();
}

HOSTILE_NOWHERE
