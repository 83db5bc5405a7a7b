/* SPDX-License-Identifier: MIT */
/* A datagram that belongs to a session: what is counted, noted and kept out. */
#include <string.h>

#include "engine/turn.h"
#include "wire/wire.h"
#include "support/records.h"
#include "support/own_rig.h"
#include "support/test.h"

static const char NUMBERED[] = "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
			       "positive_ack {} retransmission_timer {}\nretransmit {}\na_tap {}\n";
static const char CIRCUIT[] = "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\na_tap {}\n";

EACH_TEST(NULL, own_rig_close);

static uint64_t serial_of(const struct nopal_session *session)
{
	const struct nopal_composite *composite = nopal__composite(session);
	uint8_t index = composite->layer->plan->serial_of[composite->layer->packet_number_slot];

	assert_true(index > 0);
	return rig_awake(session)->serial[index - 1];
}

TEST(test_all_that_arrives_is_counted)
{
	const struct nopal_counters *counters;
	const struct record *arrived;
	uint64_t datagrams, bytes;
	unsigned count = 0;

	rig_begin(&rig, NUMBERED);
	rig_awake(rig.acceptor.session);
	counters = nopal_session_counters(rig.acceptor.session);
	datagrams = counters->datagrams_in;
	bytes = counters->datagram_bytes_in;
	records_start(rig.world);
	rig_send_bytes(&rig, 100);
	rig_run(&rig, 15 * NOPAL_MILLISECOND);
	records_stop(rig.world);
	assert_int_equal(counters->datagrams_in, datagrams + 1);
	assert_int_equal(counters->datagram_bytes_in - bytes,
			 100 + nopal_plan_info(rig.plan)->header_bytes);
	arrived = record_of(NOPAL_TRACED_ARRIVE, NOPAL_KIND_DATA);
	assert_int_equal(arrived->session, nopal_session_id(rig.acceptor.session));
	assert_int_equal(arrived->b, serial_of(rig.acceptor.session));
	for (unsigned i = 0; i < record_count; i++)
		count += records[i].what == NOPAL_TRACED_ARRIVE;
	assert_int_equal(count, 1);
	assert_int_equal(rig_awake(rig.acceptor.session)->heard_ns,
			 nopal__composite(rig.acceptor.session)->now_ns);
	assert_int_equal(rig_awake(rig.acceptor.session)->segments.alive, 0);
}

/* Late ones do not take it back. */
TEST(test_the_highest_number_is_what_others_are_near_to)
{
	uint64_t before;

	rig_begin(&rig, NUMBERED);
	before = serial_of(rig.acceptor.session);
	rig_change(&rig, "delay 30ms");
	rig_send(&rig, "late");
	rig_change(&rig, "delay 10ms");
	rig_send(&rig, "one");
	rig_send(&rig, "two");
	rig_run(&rig, 15 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.delivered, 3);
	assert_int_equal(serial_of(rig.acceptor.session), before + 3);
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.delivered, 4);
	assert_int_equal(serial_of(rig.acceptor.session), before + 3);
}

/* Of this kind, for the opener, from its peer. */
static void inject(uint8_t kind)
{
	const struct nopal_composite *composite = nopal__composite(rig.opener.session);
	uint8_t bytes[16];
	struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));

	nopal_write(&writer, nopal__first_byte(kind), 1);
	nopal_write(&writer, composite->local_id, NOPAL_ID_BYTES);
	nopal_write(&writer, 0, 8);
	nopal_sim_inject(rig.world, rig.opener.endpoint, &composite->peer, bytes,
			 nopal_written(&writer));
	rig_run(&rig, NOPAL_MICROSECOND);
}

TEST(test_before_it_is_open_data_are_too_early)
{
	struct nopal_awake *awake;
	int64_t heard_ns;

	rig_open(&rig, CIRCUIT,
		 &(struct rig_options){ .stay_closed = true, .link = "delay 10ms loss 100%" });
	rig_start(&rig);
	awake = rig_awake(rig.opener.session);
	heard_ns = awake->heard_ns;
	inject(NOPAL_KIND_DATA);
	assert_int_equal(awake->counters.datagrams_in, 1);
	assert_int_equal(awake->counters.datagram_bytes_in, 13);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_FROM_NET), 0);
	assert_int_equal(awake->heard_ns, heard_ns);
	inject(nopal__layer(nopal__composite(rig.opener.session))->connection->kind[1]);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_FROM_NET), 1);
	assert_int_equal(awake->counters.datagrams_in, 2);
}

TEST(test_once_it_is_open_they_are_not)
{
	uint32_t before;

	rig_open(&rig, CIRCUIT, NULL);
	before = rig_count(&rig.opener, NOPAL_SEGMENT_FROM_NET);
	inject(NOPAL_KIND_DATA);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_FROM_NET), before + 1);
}

TEST(test_a_farewell_is_heard)
{
	rig_open(&rig, CIRCUIT, NULL);
	nopal_session_abort(rig.acceptor.session, "enough of it");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 1);
	assert_non_null(strstr(rig.opener.end_text, "enough of it"));
}

TEST(test_what_ended_joined_nothing)
{
	struct nopal_buffer *buffer = nopal_buffer_new(16);
	struct nopal_composite *composite;
	uint64_t datagrams;
	bool outermost;

	rig_open(&rig, CIRCUIT, NULL);
	composite = nopal__composite(rig.opener.session);
	outermost = nopal__turn_begin(rig.world);
	nopal__touch(composite);
	nopal_session_abort(&composite->session, "test");
	datagrams = composite->awake->counters.datagrams_in;
	nopal__session_receive(composite, NOPAL_KIND_DATA, buffer, buffer->bytes, 16);
	assert_int_equal(composite->awake->counters.datagrams_in, datagrams);
	nopal__turn_end(rig.world, outermost);
	nopal_buffer_unref(buffer);
}
