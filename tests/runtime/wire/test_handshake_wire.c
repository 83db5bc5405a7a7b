/* SPDX-License-Identifier: MIT */
/* Datagrams from and to where no session is yet, byte for byte. */
#include <string.h>

#include "base/bytes.h"
#include "wire/wire.h"
#include "support/failing.h"
#include "support/rig.h"
#include "support/test.h"

enum {
	HEAD = 1 + NOPAL_ID_BYTES + NOPAL_FINGERPRINT_BYTES,
	REPLY_HEAD = 1 + NOPAL_ID_BYTES,
	REPLY_CHECK = 2,
	REPLY_MAX = 1200,
	REFUSED = 255,
	ANSWER = 2,
	ID = 0x01020304,
	PORT = 4711,
	LONGEST = 1400,
};

static const char MINIMAL[] = "transport_driver {}\nfixed_size {}\na_tap {}\n";
/* Without the tap, which takes the user of a session for a side of the rig. */
static const char UNTAPPED[] = "transport_driver {}\nfixed_size {}\n";
static const char CIRCUIT[] = "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n";

static struct rig rig;
static const struct nopal_endpoint_counters *counters; /* the acceptor's */

/* The last datagram that left, and its sender. */
static uint8_t said[2048];
static size_t said_length;
static unsigned said_count;
static uint16_t said_port;
static bool said_first; /* what left first instead */

static void listen(void *user, int64_t now_ns, const struct nopal_address *from,
		   const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	(void)user, (void)now_ns, (void)from;
	if (to->port != said_port || (said_first && said_count))
		return;
	memcpy(said, bytes, length);
	said_length = length;
	said_count++;
}

static void begin(const char *config)
{
	rig_open(&rig, config, &(struct rig_options){ .stay_closed = true });
	counters = nopal_endpoint_counters(rig.acceptor.endpoint);
	said_count = 0;
	said_port = PORT;
	said_first = false;
	nopal_sim_tap(rig.world, listen, NULL);
}

static int teardown(void **state)
{
	(void)state;
	nopal_sim_tap(rig.world, NULL, NULL);
	rig_close(&rig);
	return 0;
}

EACH_TEST(NULL, teardown);

static uint64_t check_of(uint64_t fingerprint, uint32_t id, const uint8_t *bytes, size_t length)
{
	const uint64_t key[2] = { fingerprint, id };

	return nopal__siphash(key, bytes, length);
}

/* ------------------------------------------------------- to the listener */

struct opening {
	uint8_t kind;
	uint32_t id;
	uint64_t fingerprint;
	unsigned host, port;
};

static struct opening opening(uint8_t kind)
{
	return (struct opening){ kind, ID, nopal_plan_info(rig.plan)->fingerprint, 0, PORT };
}

static size_t opening_write(const struct opening *one, const void *body, size_t length,
			    uint8_t *bytes)
{
	struct nopal_writer writer = nopal_writer_over(bytes, LONGEST);

	nopal_write(&writer, nopal__first_byte(one->kind), 1);
	nopal_write(&writer, one->id, NOPAL_ID_BYTES);
	nopal_write(&writer, one->fingerprint, NOPAL_FINGERPRINT_BYTES);
	if (one->kind == NOPAL_KIND_CONNECT)
		nopal_write(&writer, check_of(one->fingerprint, one->id, body, length),
			    NOPAL_CHECK_BYTES);
	nopal_write_bytes(&writer, body, length);
	assert_false(writer.full);
	return nopal_written(&writer);
}

static void inject(const struct opening *one, const uint8_t *bytes, size_t length)
{
	struct nopal_address from;

	nopal_sim_address((int)one->host, (uint16_t)one->port, &from);
	nopal_sim_inject(rig.world, rig.acceptor.endpoint, &from, bytes, length);
	rig_run(&rig, NOPAL_MILLISECOND);
}

/* Returns how long the datagram was. */
static size_t arrive(const struct opening *one, const void *body, size_t length)
{
	uint8_t bytes[LONGEST];
	size_t all = opening_write(one, body, length, bytes);

	inject(one, bytes, all);
	return all;
}

