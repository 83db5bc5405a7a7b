/* SPDX-License-Identifier: MIT */
/*
 * burst.c -- many messages one way and one answer when all are there.
 *
 * Every message begins with the number of its burst, so that what is late is not counted for the
 * next.  The answer is how long the arrivals took.
 */
#include <string.h>
#include <sys/socket.h>

#include "load/burst.h"
#include "load/clock.h"

/* Arrivals of a burst at the receiver. */
struct burst_arrivals {
	int64_t number; /* of the burst */
	uint32_t count;
	int64_t first_ns, last_ns;
};

/* Takes note of a message; true: it was the last one. */
static bool arrivals_note(struct burst_arrivals *arrivals, uint32_t count, int64_t number,
			  int64_t now_ns)
{
	if (number < arrivals->number)
		return false;
	if (number > arrivals->number || arrivals->count == 0)
		*arrivals = (struct burst_arrivals){ .number = number, .first_ns = now_ns };
	arrivals->last_ns = now_ns;
	return ++arrivals->count == count;
}

struct burst_side {
	struct side side; /* heard when a burst began */
	struct burst *burst;
	struct burst_arrivals arrivals;
	int64_t number; /* of the burst */
	uint32_t sent;
	bool sending;
};

/* ------------------------------------------------------------ plain sockets */

static void burst_throw(void *user, int fd)
{
	struct burst *burst = ((struct burst_side *)user)->burst;
	uint8_t bytes[BURST_MAX_BYTES] = { 0 };

	bench_socket_buffers(fd);
	for (int64_t number = 0; number <= burst->warm; number++) {
		int64_t begun_ns = clock_now_ns();

		memcpy(bytes, &number, sizeof(number));
		for (uint32_t i = 0; i < burst->count; i++)
			if (send(fd, bytes, burst->bytes, MSG_NOSIGNAL) != (ssize_t)burst->bytes)
				return;
		if (!bench_socket_receive(fd, &burst->receiver_ns, sizeof(burst->receiver_ns)))
			return;
		burst->sender_ns = clock_now_ns() - begun_ns;
	}
	burst->done = true;
}

static void burst_catch(void *user, int fd)
{
	struct burst_side *catches = user;
	struct burst *burst = catches->burst;
	uint8_t bytes[BURST_MAX_BYTES];
	int64_t number, took_ns;
	/* The first message of UDP tells whom to answer. */
	bool good = burst->protocol == SIDE_TCP ? bench_socket_receive(fd, bytes, burst->bytes)
						: bench_socket_meet(fd, bytes, burst->bytes) == 0;

	while (good) {
		memcpy(&number, bytes, sizeof(number));
		if (arrivals_note(&catches->arrivals, burst->count, number, clock_now_ns())) {
			took_ns = catches->arrivals.last_ns - catches->arrivals.first_ns;
			if (send(fd, &took_ns, sizeof(took_ns), MSG_NOSIGNAL) < 0)
				return;
		}
		good = bench_socket_receive(fd, bytes, burst->bytes);
	}
}

/* ------------------------------------------------------------------ configs */

static void burst_on_thrower(void *user, const struct side_event *event)
{
	struct burst_side *one = user;
	struct burst *burst = one->burst;
	uint8_t bytes[BURST_MAX_BYTES] = { 0 };
	bool begins = event->kind == SIDE_OPENED;

	if (event->kind == SIDE_RECEIVED && !one->side.over && one->sent == burst->count) {
		nopal_message_copy(event->message, 0, &burst->receiver_ns,
				   sizeof(burst->receiver_ns));
		burst->sender_ns = side_now(&one->side) - one->side.heard_ns;
		burst->done = one->number++ == burst->warm;
		begins = !burst->done;
	}
	if (event->kind == SIDE_ENDED || burst->done)
		side_over(&one->side);
	if (begins) {
		one->sent = 0;
		side_heard(&one->side);
	}
	/* Events may come from within nopal_send(): one at a time. */
	if (one->sending || (!begins && event->kind != SIDE_WRITABLE))
		return;
	one->sending = true;
	memcpy(bytes, &one->number, sizeof(one->number));
	while (one->sent < burst->count && nopal_send(event->session, bytes, burst->bytes, 0) == 0)
		one->sent++;
	one->sending = false;
}

static void burst_on_catcher(void *user, const struct side_event *event)
{
	struct burst_side *one = user;
	int64_t number = 0, took_ns;

	if (event->kind == SIDE_ENDED)
		side_over(&one->side);
	if (event->kind != SIDE_RECEIVED)
		return;
	nopal_message_copy(event->message, 0, &number, sizeof(number));
	if (!arrivals_note(&one->arrivals, one->burst->count, number, side_now(&one->side)))
		return;
	took_ns = one->arrivals.last_ns - one->arrivals.first_ns;
	nopal_send(event->session, &took_ns, sizeof(took_ns), 0);
}

bool burst_run(struct burst *burst, const struct side_place *place)
{
	struct burst_side throws = {
		.side = { .on = burst_on_thrower, .patience_ns = burst->patience_ns },
		.burst = burst,
	};
	struct burst_side catches = { .side = { .on = burst_on_catcher }, .burst = burst };

	burst->done = false;
	return side_work(&(struct side_work){ .protocol = burst->protocol,
					      .plan = burst->plan,
					      .opener = &throws.side,
					      .listener = &catches.side,
					      .ask = burst_throw,
					      .answer = burst_catch },
			 place);
}
