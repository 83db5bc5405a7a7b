/* SPDX-License-Identifier: MIT */
/* By which way a datagram leaves, how it introduces its session, and how long it may be. */
#include <limits.h>
#include <string.h>

#include "engine/segment.h"
#include "engine/turn.h"
#include "wire/wire.h"
#include "support/fake_world.h"
#include "support/fakes.h"
#include "support/rig.h"
#include "support/test.h"

enum {
	BYTES = 100,
	INTRODUCED = HEAD + NOPAL_FINGERPRINT_BYTES, /* of data */
	ID = 7,
};

FAKE(m_path, .provides = FAKE_ROLES({ "path_limit", true }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(SEGMENT_LOST, fake_on_segment)));

static const char PLAIN[] = "transport_driver {}\nfixed_size {}\n";
static const char CODED[] = "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
			    "forward_error_correction {}\n";
static const char ASKS[] = "transport_driver {}\nfixed_size {}\nm_path {}\n";
static const char CIRCUIT[] =
	"transport_driver {}\nfixed_size {}\nvirtual_circuit {}\nchecksum {}\n";

static struct nopal_plan *plan;
static struct nopal_endpoint *endpoint, *alias;
static struct nopal_session *session;
static struct nopal_composite *composite;

static struct nopal_endpoint *endpoint_at(uint16_t port)
{
	return nopal_endpoint_open(&fake.world, &(struct nopal_address){ .port = port }, NULL);
}

static void begin(const char *config)
{
	const struct nopal_address peer = { .port = ID };

	rig_add(&m_path);
	fake_begin();
	plan = rig_plan(config);
	endpoint = endpoint_at(1);
	alias = endpoint_at(2);
	assert_int_equal(nopal_endpoint_share(alias, endpoint), 0);
	session = nopal_open(endpoint, plan, &peer, NULL, NULL);
	composite = nopal__composite(session);
}

static int teardown(void **state)
{
	(void)state;
	nopal__world_fini(&fake.world);
	nopal_plan_unref(plan);
	return 0;
}

EACH_TEST(NULL, teardown);

static void send_one(size_t length)
{
	static const uint8_t bytes[1500] = { 1 };

	assert_int_equal(nopal_send(session, bytes, length, 0), 0);
}

/* ------------------------------------------------------------ introductions */

TEST(test_who_is_not_known_introduces_itself)
{
	begin(PLAIN);
	send_one(BYTES);
	send_one(BYTES);
	assert_int_equal(fake.train[0].length, INTRODUCED + BYTES);
	assert_int_equal(fake.train[1].length, INTRODUCED + BYTES);
	nopal_session_set_peer_id(session, ID);
	send_one(BYTES);
	assert_int_equal(fake.train[2].length, HEAD + BYTES);
	composite->opener = false;
	composite->peer_known = false;
	send_one(BYTES);
	assert_int_equal(fake.train[3].length, HEAD + BYTES);
}

/* Its peer may be a new one by then. */
TEST(test_it_does_so_again_now_and_then)
{
	begin(PLAIN);
	send_one(BYTES);
	nopal_session_set_peer_id(session, ID);
	fake.world.now_ns = NOPAL_SILENCE_NS / 2 - 1;
	send_one(BYTES);
	assert_int_equal(fake.train[1].length, HEAD + BYTES);
	fake.world.now_ns++;
	send_one(BYTES);
	assert_int_equal(fake.train[2].length, INTRODUCED + BYTES);
	send_one(BYTES);
	assert_int_equal(fake.train[3].length, HEAD + BYTES);
}

/* Control does where it fits, which is what the peer can take in one datagram. */
TEST(test_control_introduces_where_it_fits)
{
	const struct nopal_part *part;
	uint32_t max, head;

	begin(CODED);
	part = rig_part(session, "forward_error_correction");
	head = HEAD + plan->kinds[part->kind[0]].header.bytes;
	max = plan->datagram_bytes - head - 1 - NOPAL_FINGERPRINT_BYTES;
	for (uint32_t length = max; length <= max + 1; length++) {
		uint8_t *bytes;
		struct nopal_segment *segment =
			nopal_control_new((struct nopal_at){ session, part }, 0, length, &bytes);
		bool outermost = nopal__turn_begin(&fake.world);

		memset(bytes, 0, length);
		nopal_control_send(session, segment, length);
		nopal__turn_end(&fake.world, outermost);
	}
	assert_int_equal(fake.trains, 2);
	assert_int_equal(fake.train[0].length, plan->datagram_bytes);
	assert_int_equal(fake.train[1].length, head + max + 1);
}

