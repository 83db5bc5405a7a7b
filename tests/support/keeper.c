/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/keeper.h"

struct keeper keeper;

static enum nopal_verdict keeper_on_to_user(struct nopal_at at, struct nopal_message *message)
{
	(void)at;
	if (keeper.reads)
		return NOPAL_CONTINUE;
	nopal_message_keep(message);
	keeper.message[keeper.end++ % KEEPER_ROOM] = message;
	keeper.held_bytes += message->length;
	if (keeper.held_bytes > keeper.max_bytes)
		keeper.max_bytes = keeper.held_bytes;
	return NOPAL_CONTINUE;
}

static const struct nopal_binding keeper_bindings[] = {
	NOPAL_ON(MSG_TO_USER, keeper_on_to_user),
	{ 0 },
};

static const struct nopal_microprotocol keeper_microprotocol = {
	.abi = NOPAL_ABI,
	.name = "keeper",
	.family = "check",
	.summary = "keeps what is delivered",
	.bindings = keeper_bindings,
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
};

void keeper_open(struct rig *rig, const char *config, const struct rig_options *options)
{
	memset(&keeper, 0, sizeof(keeper));
	rig_add(&keeper_microprotocol);
	rig_open(rig, config, options);
}

void keeper_read(struct rig *rig, uint32_t count)
{
	while (count-- && keeper.first < keeper.end) {
		struct nopal_message *message = keeper.message[keeper.first++ % KEEPER_ROOM];

		keeper.held_bytes -= message->length;
		nopal_message_give_back(rig->acceptor.session, message);
	}
}

void keeper_push(struct rig *rig, uint32_t count, size_t length, uint32_t reads, int64_t max_ns)
{
	int64_t steps = max_ns / (10 * NOPAL_MILLISECOND);
	uint32_t before = rig->acceptor.delivered, sent = 0;

	while (rig->acceptor.delivered - before < count && steps--) {
		while (sent < count && rig_send_bytes(rig, length) == 0)
			sent++;
		rig_run(rig, 10 * NOPAL_MILLISECOND);
		keeper_read(rig, reads);
	}
}
