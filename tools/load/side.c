/* SPDX-License-Identifier: MIT */
/*
 * side.c -- the two sides of a workload, live or simulated.
 */
#include "load/side.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "load/clock.h"

enum { SIDE_SIM_PORT = 9000, SIDE_CORE_HERE = 0, SIDE_CORE_THERE = 1 };
#define SIDE_LINGER_NS (50 * NOPAL_MICROSECOND)

/* The world's own time stands still within a turn. */
int64_t side_now(const struct side *side)
{
	return side->loop ? clock_now_ns() : nopal_world_now(side->world);
}

void side_heard(struct side *side)
{
	side->heard_ns = side_now(side);
}

void side_over(struct side *side)
{
	if (!side->over)
		side->ended_ns = side_now(side);
	side->over = true;
	if (side->loop)
		loop_stop(side->loop);
}

/* -------------------------------------------------------------------- events */

static void side_tell(void *user, struct side_event event)
{
	side_call *const *on = user;

	(*on)(user, &event);
}

static void side_on_opened(struct nopal_session *session, void *user)
{
	side_tell(user, (struct side_event){ .kind = SIDE_OPENED, .session = session });
}

static void side_on_received(struct nopal_session *session, struct nopal_message *message,
			     void *user)
{
	side_tell(user, (struct side_event){
				.kind = SIDE_RECEIVED, .session = session, .message = message });
}

static void side_on_sent(struct nopal_session *session, uint64_t cookie, enum nopal_outcome outcome,
			 void *user)
{
	(void)cookie;
	side_tell(user,
		  (struct side_event){ .kind = SIDE_SENT, .session = session, .outcome = outcome });
}

static void side_on_writable(struct nopal_session *session, void *user)
{
	side_tell(user, (struct side_event){ .kind = SIDE_WRITABLE, .session = session });
}

static void side_on_destination(struct nopal_session *session,
				const struct nopal_destination_info *info, void *user)
{
	side_tell(user, (struct side_event){ .kind = SIDE_DESTINATION,
					     .session = session,
					     .destination = info });
}

static void side_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			  void *user)
{
	side_tell(user, (struct side_event){
				.kind = SIDE_ENDED, .session = session, .end = end, .text = text });
}

static void *side_on_accepted(struct nopal_session *session, void *user)
{
	(void)session;
	return user;
}

const struct nopal_callbacks side_callbacks = {
	.accepted = side_on_accepted,
	.opened = side_on_opened,
	.received = side_on_received,
	.sent = side_on_sent,
	.writable = side_on_writable,
	.destination = side_on_destination,
	.ended = side_on_ended,
};

void side_on_sink(void *user, const struct side_event *event)
{
	struct side_sink *sink = user;

	if (event->kind != SIDE_RECEIVED)
		return;
	sink->messages++;
	sink->bytes += nopal_message_length(event->message);
}

/* ---------------------------------------------------------------------- live */

/* Some configs do not send a lost message again: then the run ends. */
static void side_on_tick(void *user)
{
	struct side *side = user;
	int64_t left_ns = side->heard_ns + side->patience_ns - side_now(side);

	if (left_ns <= 0)
		side_over(side);
	else
		loop_event_start(side->tick, left_ns);
}

static bool side_loop(struct side *side)
{
	side->loop = loop_new(NULL);
	if (!side->loop)
		return false;
	side->world = loop_world(side->loop);
	if (side->way == SIDE_LINGER)
		nopal_live_linger(side->world, SIDE_LINGER_NS);
	return true;
}

static void side_run(struct side *side)
{
	if (side->way == SIDE_SPIN)
		loop_spin(side->loop, &side->over);
	else if (!side->over)
		loop_run(side->loop);
}

static int side_type(const struct side_work *work)
{
	return work->protocol == SIDE_TCP ? SOCK_STREAM : SOCK_DGRAM;
}

/* The listener; `tell` takes its port, once.  It is killed in the end. */
static void side_partner(const struct side_work *work, const struct bench_place *place, int tell)
{
	bool config = work->protocol == SIDE_CONFIG, tcp = work->protocol == SIDE_TCP;
	struct side *side = work->listener;
	struct nopal_endpoint *endpoint = NULL;
	struct nopal_address local;
	uint16_t port = 0;
	int fd = -1;

	if (config) {
		if (side_loop(side) && bench_address(place->address, 0, &local))
			endpoint = nopal_endpoint_open(side->world, &local, NULL);
		if (!endpoint ||
		    nopal_endpoint_allow(endpoint, work->plan, NOPAL_ALLOW_CONNECTIONLESS,
					 &side_callbacks, side))
			return;
		nopal_endpoint_local(endpoint, &local);
		port = local.port;
	} else {
		fd = bench_socket(place->address, side_type(work), true, &port);
		bench_socket_buffers(fd);
		if (fd < 0 || (tcp && listen(fd, 1)))
			return;
	}
	if (write(tell, &port, sizeof(port)) != (ssize_t)sizeof(port))
		return;
	if (config) {
		side_run(side);
		return;
	}
	if (tcp)
		fd = accept(fd, NULL, NULL);
	bench_socket_patience(fd, work->opener->patience_ns);
	if (fd >= 0)
		work->answer(side, fd);
}