/* ----------------------------------------------------------------- its ways */

static void give_paths(struct nopal_paths *paths)
{
	*paths = (struct nopal_paths){
		.open = 1 | 1 << 1 | 1 << 3,
		.path = { { 0 },
			  { .endpoint = alias, .peer = { .port = 31 } },
			  { .endpoint = endpoint, .peer = { .port = 32 } },
			  { .endpoint = endpoint, .peer = { .port = 33 } } },
	};
	nopal_session_set_peer_id(session, ID);
	nopal__be_awake(composite);
	composite->awake->paths = paths;
}

static void leave_by(unsigned path)
{
	struct nopal_segment *segment = nopal__segment_make(composite, NOPAL_KIND_DATA);
	bool outermost = nopal__turn_begin(&fake.world);

	nopal__touch(composite);
	nopal__pack_by(composite, segment, path);
	nopal__turn_end(&fake.world, outermost);
	nopal__segment_free(composite, segment);
}

TEST(test_a_datagram_leaves_by_its_path)
{
	static const uint16_t ports[] = { ID, 31, 32, 33 };
	struct nopal_paths paths;

	begin(PLAIN);
	nopal_session_set_peer_id(session, ID);
	nopal__be_awake(composite);
	leave_by(1); /* there is none */
	assert_int_equal(fake.trains, 0);
	give_paths(&paths);
	for (unsigned path = 0; path < 4; path++) {
		leave_by(path);
		assert_int_equal(fake.trains, path + 1);
		assert_int_equal(fake.train[path].port, ports[path]);
		assert_int_equal(fake.train[path].length, HEAD);
	}
	leave_by(NOPAL_PATHS_MAX);
	paths.path[2].endpoint = NULL;
	leave_by(2);
	composite->peer_known = false; /* it hears of us by the first path */
	leave_by(3);
	assert_int_equal(fake.trains, 4);
	leave_by(0);
	assert_int_equal(fake.trains, 5);
	composite->awake->paths = NULL;
}

/* Nothing else of the session joins what leaves from its own endpoint. */
TEST(test_a_train_by_another_path_is_closed)
{
	struct nopal_segment *segment;
	struct nopal_paths paths;
	bool outermost;

	begin(PLAIN);
	give_paths(&paths);
	segment = nopal__segment_make(composite, NOPAL_KIND_DATA);
	outermost = nopal__turn_begin(&fake.world);
	nopal__touch(composite);
	nopal__pack_by(composite, segment, 1);
	assert_false(alias->train_closed);
	nopal__pack_by(composite, segment, 3);
	assert_true(endpoint->train_closed);
	nopal__pack_by(composite, segment, 0);
	nopal__turn_end(&fake.world, outermost);
	assert_int_equal(fake.trains, 3);
	nopal__segment_free(composite, segment);
	composite->awake->paths = NULL;
}

TEST(test_copies_leave_by_all_open_paths)
{
	struct nopal_segment *segment;
	struct nopal_paths paths;
	enum nopal_life life;
	unsigned seen = 0;
	bool outermost;

	begin(PLAIN);
	give_paths(&paths);
	send_one(BYTES);
	assert_int_equal(fake.trains, 1); /* the plan has one path */
	plan->many_paths = true;
	fake.trains = 0;
	send_one(BYTES);
	assert_int_equal(fake.trains, 3);
	for (unsigned i = 0; i < 3; i++) {
		uint16_t port = fake.train[i].port;

		assert_int_equal(fake.train[i].datagrams, 1);
		seen |= 1u << (port == ID ? 0 : port - 30);
	}
	assert_int_equal(seen, paths.open);
	life = composite->life;
	composite->life = NOPAL_LIFE_OPENING;
	fake.trains = 0;
	segment = nopal__segment_make(composite, NOPAL_KIND_DATA);
	outermost = nopal__turn_begin(&fake.world);
	nopal__touch(composite);
	nopal__pack_out(composite, segment);
	nopal__turn_end(&fake.world, outermost);
	nopal__segment_free(composite, segment);
	assert_int_equal(fake.trains, 1);
	composite->life = life;
	composite->awake->paths = NULL;
}

/* ------------------------------------------------------------------- lengths */

