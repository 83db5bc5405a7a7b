/* SPDX-License-Identifier: MIT */
#include "lab/sandbox.h"
int sandbox_enter(const struct sandbox *sandbox, char *why, size_t room)
{
	(void)sandbox;
	(void)why;
	(void)room;
	return 0;
}
