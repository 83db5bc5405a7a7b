/* SPDX-License-Identifier: MIT */
/*
 * path.c -- limits and marks of a session's path, and further paths.
 *
 * A limit is kept by how much it differs from the plan's, so that a session that never asked its
 * path keeps nothing.  Of a stack of layers the bottom one has the path.
 *
 * Beside its first path a session may have others, each an endpoint and an address of the peer:
 * given by the application, or learnt from where its datagrams come once their seal is good.  A
 * part says which of the learnt paths are open.
 */
#include <errno.h>

#include "engine/turn.h"
#include "wire/wire.h"

void nopal_path_limit_set(struct nopal_session *session, uint32_t datagram_bytes)
{
	struct nopal_composite *composite = nopal__composite(session);
	const struct nopal_plan *plan = composite->layer->plan;

	if (composite->below)
		return;
	if (datagram_bytes < plan->path_floor)
		datagram_bytes = plan->path_floor;
	if (datagram_bytes > plan->datagram_bytes)
		datagram_bytes = plan->datagram_bytes;
	composite->awake->path_short = (uint16_t)(plan->datagram_bytes - datagram_bytes);
}

uint32_t nopal_path_hint(struct nopal_session *session)
{
	uint32_t *hint = &nopal__bottom(nopal__composite(session))->awake->path_hint;
	uint32_t said = *hint ? *hint - 1 : 0;

	*hint = 0;
	return said;
}

/* The part is told the first of several. */
void nopal__path_narrowed(struct nopal_composite *bottom, uint32_t datagram_bytes)
{
	const struct nopal_plan *plan = bottom->layer->plan;

	if (plan->path_floor == plan->datagram_bytes || bottom->awake->path_hint)
		return;
	bottom->awake->path_hint = datagram_bytes + 1;
	nopal_delay_PATH_NARROWED(&bottom->session, &bottom->session, 0);
}

void nopal_path_ecn_set(struct nopal_session *session, enum nopal_ecn ecn)
{
	struct nopal_composite *composite = nopal__composite(session);

	if (!composite->below)
		composite->awake->path_ecn = (uint8_t)ecn;
}

/* ---------------------------------------------------- paths beside the first */

static struct nopal_paths *paths_of(struct nopal_composite *bottom)
{
	struct nopal_awake *awake = bottom->awake;

	if (!awake->paths) {
		awake->paths = nopal_alloc(&bottom->session, sizeof(*awake->paths));
		if (awake->paths)
			*awake->paths = (struct nopal_paths){
				.open = 1,
				.opened_with = bottom->peer,
			};
	}
	return awake->paths;
}

/* The number of a path.  A new one enters under a number that was never used, or whose path was
 * learnt and is silent; 0: there is none. */
static unsigned path_enter(struct nopal_composite *bottom, struct nopal_endpoint *endpoint,
			   const struct nopal_address *peer)
{
	struct nopal_paths *paths = bottom->awake->paths;
	unsigned unused = 0, silent = 0;

	for (unsigned i = NOPAL_PATHS_MAX - 1; i > 0; i--) {
		const struct nopal_path *path = &paths->path[i];

		if (path->endpoint == endpoint && nopal_address_equal(&path->peer, peer))
			return i;
		if (!path->endpoint && !path->heard_ns)
			unused = i;
		if (!path->given && bottom->now_ns - path->heard_ns >= NOPAL_PATH_SILENCE_NS)
			silent = i;
	}
	if (!unused)
		unused = silent;
	if (!unused)
		return 0;
	paths->open &= ~(1u << unused);
	paths->path[unused] = (struct nopal_path){
		.endpoint = endpoint,
		.peer = *peer,
		.heard_ns = bottom->now_ns,
	};
	return unused;
}

uint8_t nopal__path_arrived(struct nopal_composite *bottom)
{
	struct nopal_endpoint *endpoint = bottom->endpoint, *at = endpoint->arrived_at;
	const struct nopal_address *from = endpoint->arrived_from;
	unsigned number = 0;

	if (from && (at != endpoint || !nopal_address_equal(from, &bottom->peer))) {
		if (bottom->life != NOPAL_LIFE_OPENING && paths_of(bottom))
			number = path_enter(bottom, at, from);
		if (number)
			bottom->awake->paths->path[number].heard_ns = bottom->now_ns;
		else
			number = NOPAL_PATH_NONE;
	}
	endpoint->arrived_path = (uint8_t)number;
	endpoint->arrived_of = bottom;
	return endpoint->arrived_path;
}