TEST(test_longer_than_the_path_travels_alone)
{
	uint32_t max;

	begin(ASKS);
	nopal_session_set_peer_id(session, ID);
	nopal__be_awake(composite);
	nopal_path_limit_set(session, 0);
	assert_int_equal(nopal_path_limit(session), plan->path_floor);
	max = nopal_path_limit(session) - nopal_plan_info(plan)->header_bytes;
	for (uint32_t more = 0; more < 2; more++) {
		bool outermost = nopal__turn_begin(&fake.world);

		fake.trains = 0;
		send_one(max + more);
		send_one(max + more);
		nopal__turn_end(&fake.world, outermost);
		assert_int_equal(fake.trains, 1 + more);
		assert_int_equal(fake.train[0].fragments, more);
	}
}

TEST(test_limits_are_of_the_plan_and_the_path)
{
	uint32_t head, body;

	begin(CIRCUIT);
	composite->by_ipv6 = false;
	head = plan->head_bytes + plan->trailer_bytes;
	body = nopal_body_max(session);
	assert_int_equal(nopal_path_max(session), plan->datagram_bytes);
	assert_int_equal(nopal_path_limit(session), plan->datagram_bytes);
	assert_int_equal(nopal_body_limit(session), body);
	composite->by_ipv6 = true;
	assert_int_equal(nopal_path_limit(session), plan->datagram_bytes - NOPAL_IPV6_MORE);
	assert_int_equal(nopal_body_limit(session), body - NOPAL_IPV6_MORE);
	composite->by_ipv6 = false;
	assert_int_equal(nopal_control_limit(rig_at(session, "virtual_circuit"), 0),
			 plan->datagram_bytes - 1 - NOPAL_ID_BYTES - NOPAL_FINGERPRINT_BYTES -
				 NOPAL_CHECK_BYTES);
	assert_int_equal(
		nopal_control_limit(rig_at(session, "virtual_circuit"), 1),
		plan->datagram_bytes - head -
			plan->kinds[rig_part(session, "virtual_circuit")->kind[1]].header.bytes);
}

/* ------------------------------------------------------------------ arriving */

static struct nopal_segment *unpack(uint32_t length)
{
	static uint8_t bytes[64];
	struct nopal_buffer *buffer = nopal_buffer_new(1);
	struct nopal_segment *segment =
		nopal__unpack(composite, NOPAL_KIND_DATA, buffer, bytes, length, plan->head_bytes);

	assert_int_equal(buffer->references, segment ? 2 : 1);
	nopal_buffer_unref(buffer);
	return segment;
}

TEST(test_what_is_too_short_is_malformed)
{
	struct nopal_segment *segment;
	uint32_t min;

	begin(CODED);
	nopal__be_awake(composite);
	min = nopal_plan_info(plan)->header_bytes;
	assert_null(unpack(min - 1));
	assert_int_equal(composite->awake->counters.rx_malformed, 1);
	segment = unpack(min);
	assert_int_equal(segment->body.length, 0);
	assert_true(segment->incoming);
	nopal_segment_drop(session, segment);
	segment = unpack(min + 3);
	assert_int_equal(segment->body.length, 3);
	assert_int_equal(segment->path, 0);
	nopal_segment_drop(session, segment);
	assert_int_equal(composite->awake->segments.alive, 0);
	assert_int_equal(composite->awake->counters.rx_malformed, 1);
	composite->awake->budget.objects = 0;
	assert_null(unpack(min));
	assert_int_equal(composite->awake->counters.rx_over_budget, 1);
}

TEST(test_what_is_sealed_badly_is_counted)
{
	begin(CIRCUIT);
	nopal__be_awake(composite);
	assert_null(unpack(60));
	assert_int_equal(composite->awake->counters.rx_sealed_badly, 1);
	assert_int_equal(composite->awake->counters.rx_malformed, 0);
}

/* Bytes that redundancy codes over, and rebuilds. */
TEST(test_a_coded_segment_is_rebuilt)
{
	struct nopal_segment *segment, *again;
	struct nopal_buffer *buffer;
	uint32_t length, head;
	uint8_t bytes[64];

	begin(CODED);
	nopal__be_awake(composite);
	head = composite->layer->coded.bytes;
	segment = nopal__segment_make(composite, NOPAL_KIND_DATA);
	buffer = nopal_buffer_new(5);
	memcpy(buffer->bytes, "hello", 5);
	segment->body = (struct nopal_body){ buffer, buffer->bytes, 5 };
	assert_int_equal(nopal_segment_pack(session, segment, bytes, head + 4), 0);
	length = nopal_segment_pack(session, segment, bytes, head + 5);
	assert_int_equal(length, head + 5);
	assert_null(nopal_segment_unpack(session, bytes, head - 1));
	again = nopal_segment_unpack(session, bytes, length);
	assert_int_equal(again->body.length, 5);
	assert_memory_equal(again->body.bytes, "hello", 5);
	assert_true(again->incoming);
	assert_int_equal(composite->awake->counters.segments_rebuilt, 1);
	nopal_segment_drop(session, again);
	composite->awake->budget.objects = 0;
	assert_null(nopal_segment_unpack(session, bytes, length));
	nopal_segment_drop(session, segment);
	assert_int_equal(composite->awake->segments.alive, 0);
}

