/* SPDX-License-Identifier: MIT */
/* Against a plain model of MPI's rule, phase by phase; its bounds; its company. */
#include <errno.h>

#include "support/arrivals.h"
#include "support/test.h"

#define BASE	"transport_driver {}\nfixed_size {}\n"
#define MATCHED BASE "tag_matching {}\na_log {}\n"
#define RELIABLE                                                                                   \
	BASE "sequenced_messages {}\nsequenced_segments {}\nretransmit {}\n"                       \
	     "positive_ack { selective = on } retransmission_timer {}\nduplicate_ack {}\n"         \
	     "reliable_fifo {}\na_log {}\n"
#define ANY 0, 0 /* tag and mask of a receive */

enum { EACH = UINT32_MAX, MAX = 2048 };

static struct rig rig;

/* -------------------------------------------- what was delivered, and to whom */

static struct match {
	int number;
	uint64_t cookie;
} matched[MAX];
static uint32_t matches, again; /* again: receives to post when one is used */

static enum nopal_verdict log_on_to_user(struct nopal_at at, struct nopal_message *message)
{
	char text[16] = { 0 };
	unsigned which = nopal_property(rig.plan, "receive");

	nopal_message_copy(message, 0, text, sizeof(text) - 1);
	matched[matches++] = (struct match){ atoi(text), nopal_message_property(message, which) };
	if (again && again--)
		assert_int_equal(nopal_receive_post(at.session, ANY, 100 + again), 0);
	return NOPAL_CONTINUE;
}

static const struct nopal_microprotocol a_log = {
	.abi = NOPAL_ABI,
	.name = "a_log",
	.family = "check",
	.summary = "notes which receive got which message",
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(MSG_TO_USER, log_on_to_user), { 0 } },
};

static int begin(void **state)
{
	(void)state;
	rig_add(&a_log);
	matches = again = 0;
	return 0;
}

EACH_TEST(begin, NULL);

static int send_tag(uint64_t tag, int number)
{
	const struct nopal_property property = { nopal_property(rig.plan, "tag"), tag };
	char text[16];
	int length = snprintf(text, sizeof(text), "%d", number);

	assert_true(property.which);
	return nopal_send_message(rig.opener.session,
				  &(struct nopal_outgoing){ .bytes = text,
							    .length = (size_t)length,
							    .properties = &property,
							    .property_count = 1 });
}

static int post(uint64_t tag, uint64_t mask, uint64_t cookie)
{
	return nopal_receive_post(rig.acceptor.session, tag, mask, cookie);
}

static void assert_match(uint32_t place, int number, uint64_t cookie)
{
	assert_true(place < matches);
	assert_int_equal(matched[place].number, number);
	assert_int_equal(matched[place].cookie, cookie);
}

/* A session without a handshake is there with its first message. */
static void open_with(const char *config, const char *link, uint64_t seed)
{
	rig_open(&rig, config, &(struct rig_options){ .link = link, .seed = seed });
	assert_int_equal(send_tag(0, 0), 0);
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(matches, 0);
	assert_int_equal(post(0, EACH, 1), 0);
	assert_match(0, 0, 1);
	matches = 0;
}

/* ---------------------------------------------------------------- one by one */

TEST(test_unexpected_and_posted)
{
	open_with(MATCHED, "delay 10ms", 1);
	send_tag(7, 1);
	send_tag(8, 2);
	send_tag(7, 3);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(matches, 0);
	assert_int_equal(post(8, EACH, 11), 0);
	assert_match(0, 2, 11);
	assert_int_equal(post(7, EACH, 12), 0);
	assert_match(1, 1, 12);
	assert_int_equal(post(9, EACH, 13), 0);
	assert_int_equal(post(0x10, 0xf0, 14), 0);
	assert_int_equal(post(ANY, 15), 0);
	assert_match(2, 3, 15);
	assert_int_equal(matches, 3);
	send_tag(0x1f, 4);
	send_tag(9, 5);
	send_tag(9, 6);
	rig_run(&rig, NOPAL_SECOND);
	assert_match(3, 4, 14);
	assert_match(4, 5, 13);
	assert_int_equal(matches, 5);
	rig_close(&rig);
}

/* The example of the head comment. */
TEST(test_the_oldest_receive_wins)
{
	open_with(MATCHED, "delay 10ms", 1);
	post(7, EACH, 'a');
	post(ANY, 'b');
	send_tag(3, 1);
	send_tag(7, 2);
	send_tag(7, 3);
	rig_run(&rig, NOPAL_SECOND);
	assert_match(0, 1, 'b');
	assert_match(1, 2, 'a');
	assert_int_equal(matches, 2);
	rig_close(&rig);
}

