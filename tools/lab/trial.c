/* SPDX-License-Identifier: MIT */
/* trial.c -- a trial as its check sets it up, and the facts that it leaves. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frame/tool.h"
#include "lab/arena.h"
#include "lab/plain.h"

enum { TRIAL_MTU = 1500, TRIAL_STREAM_NETWORK = 1000, TRIAL_STREAM_KEY, TRIAL_STREAM_CHECK = 1004 };

/* Room for one element more. */
#define TRIAL_ROOM(list, count, room)                                                              \
	do {                                                                                       \
		if ((count) == (room)) {                                                           \
			(room) = 2 * (room) + 16;                                                  \
			(list) = tool_need(realloc((list), (room) * sizeof(*(list))));             \
		}                                                                                  \
	} while (0)

/* ----------------------------------------------------------------- beginning, end */

struct lab_trial *lab_trial_new(const struct lab_bench *bench, const char *name, uint64_t seed)
{
	struct lab_trial *trial = tool_need(calloc(1, sizeof(*trial)));
	struct lab_arena *arena = tool_need(calloc(1, sizeof(*arena)));
	uint64_t secret[2] = { bench->secret[0], bench->secret[1] };
	struct nopal_hash hash;

	*trial = (struct lab_trial){ .seed = seed, .name = name, .arena = arena };
	arena->bench = bench;
	arena->trial = trial;
	arena->mtu = TRIAL_MTU;
	arena->world =
		tool_need(nopal_sim_new(secret_seed(bench->secret, seed, TRIAL_STREAM_NETWORK)));
	/* A host may remember the contents of a case before, and claim that they came. */
	nopal_hash_init(&hash);
	nopal_hash_update(&hash, name, strlen(name));
	secret[1] ^= nopal_hash_final(&hash);
	for (unsigned i = 0; i < 2; i++)
		arena->key[i] = secret_seed(secret, seed, TRIAL_STREAM_KEY + i);
	return trial;
}

static int step_compare(const void *a, const void *b)
{
	const struct lab_step *one = a, *two = b;

	if (one->time_ns != two->time_ns)
		return one->time_ns < two->time_ns ? -1 : 1;
	return one->failed - two->failed;
}

void lab_trial_finish(struct lab_trial *trial)
{
	arena_end(trial->arena);
	if (trial->step_count)
		qsort(trial->steps, trial->step_count, sizeof(*trial->steps), step_compare);
}

void lab_trial_free(struct lab_trial *trial)
{
	struct lab_arena *arena = trial->arena;

	arena_end(arena);
	nopal_world_free(arena->world);
	for (int i = 0; i < trial->host_count; i++) {
		talk_fini(&arena->hosts[i].talk);
		free(arena->hosts[i].config);
		if (arena->hosts[i].trace_fd >= 0)
			close(arena->hosts[i].trace_fd);
		for (int j = 0; j < trial->host_count; j++)
			free(arena->flights[i][j].datagrams);
	}
	for (size_t i = 0; i < trial->message_count; i++)
		free((void *)(uintptr_t)trial->messages[i].bytes);
	for (size_t i = 0; i < trial->datagram_count; i++)
		free((void *)(uintptr_t)trial->datagrams[i].bytes);
	for (size_t i = 0; i < trial->step_count; i++)
		free(trial->steps[i].text);
	nopal_free(NULL, arena->carried.slots);
	free(trial->messages);
	free(trial->datagrams);
	free(trial->deliveries);
	free(trial->sessions);
	free(trial->steps);
	free(arena);
	free(trial);
}

/* ---------------------------------------------------------------------- setting up */

uint64_t lab_random(struct lab_trial *trial)
{
	return secret_seed(trial->arena->bench->secret, trial->seed,
			   TRIAL_STREAM_CHECK + trial->arena->random++);
}

int64_t lab_between(struct lab_trial *trial, int64_t least, int64_t most)
{
	return least + (int64_t)(lab_random(trial) % (uint64_t)(most - least + 1));
}

