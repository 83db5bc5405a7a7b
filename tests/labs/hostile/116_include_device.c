/* SPDX-License-Identifier: MIT */
/* include_device -- includes a device that never ends. */
#include "hostile.h"

#include "/dev/zero"

HOSTILE_NOWHERE
