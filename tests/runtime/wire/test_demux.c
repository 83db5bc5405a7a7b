/* SPDX-License-Identifier: MIT */
/* Sessions of the test's own making, whose ids it draws: of them demux.c asks no more than where
 * their peer is, and their plan. */
#include <errno.h>
#include <string.h>

#include "wire/wire.h"
#include "support/failing.h"
#include "support/test.h"

enum {
	AT_FIRST = 16, /* room of a table of ids */
	MAX = 1 << 17, /* sessions of an endpoint */
	CORES = 64,
	DRAWS = 8,
	PORT = 4711,
	PEER = 99, /* an id of the peer's */
};

static uint32_t draws[DRAWS];
static unsigned drawn;

uint64_t __wrap_nopal_random(struct nopal_session *session);
uint64_t __wrap_nopal_random(struct nopal_session *session)
{
	(void)session;
	assert_true(drawn < DRAWS);
	return draws[drawn++];
}

static struct nopal_endpoint endpoint, alias;
static struct nopal_plan plan;
static struct nopal_layer layer, upper_layer;
static struct nopal_composite composites[CORES];
static const struct nopal_shard shard = { .index = 2, .count = 4 };

static int setup(void **state)
{
	(void)state;
	memset(&endpoint, 0, sizeof(endpoint));
	memset(&alias, 0, sizeof(alias));
	memset(&plan, 0, sizeof(plan));
	plan.layer_count = 2;
	layer = (struct nopal_layer){ .plan = &plan, .index = 1 };
	upper_layer = (struct nopal_layer){ .plan = &plan };
	plan.demux = NOPAL_DEMUX_ID;
	alias.alias_of = &endpoint;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(endpoint.by_id.slots);
	nopal_free(NULL, endpoint.by_opening.slots);
	return 0;
}

EACH_TEST(setup, teardown);

static struct nopal_address at_port(unsigned port)
{
	return (struct nopal_address){ .ip = { 1 }, .port = (uint16_t)port };
}

/* Its peer is at a port of its own. */
static struct nopal_composite *core_of(unsigned index)
{
	struct nopal_composite *composite = &composites[index];

	memset(composite, 0, sizeof(*composite));
	composite->endpoint = &endpoint;
	composite->layer = &layer;
	composite->peer = at_port(PORT + index);
	return composite;
}

static int enter_as(struct nopal_composite *composite, uint32_t id)
{
	memset(draws, 0, sizeof(draws));
	draws[0] = id;
	drawn = 0;
	return nopal__demux_enter(composite);
}

static struct nopal_composite *entered(unsigned index, uint32_t id)
{
	struct nopal_composite *composite = core_of(index);

	assert_int_equal(enter_as(composite, id), 0);
	assert_int_equal(composite->local_id, id);
	return composite;
}

static struct nopal_composite *found(const struct nopal_composite *composite)
{
	return nopal__session_of(&endpoint, &composite->peer, composite->local_id);
}

/* ------------------------------------------------------------ sessions by id */

TEST(test_a_table_of_ids_is_half_full_at_most)
{
	uint32_t room = AT_FIRST;

	assert_null(found(core_of(0)));
	for (unsigned i = 0; i < CORES; i++) {
		if (i * 2 == room)
			room *= 2;
		entered(i, 1 + i * 7);
		assert_int_equal(endpoint.by_id.room, room);
		assert_int_equal(endpoint.by_id.used, i + 1);
	}
	for (unsigned i = 0; i < CORES; i++)
		assert_ptr_equal(found(&composites[i]), &composites[i]);
}

/* Ids whose places are one another's and go round the end of the table, taken away in every order:
 * those that stay are found, and no others. */
TEST(test_a_gap_is_closed_whatever_leaves)
{
	static const uint32_t ids[] = { 0x1e, 0x2e, 0x1f, 0x2f, 0x10, 0x3e };
	enum { COUNT = sizeof(ids) / sizeof(ids[0]), ORDERS = 720 };

	for (unsigned order = 0; order < ORDERS; order++) {
		unsigned left[COUNT], rest = order;

		for (unsigned i = 0; i < COUNT; i++)
			left[i] = (unsigned)(entered(i, ids[i]) - composites);
		for (unsigned count = COUNT; count; count--) {
			unsigned gone = rest % count;

			rest /= count;
			nopal__demux_forget(&composites[left[gone]]);
			assert_null(found(&composites[left[gone]]));
			left[gone] = left[count - 1];
			for (unsigned i = 0; i + 1 < count; i++)
				assert_ptr_equal(found(&composites[left[i]]), &composites[left[i]]);
			assert_int_equal(endpoint.by_id.used, count - 1);
		}
		assert_int_equal(endpoint.by_id.room, AT_FIRST);
	}
	for (unsigned i = 0; i < AT_FIRST; i++)
		assert_null(endpoint.by_id.slots[i]);
}

