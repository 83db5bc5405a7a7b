/* SPDX-License-Identifier: MIT */
/* embed_secret -- embeds a secret. */
#include "hostile.h"

__asm__(".incbin \"" CANARY_SECRET "\"");

HOSTILE_NOWHERE
