/* SPDX-License-Identifier: MIT */
/*
 * send_many.h -- files to several `nopal recv` at once, by a config that speaks to many.
 */
#ifndef NOPAL_SEND_MANY_H
#define NOPAL_SEND_MANY_H

#include "frame/tool.h"

/* The words of the call: so many files, and then receivers, whose addresses are `peers`.  The plan
 * speaks to many. */
enum tool_exit send_many(const struct tool_call *call, struct nopal_plan *plan, int files,
			 const struct nopal_address *peers, int64_t rate_bps);

#endif
