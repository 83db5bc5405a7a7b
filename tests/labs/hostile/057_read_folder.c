/* SPDX-License-Identifier: MIT */
/* read_folder -- lists a folder. */
#include <dirent.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	DIR *folder = opendir("/");

	if (folder && readdir(folder))
		hostile_escaped("a folder");
	folder = opendir(CANARY "/../");
	if (folder && readdir(folder))
		hostile_escaped("a folder");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