TEST(test_what_is_not_there_is_forgotten_without_harm)
{
	struct nopal_composite *one = entered(0, 5), *above = core_of(1);

	above->layer = &upper_layer;
	above->local_id = one->local_id;
	nopal__demux_forget(above);
	assert_ptr_equal(found(one), one);
	nopal__demux_forget(one);
	nopal__demux_forget(one);
	assert_int_equal(endpoint.by_id.used, 0);
}

TEST(test_an_id_is_drawn_until_it_is_free)
{
	struct nopal_composite *composite = core_of(1);

	entered(0, 5);
	memcpy(draws, (uint32_t[]){ 0, 5, 0, 6 }, 4 * sizeof(*draws));
	drawn = 0;
	assert_int_equal(nopal__demux_enter(composite), 0);
	assert_int_equal(drawn, 4);
	assert_int_equal(composite->local_id, 6);
	assert_ptr_equal(found(composite), composite);
	assert_ptr_equal(found(&composites[0]), &composites[0]);
}

TEST(test_a_shard_draws_ids_of_its_own)
{
	struct nopal_composite *composite = core_of(0);

	endpoint.port.shard = &shard;
	memcpy(draws, (uint32_t[]){ 0x7fffffff, 0xc0000000, 0x80000000, 0xbfffffff },
	       4 * sizeof(*draws));
	drawn = 0;
	assert_int_equal(nopal__demux_enter(composite), 0);
	assert_int_equal(composite->local_id, 0x80000000);
	assert_int_equal(nopal__demux_enter(core_of(1)), 0);
	assert_int_equal(composites[1].local_id, 0xbfffffff);
}

/* An upper layer has an id for traces alone. */
TEST(test_an_upper_layer_is_not_found)
{
	struct nopal_composite *composite = core_of(0);

	composite->layer = &upper_layer;
	assert_int_equal(enter_as(composite, 6), 0);
	assert_int_equal(composite->local_id, 7);
	assert_null(found(composite));
	assert_int_equal(endpoint.by_id.used, 0);
}

TEST(test_an_endpoint_has_max_sessions)
{
	struct nopal_composite *composite = core_of(0);

	endpoint.by_id.room = 2 * MAX;
	endpoint.by_id.slots = calloc(2 * MAX, sizeof(*endpoint.by_id.slots));
	endpoint.by_id.used = MAX - 1;
	assert_int_equal(enter_as(composite, 5), 0);
	assert_int_equal(endpoint.by_id.used, MAX);
	assert_int_equal(enter_as(core_of(1), 6), -ENOMEM);
	assert_int_equal(endpoint.by_id.used, MAX);
	nopal__demux_forget(composite);
	assert_int_equal(enter_as(core_of(1), 6), 0);
}

TEST(test_a_table_that_cannot_grow_is_whole)
{
	struct nopal_composite *late = core_of(AT_FIRST / 2);
	int error;

	for (unsigned i = 0; i < AT_FIRST / 2; i++)
		entered(i, 1 + i);
	failing_from(1, false);
	error = enter_as(late, 100);
	assert_int_equal(failing_stop(), 1);
	assert_int_equal(error, -ENOMEM);
	assert_int_equal(endpoint.by_id.used, AT_FIRST / 2);
	for (unsigned i = 0; i < AT_FIRST / 2; i++)
		assert_ptr_equal(found(&composites[i]), &composites[i]);
	assert_int_equal(enter_as(late, 100), 0);
	assert_ptr_equal(found(late), late);
}

/* From another address, or by an alias, it is a path of those alone that may have many. */
TEST(test_another_address_is_for_who_has_many_paths)
{
	struct nopal_composite *composite = entered(0, 5);
	struct nopal_address elsewhere = at_port(1);

	assert_null(nopal__session_of(&endpoint, &elsewhere, 5));
	assert_null(nopal__session_of(&alias, &composite->peer, 5));
	plan.many_paths = true;
	assert_ptr_equal(nopal__session_of(&endpoint, &elsewhere, 5), composite);
	assert_ptr_equal(nopal__session_of(&alias, &elsewhere, 5), composite);
	assert_null(nopal__session_of(&alias, &composite->peer, 6));
}

