/* SPDX-License-Identifier: MIT */
/* Streams above destinations: each stream is a session, and goes to all of them. */
#include <string.h>

#include "support/many.h"

enum { HOSTS = 3, STREAMS = 2, MESSAGES = 40, TEXT = 32, PORT = 9000, ALL = HOSTS + 1 };

static const char CONFIG[] =
	"layer \"stream\" { multiplicity = per_stream\n transport_driver {} whole_messages {} "
	"stream_end {} }\n" MANY_RELIABLE("fan_out {}");

static struct scene {
	struct nopal_world *world;
	struct nopal_plan *plan;
	struct nopal_endpoint *from;
	struct nopal_session *stream[STREAMS]; /* NULL after its life */
	enum nopal_end end[STREAMS];
	uint32_t outcomes[STREAMS][3];
	uint32_t answers[STREAMS], destinations_ended;
	/* of each host, by the stream that the first byte of a message names */
	uint32_t accepted[ALL], ended[ALL], came[ALL][STREAMS], wrong;
	struct nopal_session *there[ALL][STREAMS];
	bool echo, aborts;
} scene;

static struct nopal_open on(uint32_t index);

static uint32_t index_of(const uint32_t *place)
{
	return (uint32_t)(place - scene.accepted);
}

/* ------------------------------------------------------------- destinations */

static void *there_accepted(struct nopal_session *session, void *user)
{
	uint32_t *place = user;

	if (scene.accepted[index_of(place)] < STREAMS)
		scene.there[index_of(place)][scene.accepted[index_of(place)]] = session;
	(*place)++;
	return user;
}

static void there_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	uint32_t host = index_of(user), stream, number;
	char text[TEXT] = "";

	nopal_message_copy(message, 0, text, sizeof(text) - 1);
	if (sscanf(text, "%u %u", &stream, &number) != 2 || stream >= STREAMS ||
	    number != scene.came[host][stream])
		scene.wrong++;
	else
		scene.came[host][stream]++;
	if (scene.echo)
		nopal_send(session, text, strlen(text), 0);
	if (scene.aborts && host == 1)
		nopal_session_abort(session, "enough");
}

static void there_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			void *user)
{
	(void)session, (void)end, (void)text;
	scene.ended[index_of(user)]++;
}

static const struct nopal_callbacks there = {
	.accepted = there_accepted,
	.received = there_received,
	.ended = there_ended,
};

static void host_open(int host, const char *link)
{
	struct nopal_link forward, reverse;

	many_parse(link, &forward, &reverse);
	assert_int_equal(nopal_sim_host(scene.world), host);
	assert_int_equal(nopal_sim_connect(scene.world, 0, host, &forward, &reverse), 0);
	assert_int_equal(nopal_endpoint_allow(nopal_sim_endpoint(scene.world, host, PORT),
					      scene.plan, 0, &there, &scene.accepted[host]),
			 0);
}

/* ------------------------------------------------------------------ the sender */

static void here_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	(void)session;
	assert_in_range(nopal_message_property(message, nopal_property(scene.plan, "destination")),
			1, HOSTS + 1);
	scene.answers[(struct nopal_session **)user - scene.stream]++;
}

static void here_sent(struct nopal_session *session, uint64_t cookie, enum nopal_outcome outcome,
		      void *user)
{
	(void)session, (void)cookie;
	scene.outcomes[(struct nopal_session **)user - scene.stream][outcome]++;
}

static void here_destination(struct nopal_session *session,
			     const struct nopal_destination_info *info, void *user)
{
	(void)session, (void)user;
	scene.destinations_ended += info->ended;
}

static void here_ended(struct nopal_session *session, enum nopal_end end, const char *text,
		       void *user)
{
	struct nopal_session **place = user;

	(void)session, (void)text;
	scene.end[place - scene.stream] = end;
	*place = NULL;
}