/* The reply that left last, whole: its body, behind the type. */
static const uint8_t *reply(const struct opening *one, uint8_t type, size_t *ret_length)
{
	const uint8_t *body = said + REPLY_HEAD + REPLY_CHECK;
	struct nopal_reader reader = nopal_reader_over(said, said_length);
	size_t length = said_length - REPLY_HEAD - REPLY_CHECK;

	assert_int_equal(nopal_read(&reader, 1), nopal__first_byte(NOPAL_KIND_REPLY));
	assert_int_equal(nopal_read(&reader, NOPAL_ID_BYTES), one->id);
	assert_int_equal(nopal_read(&reader, REPLY_CHECK),
			 check_of(one->fingerprint, one->id, body, length) & 0xffff);
	assert_int_equal(nopal_read(&reader, 1), type);
	*ret_length = length - 1;
	return body + 1;
}

TEST(test_an_answer_says_which_session_is_ours)
{
	const struct nopal_counters *heard;
	struct opening one;
	const uint8_t *id;
	size_t length, all;

	begin(MINIMAL);
	one = opening(NOPAL_KIND_DATA_OPENING);
	all = arrive(&one, "x", 1);
	assert_int_equal(said_count, 1);
	id = reply(&one, ANSWER, &length);
	assert_int_equal(length, NOPAL_ID_BYTES);
	assert_int_equal(nopal__get(id, NOPAL_ID_BYTES), nopal_session_id(rig.acceptor.session));
	heard = nopal_session_counters(rig.acceptor.session);
	assert_int_equal(heard->datagrams_in, 1);
	assert_int_equal(heard->datagram_bytes_in, all);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_int_equal(counters->requests, 1);
	assert_int_equal(counters->accepted, 1);
	assert_int_equal(counters->replies, 1);
	assert_int_equal(rig.acceptor.endpoint->half_open, 0);
}

/* Each differs from the first in one; none takes its session away. */
TEST(test_an_opener_is_known_by_address_port_and_id)
{
	struct opening first;

	begin(UNTAPPED);
	first = opening(NOPAL_KIND_DATA_OPENING);
	arrive(&first, "x", 1);
	for (unsigned i = 0; i < 4; i++) {
		struct opening other = first;

		other.id += i == 0;
		other.port += i == 1 ? 1 : i == 2 ? 256 : 0;
		other.host += i == 3;
		arrive(&other, "x", 1);
		arrive(&first, "x", 1);
		arrive(&other, "x", 1);
		assert_int_equal(counters->accepted, 2 + i);
		assert_int_equal(counters->sessions, 2 + i);
	}
}

TEST(test_openings_that_are_none_are_malformed)
{
	struct opening one;
	uint8_t bytes[LONGEST];
	size_t all;

	begin(MINIMAL);
	one = opening(NOPAL_KIND_CONNECT);
	all = opening_write(&one, "", 0, bytes);
	inject(&one, bytes, HEAD - 1);
	assert_int_equal(counters->malformed, 1);
	assert_int_equal(counters->requests, 0);
	inject(&one, bytes, HEAD); /* no check */
	inject(&one, bytes, all - 1);
	assert_int_equal(counters->malformed, 3);
	assert_int_equal(counters->requests, 2);
	bytes[HEAD]++;
	inject(&one, bytes, all);
	assert_int_equal(counters->malformed, 4);
	one.id = 0;
	arrive(&one, "", 0);
	assert_int_equal(counters->malformed, 5);
	assert_int_equal(counters->requests, 3);
	assert_int_equal(counters->refused, 0);
	assert_int_equal(said_count, 0);
}

TEST(test_an_opening_without_memory_opens_nothing)
{
	struct opening one;

	begin(MINIMAL);
	one = opening(NOPAL_KIND_DATA_OPENING);
	for (uint64_t nth = 1; !counters->accepted; nth++) {
		uint8_t bytes[LONGEST];
		size_t all = opening_write(&one, "x", 1, bytes);
		struct nopal_buffer *buffer = nopal_buffer_new(LONGEST);
		struct nopal_arrival arrival = { .buffer = buffer,
						 .bytes = buffer->bytes,
						 .length = (uint32_t)all };

		nopal_sim_address(0, PORT, &arrival.from);
		memcpy(buffer->bytes, bytes, all);
		failing_from(nth, false);
		nopal__endpoint_receive(rig.acceptor.endpoint, &arrival, 1);
		if (!failing_stop())
			assert_int_equal(counters->accepted, 1);
		nopal_buffer_unref(buffer);
		if (nth == 1)
			assert_int_equal(counters->accepted, 0);
	}
	assert_int_equal(counters->sessions, counters->accepted);
}

