/* SPDX-License-Identifier: MIT */
/* The message travels and nothing else; a longer one is refused. */
#include <errno.h>

#include <string.h>

#include "support/rig.h"
#include "support/test.h"

#define PLAIN "transport_driver {}\nfixed_size {}\nplain_udp {}\n"

static uint8_t seen[64];
static size_t seen_length;

static void tap(void *user, int64_t now_ns, const struct nopal_address *from,
		const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	(void)user, (void)now_ns, (void)from, (void)to;
	assert_true(length <= sizeof(seen));
	memcpy(seen, bytes, length);
	seen_length = length;
}

TEST(test_a_datagram_is_the_message)
{
	struct rig rig;

	rig_open(&rig, PLAIN, NULL);
	nopal_sim_tap(rig.world, tap, NULL);
	assert_int_equal(nopal_plan_info(rig.plan)->header_bytes, 0);
	assert_int_equal(nopal_plan_info(rig.plan)->body_bytes, 1472);
	assert_int_equal(rig_send(&rig, "hello"), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(seen_length, 5);
	assert_memory_equal(seen, "hello", 5);
	assert_string_equal(rig.acceptor.text[0], "hello");
	assert_int_equal(nopal_send(rig.acceptor.session, "back", 4, 0), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(rig.opener.text[0], "back");
	/* nothing is around it: it would be a datagram of no bytes */
	assert_int_equal(rig_send_bytes(&rig, 0), -EINVAL);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	rig_close(&rig);
}

/* Whatever its bytes: those of our own datagrams are bytes too. */
TEST(test_any_datagram_of_anybody_opens_a_session)
{
	static const uint8_t ours_it_seems[] = { 0x22, 0, 0, 0, 1, 9, 9 };
	struct nopal_address stranger;
	struct rig rig;

	rig_open(&rig, PLAIN, &(struct rig_options){ .stay_closed = true });
	nopal_sim_address(7, 4711, &stranger);
	for (size_t length = 0; length <= sizeof(ours_it_seems); length++)
		nopal_sim_inject(rig.world, rig.acceptor.endpoint, &stranger, ours_it_seems,
				 length);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(nopal_endpoint_counters(rig.acceptor.endpoint)->accepted, 1);
	assert_int_equal(rig.acceptor.delivered, sizeof(ours_it_seems) + 1);
	rig_close(&rig);
}

TEST(test_what_would_not_travel_is_refused)
{
	char text[4096];

	assert_true(rig_refused(PLAIN "sequenced_messages {}\n", text, sizeof(text)));
	assert_non_null(strstr(text, "message_number"));
	assert_true(rig_refused(PLAIN "keep_alive {}\n", text, sizeof(text)));
	assert_non_null(strstr(text, "keep_alive sends segments of its kind"));
	assert_true(rig_refused(PLAIN "checksum {}\n", text, sizeof(text)));
	assert_non_null(strstr(text, "trailer"));
	assert_true(rig_refused(PLAIN "virtual_circuit {}\n", text, sizeof(text)));
}