static const struct nopal_callbacks here = {
	.received = here_received,
	.sent = here_sent,
	.destination = here_destination,
	.ended = here_ended,
};

static struct nopal_open on(uint32_t index)
{
	return (struct nopal_open){ .endpoint = scene.from,
				    .plan = scene.plan,
				    .beside = index ? scene.stream[0] : NULL,
				    .callbacks = &here,
				    .user = &scene.stream[index] };
}

static int64_t add(int host)
{
	struct nopal_address address;

	nopal_sim_address(host, PORT, &address);
	return nopal_destination_add(scene.stream[0], &address);
}

static void scene_open(const char *link)
{
	struct nopal_problems problems = { 0 };

	scene = (struct scene){ .world = nopal_sim_new(7) };
	scene.plan = nopal_plan_parse(CONFIG, "streams_to_many", NULL, &problems);
	assert_non_null(scene.plan);
	nopal_problems_fini(&problems);
	nopal_sim_host(scene.world);
	scene.from = nopal_sim_endpoint(scene.world, 0, PORT);
	for (int host = 1; host <= HOSTS; host++)
		host_open(host, link);
	for (uint32_t i = 0; i < STREAMS; i++) {
		struct nopal_open open = on(i);

		scene.stream[i] = nopal_session_open(&open);
		assert_non_null(scene.stream[i]);
	}
	for (int host = 1; host <= HOSTS; host++)
		assert_int_equal(add(host), host);
}

static void say(uint32_t stream, uint32_t from, uint32_t count)
{
	char text[TEXT];

	for (uint32_t i = from; i < from + count; i++) {
		int length = snprintf(text, sizeof(text), "%u %u", stream, i);

		assert_int_equal(nopal_send(scene.stream[stream], text, (size_t)length, i), 0);
	}
}

static void run(int64_t ns)
{
	nopal_sim_run(scene.world, nopal_world_now(scene.world) + ns);
}

static void scene_close(void)
{
	nopal_world_free(scene.world);
	nopal_plan_unref(scene.plan);
}

/* ------------------------------------------------------------------------ tests */

TEST(test_each_stream_goes_to_all_destinations_in_order)
{
	scene_open("delay 10ms loss 5%");
	say(0, 0, MESSAGES);
	say(1, 0, MESSAGES);
	run(20 * NOPAL_SECOND);
	for (int host = 1; host <= HOSTS; host++) {
		assert_int_equal(scene.accepted[host], STREAMS);
		for (int stream = 0; stream < STREAMS; stream++)
			assert_int_equal(scene.came[host][stream], MESSAGES);
	}
	assert_int_equal(scene.wrong, 0);
	assert_int_equal(scene.outcomes[0][NOPAL_OUTCOME_DELIVERED], MESSAGES);
	assert_int_equal(scene.outcomes[1][NOPAL_OUTCOME_DELIVERED], MESSAGES);
	scene_close();
}

TEST(test_a_stream_that_closes_ends_for_all_and_the_other_goes_on)
{
	scene_open("delay 10ms loss 5%");
	say(0, 0, 1);
	say(1, 0, 1);
	nopal_session_close(scene.stream[1]);
	run(5 * NOPAL_SECOND);
	assert_null(scene.stream[1]);
	assert_int_equal(scene.end[1], NOPAL_ENDED_WELL);
	for (int host = 1; host <= HOSTS; host++)
		assert_int_equal(scene.ended[host], 1);
	say(0, 1, MESSAGES - 1);
	run(10 * NOPAL_SECOND);
	for (int host = 1; host <= HOSTS; host++)
		assert_int_equal(scene.came[host][0], MESSAGES);
	scene_close();
}

