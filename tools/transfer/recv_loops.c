/* SPDX-License-Identifier: MIT */
/*
 * recv_loops.c -- the loops of `nopal recv`.  Loops share a port, not sessions: a session lives on
 * one of them.  A loop tells another one by a field under the group's lock, and then writes to the
 * other's eventfd.
 */
#include <stdlib.h>
#include <unistd.h>
#include <sys/eventfd.h>

#include <nopal/microprotocol.h>
#include "transfer/recv_session.h"

static void loops_call(const struct receiver *receiver)
{
	uint64_t one = 1;

	/* it fails only when it is full, and then it is readable */
	if (write(receiver->called_fd, &one, sizeof(one)) < 0)
		return;
}

static void loops_on_called(void *user)
{
	struct receiver *receiver = user;
	struct recv_group *group = receiver->group;
	uint64_t calls, wanted;
	bool over;

	if (read(receiver->called_fd, &calls, sizeof(calls)) < 0)
		return;
	pthread_mutex_lock(&group->lock);
	over = group->over;
	wanted = receiver->wanted;
	receiver->wanted = 0;
	pthread_mutex_unlock(&group->lock);
	if (over)
		loop_stop(receiver->loop);
	else if (wanted)
		recv_session_give_up(receiver, wanted);
}

void recv_loops_stop(struct recv_group *group, enum tool_exit exit)
{
	pthread_mutex_lock(&group->lock);
	if (!group->over)
		group->exit = exit;
	group->over = true;
	pthread_mutex_unlock(&group->lock);
	for (unsigned i = 0; i < group->count; i++)
		loops_call(&group->receivers[i]);
}

void recv_loops_want(struct receiver *receiver, uint64_t id)
{
	struct recv_group *group = receiver->group;

	for (unsigned i = 0; i < group->count; i++) {
		struct receiver *other = &group->receivers[i];

		if (other == receiver)
			continue;
		pthread_mutex_lock(&group->lock);
		other->wanted = id; /* the sender of an overwritten one offers it again */
		pthread_mutex_unlock(&group->lock);
		loops_call(other);
	}
}

static void loops_on_interrupt(void *user)
{
	struct recv_group *group = user;

	recv_loops_stop(group, group->once || group->broken ? TOOL_FAILED : TOOL_GOOD);
}

/* ------------------------------------------------------------ open and close */

static bool loops_open_one(struct receiver *receiver, const struct nopal_address *local,
			   struct nopal_problems *problems)
{
	const struct recv_group *group = receiver->group;
	struct nopal_world *world;

	receiver->called_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	receiver->loop = loop_new(group->trace);
	if (!receiver->loop || receiver->called_fd < 0 ||
	    !live_judge_watch(&group->judges, loop_world(receiver->loop), group->plan))
		return false;
	world = loop_world(receiver->loop);
	if (!group->shards)
		receiver->endpoint = nopal_endpoint_open(world, local, problems);
	else
		receiver->endpoint = nopal_shard_endpoint(
			group->shards, (unsigned)(receiver - group->receivers), world, problems);
	if (!receiver->endpoint)
		return false;
	if (group->keeps_key)
		nopal_endpoint_set_reset_key(receiver->endpoint, group->reset_key);
	receiver->ping =
		loop_event_new(receiver->loop, LOOP_TIMER, -1, recv_session_ping, receiver);
	receiver->called = loop_event_new(receiver->loop, LOOP_READABLE, receiver->called_fd,
					  loops_on_called, receiver);
	if (!receiver->ping || !receiver->called)
		return false;
	loop_event_start(receiver->ping, PROGRESS_LOOK_NS);
	loop_event_start(receiver->called, 0);
	if (group->rendezvous)
		return recv_session_rendezvous(receiver, group->rendezvous);
	/* a user who gives a config without a handshake here wants just that */
	return nopal_endpoint_allow(receiver->endpoint, group->plan, NOPAL_ALLOW_CONNECTIONLESS,
				    &recv_session_callbacks, receiver) == 0;
}

bool recv_loops_open(const struct nopal_address *local, void *user, struct nopal_problems *problems)
{
	struct recv_group *group = user;
	bool good;

	group->receivers = calloc(group->loops, sizeof(*group->receivers));
	group->count = group->receivers ? group->loops : 0;
	for (unsigned i = 0; i < group->count; i++) {
		group->receivers[i].group = group;
		group->receivers[i].guests.house = &group->house;
		group->receivers[i].called_fd = -1;
	}
	if (group->count > 1)
		group->shards = nopal_shards_open(local, group->count, problems);
	good = group->count == 1 || group->shards;
	for (unsigned i = 0; i < group->count && good; i++)
		good = loops_open_one(&group->receivers[i], local, problems);
	good = good && loop_on_interrupt(group->receivers[0].loop, loops_on_interrupt, group);
	if (!good)
		recv_loops_close(group);
	return good;
}

/* In its own thread: sessions that live yet end here. */
static void loops_end(struct receiver *receiver)
{
	loop_event_free(receiver->ping);
	loop_event_free(receiver->called);
	receiver->ping = receiver->called = NULL;
	if (receiver->loop) {
		if (receiver->endpoint) /* its sessions are judged by the trace */
			nopal_endpoint_close(receiver->endpoint);
		loop_end_world(receiver->loop); /* its sessions use the loop */
		loop_free(receiver->loop);
	}
	receiver->loop = NULL;
}

void recv_loops_close(struct recv_group *group)
{
	for (unsigned i = 0; i < group->count; i++) {
		loops_end(&group->receivers[i]);
		if (group->receivers[i].called_fd >= 0)
			close(group->receivers[i].called_fd);
	}
	nopal_shards_close(group->shards);
	group->shards = NULL;
	free(group->receivers);
	group->receivers = NULL;
	group->count = 0;
}

/* ------------------------------------------------------------------- running */

static void *loops_thread(void *user)
{
	struct receiver *receiver = user;

	loop_run(receiver->loop);
	loops_end(receiver);
	return NULL;
}

void recv_loops_run(struct recv_group *group)
{
	unsigned started = 1;

	while (started < group->count &&
	       pthread_create(&group->receivers[started].thread, NULL, loops_thread,
			      &group->receivers[started]) == 0)
		started++;
	if (started < group->count) {
		tool_error("no more threads: take fewer --loops");
		recv_loops_stop(group, TOOL_ENVIRONMENT);
	}
	loop_run(group->receivers[0].loop);
	for (unsigned i = 1; i < started; i++)
		pthread_join(group->receivers[i].thread, NULL);
}
