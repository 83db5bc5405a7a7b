/* SPDX-License-Identifier: MIT */
/* Paths beside the first one: their numbers, who has them and when they are free, and moves of the
 * first one. */
#include <errno.h>

#include "engine/turn.h"
#include "wire/wire.h"
#include "support/failing.h"
#include "support/fakes.h"
#include "support/own_rig.h"
#include "support/test.h"

enum { PORT = 5000 };

/* A role path_limit that nobody speaks for. */
FAKE(m_path, .provides = FAKE_ROLES({ "path_limit", true }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(SEGMENT_LOST, fake_on_segment)));

#define CIRCUIT                                                                                    \
	"transport_driver {}\nresize {}\nvirtual_circuit {}\n"                                     \
	"sequenced_segments {}\n"
static const char ONE[] = CIRCUIT "m_path {}\na_tap {}\n";
static const char MANY[] = CIRCUIT "parallel_channels {}\na_tap {}\n";

static struct nopal_session *session;
static struct nopal_composite *composite;
static struct nopal_endpoint *alias;

static void begin(const char *config)
{
	rig_add(&m_path);
	rig_open(&rig, config, NULL);
	session = rig.opener.session;
	composite = nopal__composite(session);
	nopal__be_awake(composite);
	alias = nopal_sim_endpoint(rig.world, 0, 7000);
	assert_int_equal(nopal_endpoint_share(alias, rig.opener.endpoint), 0);
}

static int setup(void **state)
{
	(void)state;
	begin(MANY);
	return 0;
}

EACH_TEST(setup, own_rig_close);

/* An address of the peer's host. */
static struct nopal_address at(unsigned port)
{
	struct nopal_address address = composite->peer;

	address.port = (uint16_t)port;
	return address;
}

/* By which path comes what comes now? */
static uint8_t from(struct nopal_endpoint *endpoint, unsigned port)
{
	struct nopal_address address = at(port);
	uint8_t path;

	nopal__be_awake(composite);
	composite->endpoint->arrived_at = endpoint;
	composite->endpoint->arrived_from = &address;
	path = nopal__path_arrived(composite);
	assert_ptr_equal(composite->endpoint->arrived_of, composite);
	assert_int_equal(composite->endpoint->arrived_path, path);
	composite->endpoint->arrived_from = NULL;
	return path;
}

static uint8_t here(unsigned port)
{
	return from(composite->endpoint, port);
}

static void pass(int64_t time_ns)
{
	composite->session.now_ns += time_ns; /* this session's alone */
}

static int give(struct nopal_endpoint *endpoint, unsigned port)
{
	struct nopal_address address = at(port);

	return nopal_session_add_path(session, endpoint, &address);
}

/* ------------------------------------------------------------------- learnt */

TEST(test_the_first_path_is_number_0)
{
	assert_int_equal(here(composite->peer.port), 0);
	assert_int_equal(nopal__path_arrived(composite), 0); /* from nowhere */
	assert_null(composite->awake->paths);
	assert_int_equal(from(alias, composite->peer.port), 1);
	assert_int_equal(composite->awake->paths->open, 1);
	assert_true(nopal_address_equal(&composite->awake->paths->opened_with, &composite->peer));
}

TEST(test_addresses_have_numbers_while_there_are_some)
{
	assert_int_equal(here(PORT), 1);
	assert_int_equal(from(alias, PORT), 2);
	assert_int_equal(here(PORT + 1), 3);
	assert_int_equal(here(PORT + 2), NOPAL_PATH_NONE);
	assert_int_equal(from(alias, PORT), 2);
	assert_int_equal(here(PORT), 1);
	assert_int_equal(here(PORT + 1), 3);
}

