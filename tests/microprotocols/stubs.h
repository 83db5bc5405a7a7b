/* SPDX-License-Identifier: MIT */
/*
 * stubs.h -- microprotocols of tests alone: `stub_ack` is an acknowledgement that reports nothing
 * by itself, `stub_gate` holds a send bit until a test opens it, `stub_room` says whether the
 * network has room for more.
 */
#ifndef NOPAL_TEST_STUBS_H
#define NOPAL_TEST_STUBS_H

#include "engine/turn.h"
#include "support/rig.h"
#include "support/test.h"

static const struct nopal_microprotocol stub_ack = {
	.abi = NOPAL_ABI,
	.name = "stub_ack",
	.family = "status",
	.summary = "an acknowledgement that a test speaks for",
	.provides = (const struct nopal_role[]){ { "acknowledgement", true }, { 0 } },
};

/* Hears of the segments that want to leave, and leaves them to the test. */
static enum nopal_verdict stub_gate_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at;
	(void)segment;
	return NOPAL_CONTINUE;
}

static const struct nopal_microprotocol stub_gate = {
	.abi = NOPAL_ABI,
	.name = "stub_gate",
	.family = "flow",
	.summary = "a gate that a test opens",
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
	.holds =
		(const struct nopal_hold[]){
			{ "the test opens the gate", NOPAL_SEND, NOPAL_DATA, false },
			{ 0 },
		},
	.bindings =
		(const struct nopal_binding[]){
			NOPAL_ON(SEGMENT_TO_NET, stub_gate_on_to_net),
			{ 0 },
		},
};

/* Says whether the network has room and nothing waits for it. */
static const struct nopal_microprotocol stub_room = {
	.abi = NOPAL_ABI,
	.name = "stub_room",
	.family = "congestion",
	.summary = "room on the network, as a test says",
	.provides =
		(const struct nopal_role[]){
			{ "checker", false },
			{ "window_mechanism", false },
			{ 0 },
		},
	.shared =
		(const struct nopal_shared[]){
			{ "app_limited", NOPAL_WRITE, 1, "1: there is room" },
			{ 0 },
		},
};

static inline int stubs_register(void **state)
{
	(void)state;
	rig_add(&stub_ack);
	rig_add(&stub_gate);
	rig_add(&stub_room);
	return 0;
}

/* Raises an event of the opener's session about `subject`, in a turn. */
#define STUB_RAISE(rig, event, subject)                                                            \
	do {                                                                                       \
		struct nopal_composite *core_ = nopal__composite((rig)->opener.session);           \
		struct nopal_world *world_ = core_->world;                                         \
		bool outermost_ = nopal__turn_begin(world_);                                       \
                                                                                                   \
		nopal__touch(core_);                                                               \
		nopal_raise_##event((rig)->opener.session, subject);                               \
		nopal__turn_end(world_, outermost_);                                               \
	} while (0)

/* The one segment that lives in the opener's session. */
static inline struct nopal_segment *stub_segment(struct rig *rig)
{
	const struct nopal_objects *segments = &rig_awake(rig->opener.session)->segments;
	struct nopal_segment *segment = nopal__pool_oldest(segments);

	assert_int_equal(segments->alive, 1);
	assert_non_null(segment);
	return segment;
}

/* Opens a pair and sends one message; its segment. */
static inline struct nopal_segment *stub_one_sent(struct rig *rig, const char *config)
{
	rig_open(rig, config, NULL);
	assert_int_equal(rig_send(rig, "once"), 0);
	return stub_segment(rig);
}

static inline void stub_open_gate(struct rig *rig, struct nopal_segment *segment)
{
	struct nopal_session *session = rig->opener.session;
	struct nopal_composite *composite = nopal__composite(session);
	bool outermost = nopal__turn_begin(composite->world);

	nopal__touch(composite);
	nopal_release(rig_at(session, "stub_gate"), segment, NOPAL_SEND);
	nopal__turn_end(composite->world, outermost);
}

#endif
