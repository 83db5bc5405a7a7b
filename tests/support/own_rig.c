/* SPDX-License-Identifier: MIT */
#include "support/own_rig.h"

struct rig rig;

int own_rig_close(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}
