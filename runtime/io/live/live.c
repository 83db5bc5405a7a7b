/* SPDX-License-Identifier: MIT */
/*
 * live.c -- the real world: real sockets and the real clock.
 *
 * The caller owns the loop.  It tells of arrivals at each endpoint, of the alarm, which is the next
 * wake-up of all sessions, and, only while the kernel takes no more, of room to send or (out of
 * memory) of the end of a back-off (live_wait.c).  Where that loop is not libevent's,
 * nopal_live_poll() looks for all of them.
 *
 *   readable --> gather up to 16 receives --> clock --> core, once a batch
 *            --> a few batches a wake-up, then timers and others have their turn
 *
 * The clock is CLOCK_MONOTONIC, read once a batch.  The alarm is exact on any loop:
 * EVENT_BASE_FLAG_PRECISE_TIMER is not needed, and costs a system call before every wait.  Nothing
 * runs while nothing is due: an idle world makes no wake-ups.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <event2/event.h>

#include "io/live/live.h"
#include "session/endpoint_sessions.h"

enum {
	LIVE_RANDOM_WORDS = 32,	 /* fetched from the kernel at a time */
	LIVE_WAKE_BATCHES = 8,	 /* batches of one endpoint in one wake-up */
	LIVE_BUSY_REFUSALS = 64, /* ENOBUFS in a row, then a train is dropped */
};
#define LIVE_WAKE_BUDGET_NS   (2 * NOPAL_MILLISECOND) /* then timers and others have a turn */
#define LIVE_RETRY_FIRST_NS   (500 * NOPAL_MICROSECOND)
#define LIVE_RETRY_LONGEST_NS (20 * NOPAL_MILLISECOND)

static const struct nopal_world_ops live_ops;

struct live_world {
	struct nopal_world world; /* first: a world is its beginning */
	struct live_waiter waiter;
	struct live_alarm alarm;
	struct live_port *ports; /* that are open */
	struct live_port *turn;	 /* the first that a poll asks; NULL: the first of all */
	int64_t linger_ns;	 /* poll for so long after an arrival */
	bool in_turn;		 /* the alarm is set when it ends */
	struct live_random secret;
	uint64_t random[LIVE_RANDOM_WORDS];
	uint32_t random_left;
};

struct live_port {
	struct live_world *live;
	struct live_port *next;
	struct nopal_endpoint *endpoint;
	struct live_socket sock;
	struct live_wait wait;
	int64_t retry_ns;  /* next back-off */
	uint32_t refusals; /* ENOBUFS in a row */
	bool in_callback, closed;
};

static struct live_world *live_of(struct nopal_world *world)
{
	return (struct live_world *)world;
}

static int64_t live_clock(struct nopal_world *world)
{
	(void)world;
	return nopal__live_now_ns();
}

static void live_random_bytes(struct nopal_world *world, void *bytes, size_t length)
{
	nopal__live_random_bytes(&live_of(world)->secret, bytes, length);
}

static uint64_t live_random(struct nopal_world *world)
{
	struct live_world *live = live_of(world);

	if (live->random_left == 0) {
		live_random_bytes(world, live->random, sizeof(live->random));
		live->random_left = LIVE_RANDOM_WORDS;
	}
	return live->random[--live->random_left];
}

/* ----------------------------------------------------------------- wake-ups */

/* An alarm that stands too early is left alone: it costs one idle wake-up in all, and moving it at
 * every ack would cost at every ack. */
static void live_arm(struct live_world *live, int64_t deadline_ns)
{
	if (deadline_ns < live->alarm.at_ns)
		nopal__live_alarm_set(&live->alarm, deadline_ns);
}

static void live_wake_at(struct nopal_world *world, int64_t time_ns)
{
	struct live_world *live = live_of(world);

	if (!live->in_turn)
		live_arm(live, time_ns);
}

static void live_on_wake(evutil_socket_t fd, short what, void *user)
{
	struct live_world *live = user;

	(void)fd;
	(void)what;
	live->in_turn = true;
	live->world.now_ns = nopal__live_now_ns();
	nopal__world_wake(&live->world);
	live->in_turn = false;
	nopal__live_alarm_set(&live->alarm, nopal__world_next(&live->world));
}

/* ---------------------------------------------------------------- endpoints */