/* Forks the partner onto the other core, and waits for its port.  False: the machine refused. */
static bool side_fork(const struct side_work *work, const struct bench_place *place,
		      uint16_t *ret_port)
{
	pid_t *partner = &work->opener->partner;
	int pipes[2];
	bool good;

	bench_pin(SIDE_CORE_HERE);
	if (pipe2(pipes, O_CLOEXEC))
		return false;
	fflush(stdout);
	*partner = fork();
	if (*partner == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		bench_pin(SIDE_CORE_THERE);
		if (bench_enter(place->there))
			side_partner(work, place, pipes[1]);
		_exit(1);
	}
	close(pipes[1]);
	good = *partner > 0 &&
	       read(pipes[0], ret_port, sizeof(*ret_port)) == (ssize_t)sizeof(*ret_port);
	close(pipes[0]);
	if (!good)
		tool_error("the other process did not start");
	return good && bench_enter(place->here);
}

static void side_open(const struct side_work *work, const struct bench_place *place, uint16_t port)
{
	struct side *side = work->opener;
	struct nopal_endpoint *endpoint = NULL;
	struct nopal_address peer;

	if (!side_loop(side))
		return;
	side->tick = loop_event_new(side->loop, LOOP_TIMER, -1, side_on_tick, side);
	if (side->tick && side->patience_ns)
		loop_event_start(side->tick, side->patience_ns);
	if (side->tick && bench_address(place->address, port, &peer))
		endpoint = loop_endpoint_to(side->loop, &peer);
	if (endpoint && work->drive)
		work->drive(side, endpoint, &peer);
	else if (endpoint && nopal_open(endpoint, work->plan, &peer, &side_callbacks, side))
		side_run(side);
	side->over = true; /* what still arrives is not counted */
	loop_event_free(side->tick);
	loop_free(side->loop);
}

void side_wait(struct loop *loop, int64_t duration_ns)
{
	struct side side = { .loop = loop, .world = loop_world(loop), .patience_ns = duration_ns };

	side_heard(&side);
	side.tick = loop_event_new(loop, LOOP_TIMER, -1, side_on_tick, &side);
	if (!side.tick)
		return;
	loop_event_start(side.tick, duration_ns);
	loop_run(loop);
	loop_event_free(side.tick);
}

/* ----------------------------------------------------------------- simulated */

void side_hosts(struct nopal_world *world, const struct side_place *place)
{
	nopal_sim_host(world);
	nopal_sim_host(world);
	nopal_sim_connect(world, 0, 1, &place->forward, &place->reverse);
}

struct nopal_session *side_connect(struct nopal_world *world, int from, int to,
				   struct nopal_plan *plan, void *opener, void *listener)
{
	struct nopal_endpoint *here = nopal_sim_endpoint(world, from, 0);
	struct nopal_endpoint *there = nopal_sim_endpoint(world, to, SIDE_SIM_PORT);
	struct nopal_address peer;

	nopal_sim_address(to, SIDE_SIM_PORT, &peer);
	if (!here || !there ||
	    nopal_endpoint_allow(there, plan, NOPAL_ALLOW_CONNECTIONLESS, &side_callbacks,
				 listener))
		return NULL;
	return nopal_open(here, plan, &peer, &side_callbacks, opener);
}

bool side_work(struct side_work *work, const struct side_place *place)
{
	struct side *side = work->opener;
	uint16_t port;
	bool good;

	if (!place->live) {
		struct nopal_world *world = tool_need(nopal_sim_new(place->seed));

		side->world = work->listener->world = world;
		side_hosts(world, place);
		good = side_connect(world, 0, 1, work->plan, side, work->listener);
		while (good && !side->over && nopal_sim_step(world))
			if (nopal_world_now(world) - side->heard_ns > side->patience_ns)
				break;
		side->over = true;
		nopal_world_free(world);
		return good;
	}
	good = side_fork(work, &place->pair, &port);
	side->begun_ns = side->heard_ns = clock_now_ns();
	if (good && work->protocol == SIDE_CONFIG) {
		side_open(work, &place->pair, port);
	} else if (good) {
		int fd = bench_socket(place->pair.address, side_type(work), false, &port);

		bench_socket_patience(fd, side->patience_ns);
		if (fd >= 0) {
			work->ask(side, fd);
			close(fd);
		}
	}
	if (side->partner > 0) {
		kill(side->partner, SIGKILL);
		waitpid(side->partner, NULL, 0);
	}
	return good;
}
