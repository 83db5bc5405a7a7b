/* SPDX-License-Identifier: MIT */
/*
 * How long packets may be is agreed upon between ends whose configs differ, as of this header
 * nobody checks that they are alike; and then much crosses.
 */
#include <string.h>

#include "session/endpoint_sessions.h"
#include "support/many.h"
#include "support/rig.h"
#include "support/test.h"

#define PACKETS_OF(mtu, more)                                                                      \
	"transport_driver {}\nresize { mtu = " mtu " }\n"                                          \
	"sequenced_segments {}\ngo_back_n {}\nreliable_fifo {}\n"                                  \
	"one_to_many {}\n" more
#define PAPER(mtu) PACKETS_OF(mtu, "three_way {}\n")

struct two {
	struct nopal_world *world;
	struct nopal_plan *plan[2];
	struct nopal_endpoint *endpoint[2];
	struct nopal_session *session[2];
	size_t longest[2]; /* datagram to each */
	uint32_t delivered[2], opened, ended;
	int end;
};
static struct two two;

static void two_tap(void *user, int64_t now_ns, const struct nopal_address *from,
		    const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	unsigned which = to->port == 2000;

	(void)user, (void)now_ns, (void)from, (void)bytes;
	if (length > two.longest[which])
		two.longest[which] = length;
}

static void *two_accepted(struct nopal_session *session, void *user)
{
	two.session[1] = session;
	return user;
}

static void two_opened(struct nopal_session *session, void *user)
{
	(void)session, (void)user;
	two.opened++;
}

static void two_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	(void)user;
	assert_int_equal(nopal_message_length(message), 10000);
	two.delivered[session == two.session[1]]++;
}

static void two_ended(struct nopal_session *session, enum nopal_end reason, const char *text,
		      void *user)
{
	(void)text, (void)user;
	if (session == two.session[0]) {
		two.ended++;
		two.end = (int)reason;
	}
}

static void two_begin(const char *ours, const char *theirs)
{
	static const struct nopal_callbacks callbacks = {
		.accepted = two_accepted,
		.opened = two_opened,
		.received = two_received,
		.ended = two_ended,
	};
	struct nopal_link link = { .delay_ns = 10 * NOPAL_MILLISECOND };
	struct nopal_address peer;

	two = (struct two){ .world = nopal_sim_new(1),
			    .plan = { rig_plan(ours), rig_plan(theirs) } };
	for (int i = 0; i < 2; i++)
		nopal_sim_host(two.world);
	nopal_sim_connect(two.world, 0, 1, &link, &link);
	nopal_sim_tap(two.world, two_tap, NULL);
	two.endpoint[0] = nopal_sim_endpoint(two.world, 0, 1000);
	two.endpoint[1] = nopal_sim_endpoint(two.world, 1, 2000);
	assert_int_equal(nopal_endpoint_allow(two.endpoint[1], two.plan[1], 0, &callbacks, NULL),
			 0);
	nopal_sim_address(1, 2000, &peer);
	two.session[0] = nopal_open(two.endpoint[0], two.plan[0], &peer, &callbacks, NULL);
	nopal_sim_run(two.world, NOPAL_SECOND);
}

static void two_end(void)
{
	nopal_sim_tap(two.world, NULL, NULL);
	nopal_world_free(two.world);
	for (int i = 0; i < 2; i++)
		nopal_plan_unref(two.plan[i]);
}

static void two_talk(const char *ours, const char *theirs, size_t longest)
{
	static const uint8_t bytes[10000];

	two_begin(ours, theirs);
	assert_int_equal(two.opened, 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(nopal_send(two.session[i], bytes, sizeof(bytes), 0), 0);
	nopal_sim_run(two.world, 5 * NOPAL_SECOND);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(two.delivered[i], 1);
		assert_int_equal(two.longest[i], longest);
	}
	two_end();
}

TEST(test_the_shorter_one_is_agreed_upon)
{
	static const char longer[] = PAPER("1500B");
	static const char shorter[] = PAPER("1300B");
	static const char shortest[] = PAPER("576B");

	two_talk(longer, longer, 1500 - 28);
	two_talk(longer, shorter, 1300 - 28);
	two_talk(shorter, longer, 1300 - 28);
	/* Of 1500 bytes nobody is brought below 1200. */
	two_begin(longer, shortest);
	assert_int_equal(two.opened, 0);
	assert_int_equal(two.ended, 1);
	assert_int_equal(two.end, NOPAL_REFUSED);
	two_end();
}

static struct rig rig;

TEST(test_much_crosses_both_ways)
{
	rig_open(&rig, PAPER("1500B"),
		 &(struct rig_options){ .link = "rate 20mbit delay 10ms loss "
						"3% reorder 3% duplicate 3%" });
	for (int i = 0; i < 100; i++) {
		assert_int_equal(rig_send_bytes(&rig, 5000), 0);
		assert_int_equal(nopal_send(rig.acceptor.session, "back", 4, 0), 0);
	}
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 100);
	assert_int_equal(rig.opener.delivered, 100);
	rig_finish(&rig);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	assert_int_equal(rig.acceptor.end, NOPAL_ENDED_WELL);
	rig_close(&rig);
}

#define MANY_PAPER                                                                                 \
	"layer \"group\" {\ntransport_driver {}\nwhole_messages {}\n"                              \
	"fan_out { acks = 0 }\n}\nlayer \"destination\" {\n"                                       \
	"multiplicity = per_destination\n" PAPER("1500B") "}\n"

/* To three, each with its own handshake; then one of them falls silent. */
TEST(test_much_crosses_to_many)
{
	static struct many many;

	many_open(&many, MANY_PAPER, 3, "delay 10ms loss 5%", 1);
	many.echo = true;
	many_run(&many, 5 * NOPAL_SECOND);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(many.end[i].opened, 1);
	for (int i = 0; i < 50; i++)
		assert_int_equal(many_send_bytes(&many, 4000, 0), 0);
	many_run(&many, 30 * NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 50);
	assert_int_equal(many.answers, 150);
	many_cut(&many, 1);
	many_run(&many, 60 * NOPAL_SECOND);
	assert_int_equal(many.end[1].ended, 1);
	assert_int_equal(many.end[1].end, NOPAL_PEER_LOST);
	assert_int_equal(many.end[0].ended + many.end[2].ended, 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(many.end[i].delivered, 50);
	many_close(&many);
}

TEST(test_what_would_not_travel_is_refused)
{
	char text[4096];

	assert_true(rig_refused("transport_driver {}\nfixed_size {}\n"
				"three_way {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "that header alone"));
	assert_true(rig_refused(PACKETS_OF("1500B", "three_way {}\nvirtual_circuit {}\n"), text,
				sizeof(text)));
	assert_true(
		rig_refused(PACKETS_OF("1500B", "three_way { retry = 3s }\n"), text, sizeof(text)));
	assert_non_null(strstr(text, "retry_most"));
}
