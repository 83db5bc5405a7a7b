/* SPDX-License-Identifier: MIT */
/*
 * A session that has nothing to do takes few bytes: so that an endpoint can have a hundred thousand
 * of them.  What is allocated is counted before the allocator (--wrap), as the C library's own
 * chunks; a session's share is the slope between two numbers of sessions that have talked and
 * fallen silent.
 */
#include <malloc.h>
#include <stdlib.h>

#include "session/endpoint_sessions.h"
#include "support/rig.h"
#include "support/test.h"

enum {
	FEW = 256, /* powers of two: tables that double are equally full */
	MANY = 4096,
	ENDS = 2, /* of a session */
	PORT = 1000,
	CHUNK_BYTES = 8,   /* what the C library adds to each */
	MINIMAL_MAX = 350, /* bytes of one end of a session */
	BULK_MAX = 690,
	AUDIO_MAX = 700,
	STREAM_MAX = 1600, /* with a flow of its own */
	MEMBER_MAX = 800,  /* of the group, for one destination */
	TALK_BYTES = 3000,
	DIGITS = 16, /* counts and times that grew by a byte */
};
#define SPACE_NS (100 * NOPAL_MICROSECOND) /* from one session to the next */

static int64_t live_bytes;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);

static int64_t chunk_bytes(void *memory)
{
	return memory ? (int64_t)malloc_usable_size(memory) + CHUNK_BYTES : 0;
}

void *__wrap_malloc(size_t bytes)
{
	void *memory = __real_malloc(bytes);

	live_bytes += chunk_bytes(memory);
	return memory;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	void *memory = __real_calloc(count, bytes);

	live_bytes += chunk_bytes(memory);
	return memory;
}

void *__wrap_realloc(void *memory, size_t bytes)
{
	live_bytes -= chunk_bytes(memory);
	memory = __real_realloc(memory, bytes);
	live_bytes += chunk_bytes(memory);
	return memory;
}

void __wrap_free(void *memory)
{
	live_bytes -= chunk_bytes(memory);
	__real_free(memory);
}

/* ------------------------------------------------------------ many sessions */

static struct crowd {
	struct nopal_world *world;
	struct nopal_endpoint *from;
	struct nopal_plan *plan;
	struct nopal_address to;
	struct nopal_session *session[MANY];
	int opened, delivered;
} crowd;

static void on_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	(void)session;
	(void)message;
	(void)user;
	crowd.delivered++;
}

static const struct nopal_callbacks callbacks = { .received = on_received };

static void pass(int64_t duration_ns)
{
	nopal_sim_run(crowd.world, nopal_world_now(crowd.world) + duration_ns);
}

static void crowd_open(const char *config)
{
	struct nopal_problems problems = { 0 };
	struct nopal_link link[ENDS];
	int host[ENDS];

	crowd = (struct crowd){ .plan = rig_plan(config) };
	crowd.world = nopal_sim_new(1);
	assert_int_equal(nopal_link_parse("delay 10us", &link[0], &link[1], &problems), 0);
	host[0] = nopal_sim_host(crowd.world);
	host[1] = nopal_sim_host(crowd.world);
	nopal_sim_connect(crowd.world, host[0], host[1], &link[0], &link[1]);
	crowd.from = nopal_sim_endpoint(crowd.world, host[0], PORT);
	nopal_endpoint_allow(nopal_sim_endpoint(crowd.world, host[1], PORT), crowd.plan,
			     NOPAL_ALLOW_CONNECTIONLESS, &callbacks, NULL);
	nopal_sim_address(host[1], PORT, &crowd.to);
}

/* More sessions, each of which sends a message; then silence. */
static void crowd_grow(int count, size_t bytes)
{
	struct nopal_buffer *buffer = nopal_buffer_new(TALK_BYTES);

	for (int i = crowd.opened; i < count; i++) {
		crowd.session[i] = nopal_open(crowd.from, crowd.plan, &crowd.to, &callbacks, NULL);
		assert_non_null(crowd.session[i]);
		pass(SPACE_NS);
		assert_int_equal(nopal_send_message(crowd.session[i],
						    &(struct nopal_outgoing){ .buffer = buffer,
									      .length = bytes }),
				 0);
		pass(SPACE_NS);
	}
	crowd.opened = count;
	nopal_buffer_free(buffer);
	pass(5 * NOPAL_SECOND);
	assert_int_equal(crowd.delivered, count);
}

static void crowd_close(void)
{
	nopal_world_free(crowd.world);
	nopal_plan_unref(crowd.plan);
}

static void takes_at_most(const char *config, size_t bytes, int64_t max)
{
	int64_t few, nothing = live_bytes;

	crowd_open(config);
	crowd_grow(FEW, bytes);
	few = live_bytes;
	assert_true(few > nothing);
	crowd_grow(MANY, bytes);
	assert_in_range(live_bytes - few, 1, max * ENDS * (MANY - FEW));
	crowd_close();
}