/* ------------------------------------------------------------------ refusals */

static const char STRANGE[] = "- runs nothing of it\n- nor this\n";

/* All of the text, where there is room for it. */
TEST(test_a_refusal_shows_the_nearest_composition)
{
	const char *head = "the listener does not run this composition";
	char expected[2048], *diff, text[LONGEST - HEAD - 8] = { 0 };
	struct opening one;
	const uint8_t *refusal;
	size_t length;

	begin(MINIMAL);
	one = opening(NOPAL_KIND_CONNECT);
	one.fingerprint++;
	strcpy(text, STRANGE);
	arrive(&one, text, sizeof(text));
	diff = nopal_canonical_diff(STRANGE, rig.plan->info.canonical);
	snprintf(expected, sizeof(expected),
		 "%s; its nearest is %s (- only at the listener, + only "
		 "here):\n%s",
		 head, rig.plan->info.name, diff);
	free(diff);
	refusal = reply(&one, REFUSED, &length);
	assert_int_equal(length, strlen(expected));
	assert_memory_equal(refusal, expected, length);
	assert_int_equal(counters->refused, 1);
	arrive(&one, "", 0);
	assert_int_equal(counters->refused, 2);
	one.kind = NOPAL_KIND_DATA_OPENING;
	arrive(&one, text, sizeof(text));
	refusal = reply(&one, REFUSED, &length);
	assert_int_equal(length, strlen(head));
	assert_memory_equal(refusal, head, length);
}

TEST(test_a_refusal_is_as_long_as_its_cause_allows)
{
	char text[LONGEST - HEAD - 8];
	struct opening one;
	size_t all;

	begin(MINIMAL);
	one = opening(NOPAL_KIND_CONNECT);
	one.fingerprint++;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 4 == 3 ? '\n' : (char)('a' + i % 26);
	text[sizeof(text) - 1] = '\0';
	for (size_t length = sizeof(text); length > 100; length -= 150) {
		all = arrive(&one, text + sizeof(text) - length, length);
		assert_int_equal(said_length, all - 1 < REPLY_MAX ? all - 1 : REPLY_MAX);
	}
	assert_true(said_count > 5);
}

/* ------------------------------------------------------------ what we send */

TEST(test_an_opening_is_as_its_manual_says)
{
	struct nopal_reader reader;
	uint64_t fingerprint;
	uint32_t id;

	begin(CIRCUIT);
	said_port = RIG_ACCEPTOR_PORT;
	said_first = true;
	rig_start(&rig);
	reader = nopal_reader_over(said, said_length);
	fingerprint = nopal_plan_info(rig.plan)->fingerprint;
	id = nopal_session_id(rig.opener.session);
	assert_int_equal(said_length, REPLY_MAX);
	assert_int_equal(nopal_read(&reader, 1), nopal__first_byte(NOPAL_KIND_CONNECT));
	assert_int_equal(nopal_read(&reader, NOPAL_ID_BYTES), id);
	assert_true(nopal_read(&reader, NOPAL_FINGERPRINT_BYTES) == fingerprint);
	assert_true(nopal_read(&reader, NOPAL_CHECK_BYTES) ==
		    check_of(fingerprint, id, reader.at, nopal_read_left(&reader)));
	assert_string_equal((const char *)reader.at, nopal_session_composition(rig.opener.session));
}

/* A listener's word that it gave itself: of all that it names, and of its secret. */
TEST(test_a_mac_is_of_all_that_it_names)
{
	struct nopal_address from[3];
	uint64_t mac[8];

	begin(MINIMAL);
	nopal_sim_address(0, PORT, &from[0]);
	nopal_sim_address(1, PORT, &from[1]);
	nopal_sim_address(0, PORT + 256, &from[2]);
	for (unsigned i = 0; i < 8; i++) {
		struct request_context context = { i == 7 ? rig.opener.endpoint
							  : rig.acceptor.endpoint,
						   &from[i == 1	  ? 1
							 : i == 2 ? 2
								  : 0] };
		struct nopal_request request = { .context = &context };

		request.peer_id = ID + (i == 3);
		request.fingerprint = 5 + (i == 4);
		mac[i] = nopal_request_mac(&request, 6 + (i == 5), 7 + (i == 6));
		for (unsigned j = 0; j < i; j++)
			assert_true(mac[i] != mac[j]);
	}
}