/* Receives are posted while messages are being delivered. */
TEST(test_a_delivery_posts_the_next)
{
	open_with(RELIABLE "tag_matching {}\n", "delay 10ms", 1);
	for (int i = 0; i < 100; i++)
		send_tag((uint64_t)i, i);
	rig_run(&rig, NOPAL_SECOND);
	again = 60;
	post(ANY, 1);
	assert_int_equal(matches, 61);
	for (int i = 1; i <= 60; i++)
		assert_match((uint32_t)i, i, (uint64_t)(160 - i));
	rig_close(&rig);
}

TEST(test_what_waits_survives_a_rest)
{
	open_with(MATCHED, "delay 10ms", 1);
	post(5, EACH, 50);
	rig_run(&rig, 10 * NOPAL_SECOND);
	send_tag(6, 1);
	send_tag(5, 2);
	rig_run(&rig, NOPAL_SECOND);
	assert_match(0, 2, 50);
	rig_run(&rig, 10 * NOPAL_SECOND);
	post(6, EACH, 60);
	assert_match(1, 1, 60);
	rig_run(&rig, 10 * NOPAL_SECOND);
	send_tag(4, 3);
	post(4, EACH, 40);
	rig_run(&rig, NOPAL_SECOND);
	assert_match(2, 3, 40);
	rig_close(&rig);
}

/* ------------------------------------------------------------------ the model */

static struct model {
	struct model_item {
		uint64_t tag, mask, cookie;
		int number;
	} message[MAX], receive[MAX];
	uint32_t messages, receives, matches;
	struct match matched[MAX];
} model;

static void model_match(uint32_t message, uint32_t receive)
{
	model.matched[model.matches++] =
		(struct match){ model.message[message].number, model.receive[receive].cookie };
	model.messages--;
	model.receives--;
	memmove(&model.message[message], &model.message[message + 1],
		(model.messages - message) * sizeof(model.message[0]));
	memmove(&model.receive[receive], &model.receive[receive + 1],
		(model.receives - receive) * sizeof(model.receive[0]));
}

/* One of both is new, and last; at most one pair matches. */
static void model_settle(void)
{
	for (uint32_t i = 0; i < model.messages; i++)
		for (uint32_t j = 0; j < model.receives; j++)
			if (!((model.message[i].tag ^ model.receive[j].tag) &
			      model.receive[j].mask)) {
				model_match(i, j);
				return;
			}
}

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1;
	return (uint32_t)(random_state >> 33) % below;
}

static void phase_of_sends(int *number)
{
	for (uint32_t count = draw(12); count; count--) {
		struct model_item item = { .tag = draw(6), .number = ++*number };

		assert_int_equal(send_tag(item.tag, item.number), 0);
		model.message[model.messages++] = item;
		model_settle();
	}
	rig_run(&rig, 20 * NOPAL_SECOND);
}

static void phase_of_posts(uint64_t *cookie)
{
	static const uint64_t masks[] = { EACH, EACH, EACH, 1, 3, 0 };

	for (uint32_t count = draw(12); count; count--) {
		struct model_item item = { draw(6), masks[draw(6)], ++*cookie, 0 };

		assert_int_equal(post(item.tag, item.mask, item.cookie), 0);
		model.receive[model.receives++] = item;
		model_settle();
	}
}

static void compare(const char *config, const char *link, uint64_t seed)
{
	uint64_t cookie = 0;
	int number = 0;

	begin(NULL);
	memset(&model, 0, sizeof(model));
	random_state = seed;
	open_with(config, link, seed);
	for (int phase = 0; phase < 60; phase++) {
		phase_of_sends(&number);
		phase_of_posts(&cookie);
		assert_int_equal(matches, model.matches);
		for (uint32_t i = 0; i < matches; i++)
			assert_match(i, model.matched[i].number, model.matched[i].cookie);
	}
	assert_true(matches > 150);
	assert_int_equal(rig_awake(rig.acceptor.session)->messages.alive, model.messages);
	rig_close(&rig);
}

TEST(test_as_the_model)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		compare(MATCHED, "delay 10ms", seed);
		compare(RELIABLE "tag_matching {}\n", "delay 10ms", seed);
	}
}

/* Whatever the order of arrival: the match is that of the order of sending. */
TEST(test_as_the_model_with_loss_and_reordering)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		compare(RELIABLE "tag_matching {}\n", "delay 30ms 25ms loss 10% duplicate 3%",
			seed);
		compare(BASE "sequenced_messages {}\nlossy_fifo {}\n"
			     "tag_matching {}\na_log {}\n",
			"delay 30ms 25ms", seed);
	}
}

/* -------------------------------------------------------------------- company */