TEST(test_a_silent_path_gives_its_number_away)
{
	assert_int_equal(here(PORT), 1);
	pass(NOPAL_SECOND);
	assert_int_equal(here(PORT + 1), 2);
	assert_int_equal(here(PORT + 2), 3);
	pass(NOPAL_PATH_SILENCE_NS - NOPAL_SECOND - 1);
	assert_int_equal(here(PORT + 3), NOPAL_PATH_NONE);
	nopal_path_open(session, 1);
	assert_true(nopal_path_is_open(session, 1));
	pass(1);
	assert_int_equal(here(PORT + 3), 1);
	assert_false(nopal_path_is_open(session, 1));
	assert_int_equal(here(PORT), NOPAL_PATH_NONE);
	pass(NOPAL_PATH_SILENCE_NS - 1);
	assert_int_equal(here(PORT + 1), 2); /* it speaks again */
	pass(1);
	assert_int_equal(here(PORT), 1);
	assert_int_equal(here(PORT + 4), 3);
}

TEST(test_nothing_is_learnt_while_it_opens)
{
	enum nopal_life life = composite->life;

	composite->life = NOPAL_LIFE_OPENING;
	assert_int_equal(here(PORT), NOPAL_PATH_NONE);
	assert_null(composite->awake->paths);
	composite->life = life;
}

TEST(test_nothing_is_learnt_without_memory)
{
	uint8_t path;
	int error;

	failing_from(1, true);
	path = here(PORT);
	error = give(alias, PORT);
	assert_int_equal(failing_stop(), 2);
	assert_int_equal(path, NOPAL_PATH_NONE);
	assert_int_equal(error, -ENOMEM);
	assert_int_equal(nopal_session_paths(session), 1);
}

/* -------------------------------------------------------------------- given */

TEST(test_a_path_is_given_by_two_addresses)
{
	struct nopal_endpoint *alone = nopal_sim_endpoint(rig.world, 0, 7001);

	assert_int_equal(give(alone, PORT), -EINVAL);
	assert_int_equal(give(composite->endpoint, composite->peer.port), 0);
	assert_int_equal(nopal_session_paths(session), 1);
	assert_int_equal(give(alias, PORT), 0);
	assert_int_equal(give(alias, PORT), 0);
	assert_int_equal(nopal_session_paths(session), 2);
	assert_int_equal(give(composite->endpoint, PORT), 0);
	assert_int_equal(give(alias, composite->peer.port), 0);
	assert_int_equal(nopal_session_paths(session), 4);
	assert_int_equal(give(alias, PORT + 1), -ENOSPC);
	pass(2 * NOPAL_PATH_SILENCE_NS);
	assert_int_equal(here(PORT + 1), NOPAL_PATH_NONE);
}

TEST(test_what_was_learnt_may_be_given)
{
	assert_int_equal(from(alias, PORT), 1);
	assert_false(nopal_path_is_open(session, 1));
	assert_int_equal(give(alias, PORT), 0);
	assert_true(nopal_path_is_open(session, 1));
	assert_int_equal(nopal_session_paths(session), 2);
}

TEST_WITH(NULL, own_rig_close, test_without_the_role_there_is_one_path)
{
	begin(ONE);
	assert_int_equal(give(alias, PORT), -ENOTSUP);
	assert_int_equal(nopal_session_paths(session), 1);
	assert_true(nopal_path_is_open(session, 0));
	assert_false(nopal_path_is_open(session, 1));
}

TEST(test_a_session_that_ended_has_no_more_paths)
{
	bool outermost = nopal__turn_begin(rig.world);

	nopal__touch(composite);
	nopal_session_abort(session, "test");
	assert_int_equal(give(alias, PORT), -EPIPE);
	nopal__turn_end(rig.world, outermost);
}

TEST(test_there_are_no_other_numbers)
{
	assert_int_equal(here(PORT), 1);
	nopal_path_open(session, 2); /* no path has it */
	nopal_path_open(session, NOPAL_PATHS_MAX);
	assert_int_equal(composite->awake->paths->open, 1);
	nopal_path_open(session, 1);
	assert_int_equal(composite->awake->paths->open, 3);
	composite->awake->paths->open |= 1u << NOPAL_PATHS_MAX;
	assert_false(nopal_path_is_open(session, NOPAL_PATHS_MAX));
	assert_int_equal(nopal_session_paths(session), 2);
}

