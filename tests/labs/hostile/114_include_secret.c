/* SPDX-License-Identifier: MIT */
/* include_secret -- includes a secret. */
#include "hostile.h"

#include CANARY_SECRET

HOSTILE_NOWHERE