static void live_port_free(struct live_port *port)
{
	nopal__live_wait_close(&port->wait);
	nopal__live_socket_close(&port->sock);
	free(port);
}

/* An endpoint may be closed by the core within its own callback. */
static void live_port_enter(struct live_port *port)
{
	port->in_callback = true;
	port->live->in_turn = true;
}

static void live_port_leave(struct live_port *port)
{
	struct live_world *live = port->live;

	port->in_callback = false;
	if (port->closed)
		live_port_free(port);
	live->in_turn = false;
	live_arm(live, nopal__world_next(&live->world));
}

/* The arrivals of a batch go to the core, at one time. */
static void live_take(struct live_port *port, const struct nopal_arrival *arrivals, size_t count)
{
	struct nopal_endpoint_counters *counters = &nopal__endpoint_port(port->endpoint)->counters;

	counters->malformed += port->sock.truncated + port->sock.empty;
	counters->soft_errors += port->sock.soft_errors;
	port->live->world.now_ns = nopal__live_now_ns();
	if (count == 0)
		return;
	nopal__endpoint_receive(port->endpoint, arrivals, count);
	nopal__live_socket_gave(&port->sock, arrivals, count);
}

/* Hints of the network since the last batch; the core may close the endpoint. */
static void live_hints(struct live_port *port)
{
	struct live_socket *sock = &port->sock;
	struct nopal_hint hints[LIVE_HINTS];
	unsigned count = sock->hint_count;

	memcpy(hints, sock->hints, count * sizeof(*hints));
	sock->hint_count = 0;
	if (count)
		port->live->world.now_ns = nopal__live_now_ns();
	for (unsigned i = 0; i < count && !port->closed; i++)
		nopal__endpoint_hint(port->endpoint, &hints[i]);
}

/* The kernel may take more again. */
static void live_on_writable(evutil_socket_t fd, short what, void *user)
{
	struct live_port *port = user;

	(void)fd;
	(void)what;
	live_port_enter(port);
	port->live->world.now_ns = nopal__live_now_ns();
	if (nopal__live_socket_flush(&port->sock))
		nopal__endpoint_writable(port->endpoint);
	else
		nopal__live_wait_for_room(&port->wait);
	live_port_leave(port);
}

/* ----------------------------------------------------------------- spinning */

/* Of the ports from one on to another, the first that has arrivals is served:
 * after that any of them may be gone. */
static bool live_poll_ports(struct live_port *from, const struct live_port *to)
{
	struct nopal_arrival arrivals[LIVE_BATCH_RECEIVES];

	for (struct live_port *port = from; port && port != to; port = port->next) {
		const struct live_socket *sock = &port->sock;
		size_t count = nopal__live_socket_gather(&port->sock, arrivals);

		if (count == 0 && sock->soft_errors == 0 && sock->empty == 0 &&
		    sock->truncated == 0 && sock->hint_count == 0)
			continue;
		port->live->turn = port->next;
		live_port_enter(port);
		live_take(port, arrivals, count);
		if (!port->closed)
			live_hints(port);
		live_port_leave(port);
		return true;
	}
	return false;
}

int nopal_live_fd(const struct nopal_world *world)
{
	int fd = world->ops == &live_ops ? ((const struct live_world *)world)->waiter.fd : -1;

	return fd < 0 ? -EINVAL : fd;
}

int64_t nopal_live_deadline(const struct nopal_world *world)
{
	return world->ops == &live_ops ? ((const struct live_world *)world)->alarm.at_ns
				       : nopal__world_next(world);
}

bool nopal_live_poll(struct nopal_world *world)
{
	struct live_world *live = live_of(world);
	struct live_port *first, *over = NULL;
	bool served;

	if (world->ops != &live_ops)
		return false;
	first = live->turn;
	served = live_poll_ports(first, NULL) || live_poll_ports(live->ports, first);
	if (live->alarm.at_ns != NOPAL_NEVER && !served) /* else the clock is read already */
		world->now_ns = nopal__live_now_ns();
	if (live->alarm.at_ns != NOPAL_NEVER && live->alarm.at_ns <= world->now_ns) {
		live_on_wake(live->alarm.fd, EV_READ, live);
		served = true;
	}
	if (live->waiter.fd < 0)
		return served;
	/* without a loop of libevent: where the kernel has room again, or may have, at one port */
	for (struct live_port *port = live->ports; port; port = port->next) {
		if (!over && nopal__live_wait_is_over(&port->wait, world->now_ns))
			over = port;
		else
			live_arm(live, port->wait.retry_at_ns);
	}
	if (over)
		live_on_writable(-1, EV_WRITE, over);
	served |= over != NULL;
	/* an error that waits makes the descriptor readable, too */
	for (struct live_port *port = live->ports; !served && port; port = port->next)
		nopal__live_hints_gather(&port->sock);
	return served;
}

