/* SPDX-License-Identifier: MIT */
/*
 * blocking_set.c -- sets of connections and listeners, to wait for any of them.
 *
 * Each member keeps its own events up to date, under its hub's lock, and stands in the set's list
 * of ready members while it has some; who waits reads that list alone:
 *
 *   member, hub's lock held  --events changed-->  list of ready members  --wait-->  caller
 *
 * The set's lock is taken within a hub's, never around it.  A set that was freed while it has
 * members stays, of no use, until the last of them has left, for only a member's hub protects the
 * pointer to its set.
 */
#include <errno.h>
#include <stdlib.h>

#include "io/blocking/blocking.h"

struct nopal_connections {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct blocking_member ready; /* head of the ring of those, the longest told first */
	size_t ready_count;
	struct blocking_sign sign;
	size_t members;
	bool freed;
};

struct nopal_connections *nopal_connections_new(void)
{
	struct nopal_connections *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	pthread_mutex_init(&set->lock, NULL);
	nopal__blocking_condition_init(&set->changed);
	set->ready.next = set->ready.before = &set->ready;
	return set;
}

/* Gives up the lock, too. */
static void set_unlock_or_free(struct nopal_connections *set)
{
	bool over = set->freed && set->members == 0;

	pthread_mutex_unlock(&set->lock);
	if (!over)
		return;
	pthread_cond_destroy(&set->changed);
	pthread_mutex_destroy(&set->lock);
	free(set);
}

void nopal_connections_free(struct nopal_connections *set)
{
	pthread_mutex_lock(&set->lock);
	nopal__blocking_sign_close(&set->sign);
	set->freed = true;
	set_unlock_or_free(set);
}

/* ------------------------------------------------------- ready members; locked */

static void ready_append(struct nopal_connections *set, struct blocking_member *member)
{
	member->next = &set->ready;
	member->before = set->ready.before;
	member->before->next = member->next->before = member;
	set->ready_count++;
}

static void ready_remove(struct nopal_connections *set, struct blocking_member *member)
{
	member->before->next = member->next;
	member->next->before = member->before;
	set->ready_count--;
}

static void ready_set(struct nopal_connections *set, struct blocking_member *member,
		      unsigned events)
{
	if (events && !member->ready.events)
		ready_append(set, member);
	else if (!events && member->ready.events)
		ready_remove(set, member);
	member->ready.events = events;
	nopal__blocking_show(&set->sign, set->ready_count > 0);
}

void nopal__blocking_show_member(struct blocking_member *member, unsigned events)
{
	struct nopal_connections *set = member->set;

	events &= member->asked;
	if (!set || events == member->ready.events)
		return;
	pthread_mutex_lock(&set->lock);
	ready_set(set, member, events);
	pthread_cond_broadcast(&set->changed);
	pthread_mutex_unlock(&set->lock);
}

/* --------------------------------------------------------------------- members */

void nopal__blocking_member_leave(struct blocking_member *member)
{
	struct nopal_connections *set = member->set;

	if (!set)
		return;
	pthread_mutex_lock(&set->lock);
	ready_set(set, member, 0);
	set->members--;
	member->set = NULL;
	set_unlock_or_free(set);
}

/* The hub's lock is held; false: another set has it. */
static bool member_join(struct blocking_member *member, struct nopal_connections *set,
			unsigned asked, void *user)
{
	bool taken = false;

	if (member->set && member->set != set) {
		pthread_mutex_lock(&member->set->lock);
		taken = !member->set->freed;
		pthread_mutex_unlock(&member->set->lock);
	}
	if (taken)
		return false;
	nopal__blocking_member_leave(member);
	pthread_mutex_lock(&set->lock);
	set->members++;
	pthread_mutex_unlock(&set->lock);
	member->set = set;
	member->asked = asked;
	member->ready.user = user;
	return true;
}

int nopal_connections_add(struct nopal_connections *set, struct nopal_connection *connection,
			  unsigned events, void *user)
{
	bool joined;

	if (events & ~(unsigned)(NOPAL_READABLE | NOPAL_WRITABLE))
		return -EINVAL;
	pthread_mutex_lock(&connection->hub->lock);
	joined = member_join(&connection->member, set, events | NOPAL_ENDED, user);
	if (joined) {
		connection->member.ready.connection = connection;
		nopal__blocking_show_connection(connection);
	}
	pthread_mutex_unlock(&connection->hub->lock);
	return joined ? 0 : -EBUSY;
}

int nopal_connections_add_listener(struct nopal_connections *set, struct nopal_listener *listener,
				   void *user)
{
	struct blocking_hub *hub = listener->hub;
	bool joined;

	pthread_mutex_lock(&hub->lock);
	joined = member_join(&hub->member, set, NOPAL_READABLE, user);
	if (joined) {
		hub->member.ready.listener = listener;
		nopal__blocking_show_listener(hub);
	}
	pthread_mutex_unlock(&hub->lock);
	return joined ? 0 : -EBUSY;
}

static int member_remove(struct nopal_connections *set, struct blocking_hub *hub,
			 struct blocking_member *member)
{
	bool there;

	pthread_mutex_lock(&hub->lock);
	there = member->set == set;
	if (there)
		nopal__blocking_member_leave(member);
	pthread_mutex_unlock(&hub->lock);
	return there ? 0 : -ENOENT;
}

int nopal_connections_remove(struct nopal_connections *set, struct nopal_connection *connection)
{
	return member_remove(set, connection->hub, &connection->member);
}

int nopal_connections_remove_listener(struct nopal_connections *set,
				      struct nopal_listener *listener)
{
	return member_remove(set, listener->hub, &listener->hub->member);
}

/* ------------------------------------------------------------------------ wait */

size_t nopal_connections_wait(struct nopal_connections *set,
			      struct nopal_connection_ready *ret_ready, size_t room,
			      int64_t timeout_ns)
{
	int64_t deadline_ns = nopal__blocking_deadline(timeout_ns);
	size_t count;

	pthread_mutex_lock(&set->lock);
	while (set->ready_count == 0 &&
	       nopal__blocking_wait_for(&set->changed, &set->lock, deadline_ns))
		;
	count = set->ready_count < room ? set->ready_count : room;
	for (size_t i = 0; i < count; i++) {
		struct blocking_member *member = set->ready.next;

		ret_ready[i] = member->ready;
		ready_remove(set, member);
		ready_append(set, member);
	}
	pthread_mutex_unlock(&set->lock);
	return count;
}

int nopal_connections_fd(struct nopal_connections *set)
{
	int fd;

	pthread_mutex_lock(&set->lock);
	fd = nopal__blocking_sign_fd(&set->sign, set->ready_count > 0);
	pthread_mutex_unlock(&set->lock);
	return fd;
}