TEST(test_the_group_ends_with_the_last_stream)
{
	scene_open("delay 10ms loss 5%");
	for (uint32_t i = 0; i < STREAMS; i++) {
		say(i, 0, MESSAGES);
		nopal_session_close(scene.stream[i]);
	}
	run(30 * NOPAL_SECOND);
	for (uint32_t i = 0; i < STREAMS; i++)
		assert_int_equal(scene.end[i], NOPAL_ENDED_WELL);
	assert_int_equal(scene.destinations_ended, HOSTS);
	for (int host = 1; host <= HOSTS; host++) {
		assert_int_equal(scene.ended[host], STREAMS);
		assert_int_equal(scene.came[host][1], MESSAGES);
	}
	scene_close();
}

TEST(test_answers_come_by_the_stream_and_name_their_destination)
{
	scene_open("delay 10ms");
	scene.echo = true;
	say(0, 0, 2);
	say(1, 0, 3);
	run(5 * NOPAL_SECOND);
	assert_int_equal(scene.answers[0], 2 * HOSTS);
	assert_int_equal(scene.answers[1], 3 * HOSTS);
	scene_close();
}

TEST(test_a_destination_that_leaves_a_stream_leaves_it_alone)
{
	scene_open("delay 10ms");
	scene.aborts = true;
	say(0, 0, MESSAGES);
	run(5 * NOPAL_SECOND);
	assert_int_equal(scene.came[1][0], 1);
	assert_int_equal(scene.came[2][0], MESSAGES);
	assert_int_equal(scene.came[3][0], MESSAGES);
	assert_non_null(scene.stream[0]);
	say(1, 0, MESSAGES);
	run(5 * NOPAL_SECOND);
	assert_int_equal(scene.came[3][1], MESSAGES);
	scene_close();
}

TEST(test_a_destination_opens_no_stream)
{
	struct nopal_open open = { .callbacks = &there, .user = &scene.accepted[1] };

	scene_open("delay 10ms");
	say(0, 0, 1);
	run(NOPAL_SECOND);
	open.beside = scene.there[1][0];
	assert_non_null(open.beside);
	assert_null(nopal_session_open(&open));
	scene_close();
}

TEST(test_destinations_come_and_go_for_all_streams)
{
	scene_open("delay 10ms");
	run(NOPAL_SECOND);
	assert_int_equal(nopal_destination_remove(scene.stream[1], 2, false), 0);
	run(NOPAL_SECOND);
	say(0, 0, MESSAGES);
	say(1, 0, MESSAGES);
	run(5 * NOPAL_SECOND);
	assert_int_equal(scene.came[1][1], MESSAGES);
	assert_int_equal(scene.came[2][0] + scene.came[2][1], 0);
	assert_int_equal(scene.outcomes[1][NOPAL_OUTCOME_DELIVERED], MESSAGES);
	assert_int_equal(add(2), HOSTS + 1);
	say(0, 0, 0);
	run(NOPAL_SECOND);
	scene.came[2][0] = MESSAGES; /* the ones that it was not there for */
	say(0, MESSAGES, 1);
	run(NOPAL_SECOND);
	assert_int_equal(scene.came[2][0], MESSAGES + 1);
	assert_int_equal(scene.wrong, 0);
	scene_close();
}

TEST(test_layers_that_cannot_stand_so_are_refused)
{
	static const char *const wrong[] = {
		/* right above destinations */
		"layer \"s\" { multiplicity = per_stream\n transport_driver {} whole_messages {} "
		"stream_end {} fan_out {} }\nlayer \"d\" { multiplicity = per_destination\n "
		"transport_driver {} virtual_circuit {} keep_alive {} fixed_size {} }\n",
		/* below them */
		"layer \"g\" { transport_driver {} whole_messages {} fan_out {} }\n"
		"layer \"d\" { multiplicity = per_destination\n transport_driver {} resize {} "
		"stream_end {} }\nlayer \"f\" { multiplicity = shared\n transport_driver {} "
		"virtual_circuit {} keep_alive {} fixed_size {} }\n",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct nopal_problems problems = { 0 };

		assert_null(nopal_plan_parse(wrong[i], "wrong", NULL, &problems));
		nopal_problems_fini(&problems);
	}
}