void nopal_live_linger(struct nopal_world *world, int64_t linger_ns)
{
	if (world->ops == &live_ops)
		live_of(world)->linger_ns = linger_ns;
}

/* With a time to linger, answers come at once, so that a chain of questions and answers runs as if
 * both peers never slept. */
static void live_on_readable(evutil_socket_t fd, short what, void *user)
{
	struct nopal_arrival arrivals[LIVE_BATCH_RECEIVES];
	struct live_port *port = user;
	struct live_world *live = port->live;
	int64_t begun_ns = 0, heard_ns, now_ns;

	(void)fd;
	(void)what;
	live_port_enter(port);
	for (unsigned batches = 0; batches < LIVE_WAKE_BATCHES; batches++) {
		size_t count = nopal__live_socket_gather(&port->sock, arrivals);
		bool dry = port->sock.dry;

		if (count == 0) /* the wake-up was for an error, or for nothing */
			nopal__live_hints_gather(&port->sock);
		live_take(port, arrivals, count);
		if (dry || port->closed)
			break;
		if (batches == 0)
			begun_ns = live->world.now_ns;
		if (live->world.now_ns - begun_ns > LIVE_WAKE_BUDGET_NS ||
		    nopal__world_next(&live->world) <= live->world.now_ns)
			break;
	}
	if (!port->closed)
		live_hints(port);
	live_port_leave(port);
	begun_ns = heard_ns = now_ns = live->world.now_ns;
	while (now_ns - heard_ns < live->linger_ns && now_ns - begun_ns < LIVE_WAKE_BUDGET_NS) {
		if (nopal_live_poll(&live->world))
			heard_ns = live->world.now_ns;
		now_ns = nopal__live_now_ns();
	}
}

/* The kernel took nothing.  Out of memory there is nothing to poll for: the port waits a while,
 * longer each time, and after many refusals in a row a train is dropped, as a queue on the path
 * would have done. */
static enum nopal_transmitted live_busy(struct live_port *port)
{
	if (!port->sock.no_memory) {
		nopal__live_wait_for_room(&port->wait);
		return NOPAL_BUSY;
	}
	if (++port->refusals > LIVE_BUSY_REFUSALS) {
		port->refusals = 0;
		return NOPAL_UNSENT;
	}
	if (nopal__live_wait_a_while(&port->wait, port->live->world.now_ns, port->retry_ns)) {
		live_arm(port->live, port->wait.retry_at_ns);
		port->retry_ns *= 2;
		if (port->retry_ns > LIVE_RETRY_LONGEST_NS)
			port->retry_ns = LIVE_RETRY_LONGEST_NS;
	}
	return NOPAL_BUSY;
}

static enum nopal_transmitted live_transmit(struct nopal_world *world,
					    struct nopal_endpoint *endpoint,
					    const struct nopal_train *train)
{
	struct nopal_port *base = nopal__endpoint_port(endpoint);
	struct live_port *port = base->handle;
	enum nopal_transmitted result;

	result = nopal__live_socket_send(&port->sock, train);
	if (result == NOPAL_TRANSMITTED) /* the core counts the other results */
		base->counters.soft_errors += port->sock.soft_errors;
	if (result == NOPAL_UNSENT) {
		base->send_error = port->sock.send_errno;
		base->send_error_ns = world->now_ns;
	}
	/* hints are not for now, within the core: the port's turn comes at once */
	if (port->sock.hint_count && port->wait.readable)
		event_active(port->wait.readable, EV_READ, 0);
	else if (port->sock.hint_count)
		nopal__live_alarm_set(&port->live->alarm, 0);
	if (result == NOPAL_BUSY)
		return live_busy(port);
	port->refusals = 0;
	port->retry_ns = LIVE_RETRY_FIRST_NS;
	if (port->sock.rest_length > 0)
		nopal__live_wait_for_room(&port->wait);
	return result;
}

