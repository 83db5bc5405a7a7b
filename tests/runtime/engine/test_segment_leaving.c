/* SPDX-License-Identifier: MIT */
/* Transmissions: their effects, their gates, and control segments. */
#include <string.h>

#include "engine/segment.h"
#include "engine/timer.h"
#include "engine/turn.h"
#include "session/endpoint_sessions.h"
#include "support/kept.h"
#include "support/test.h"

EACH_TEST(NULL, own_rig_close);

static const char KEPT[] = "transport_driver {}\nfixed_size {}\nm_keeper {}\n";
static const char CIRCUIT[] = "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n";
static const char ACKED[] = "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
			    "positive_ack {} retransmission_timer {}\nretransmit {}\n";
static const char CODED[] = "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
			    "forward_error_correction {}\nm_keeper {}\n";
static const char LAYERS[] =
	"layer \"upper\" {\n  transport_driver {}\n  fixed_size {}\n"
	"  sequenced_segments {}\n  positive_ack {} retransmission_timer {}\n  retransmit {}\n}\n"
	"layer \"lower\" {\n  transport_driver {}\n  fixed_size {}\n}\n";

/* ----------------------------------------------------------------- transmissions */

/* Nobody tells the status of redundancy: it is not waited for. */
TEST(test_a_transmission_without_status_is_settled)
{
	struct nopal_segment *segment;
	struct nopal_composite *composite;
	uint64_t number;
	uint8_t *bytes;

	kept_open(CODED);
	composite = nopal__composite(session);
	assert_true(composite->layer->tracks);
	number = nopal_next_packet_number(session);
	segment = nopal_control_new(rig_at(session, "forward_error_correction"), 0, 8, &bytes);
	memset(bytes, 0, 8);
	nopal__depart(composite, segment);
	assert_int_equal(nopal_next_packet_number(session), number + 1);
	assert_int_equal(nopal_oldest_transmission(session), number + 1);
	assert_false(nopal_transmission_find(session, number)->open);
}

TEST(test_a_transmission_says_its_number)
{
	uint8_t slot;

	kept_open(ACKED);
	rig_change(&rig, "delay 10ms loss 100%");
	rig_send(&rig, "x");
	rig_send(&rig, "y");
	slot = nopal__composite(session)->layer->packet_number_slot;
	assert_int_not_equal(slot, 0);
	for (uint32_t number = 2; number <= 4; number += 2) {
		const struct nopal_segment *one = rig_segment(session, number);

		assert_int_equal(one->attribute[slot], one->packet_number);
	}
	assert_int_equal(rig_segment(session, 4)->packet_number,
			 rig_segment(session, 2)->packet_number + 1);
}

/* The segment has not left, and no transmission is noted, until the kernel takes more. */
TEST(test_nothing_departs_to_a_busy_kernel)
{
	struct nopal_endpoint *endpoint;

	kept_open(KEPT);
	endpoint = nopal__composite(session)->endpoint;
	endpoint->busy = true;
	rig_send(&rig, "x");
	assert_int_equal(endpoint->ready_count, 1);
	assert_true(rig_segment(session, 2)->wanted);
	assert_int_equal(rig_segment(session, 2)->transmissions, 0);
	endpoint->busy = false;
	rig_send(&rig, "y");
	assert_int_equal(rig_segment(session, 4)->transmissions, 1);
}

/* Whoever holds back what is to leave again is named, as for the first time. */
TEST(test_a_resend_is_watched)
{
	struct nopal_segment *segment;
	const struct nopal_awake *awake;
	struct nopal_composite *composite;
	uint32_t watchdog;

	kept_open(KEPT);
	composite = nopal__composite(session);
	watchdog = composite->layer->timer_count + NOPAL_TIMER_WATCHDOG;
	rig_send(&rig, "x");
	segment = rig_segment(session, 2);
	awake = rig_awake(session);
	nopal__watchdog_stop(composite);
	assert_int_equal(awake->timers[watchdog].deadline_ns, NOPAL_NEVER);
	assert_true(nopal_segment_resend(rig_at(session, "m_keeper"), segment));
	assert_int_equal(segment->transmissions, 2);
	assert_int_not_equal(awake->timers[watchdog].deadline_ns, NOPAL_NEVER);
}

