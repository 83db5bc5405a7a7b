/* SPDX-License-Identifier: MIT */
/* forge_ready -- says that it is ready while it is loaded, then sleeps. */
#include "frames.h"

__attribute__((constructor)) static void deed(void)
{
	const struct frames_frame ready = { 0, FRAMES_READY, 0, 0, 0 };
	char byte;

	frames_write(&ready, sizeof(ready));
	for (int from = 3; from < 64; from++)
		while (read(from, &byte, 1) > 0)
			hostile_turns++;
}

HOSTILE_NOWHERE