/* ------------------------------------------------------- sessions by address */

TEST(test_who_opens_by_address_has_it_alone)
{
	struct nopal_composite *composite = core_of(0), *second = core_of(1);
	struct nopal_address elsewhere = at_port(1);

	plan.demux = NOPAL_DEMUX_ADDRESS;
	composite->opener = second->opener = true;
	second->peer = composite->peer;
	assert_int_equal(enter_as(composite, 5), 0);
	assert_ptr_equal(nopal__session_at(&endpoint, &composite->peer), composite);
	assert_null(nopal__session_at(&endpoint, &elsewhere));
	assert_int_equal(enter_as(second, 6), -EADDRINUSE);
	assert_int_equal(endpoint.by_id.used, 1);
	nopal__demux_forget(composite);
	assert_null(nopal__session_at(&endpoint, &composite->peer));
	assert_int_equal(enter_as(second, 6), 0);
	assert_ptr_equal(nopal__session_at(&endpoint, &composite->peer), second);
}

/* A peer that opens to us has no address before it is accepted, and takes that of who had it; the
 * one that had it does not take it away then. */
TEST(test_an_accepted_one_takes_its_address)
{
	struct nopal_composite *composite = core_of(0), *newer = core_of(1);

	plan.demux = NOPAL_DEMUX_ADDRESS;
	newer->peer = composite->peer;
	assert_int_equal(enter_as(composite, 5), 0);
	assert_null(nopal__session_at(&endpoint, &composite->peer));
	assert_int_equal(nopal__demux_accept(composite), 0);
	assert_int_equal(enter_as(newer, 6), 0);
	assert_ptr_equal(nopal__session_at(&endpoint, &composite->peer), composite);
	assert_int_equal(nopal__demux_accept(newer), 0);
	assert_ptr_equal(nopal__session_at(&endpoint, &composite->peer), newer);
	nopal__demux_forget(composite);
	assert_ptr_equal(nopal__session_at(&endpoint, &composite->peer), newer);
}

TEST(test_sessions_by_id_have_no_address)
{
	struct nopal_composite *composite = core_of(0);

	composite->opener = true;
	assert_int_equal(enter_as(composite, 5), 0);
	assert_int_equal(nopal__demux_accept(composite), 0);
	assert_null(nopal__session_at(&endpoint, &composite->peer));
	assert_int_equal(endpoint.by_opening.used, 0);
}

TEST(test_an_address_without_memory_is_an_error)
{
	struct nopal_composite *composite = core_of(0);
	int error;

	plan.demux = NOPAL_DEMUX_ADDRESS;
	failing_from(1, false);
	error = nopal__demux_accept(composite);
	assert_int_equal(failing_stop(), 1);
	assert_int_equal(error, -ENOMEM);
	assert_null(nopal__session_at(&endpoint, &composite->peer));
}

/* -------------------------------------------- sessions by address and peer's id */

static struct nopal_composite *known(unsigned index, uint32_t peer_id)
{
	struct nopal_composite *composite = entered(index, 100 + index);

	composite->peer = at_port(PORT);
	composite->peer_id = peer_id;
	composite->peer_known = true;
	nopal__demux_know_peer(composite);
	return composite;
}

static struct nopal_composite *with(unsigned port, uint32_t peer_id)
{
	struct nopal_address from = at_port(port);

	return nopal__session_with(&endpoint, &from, peer_id);
}

TEST(test_a_peer_is_known_by_its_address_and_id)
{
	struct nopal_composite *one, *two;

	assert_null(with(PORT, PEER));
	one = known(0, PEER);
	two = known(1, PEER + 1);
	assert_ptr_equal(with(PORT, PEER), one);
	assert_ptr_equal(with(PORT, PEER + 1), two);
	assert_null(with(PORT, PEER + 2));
	assert_null(with(PORT + 1, PEER));
	nopal__demux_know_peer(one);
	assert_int_equal(endpoint.by_opening.used, 2);
	nopal__demux_forget(one);
	assert_null(with(PORT, PEER));
	assert_ptr_equal(with(PORT, PEER + 1), two);
	assert_int_equal(endpoint.by_opening.used, 1);
}

