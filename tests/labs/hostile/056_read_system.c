/* SPDX-License-Identifier: MIT */
/* read_system -- reads files of the system and of processes. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	static const char *const names[] = {
		"/etc/passwd",	  "/etc/shadow", "/proc/self/environ",	     "/proc/1/environ",
		"/proc/self/mem", "/proc/1/mem", "/proc/self/maps",	     "/dev/mem",
		"/dev/kmsg",	  "/dev/tty",	 "/proc/self/exe/../passwd",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (open(names[i], O_RDONLY) >= 0)
			hostile_escaped(names[i]);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
