/* SPDX-License-Identifier: MIT */
/*
 * crowd -- what a group of many destinations takes.
 *
 *     crowd CONFIG DESTINATIONS MESSAGES BYTES
 *
 * A star in the simulated world: all destinations join one group, rest, get the
 * messages, and rest again.  Memory is what the C library says is allocated, and what
 * the group has of a destination is what all take with them when they are removed.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "session.h"

enum { CROWD_PORT = 9000, CROWD_DECIMAL = 10, CROWD_QUIET_S = 5 };

static struct crowd {
	struct nopal_world *world;
	struct nopal_plan *plan;
	struct nopal_session *group;
	int count;
	uint64_t delivered, opened, arrived;
} crowd;

static void on_received(struct nopal_session *session,
			struct nopal_message *message, void *user)
{
	(void)session;
	(void)message;
	(void)user;
	crowd.delivered++;
}

static void on_destination(struct nopal_session *session,
			   const struct nopal_destination_info *info,
			   void *user)
{
	(void)session;
	(void)user;
	crowd.opened += info->open && !info->ended;
}

static void on_sent(struct nopal_session *session, uint64_t cookie, int fate,
		    void *user)
{
	(void)session;
	(void)cookie;
	(void)user;
	crowd.arrived += fate == NOPAL_ARRIVED;
}

static const struct nopal_callbacks at_destinations = {
	.received = on_received,
};
static const struct nopal_callbacks at_group = {
	.destination = on_destination,
	.sent = on_sent,
};

static void pass(int64_t duration_ns)
{
	nopal_sim_run(crowd.world, nopal_world_now(crowd.world) + duration_ns);
}

static double allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return (double)(info.uordblks + info.hblkhd);
}

static double cpu_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static bool world_open(const char *config)
{
	struct nopal_problems problems;
	struct nopal_link forward, reverse;

	nopal_problems_init(&problems);
	crowd.plan = nopal_plan_load(config, NULL, &problems);
	nopal_problems_print(&problems, stderr);
	if (!crowd.plan ||
	    nopal_link_parse("delay 10ms", &forward, &reverse, &problems) < 0)
		return false;
	nopal_problems_fini(&problems);
	crowd.world = nopal_sim_new(1);
	nopal_sim_star(crowd.world, crowd.count, &forward, &reverse);
	for (int i = 1; i <= crowd.count; i++)
		nopal_endpoint_allow(
			nopal_sim_endpoint(crowd.world, i, CROWD_PORT),
			crowd.plan, NOPAL_ALLOW_CONNECTIONLESS,
			&at_destinations, NULL);
	crowd.group =
		nopal_group_open(nopal_sim_endpoint(crowd.world, 0, CROWD_PORT),
				 crowd.plan, &at_group, NULL);
	return crowd.group != NULL;
}

static void join_all(void)
{
	double began = cpu_us();

	for (int i = 1; i <= crowd.count; i++) {
		struct nopal_address address;

		nopal_sim_address(i, CROWD_PORT, &address);
		nopal_destination_add(crowd.group, &address);
	}
	pass(NOPAL_SECOND);
	printf("joined: %llu of %d, %.1f us of processor each\n",
	       (unsigned long long)crowd.opened, crowd.count,
	       (cpu_us() - began) / crowd.count);
}

static void send_shared(size_t bytes)
{
	struct nopal_buffer *buffer = nopal_buffer_new((uint32_t)bytes);

	nopal_send_buffer(crowd.group, buffer, 0, (uint32_t)bytes, 0);
	printf("one message of %zu bytes is under way: one buffer, %u "
	       "references\n",
	       bytes, buffer->references);
	pass(CROWD_QUIET_S * NOPAL_SECOND);
	nopal_buffer_free(buffer);
}

static void send_all(const char *message, size_t bytes, int count)
{
	double began = cpu_us();

	for (int i = 0; i < count; i++) {
		nopal_send(crowd.group, message, bytes, 0);
		pass(50 * NOPAL_MILLISECOND);
	}
	pass(NOPAL_SECOND);
	printf("%d messages: %.2f us of processor each and destination\n",
	       count, (cpu_us() - began) / count / crowd.count);
	printf("delivered %llu, arrived at all %llu\n",
	       (unsigned long long)crowd.delivered,
	       (unsigned long long)crowd.arrived);
}

/* Their ids are 1 and so on. */
static void tell_memory(void)
{
	double before;

	pass(CROWD_QUIET_S * NOPAL_SECOND);
	before = allocated();
	for (int i = 1; i <= crowd.count; i++)
		nopal_destination_remove(crowd.group, (uint32_t)i, true);
	printf("after %d s of silence: %.0f bytes each in the group\n",
	       CROWD_QUIET_S, (before - allocated()) / crowd.count);
}

int main(int argc, char **argv)
{
	char *message;
	size_t bytes;
	int messages;

	crowd.count = argc == 5 ? (int)strtol(argv[2], NULL, CROWD_DECIMAL) : 0;
	if (crowd.count < 1 || !world_open(argv[1])) {
		fprintf(stderr, "crowd CONFIG DESTINATIONS MESSAGES BYTES\n");
		return 2;
	}
	messages = (int)strtol(argv[3], NULL, CROWD_DECIMAL);
	bytes = strtoul(argv[4], NULL, CROWD_DECIMAL);
	message = calloc(1, bytes + 1);
	printf("%s, %d destinations\n", argv[1], crowd.count);
	join_all();
	send_shared(bytes);
	send_all(message, bytes, messages);
	tell_memory();
	nopal_world_free(crowd.world);
	nopal_plan_unref(crowd.plan);
	free(message);
	return crowd.arrived == (uint64_t)messages + 1 ? 0 : 1;
}
