/* SPDX-License-Identifier: MIT */
/*
 * idle -- what a session takes that has nothing to do.
 *
 *     idle CONFIG SESSIONS BYTES
 *
 * Opens a tenth of the sessions, then the others, between two endpoints of the simulated world;
 * each sends one message of that many bytes; then virtual time passes.  Memory is what the C
 * library says is allocated, and a session's is the slope between the two numbers of sessions, so
 * that what an endpoint has once does not count; openers and acceptors are averaged.  Exact for one
 * version of the code and of the C library.
 *
 * Then the last session is taken apart: what each part's state takes awake, and how many bytes of
 * it differ from a fresh one, which is what is kept at rest.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "session/endpoint_sessions.h"

enum {
	IDLE_TENTH = 10,
	IDLE_ENDS = 2, /* of a session */
	IDLE_PORT = 9000,
	IDLE_DECIMAL = 10,
	IDLE_QUIET_S = 5, /* all that happened is over, and no probe is due */
};
/* From one to the next, so that few datagrams are under way at any time. */
#define IDLE_SPACE_NS (100 * NOPAL_MICROSECOND)

static struct idle {
	struct nopal_world *world;
	struct nopal_endpoint *from;
	struct nopal_plan *plan;
	struct nopal_address to;
	struct nopal_session **sessions;
	char *message;
	size_t message_bytes;
	int opened, talked;
	uint64_t delivered;
} idle;

static void on_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	(void)session;
	(void)message;
	(void)user;
	idle.delivered++;
}

static const struct nopal_callbacks callbacks = { .received = on_received };

static void pass(int64_t duration_ns)
{
	nopal_sim_run(idle.world, nopal_world_now(idle.world) + duration_ns);
}

static double allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return (double)(info.uordblks + info.hblkhd);
}

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / NOPAL_SECOND;
}

static bool world_open(const char *config)
{
	struct nopal_problems problems = { 0 };
	struct nopal_link forward, reverse;
	int host[IDLE_ENDS];

	idle.plan = nopal_plan_load(config, NULL, &problems);
	nopal_problems_print(&problems, stderr);
	if (!idle.plan || nopal_link_parse("delay 10us", &forward, &reverse, &problems) < 0)
		return false;
	idle.world = nopal_sim_new(1);
	host[0] = nopal_sim_host(idle.world);
	host[1] = nopal_sim_host(idle.world);
	nopal_sim_connect(idle.world, host[0], host[1], &forward, &reverse);
	idle.from = nopal_sim_endpoint(idle.world, host[0], IDLE_PORT);
	nopal_endpoint_allow(nopal_sim_endpoint(idle.world, host[1], IDLE_PORT), idle.plan,
			     NOPAL_ALLOW_CONNECTIONLESS, &callbacks, NULL);
	nopal_sim_address(host[1], IDLE_PORT, &idle.to);
	nopal_problems_fini(&problems);
	return true;
}

/* A refused session would make others look smaller than they are. */
static void talk(struct nopal_session *session)
{
	int refused = 0;

	if (idle.message_bytes)
		refused = nopal_send(session, idle.message, idle.message_bytes, 0);
	if (!refused)
		return;
	fprintf(stderr, "idle: a message of %zu bytes is refused: %s\n", idle.message_bytes,
		strerror(-refused));
	exit(1);
}

static void open_until(int count)
{
	for (; idle.opened < count; idle.opened++) {
		idle.sessions[idle.opened] =
			nopal_open(idle.from, idle.plan, &idle.to, &callbacks, NULL);
		pass(IDLE_SPACE_NS);
	}
	pass(NOPAL_SECOND);
	for (; idle.talked < count; idle.talked++) {
		talk(idle.sessions[idle.talked]);
		pass(IDLE_SPACE_NS);
	}
	pass(IDLE_QUIET_S * NOPAL_SECOND);
}

/* ------------------------------------------------------------ one session */

static void tell_range(const char *name, const struct nopal_composite *composite, uint32_t from,
		       uint32_t until)
{
	const unsigned char *now = (const unsigned char *)composite->awake;
	const unsigned char *fresh = (const unsigned char *)composite->layer->fresh;
	uint32_t differ = 0;

	for (uint32_t i = from; i < until; i++)
		differ += now[i] != fresh[i];
	printf("  %-24s %6u %6u\n", name, until - from, differ);
}

static void take_apart(struct nopal_session *session)
{
	struct nopal_composite *composite = nopal__composite(session);
	const struct nopal_layer *layer = composite->layer;
	const struct nopal_part *part = &composite->layer->plan->parts[layer->first_part];

	printf("at rest now: %s\n", composite->awake ? "no" : "yes");
	nopal__be_awake(composite);
	printf("  %-24s %6s %6s\n", "bytes", "awake", "differ");
	printf("  %-24s %6zu %6zu\n", "struct nopal_composite", sizeof(*composite),
	       sizeof(*composite));
	tell_range("counters", composite, offsetof(struct nopal_awake, counters),
		   offsetof(struct nopal_awake, bytes_held));
	tell_range("queues, rings", composite, 0, offsetof(struct nopal_awake, counters));
	tell_range("budget and the rest", composite, offsetof(struct nopal_awake, bytes_held),
		   sizeof(struct nopal_awake));
	for (uint32_t i = 0; i < layer->part_count; i++)
		tell_range(part[i].microprotocol->name, composite, part[i].state,
			   part[i].state + (uint32_t)part[i].microprotocol->state_size);
	tell_range("shared variables", composite, layer->shared_at, layer->serial_at);
	tell_range("serials", composite, layer->serial_at, layer->timers_at);
	tell_range("timers", composite, layer->timers_at, layer->awake_bytes);
	printf("  %-24s %6llu\n", "memory of parts",
	       (unsigned long long)composite->awake->bytes_held);
}

int main(int argc, char **argv)
{
	int count = argc == 4 ? (int)strtol(argv[2], NULL, IDLE_DECIMAL) : 0;
	double few, many, began;

	if (count < IDLE_TENTH || !world_open(argv[1])) {
		fprintf(stderr, "idle CONFIG SESSIONS BYTES\n");
		return 2;
	}
	idle.message_bytes = strtoul(argv[3], NULL, IDLE_DECIMAL);
	idle.message = calloc(1, idle.message_bytes + 1);
	idle.sessions = calloc((size_t)count, sizeof(*idle.sessions));
	open_until(count / IDLE_TENTH);
	few = allocated();
	began = cpu_s();
	open_until(count);
	began = cpu_s() - began;
	many = allocated();
	printf("%s, %d sessions, %zu bytes each: %.1f bytes a session and end\n", argv[1], count,
	       idle.message_bytes, (many - few) / (count - count / IDLE_TENTH) / IDLE_ENDS);
	printf("opened and talked: %.0f sessions per second of processor\n",
	       (count - count / IDLE_TENTH) / began);
	began = cpu_s();
	pass(60 * NOPAL_SECOND);
	printf("idle: %.1f us of processor a second and 1000 sessions\n",
	       (cpu_s() - began) / 60 * 1e9 / count);
	take_apart(idle.sessions[count - 1]);
	nopal_world_free(idle.world);
	nopal_plan_unref(idle.plan);
	free(idle.sessions);
	free(idle.message);
	return 0;
}
