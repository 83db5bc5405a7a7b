/* SPDX-License-Identifier: MIT */
/*
 * explain_promises.h -- the qualities of a plan's service, as text and as JSON.
 */
#ifndef NOPAL_EXPLAIN_PROMISES_H
#define NOPAL_EXPLAIN_PROMISES_H

#include "inspect/show.h"

/* The section "promises": that of the application, or, with `layers`, of each layer from the
 * top. */
void explain_promises_print(const struct nopal_plan *plan, bool layers);
/* An object: by quality its value, who gave it, and how it differs for messages with a property. */
json_t *explain_promises_json(const struct nopal_plan *plan, unsigned layer);

#endif