bool nopal__path_is_elsewhere(struct nopal_composite *bottom, struct nopal_segment *segment)
{
	if (!bottom->layer->plan->follows_peer)
		return false;
	nopal_raise_SEGMENT_FROM_ELSEWHERE(&bottom->session, segment);
	return true;
}

int nopal_session_add_path(struct nopal_session *session, struct nopal_endpoint *endpoint,
			   const struct nopal_address *peer)
{
	struct nopal_composite *bottom = nopal__bottom(nopal__composite(session));
	struct nopal_paths *paths;
	unsigned number = 0;
	bool outermost;
	int error = -EPIPE;

	if (!nopal_plan_provides(bottom->layer->plan, "parallel_paths"))
		return -ENOTSUP;
	if (endpoint != bottom->endpoint && endpoint->alias_of != bottom->endpoint)
		return -EINVAL;
	if (endpoint == bottom->endpoint && nopal_address_equal(peer, &bottom->peer))
		return 0;
	outermost = nopal__turn_begin(bottom->world);
	nopal__touch(bottom);
	if (bottom->life != NOPAL_LIFE_ENDED) {
		paths = paths_of(bottom);
		number = paths ? path_enter(bottom, endpoint, peer) : 0;
		error = paths ? -ENOSPC : -ENOMEM;
	}
	if (number) {
		paths->path[number].given = true;
		paths->open |= 1u << number;
		error = 0;
	}
	nopal__turn_end(bottom->world, outermost);
	return error;
}

void nopal__paths_forget(struct nopal_composite *bottom, const struct nopal_endpoint *alias)
{
	struct nopal_paths *paths = bottom->awake ? bottom->awake->paths : NULL;

	for (unsigned i = 1; paths && i < NOPAL_PATHS_MAX; i++)
		if (paths->path[i].endpoint == alias) {
			paths->path[i] = (struct nopal_path){ .heard_ns = bottom->now_ns };
			paths->open &= ~(1u << i);
		}
}

/* The train was for the old address. */
bool nopal_path_move(struct nopal_session *session, unsigned number, bool *ret_elsewhere)
{
	struct nopal_composite *bottom = nopal__bottom(nopal__composite(session));
	struct nopal_paths *paths = bottom->awake->paths;
	struct nopal_path *path = paths ? &paths->path[number] : NULL;
	struct nopal_address old = bottom->peer;

	if (!path || number == 0 || number >= NOPAL_PATHS_MAX ||
	    path->endpoint != bottom->endpoint ||
	    nopal_address_is_v4(&path->peer) != nopal_address_is_v4(&old))
		return false;
	nopal__endpoint_flush(bottom->endpoint);
	for (struct nopal_composite *composite = bottom; composite;
	     composite = nopal__over(composite))
		composite->peer = path->peer;
	*path = (struct nopal_path){ 0 };
	bottom->endpoint->arrived_of = NULL;
	nopal__demux_know_peer(bottom);
	*ret_elsewhere = memcmp(old.ip, bottom->peer.ip, sizeof(old.ip)) != 0;
	if (*ret_elsewhere) {
		nopal__path_record_release(bottom);
		nopal__path_narrowed(bottom, 0);
	}
	return true;
}

bool nopal_path_is_open(const struct nopal_session *session, unsigned path)
{
	const struct nopal_paths *paths = nopal__bottom(nopal__composite(session))->awake->paths;

	return path == 0 || (paths && path < NOPAL_PATHS_MAX && (paths->open >> path & 1));
}

void nopal_path_open(struct nopal_session *session, unsigned path)
{
	struct nopal_paths *paths = nopal__bottom(nopal__composite(session))->awake->paths;

	if (paths && path < NOPAL_PATHS_MAX && paths->path[path].endpoint)
		paths->open |= 1u << path;
}

unsigned nopal_session_paths(const struct nopal_session *session)
{
	unsigned open = 0;

	if (!nopal__be_awake(nopal__composite(session)))
		return 0;
	for (unsigned i = 0; i < NOPAL_PATHS_MAX; i++)
		open += nopal_path_is_open(session, i);
	return open;
}
