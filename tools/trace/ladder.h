/* SPDX-License-Identifier: MIT */
/*
 * ladder.h -- the segments of one connection between two columns.
 */
#ifndef NOPAL_LADDER_H
#define NOPAL_LADDER_H

#include "trace/view.h"

enum tool_exit trace_ladder(struct trace_view *view);

#endif