int lab_host(struct lab_trial *trial, enum lab_code code, const char *config)
{
	int number = trial->host_count;
	struct arena_host *host = &trial->arena->hosts[number];

	if (number == LAB_HOSTS) {
		lab_fail(trial, 0, "a trial has at most %d hosts", LAB_HOSTS);
		return 0;
	}
	trial->host_count++;
	*host = (struct arena_host){ .arena = trial->arena,
				     .code = code,
				     .config = tool_need(strdup(config ? config : "lab.conf")),
				     .trace_fd = -1,
				     .next_ns = NOPAL_NEVER };
	talk_init(&host->talk, -1);
	if (trial->arena->made <= number)
		trial->arena->made = nopal_sim_host(trial->arena->world) + 1;
	return number;
}

enum lab_code lab_host_code(const struct lab_trial *trial, int host)
{
	return trial->arena->hosts[host].code;
}

int lab_host_trace(const struct lab_trial *trial, int host)
{
	return trial->arena->hosts[host].trace_fd;
}

/* Reads words of a link; the rubric's own mistake ends the trial. */
static bool trial_words(struct lab_trial *trial, const char *words, struct nopal_link *ret_forward,
			struct nopal_link *ret_reverse)
{
	struct nopal_problems problems = { 0 };
	bool good = nopal_link_parse(words, ret_forward, ret_reverse, &problems) == 0;

	if (!good)
		lab_fail(trial, 0, "the link `%s`: %s", words,
			 problems.count ? problems.entries[0].cause : "wrong words");
	nopal_problems_fini(&problems);
	if (good && ret_forward->mtu && (int)ret_forward->mtu < trial->arena->mtu)
		trial->arena->mtu = (int)ret_forward->mtu;
	return good;
}

void lab_link(struct lab_trial *trial, int from, int to, const char *words)
{
	struct nopal_link forward, reverse;

	if (trial->failed || !trial_words(trial, words, &forward, &reverse))
		return;
	trial->arena->delays_ns[from][to] = forward.delay_ns;
	trial->arena->delays_ns[to][from] = reverse.delay_ns;
	if (nopal_sim_connect(trial->arena->world, from, to, &forward, &reverse) < 0)
		tool_need(NULL);
}

void lab_bottleneck(struct lab_trial *trial, int pairs, const char *edge, const char *words)
{
	struct nopal_link sides, back, forward, reverse;
	struct lab_arena *arena = trial->arena;

	if (trial->failed || !trial_words(trial, edge, &sides, &back) ||
	    !trial_words(trial, words, &forward, &reverse))
		return;
	if (nopal_sim_dumbbell(arena->world, pairs, &sides, &forward, &reverse) < 0)
		tool_need(NULL);
	arena->made = 2 * pairs;
	for (int i = 0; i < 2 * pairs; i += 2) {
		arena->delays_ns[i][i + 1] = forward.delay_ns + 2 * sides.delay_ns;
		arena->delays_ns[i + 1][i] = reverse.delay_ns + 2 * sides.delay_ns;
	}
}

void lab_open(struct lab_trial *trial, int host, int to, int64_t at_ns)
{
	if (!trial->failed)
		arena_command(trial->arena, host, TALK_OPEN, at_ns, (uint64_t)to, 0, NULL, 0);
}

void lab_destination(struct lab_trial *trial, int host, int session, int to, int64_t at_ns)
{
	if (!trial->failed)
		arena_command(trial->arena, host, TALK_DESTINATION, at_ns, (uint64_t)to,
			      (uint64_t)session, NULL, 0);
}

uint32_t lab_send(struct lab_trial *trial, int host, int session, int64_t at_ns, uint32_t length,
		  const char *properties)
{
	struct lab_arena *arena = trial->arena;
	uint32_t number = (uint32_t)trial->message_count + 1;
	size_t text = properties ? strlen(properties) + 1 : 1;
	uint8_t *body = tool_need(calloc(1, text + length)), *bytes;

	TRIAL_ROOM(trial->messages, trial->message_count, arena->message_room);
	bytes = tool_need(malloc(length + 1));
	secret_draw(arena->key, number, bytes, length);
	trial->messages[trial->message_count++] = (struct lab_message){ .host = host,
									.session = session,
									.sent_ns = -1,
									.length = length,
									.bytes = bytes,
									.delivered_ns = -1 };
	if (properties)
		memcpy(body, properties, text);
	memcpy(body + text, bytes, length);
	if (!trial->failed)
		arena_command(arena, host, TALK_SEND, at_ns, number, (uint64_t)session, body,
			      text + length);
	free(body);
	return number;
}