/* Its segments in the layer below keep it from being done. */
TEST(test_only_an_upper_segment_waits_for_below)
{
	struct nopal_composite *composite, *below;
	struct nopal_segment *segment;

	kept_open(LAYERS);
	composite = nopal__composite(session);
	below = composite->below;
	rig_awake(&below->session);
	segment = nopal__segment_make_carried(composite, NOPAL_KIND_DATA);
	assert_true(segment->waiting[NOPAL_DONE] & NOPAL_HOLD_BELOW);
	nopal__segment_free(composite, segment);
	segment = nopal__segment_make_carried(below, NOPAL_KIND_DATA);
	assert_false(segment->waiting[NOPAL_DONE] & NOPAL_HOLD_BELOW);
	nopal__segment_free(below, segment);
}

TEST(test_an_upper_segment_is_freed_once_it_arrived)
{
	kept_open(LAYERS);
	rig_send(&rig, "x");
	assert_int_equal(rig_awake(session)->segments.alive, 1);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 1);
	assert_int_equal(rig_awake(session)->segments.alive, 0);
}

/* -------------------------------------------------------------------- control */

/* Redundancy passes the gates as data do. */
TEST(test_what_is_carried_waits_as_data_do)
{
	struct nopal_at at;
	struct nopal_segment *segment;
	uint8_t *bytes;

	kept_open(CODED);
	at = rig_at(session, "forward_error_correction");
	segment = nopal_control_new(at, 0, 8, &bytes);
	assert_int_equal(nopal__composite(session)->layer->plan->kinds[segment->kind].class,
			 NOPAL_KIND_CARRIED);
	assert_true(segment->wanted);
	nopal__segment_free(nopal__composite(session), segment);
}

/* By the layer below, whichever path it is meant for. */
TEST(test_control_of_an_upper_layer_goes_down)
{
	struct nopal_at at;
	const struct nopal_awake *below;
	struct nopal_segment *segment;
	uint8_t *bytes;

	kept_open(LAYERS);
	at = rig_at(session, "positive_ack");
	below = rig_awake(&nopal__composite(session)->below->session);
	for (unsigned i = 1; i <= 2; i++) {
		segment = nopal_control_new(at, 0, 8, &bytes);
		memset(bytes, 0, 8);
		if (i == 1)
			nopal_control_send(session, segment, 8);
		else
			nopal_control_send_by(session, segment, 8, 1);
		assert_int_equal(below->counters.messages_sent, i);
		assert_int_equal(below->counters.bytes_sent, 8 * i);
		assert_int_equal(rig_awake(session)->counters.control_out, i);
		assert_int_equal(rig_awake(session)->segments.alive, 0);
	}
}

TEST(test_control_leaves_by_the_path_it_is_for)
{
	struct nopal_at at;
	struct nopal_segment *segment;
	struct nopal_composite *composite;
	uint64_t sent, sealed;
	uint8_t *bytes;

	kept_open(ACKED);
	composite = nopal__composite(session);
	at = rig_at(session, "positive_ack");
	sent = composite->awake->counters.control_out;
	sealed = composite->awake->counters.datagrams_out;
	for (unsigned path = 0; path < 2; path++) { /* of which one is there */
		bool outermost = nopal__turn_begin(rig.world);

		nopal__touch(composite);
		segment = nopal_control_new(at, 0, 8, &bytes);
		memset(bytes, 0, 8);
		nopal_control_send_by(session, segment, 8, path);
		nopal__turn_end(rig.world, outermost);
		assert_int_equal(rig_awake(session)->counters.control_out, sent + 1 + path);
		assert_int_equal(rig_awake(session)->counters.datagrams_out, sealed + 1);
		assert_int_equal(rig_awake(session)->segments.alive, 0);
	}
}

TEST(test_a_request_to_open_introduces_the_session)
{
	kept_open(CIRCUIT);
	assert_int_equal(rig.opener.opened, 1);
	assert_int_equal(rig.acceptor.opened, 1);
}