/* lossy_fifo lets messages go by its timer, and discards what is late. */
TEST(test_a_timer_of_the_order)
{
	struct nopal_at at;

	open_with(BASE "sequenced_messages {}\nlossy_fifo { delay = 100ms }\n"
		       "tag_matching {}\na_log {}\n",
		  "delay 10ms", 1);
	at = rig_at(rig.acceptor.session, "lossy_fifo");
	assert_int_equal(post(ANY, 1), 0);
	arrive(at, 4);
	arrive(at, 3);
	rig_run(&rig, 50 * NOPAL_MILLISECOND);
	assert_int_equal(matches, 0);
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	assert_match(0, 3, 1);
	arrive(at, 2);
	post(ANY, 2);
	assert_match(1, 4, 2);
	post(ANY, 3);
	assert_int_equal(matches, 2);
	assert_int_equal(rig_awake(rig.acceptor.session)->messages.alive, 0);
	rig_close(&rig);
}

TEST(test_out_of_band_takes_no_receive)
{
	struct nopal_property property = { .value = 1 };

	open_with(RELIABLE "out_of_band {}\ntag_matching {}\n", "delay 10ms", 1);
	property.which = nopal_property(rig.plan, "out_of_band");
	nopal_send_message(rig.opener.session, &(struct nopal_outgoing){ .bytes = "1",
									 .length = 1,
									 .properties = &property,
									 .property_count = 1 });
	rig_run(&rig, NOPAL_SECOND);
	assert_match(0, 1, 0);
	assert_int_equal(rig_awake(rig.acceptor.session)->messages.alive, 0);
	post(ANY, 9);
	nopal_send_message(rig.opener.session, &(struct nopal_outgoing){ .bytes = "2",
									 .length = 1,
									 .properties = &property,
									 .property_count = 1 });
	send_tag(1, 3);
	rig_run(&rig, NOPAL_SECOND);
	assert_match(1, 2, 0);
	assert_match(2, 3, 9);
	rig_close(&rig);
}

/* A message that nobody asks for is unread: the sender waits, and nothing breaks. */
TEST(test_flow_control_holds_the_rest_back)
{
	open_with(RELIABLE "windowed_flow { buffer = 16KiB  initial = 8 }\n"
			   "tag_matching { unexpected = 64 }\n",
		  "delay 10ms", 1);
	for (int i = 0; i < 200; i++)
		assert_int_equal(rig_send_bytes(&rig, 1000), 0);
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(matches, 0);
	assert_true(rig_awake(rig.acceptor.session)->messages.alive <= 64);
	for (uint64_t i = 0; i < 200; i++) {
		assert_int_equal(post(ANY, i), 0);
		rig_run(&rig, 200 * NOPAL_MILLISECOND);
	}
	assert_int_equal(matches, 200);
	rig_close(&rig);
}

/* --------------------------------------------------------------------- bounds */

TEST(test_too_many_unexpected_break_the_session)
{
	open_with(RELIABLE "tag_matching { unexpected = 3 }\n", "delay 10ms", 1);
	for (int i = 1; i <= 3; i++)
		send_tag(1, i);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.ended, 0);
	post(1, EACH, 1);
	send_tag(1, 4);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.ended, 0);
	send_tag(1, 5);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.ended, 1);
	assert_int_equal(rig.acceptor.end, NOPAL_RESOURCE);
	assert_string_equal(rig.acceptor.end_text, "too many messages wait for a receive");
	assert_int_equal(matches, 1);
	rig_close(&rig);
}

TEST(test_too_many_receives_are_refused)
{
	open_with(BASE "tag_matching { posted = 2 }\na_log {}\n", "delay 10ms", 1);
	assert_int_equal(post(1, EACH, 1), 0);
	assert_int_equal(post(2, EACH, 2), 0);
	assert_int_equal(post(3, EACH, 3), -ENOBUFS);
	send_tag(3, 1);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(matches, 0);
	assert_int_equal(post(3, EACH, 4), 0); /* it need not wait */
	assert_match(0, 1, 4);
	send_tag(2, 2);
	rig_run(&rig, NOPAL_SECOND);
	assert_match(1, 2, 2);
	assert_int_equal(post(3, EACH, 5), 0);
	rig_close(&rig);
}

TEST(test_a_tag_has_32_bits)
{
	open_with(MATCHED, "delay 10ms", 1);
	assert_int_equal(send_tag(UINT64_C(1) << 32, 1), -ERANGE);
	assert_int_equal(send_tag(UINT32_MAX, 2), 0);
	assert_int_equal(post(UINT64_MAX, UINT64_MAX, 1), -ERANGE);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(post(UINT64_MAX, EACH, 2), 0);
	assert_match(0, 2, 2);
	rig_close(&rig);
}

TEST(test_nobody_matches_elsewhere)
{
	char text[1024];

	rig_begin(&rig, BASE);
	assert_int_equal(post(ANY, 1), -ENOSYS);
	rig_close(&rig);
	assert_true(rig_refused(BASE "tag_matching {}\ncoalesce {}\n", text, sizeof(text)));
	assert_non_null(strstr(text, "coalesce"));
	assert_true(rig_refused(BASE "tag_matching {}\nsequenced_messages {}\n"
				     "semantic_order {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "these wait for receives"));
}