void lab_close(struct lab_trial *trial, int host, int session, int64_t at_ns)
{
	if (!trial->failed)
		arena_command(trial->arena, host, TALK_CLOSE, at_ns, 0, (uint64_t)session, NULL, 0);
}

static void trial_kill(void *user)
{
	arena_kill(user);
}

void lab_kill(struct lab_trial *trial, int host, int64_t at_ns)
{
	if (nopal_sim_at(trial->arena->world, at_ns, trial_kill, &trial->arena->hosts[host]) < 0)
		tool_need(NULL);
}

void lab_run(struct lab_trial *trial, int64_t until_ns)
{
	if (!trial->failed)
		arena_run(trial->arena, until_ns);
}

/* ---------------------------------------------------------------------------- facts */

static void trial_step(struct lab_trial *trial, int64_t at_ns, bool failed, const char *format,
		       va_list arguments)
{
	struct lab_step step = { at_ns, failed, NULL };

	if (vasprintf(&step.text, format, arguments) < 0)
		tool_need(NULL);
	plain_text(step.text); /* what a host says may be in it */
	TRIAL_ROOM(trial->steps, trial->step_count, trial->arena->step_room);
	trial->steps[trial->step_count++] = step;
}

void lab_fail(struct lab_trial *trial, int64_t at_ns, const char *format, ...)
{
	va_list arguments;

	if (trial->failed)
		return;
	va_start(arguments, format);
	trial_step(trial, at_ns, true, format, arguments);
	va_end(arguments);
	trial->failed = true;
}

const char *lab_trial_reason(const struct lab_trial *trial)
{
	for (size_t i = 0; i < trial->step_count; i++)
		if (trial->steps[i].failed)
			return trial->steps[i].text;
	return "";
}

void lab_say(struct lab_trial *trial, int64_t at_ns, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	trial_step(trial, at_ns, false, format, arguments);
	va_end(arguments);
}

struct lab_datagram *lab_datagram_add(struct lab_arena *arena, int from, int to, int64_t time_ns,
				      const uint8_t *bytes, uint32_t length)
{
	struct lab_trial *trial = arena->trial;
	struct lab_datagram datagram = {
		.time_ns = time_ns, .from = from, .to = to, .length = length, .arrived_ns = -1
	};
	uint8_t *copy = tool_need(malloc(length + 1));
	uint64_t key;

	memcpy(copy, bytes, length);
	datagram.bytes = copy;
	datagram.message = secret_find(trial, bytes, length, &datagram.from_byte);
	if (datagram.message) {
		key = (uint64_t)datagram.message << 32 | datagram.from_byte;
		datagram.again = (unsigned)(uintptr_t)nopal_map_get(&arena->carried, key);
		if (nopal_map_put(NULL, &arena->carried, key,
				  (void *)(uintptr_t)(datagram.again + 1)) < 0)
			tool_need(NULL);
	}
	TRIAL_ROOM(trial->datagrams, trial->datagram_count, arena->datagram_room);
	trial->datagrams[trial->datagram_count] = datagram;
	return &trial->datagrams[trial->datagram_count++];
}

void lab_delivery_add(struct lab_arena *arena, const struct lab_delivery *delivery)
{
	struct lab_trial *trial = arena->trial;

	TRIAL_ROOM(trial->deliveries, trial->delivery_count, arena->delivery_room);
	trial->deliveries[trial->delivery_count++] = *delivery;
}

void lab_session_add(struct lab_arena *arena, const struct lab_session *session)
{
	struct lab_trial *trial = arena->trial;

	TRIAL_ROOM(trial->sessions, trial->session_count, arena->session_room);
	trial->sessions[trial->session_count++] = *session;
}

bool lab_shared(struct lab_trial *trial, int host, int session, const char *name,
		int64_t *ret_value)
{
	return arena_shared(trial->arena, host, session, name, ret_value);
}