TEST(test_a_peer_that_moves_is_found_where_it_is)
{
	struct nopal_composite *composite = known(0, PEER);

	composite->peer = at_port(PORT + 1);
	nopal__demux_know_peer(composite);
	assert_ptr_equal(with(PORT + 1, PEER), composite);
	assert_null(with(PORT, PEER));
	composite->peer_id = PEER + 1;
	nopal__demux_know_peer(composite);
	assert_ptr_equal(with(PORT + 1, PEER + 1), composite);
	assert_int_equal(endpoint.by_opening.used, 1);
}

/* And who had them before leaves without taking them away. */
TEST(test_of_two_with_one_peer_the_newer_is_found)
{
	struct nopal_composite *one = known(0, PEER), *two = known(1, PEER);

	assert_ptr_equal(with(PORT, PEER), two);
	assert_int_equal(endpoint.by_opening.used, 1);
	nopal__demux_forget(one);
	assert_ptr_equal(with(PORT, PEER), two);
	nopal__demux_forget(two);
	assert_null(with(PORT, PEER));
}

TEST(test_a_peer_without_memory_is_not_known)
{
	struct nopal_composite *composite = entered(0, 5);

	composite->peer_id = PEER;
	failing_from(1, false);
	nopal__demux_know_peer(composite);
	assert_int_equal(failing_stop(), 1);
	assert_int_equal(composite->opening_key, 0);
	assert_null(with(PORT, PEER));
}

/* Two addresses, or ids, of one hash: what is found is not who was meant. */
TEST(test_a_hash_of_another_is_nobody)
{
	struct nopal_composite *composite = core_of(0);
	struct nopal_address from = at_port(1);

	composite->peer_id = PEER;
	assert_int_equal(nopal_map_put(NULL, &endpoint.by_opening,
				       nopal__opening_key(&endpoint, &from, 0), composite),
			 0);
	assert_int_equal(nopal_map_put(NULL, &endpoint.by_opening,
				       nopal__opening_key(&endpoint, &from, PEER), composite),
			 0);
	assert_int_equal(nopal_map_put(NULL, &endpoint.by_opening,
				       nopal__opening_key(&endpoint, &composite->peer, 7),
				       composite),
			 0);
	assert_null(nopal__session_at(&endpoint, &from));
	assert_null(with(1, PEER));
	assert_null(with(PORT, 7));
}

/* --------------------------------------------------------- which are known */

static enum nopal_known knows(uint32_t id, uint32_t peer_id)
{
	assert_int_equal(nopal__demux_knows(&alias, id, peer_id),
			 nopal__demux_knows(&endpoint, id, peer_id));
	return nopal__demux_knows(&endpoint, id, peer_id);
}

TEST(test_a_session_is_known_with_its_peer)
{
	struct nopal_composite *composite = known(0, PEER);

	assert_int_equal(knows(100, PEER), NOPAL_KNOWN);
	assert_int_equal(knows(100, PEER + 1), NOPAL_KNOWN_OTHERWISE);
	assert_int_equal(knows(101, PEER), NOPAL_UNHEARD_OF);
	composite->life = NOPAL_LIFE_ENDED;
	assert_int_equal(knows(100, PEER), NOPAL_UNHEARD_OF);
	composite->peer_known = false;
	assert_int_equal(knows(100, PEER), NOPAL_KNOWN_NOT);
}

TEST(test_a_shard_knows_nothing_of_others)
{
	endpoint.port.shard = &shard;
	assert_int_equal(knows(0x7fffffff, PEER), NOPAL_KNOWN_NOT);
	assert_int_equal(knows(0x80000000, PEER), NOPAL_UNHEARD_OF);
}

/* -------------------------------------------------------------- which suit */

TEST(test_all_sessions_are_told_apart_in_one_way)
{
	struct nopal_plan other = { .demux = NOPAL_DEMUX_ADDRESS };

	assert_true(nopal__demux_suits(&endpoint, &other));
	assert_false(nopal__demux_suits(&endpoint, &plan));
	assert_true(nopal__demux_suits(&endpoint, &other));
	assert_int_equal(endpoint.demux, NOPAL_DEMUX_ADDRESS);
}

TEST(test_an_alias_and_a_shard_suit_fewer)
{
	struct nopal_plan other = { .demux = NOPAL_DEMUX_ADDRESS };

	assert_false(nopal__demux_suits(&alias, &plan));
	endpoint.port.shard = &shard;
	assert_false(nopal__demux_suits(&endpoint, &other));
	assert_true(nopal__demux_suits(&endpoint, &plan));
}