/* Their numbers rest: who spoke by them may do so yet. */
TEST(test_a_closed_alias_has_no_paths)
{
	assert_int_equal(give(alias, PORT), 0);
	assert_int_equal(give(composite->endpoint, PORT), 0);
	assert_int_equal(from(alias, PORT + 1), 3);
	pass(1);
	nopal__paths_forget(composite, alias);
	assert_null(composite->awake->paths->path[1].endpoint);
	assert_null(composite->awake->paths->path[3].endpoint);
	assert_int_equal(nopal_session_paths(session), 2);
	assert_true(nopal_path_is_open(session, 2));
	assert_int_equal(here(PORT + 2), NOPAL_PATH_NONE);
	pass(NOPAL_PATH_SILENCE_NS);
	assert_int_equal(here(PORT + 2), 1);
	assert_int_equal(here(PORT + 3), 3);
}

/* --------------------------------------------------------------------- moves */

static void assert_stays(unsigned number)
{
	struct nopal_address was = composite->peer;
	bool elsewhere;

	assert_false(nopal_path_move(session, number, &elsewhere));
	assert_true(nopal_address_equal(&composite->peer, &was));
}

TEST(test_a_session_moves_to_a_path_of_its_endpoint)
{
	struct nopal_address there = at(PORT);
	bool elsewhere = true;

	composite->opener = false;
	nopal__demux_know_peer(composite);
	assert_stays(1);
	assert_int_equal(here(PORT), 1);
	assert_int_equal(from(alias, PORT), 2);
	assert_stays(0);
	assert_stays(2);
	assert_stays(3);
	assert_stays(NOPAL_PATHS_MAX);
	assert_true(nopal_path_move(session, 1, &elsewhere));
	assert_true(nopal_address_equal(&composite->peer, &there));
	assert_false(elsewhere);
	assert_null(composite->awake->paths->path[1].endpoint);
	assert_null(composite->endpoint->arrived_of);
	assert_ptr_equal(nopal__session_with(composite->endpoint, &there, composite->peer_id),
			 composite);
	assert_int_equal(here(PORT + 1), 1);
	assert_stays(2);
}

TEST_WITH(NULL, own_rig_close, test_another_host_is_elsewhere)
{
	struct nopal_address there;
	bool elsewhere = false;

	begin(ONE);
	there = at(PORT);
	assert_int_equal(here(PORT), 1);
	there.ip[15]++;
	composite->awake->paths->path[1].peer = there;
	assert_true(nopal_path_move(session, 1, &elsewhere));
	assert_true(elsewhere);
	assert_true(nopal_address_equal(&composite->peer, &there));
	rig_run(&rig, NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_PATH_NARROWED), 1);
}

TEST(test_nobody_moves_between_families)
{
	bool v4 = nopal_address_is_v4(&composite->peer);
	struct nopal_path *path;

	assert_int_equal(here(PORT), 1);
	path = &composite->awake->paths->path[1];
	if (v4)
		path->peer.ip[0] = 1;
	else
		nopal_address_set_v4(&path->peer, "\x7f\0\0\1");
	assert_stays(1);
}

/* -------------------------------------------------------------- what it takes */

TEST_WITH(NULL, own_rig_close, test_the_network_may_say_what_passes)
{
	begin(ONE);
	assert_int_equal(nopal_path_hint(session), 0);
	nopal__path_narrowed(composite, 1300);
	nopal__path_narrowed(composite, 1200);
	assert_int_equal(nopal_path_hint(session), 1300);
	assert_int_equal(nopal_path_hint(session), 0);
	nopal__path_narrowed(composite, 0);
	rig_run(&rig, NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_PATH_NARROWED), 2);
	assert_int_equal(nopal_path_hint(session), 0);
}

TEST(test_without_the_role_nobody_asks_what_passes)
{
	nopal__path_narrowed(composite, 1300);
	assert_int_equal(nopal_path_hint(session), 0);
	rig_run(&rig, NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_PATH_NARROWED), 0);
}