/* ------------------------------------------------------------- to the opener */

static void begin_opener(void)
{
	begin(UNTAPPED);
	nopal_sim_tap(rig.world, NULL, NULL);
	rig_change(&rig, "delay 10ms loss 100%");
	rig_start(&rig);
}

static struct nopal_composite *opener(void)
{
	return nopal__composite(rig.opener.session);
}

/* `cut`: so much of it is missing. */
static void come_back(const void *body, size_t length, size_t cut, uint16_t check_by)
{
	struct nopal_composite *composite = opener();
	uint64_t check =
		check_of(nopal_plan_info(rig.plan)->fingerprint, composite->local_id, body, length);
	uint8_t bytes[64];
	struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));

	nopal_write(&writer, nopal__first_byte(NOPAL_KIND_REPLY), 1);
	nopal_write(&writer, composite->local_id, NOPAL_ID_BYTES);
	nopal_write(&writer, (check + check_by) & 0xffff, REPLY_CHECK);
	nopal_write_bytes(&writer, body, length);
	nopal_sim_inject(rig.world, rig.opener.endpoint, &composite->peer, bytes,
			 nopal_written(&writer) - cut);
	rig_run(&rig, NOPAL_MILLISECOND);
}

TEST(test_a_reply_that_is_not_whole_is_malformed)
{
	static const uint8_t answer[] = { ANSWER, 1, 2, 3, 4 };
	const struct nopal_counters *heard;

	begin_opener();
	heard = nopal_session_counters(rig.opener.session);
	come_back(answer, sizeof(answer), 0, 1);
	assert_int_equal(heard->rx_malformed, 1);
	come_back("", 0, 0, 1);
	come_back("", 0, 1, 0);
	come_back("", 0, 2, 0);
	assert_int_equal(heard->rx_malformed, 4);
	come_back("", 0, 0, 0);		    /* of no type */
	come_back(answer, 4, 0, 0);	    /* of an id that is short */
	come_back("\2\1\2\3\4\5", 6, 0, 0); /* or long */
	assert_false(opener()->peer_known);
	come_back(answer, sizeof(answer), 0, 0);
	assert_true(opener()->peer_known);
	assert_int_equal(opener()->peer_id, 0x01020304);
	assert_int_equal(rig.opener.ended, 0);
}

TEST(test_a_refusal_ends_who_is_not_known_yet)
{
	begin_opener();
	come_back("\xffnot here", 9, 0, 0);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_REFUSED);
	assert_non_null(strstr(rig.opener.end_text, "not here"));
}

TEST(test_a_refusal_comes_too_late_for_who_is_known)
{
	begin_opener();
	come_back("\2\1\2\3\4", 5, 0, 0);
	come_back("\xffnot here", 9, 0, 0);
	assert_int_equal(rig.opener.ended, 0);
	come_back("\2\5\6\7\x8", 5, 0, 0); /* its peer has begun anew */
	assert_int_equal(opener()->peer_id, 0x05060708);
}

/* With a handshake, what is known does not change by a reply. */
TEST(test_after_a_handshake_replies_say_nothing)
{
	uint32_t id;

	begin(CIRCUIT);
	nopal_sim_tap(rig.world, NULL, NULL);
	rig_start(&rig);
	id = opener()->peer_id;
	come_back("\2\5\6\7\x8", 5, 0, 0);
	come_back("\xffnot here", 9, 0, 0);
	assert_int_equal(opener()->peer_id, id);
	assert_int_equal(rig.opener.ended, 0);
}

/* Nor does one to who opened nothing. */
TEST(test_a_reply_is_for_an_opener)
{
	begin_opener();
	opener()->opener = false;
	come_back("\2\5\6\7\x8", 5, 0, 0);
	assert_false(opener()->peer_known);
	come_back("\xffnot here", 9, 0, 0);
	assert_int_equal(rig.opener.ended, 0);
	opener()->opener = true;
}