/* The alarm is on the loop with the first port and off with the last: a loop without other events
 * then ends. */
static int live_port_open(struct nopal_world *world, struct nopal_endpoint *endpoint,
			  struct nopal_problems *problems)
{
	struct nopal_port *base = nopal__endpoint_port(endpoint);
	struct live_world *live = live_of(world);
	struct live_port *port = calloc(1, sizeof(*port));
	int error, fd;

	if (!port)
		return nopal__live_port_refused(-ENOMEM, &base->local, problems);
	port->live = live;
	port->endpoint = endpoint;
	port->retry_ns = LIVE_RETRY_FIRST_NS;
	port->sock.fd = -1;
	if (base->hearing) {
		error = nopal__live_socket_hear(&port->sock, &base->local, base->hearing->from);
	} else {
		fd = base->shard ? nopal__live_shard_socket(base->shard)
				 : nopal__live_socket_bind(&base->local, false, &base->local);
		error = fd < 0 ? fd : nopal__live_socket_take(&port->sock, fd, &base->local);
	}
	if (!error)
		error = nopal__live_wait_open(&port->wait, &live->waiter, port->sock.fd,
					      live_on_readable, live_on_writable, port);
	if (!error && !live->ports)
		error = nopal__live_waiter_begin(&live->waiter);
	if (error) {
		live_port_free(port);
		return nopal__live_port_refused(error, &base->local, problems);
	}
	port->next = live->ports;
	live->ports = port;
	base->handle = port;
	return 0;
}

static void live_port_close(struct nopal_world *world, struct nopal_endpoint *endpoint)
{
	struct nopal_port *base = nopal__endpoint_port(endpoint);
	struct live_world *live = live_of(world);
	struct live_port *port = base->handle, **at = &live->ports;

	base->handle = NULL;
	if (!port)
		return;
	port->closed = true;
	nopal__live_wait_stop(&port->wait);
	while (*at != port)
		at = &(*at)->next;
	*at = port->next;
	if (live->turn == port)
		live->turn = port->next;
	if (!live->ports)
		nopal__live_waiter_end(&live->waiter);
	if (!port->in_callback)
		live_port_free(port);
}

static const char *live_transport(struct nopal_endpoint *endpoint)
{
	struct live_port *port = nopal__endpoint_port(endpoint)->handle;

	return nopal__live_socket_text(&port->sock);
}

/* ------------------------------------------------------------------- worlds */

static void live_wake_fini(struct live_world *live)
{
	nopal__live_waiter_close(&live->waiter);
	nopal__live_alarm_close(&live->alarm);
}

static void live_free(struct nopal_world *world)
{
	struct live_world *live = live_of(world);

	live->in_turn = true; /* nothing is armed any more */
	nopal__world_fini(world);
	live_wake_fini(live);
	free(live);
}

static int live_multicast_from(struct nopal_world *world, struct nopal_endpoint *endpoint,
			       const struct nopal_casting *casting)
{
	struct live_port *port = nopal__endpoint_port(endpoint)->handle;

	(void)world;
	return nopal__live_socket_multicast(&port->sock, casting);
}

static const struct nopal_world_ops live_ops = {
	.name = "live",
	.clock = live_clock,
	.random = live_random,
	.random_bytes = live_random_bytes,
	.port_open = live_port_open,
	.port_close = live_port_close,
	.transmit = live_transmit,
	.multicast_from = live_multicast_from,
	.wake_at = live_wake_at,
	.transport = live_transport,
	.free = live_free,
};

struct nopal_world *nopal_live_new(struct event_base *base)
{
	struct live_world *live = calloc(1, sizeof(*live));

	if (!live || !nopal__live_random_fill(live->secret.key, sizeof(live->secret.key))) {
		free(live);
		return NULL;
	}
	live->waiter.fd = -1;
	if (nopal__live_alarm_open(&live->alarm) ||
	    nopal__live_waiter_open(&live->waiter, base, live->alarm.fd, live_on_wake, live)) {
		live_wake_fini(live);
		free(live);
		return NULL;
	}
	nopal__world_init(&live->world, &live_ops);
	live->world.now_ns = nopal__live_now_ns();
	nopal_wheel_init(&live->world.wheel, live->world.now_ns);
	return &live->world;
}
