/* SPDX-License-Identifier: MIT */
/*
 * setup.c -- the numbers of a config, read once from its plan, so that the monolith runs with the
 * very parameters of the composition that it stands in for; and whether it can.
 */
#include <stdlib.h>
#include <string.h>

#include "compose/compose.h"
#include "plan/plan.h"
#include "ports/world.h"
#include "connection.h"

/* Parts that the config must be made of.  Of congestion control the wire says nothing:
 * whichever the peer has, ours is CUBIC. */
static const char *const setup_needed[] = {
	"transport_driver",   "virtual_circuit", "keep_alive",	  "resize",
	"sequenced_segments", "positive_ack",	 "duplicate_ack", "rtt_estimation",
	"retransmit",	      "windowed_flow",	 "windowed_cc",	  "reliable_fifo",
};

static const struct {
	uint8_t code;
	const char *name;
} setup_kinds[] = {
	{ MONOLITH_ALIVE_PROBE, "probe" }, { MONOLITH_ALIVE_ANSWER, "probe_ack" },
	{ MONOLITH_ACK, "ack" },	   { MONOLITH_ACCEPT, "accept" },
	{ MONOLITH_CLOSE, "close" },	   { MONOLITH_CLOSE_ACK, "close_ack" },
	{ MONOLITH_WINDOW, "window" },	   { MONOLITH_WINDOW_PROBE, "probe" },
};

static const struct nopal_part *part_of(const struct nopal_plan *plan, const char *name)
{
	for (uint32_t i = 0; i < plan->part_count; i++)
		if (strcmp(plan->parts[i].microprotocol->name, name) == 0)
			return &plan->parts[i];
	return NULL;
}

/* A parameter; `otherwise` where the microprotocol is not there. */
static int64_t value_of(const struct nopal_plan *plan, const char *name, const char *key,
			int64_t otherwise)
{
	const struct nopal_part *part = part_of(plan, name);
	const struct nopal_parameter *parameter = part ? part->microprotocol->parameters : NULL;

	for (; parameter && parameter->name; parameter++)
		if (strcmp(parameter->name, key) == 0)
			return nopal__parameter_get(part->parameters, parameter);
	return otherwise;
}

static bool fits(const struct nopal_plan *plan)
{
	const size_t needed = sizeof(setup_needed) / sizeof(*setup_needed);
	const size_t kinds = sizeof(setup_kinds) / sizeof(*setup_kinds);
	const struct nopal_header *data = &plan->kinds[MONOLITH_DATA].header;

	for (size_t i = 0; i < needed; i++)
		if (!part_of(plan, setup_needed[i]))
			return false;
	for (size_t i = 0; i < kinds; i++) {
		const char *name = plan->kinds[setup_kinds[i].code].name;

		if (!name || strcmp(name, setup_kinds[i].name))
			return false;
	}
	if (plan->kinds[MONOLITH_WINDOW_PROBE + 1].name || plan->layer_count != 1 ||
	    (plan->seal && !part_of(plan, "checksum")))
		return false;
	return data->bytes == MONOLITH_DATA_HEAD - MONOLITH_HEAD &&
	       value_of(plan, "positive_ack", "selective", 0) &&
	       !value_of(plan, "positive_ack", "piggyback", 0);
}

static void read_session(struct monolith_setup *setup, const struct nopal_plan *plan)
{
	static const char circuit[] = "virtual_circuit", alive[] = "keep_alive";

	setup->retry_ns = value_of(plan, circuit, "retry", 0);
	setup->retry_max_ns = value_of(plan, circuit, "retry_most", 0);
	setup->attempts = value_of(plan, circuit, "attempts", 0);
	setup->linger_ns = value_of(plan, circuit, "linger", 0);
	setup->alive_interval_ns = value_of(plan, alive, "interval", 0);
	setup->alive_timeout_ns = value_of(plan, alive, "timeout", 0);
	setup->alive_probes = value_of(plan, alive, "probes", 1);
	setup->buffer_bytes = value_of(plan, "windowed_flow", "buffer", 0);
	setup->edge_initial = value_of(plan, "windowed_flow", "initial", 0);
	setup->probe_ns = value_of(plan, "windowed_flow", "probe", 0);
}

static void read_status(struct monolith_setup *setup, const struct nopal_plan *plan)
{
	static const char ack[] = "positive_ack", rtt[] = "rtt_estimation",
			  loss[] = "duplicate_ack", timer[] = "retransmission_timer";

	setup->filter_window = value_of(plan, "sequenced_segments", "window", 0);
	setup->ack_window = value_of(plan, ack, "window", 0);
	setup->ack_every = value_of(plan, ack, "every", 0);
	setup->ack_delay_ns = value_of(plan, ack, "delay", 0);
	setup->status_min_ns = value_of(plan, timer, "timeout_min", 0);
	setup->status_max_ns = value_of(plan, timer, "timeout_max", 0);
	setup->backoff_max = value_of(plan, timer, "backoff", 0);
	setup->loss_threshold = value_of(plan, loss, "threshold", 0);
	setup->loss_adapts = value_of(plan, loss, "adapt", 0);
	setup->rtt_first_ns = value_of(plan, rtt, "initial_timeout", 0);
	setup->rtt_min_ns = value_of(plan, rtt, "timeout_min", 0);
	setup->rtt_max_ns = value_of(plan, rtt, "timeout_max", 0);
	setup->timed_out_max = value_of(plan, "retransmit", "attempts", 0);
	setup->cubic_initial =
		value_of(plan, "cubic_congestion", "initial",
			 NOPAL_TRAIN_DATAGRAMS * (int64_t)plan->layers[0].body_bytes);
	setup->cubic_hystart = value_of(plan, "cubic_congestion", "hystart", 1);
}

bool monolith_setup_read(struct monolith_setup *ret_setup, const struct nopal_plan *plan,
			 struct nopal_problems *problems)
{
	if (!fits(plan)) {
		nopal_problems_add(problems, plan->info.name, 0, "use bulk_cubic",
				   "the monolith does not speak this config");
		return false;
	}
	*ret_setup = (struct monolith_setup){
		.canonical = strdup(plan->info.canonical),
		.fingerprint = plan->info.fingerprint,
		.message_limit = plan->info.message_limit,
		.send_bytes = plan->budget.send_bytes,
		.body_bytes = plan->layers[0].body_bytes,
		.trailer_bytes = plan->trailer_bytes,
		.datagram_bytes = plan->datagram_bytes,
	};
	read_session(ret_setup, plan);
	read_status(ret_setup, plan);
	return true;
}

void monolith_setup_free(struct monolith_setup *setup)
{
	free(setup->canonical);
}
