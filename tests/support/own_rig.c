/* SPDX-License-Identifier: MIT */
#include "support/own_rig.h"

struct rig rig;