TEST(test_minimal)
{
	takes_at_most("extends = \"ctp_minimal\"\n", 1000, MINIMAL_MAX);
}

TEST(test_bulk)
{
	takes_at_most("extends = \"bulk\"\n", TALK_BYTES, BULK_MAX);
}

TEST(test_audio)
{
	takes_at_most("extends = \"ctp_audio\"\n", 1000, AUDIO_MAX);
}

TEST(test_streams)
{
	takes_at_most("extends = \"streams\"\n", 1000, STREAM_MAX);
}

/* ------------------------------------------------------------ many members */

static void crowd_join(const char *config)
{
	struct nopal_problems problems = { 0 };
	struct nopal_link link[ENDS];
	struct nopal_address to;

	crowd = (struct crowd){ .plan = rig_plan(config) };
	crowd.world = nopal_sim_new(1);
	assert_int_equal(nopal_link_parse("delay 10us", &link[0], &link[1], &problems), 0);
	nopal_sim_star(crowd.world, FEW, &link[0], &link[1]);
	crowd.from = nopal_sim_endpoint(crowd.world, 0, PORT);
	crowd.session[0] = nopal_session_open(&(struct nopal_open){
		.endpoint = crowd.from, .plan = crowd.plan, .callbacks = &callbacks });
	assert_non_null(crowd.session[0]);
	for (int i = 1; i <= FEW; i++) {
		nopal_endpoint_allow(nopal_sim_endpoint(crowd.world, i, PORT), crowd.plan,
				     NOPAL_ALLOW_CONNECTIONLESS, &callbacks, NULL);
		nopal_sim_address(i, PORT, &to);
		assert_int_equal(nopal_destination_add(crowd.session[0], &to), i);
		pass(SPACE_NS);
	}
	pass(NOPAL_SECOND);
}

/* Each of them says now and then that it is alive: there is a time when all rest. */
static void crowd_rest(void)
{
	int64_t min = live_bytes;

	for (int i = 0; i < 40; i++) {
		pass(50 * NOPAL_MILLISECOND);
		min = live_bytes < min ? live_bytes : min;
	}
	for (int i = 0; i < 40 && live_bytes > min + FEW * DIGITS; i++)
		pass(50 * NOPAL_MILLISECOND);
	assert_true(live_bytes <= min + FEW * DIGITS);
}

/* The group goes with all destinations; their words by then go nowhere. */
static int64_t crowd_leave(void)
{
	struct nopal_link link[ENDS];
	struct nopal_problems problems = { 0 };
	int64_t before;

	assert_int_equal(nopal_link_parse("loss 100%", &link[0], &link[1], &problems), 0);
	for (int i = 1; i <= FEW; i++)
		nopal_sim_change(crowd.world, 0, i, &link[0]);
	before = live_bytes;
	for (uint32_t i = 1; i <= FEW; i++)
		assert_int_equal(nopal_destination_remove(crowd.session[0], i, true), 0);
	return before - live_bytes;
}

TEST(test_a_member_of_a_group)
{
	struct nopal_buffer *buffer = nopal_buffer_new(TALK_BYTES);

	crowd_join("extends = \"one_to_many_all\"\n");
	assert_int_equal(nopal_send_message(crowd.session[0],
					    &(struct nopal_outgoing){ .buffer = buffer,
								      .length = TALK_BYTES }),
			 0);
	nopal_buffer_free(buffer);
	pass(5 * NOPAL_SECOND);
	assert_int_equal(crowd.delivered, FEW);
	crowd_rest();
	assert_in_range(crowd_leave(), FEW, FEW * MEMBER_MAX);
	crowd_close();
}

/* Common deeds of a crowd leave nothing with its members. */
TEST(test_a_busy_time_is_forgotten)
{
	struct nopal_buffer *buffer = nopal_buffer_new(TALK_BYTES);
	int64_t idle, busy, grown;

	crowd_open("extends = \"bulk\"\n");
	crowd_grow(FEW, TALK_BYTES);
	idle = live_bytes;
	for (int i = 0; i < FEW; i++)
		nopal_send_message(
			crowd.session[i],
			&(struct nopal_outgoing){ .buffer = buffer, .length = TALK_BYTES });
	busy = live_bytes;
	assert_true(busy > idle + FEW * BULK_MAX);
	pass(3 * NOPAL_SECOND);
	/* but what the endpoints and the network keep for the next time */
	grown = live_bytes - idle;
	for (int i = 0; i < FEW; i++)
		nopal_send_message(
			crowd.session[i],
			&(struct nopal_outgoing){ .buffer = buffer, .length = TALK_BYTES });
	pass(3 * NOPAL_SECOND);
	assert_true(live_bytes - idle <= grown + FEW * ENDS * DIGITS);
	nopal_buffer_free(buffer);
	crowd_close();
}