/* -------------------------------------------------------- numbers and formats */

TEST(test_a_number_that_was_seen_is_noted)
{
	const struct nopal_part *part;
	uint8_t index;

	begin(CODED);
	nopal__be_awake(composite);
	part = rig_part(session, "sequenced_segments");
	index = plan->serial_of[part->attribute[0]];
	assert_int_not_equal(index, 0);
	composite->awake->serial[index - 1] = 5;
	nopal_serial_seen((struct nopal_at){ session, part }, 0, 77);
	assert_int_equal(composite->awake->serial[index - 1], 77);
}

enum { FORMAT_BYTES = 9, TOLD_BYTES = 4 };

static int kind_told;
static bool understood;

static int tells_kind(struct nopal_at at, struct nopal_reader datagram)
{
	(void)at, (void)datagram;
	return kind_told;
}

static bool reads(struct nopal_at at, struct nopal_segment *segment, struct nopal_reader *reader)
{
	(void)at;
	(void)segment;
	nopal_read(reader, TOLD_BYTES);
	return understood;
}

/* A part that has data in a format of its own, as which it reads four bytes. */
static void give_format(struct nopal_part *part)
{
	static const struct nopal_format format = { .bytes = FORMAT_BYTES,
						    .kind_of = tells_kind,
						    .unpack = reads };
	static const struct nopal_microprotocol formats = { .format = &format };

	*part = (struct nopal_part){ .microprotocol = &formats };
	plan->format = part;
	plan->kinds[NOPAL_KIND_DATA].formatted = 1;
}

TEST(test_what_its_format_does_not_know_is_malformed)
{
	struct nopal_segment *segment;
	struct nopal_part part;
	uint32_t min;

	begin(PLAIN);
	nopal__be_awake(composite);
	give_format(&part);
	min = plan->head_bytes + TOLD_BYTES;
	understood = true;
	assert_null(unpack(min - 1));
	assert_int_equal(composite->awake->counters.rx_malformed, 1);
	segment = unpack(min + 3);
	assert_int_equal(segment->body.length, 3);
	nopal_segment_drop(session, segment);
	understood = false;
	assert_null(unpack(min + 3));
	assert_int_equal(composite->awake->counters.rx_malformed, 2);
	assert_int_equal(composite->awake->segments.alive, 0);
}

/* A segment of none of a format's kinds is data, which unpack judges. */
TEST(test_a_format_tells_its_kinds)
{
	static const uint8_t nothing[1];
	static const int none[] = { -1, NOPAL_FORMAT_KINDS, INT_MIN, INT_MAX };
	struct nopal_segment segment = { .kind = NOPAL_KIND_DATA };
	struct nopal_part part;

	begin(PLAIN);
	give_format(&part);
	for (unsigned i = 0; i < NOPAL_FORMAT_KINDS; i++)
		plan->format_code[i] = (uint8_t)(NOPAL_KIND_DATA + 1 + i);
	for (kind_told = 0; kind_told < NOPAL_FORMAT_KINDS; kind_told++)
		assert_int_equal(nopal__interop_kind(plan, nothing, 0),
				 NOPAL_KIND_DATA + 1 + kind_told);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		kind_told = none[i];
		assert_int_equal(nopal__interop_kind(plan, nothing, 0), NOPAL_KIND_DATA);
	}
	assert_int_equal(nopal_format_kind_of(session, &segment), -1);
	plan->kinds[NOPAL_KIND_DATA].formatted = 2 + 3;
	assert_int_equal(nopal_format_kind_of(session, &segment), 3);
}

TEST(test_control_leaves_room_for_its_format)
{
	struct nopal_at control;
	struct nopal_part part;
	uint32_t limit;

	begin(CODED);
	control = rig_at(session, "forward_error_correction");
	limit = nopal_control_limit(control, 0);
	give_format(&part);
	assert_int_equal(nopal_control_limit(control, 0), limit);
	plan->kinds[control.part->kind[0]].formatted = 2;
	assert_int_equal(nopal_control_limit(control, 0), limit - FORMAT_BYTES);
}
