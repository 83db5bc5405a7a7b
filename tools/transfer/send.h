/* SPDX-License-Identifier: MIT */
/*
 * send.h -- the two senders of `nopal send`: to one receiver, and to several by a config that is
 * one to many.
 *
 * The words of the call are `files` paths and then receivers, whose addresses are given in the same
 * order; `with` has the properties of the file's messages.  The plan stays the caller's.
 */
#ifndef NOPAL_SEND_H
#define NOPAL_SEND_H

#include "frame/properties.h"
#include "frame/tool.h"
#include "peer/rendezvous.h"

enum tool_exit send_one(const struct tool_call *call, struct nopal_plan *plan, int files,
			const struct nopal_address *peer, const struct rendezvous *rendezvous,
			int64_t rate_bps, const struct properties *with);
enum tool_exit send_many(const struct tool_call *call, struct nopal_plan *plan, int files,
			 const struct nopal_address *peers, int64_t rate_bps,
			 const struct properties *with);

#endif
