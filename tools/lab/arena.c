/* SPDX-License-Identifier: MIT */
/*
 * arena.c -- hosts and network of a trial, in step with each other.
 *
 * The next thing to happen is the earliest of all: an arrival in the network, or an event of some
 * host.  A host's turn may last until just before the next event of anybody else, since nothing can
 * reach it before; it ends early when a datagram leaves.  So virtual time needs no more switches
 * between processes than there are datagrams, and the order of all that happens depends on seeds
 * alone.
 *
 * A host lies if it can.  Times outside of its turn, hosts that are not there and more datagrams
 * than the limits allow end the trial.
 */
#include "lab/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/tool.h"
#include "lab/filter.h"
#include "lab/host.h"
#include "lab/plain.h"

enum { ARENA_WHY_BYTES = 512, ARENA_HEADERS = 28 /* of IPv4 and UDP */ };

/* ----------------------------------------------------------------- ends of hosts */

/* A trial that failed, or was traced, is the last one of its hosts. */
static void host_end(struct arena_host *host)
{
	if (host->process) {
		process_end(host->process, NULL);
		process_free(host->process);
	}
	host->process = NULL;
	host->next_ns = NOPAL_NEVER;
}

/* The host came to an end of its own making, and the trial with it. */
static void host_fail(struct lab_arena *arena, int number, enum watch_end end)
{
	struct arena_host *host = &arena->hosts[number];
	char why[ARENA_WHY_BYTES];
	int32_t call;
	int status = process_end(host->process, &call);

	watch_say(&host->process->watch, end, status, call, why, sizeof(why));
	if (host->code == LAB_REFERENCE)
		lab_fail(arena->trial, arena->trial->now_ns,
			 "the host of the other side breaks down: it %s", why);
	else
		lab_fail(arena->trial, arena->trial->now_ns, "host %d %s", number, why);
	host_end(host);
}

/* A frame that no host sends that runs this program unchanged. */
static void host_lies(struct lab_arena *arena, int number, const char *what)
{
	host_end(&arena->hosts[number]);
	lab_fail(arena->trial, arena->trial->now_ns, "host %d does not keep to the rules: %s",
		 number, what);
}

/* ------------------------------------------------------------------- the network */

/* Handicaps of a datagram that has come out already, and of one that came out with other bytes: the
 * fit of times decides among equals alone. */
static const int64_t FLIGHT_AGAIN_NS = 1000 * NOPAL_SECOND,
		     FLIGHT_CORRUPT_NS = 1000000 * NOPAL_SECOND;

/* Where a copy has the bytes of a datagram, but for flipped ones. */
static bool flight_is_copy(const struct lab_datagram *datagram, const uint8_t *bytes, size_t length,
			   bool *ret_corrupt)
{
	unsigned wrong = 0;

	if (datagram->length != length)
		return false;
	*ret_corrupt = memcmp(datagram->bytes, bytes, length) != 0;
	for (size_t i = 0; *ret_corrupt && i < length && wrong < 2; i++)
		wrong += datagram->bytes[i] != bytes[i];
	return wrong < 2;
}

/* The datagram that came out: of those with these bytes the one whose time fits best. */
static struct lab_datagram *flight_find(struct lab_arena *arena, int from, int to,
					const uint8_t *bytes, size_t length, bool *ret_corrupt)
{
	const struct arena_flight *flight = &arena->flights[from][to];
	struct lab_datagram *best = NULL;
	int64_t best_ns = INT64_MAX, now_ns = nopal_world_now(arena->world);

	for (size_t i = 0; i < flight->count; i++) {
		struct lab_datagram *datagram = &arena->trial->datagrams[flight->datagrams[i]];
		int64_t off_ns = llabs(now_ns - datagram->time_ns - arena->delays_ns[from][to]);
		bool corrupt;

		if (off_ns >= best_ns || !flight_is_copy(datagram, bytes, length, &corrupt))
			continue;
		off_ns += (datagram->copies ? FLIGHT_AGAIN_NS : 0) +
			  (corrupt ? FLIGHT_CORRUPT_NS : 0);
		if (off_ns < best_ns) {
			best = datagram;
			best_ns = off_ns;
			*ret_corrupt = corrupt;
		}
	}
	return best;
}

/* The address of host 10.0.(i/256).(i%256). */
static int arena_host_of(const struct nopal_address *address)
{
	return address->ip[NOPAL_V4_AT + 2] << 8 | address->ip[NOPAL_V4_AT + 3];
}

static void arena_on_arrival(void *user, const struct nopal_address *from, const uint8_t *bytes,
			     size_t length)
{
	struct arena_host *host = user;
	struct lab_arena *arena = host->arena;
	int64_t now_ns = nopal_world_now(arena->world);
	int sender = arena_host_of(from), number = (int)(host - arena->hosts);
	bool corrupt = false;
	struct lab_datagram *datagram = flight_find(arena, sender, number, bytes, length, &corrupt);

	if (datagram) {
		if (!datagram->copies++)
			datagram->arrived_ns = now_ns;
		datagram->corrupt |= corrupt;
	}
	if (host->process)
		arena_command(arena, number, TALK_ARRIVE, now_ns, (uint64_t)sender, 0, bytes,
			      length);
}

/* A world in which nothing is to happen stands still: this is what happens. */
static void arena_instant(void *user)
{
	(void)user;
}

static void arena_datagram(struct lab_arena *arena, int from, const struct talk_frame *frame,
			   const uint8_t *bytes)
{
	struct lab_trial *trial = arena->trial;
	struct arena_host *host = &arena->hosts[from];
	struct nopal_address to;
	struct arena_flight *flight;
	struct lab_datagram *datagram;

	if (frame->number >= (uint64_t)trial->host_count) {
		host_lies(arena, from, "there is no host to send this datagram to");
		return;
	}
	if ((int)frame->length > arena->mtu - ARENA_HEADERS) {
		host_lies(arena, from, "it sends a longer datagram than the network takes");
		return;
	}
	if (++host->datagrams > arena->bench->limits.datagrams) {
		host_lies(arena, from, "it sends more datagrams than a trial may have");
		return;
	}
	datagram = lab_datagram_add(arena, from, (int)frame->number, frame->time_ns, bytes,
				    frame->length);
	flight = &arena->flights[from][frame->number];
	if (flight->count == flight->room)
		flight->datagrams = tool_need(
			realloc(flight->datagrams, (flight->room = 2 * flight->room + 64) *
							   sizeof(*flight->datagrams)));
	flight->datagrams[flight->count++] = (uint32_t)(datagram - trial->datagrams);
	if (nopal_sim_at(arena->world, frame->time_ns, arena_instant, NULL) < 0)
		tool_need(NULL);
	nopal_sim_run(arena->world, frame->time_ns);
	nopal_sim_address((int)frame->number, HOST_PORT, &to);
	nopal_sim_socket_send(host->socket, &to, bytes, frame->length);
}

/* ------------------------------------------------------------------------ turns */

static void arena_delivered(struct lab_arena *arena, int host, const struct talk_frame *frame,
			    const uint8_t *bytes)
{
	struct lab_trial *trial = arena->trial;
	uint32_t number = secret_match(trial, host, bytes, frame->length);

	if (++arena->hosts[host].deliveries > arena->bench->limits.datagrams) {
		host_lies(arena, host, "it delivers more messages than a trial may have");
		return;
	}
	lab_delivery_add(arena, &(struct lab_delivery){ frame->time_ns, host, (int)frame->other,
							number, frame->length });
	if (!number)
		return;
	if (!trial->messages[number - 1].deliveries++)
		trial->messages[number - 1].delivered_ns = frame->time_ns;
}

static struct lab_message *arena_message(struct lab_arena *arena, int host, uint64_t number)
{
	struct lab_trial *trial = arena->trial;

	if (number == 0 || number > trial->message_count ||
	    trial->messages[number - 1].host != host)
		return NULL;
	return &trial->messages[number - 1];
}

static struct lab_session *arena_session(struct lab_arena *arena, int host, uint64_t number)
{
	for (size_t i = 0; i < arena->trial->session_count; i++)
		if (arena->trial->sessions[i].host == host && number-- == 0)
			return &arena->trial->sessions[i];
	return NULL;
}

static void arena_started(struct lab_arena *arena, int host, const struct talk_frame *frame)
{
	if (frame->other != arena->hosts[host].sessions ||
	    ++arena->hosts[host].sessions > LAB_SESSIONS) {
		host_lies(arena, host, "a session begins out of order");
		return;
	}
	lab_session_add(arena, &(struct lab_session){ .host = host, .opener = frame->number });
}

/* The life of a session, or the fate of a message. */
static void arena_told(struct lab_arena *arena, int host, const struct talk_frame *frame)
{
	struct lab_session *session = arena_session(arena, host, frame->other);
	struct lab_message *message = arena_message(arena, host, frame->number);

	if (frame->word == TALK_OPENED && session) {
		session->opened = true;
		session->opened_ns = frame->time_ns;
	} else if (frame->word == TALK_ENDED && session && frame->number <= NOPAL_ENDS_LAST) {
		session->ended = true;
		session->end = (enum nopal_end)frame->number;
		session->ended_ns = frame->time_ns;
	} else if (frame->word == TALK_SENT && message && frame->other == 0) {
		message->sent_ns = frame->time_ns;
	} else if (frame->word == TALK_OUTCOME && message && frame->other <= NOPAL_OUTCOME_WAIVED) {
		message->has_outcome = true;
		message->outcome = (enum nopal_outcome)frame->other;
	}
}

/* One frame of a turn that may last until `limit_ns`.  Returns whether it was the last one. */
static bool arena_hear(struct lab_arena *arena, int number, int64_t limit_ns,
		       const struct talk_frame *frame, const uint8_t *body)
{
	struct arena_host *host = &arena->hosts[number];

	if (frame->time_ns < arena->trial->now_ns || frame->time_ns > limit_ns) {
		host_lies(arena, number, "it tells of another time");
		return true;
	}
	switch (frame->word) {
	case TALK_DONE:
		host->next_ns = (int64_t)frame->other;
		if (host->next_ns < frame->time_ns)
			host_lies(arena, number, "its next event was before this one");
		return true;
	case TALK_DATAGRAM:
		arena_datagram(arena, number, frame, body);
		break;
	case TALK_DELIVERED:
		arena_delivered(arena, number, frame, body);
		break;
	case TALK_STARTED:
		arena_started(arena, number, frame);
		break;
	case TALK_OPENED:
	case TALK_ENDED:
	case TALK_SENT:
	case TALK_OUTCOME:
		arena_told(arena, number, frame);
		break;
	default:
		host_lies(arena, number, "nobody talks like this");
	}
	return !host->process;
}

/* The next frame of a host, once it has said something.  False: it failed, and so did the trial. */
static bool arena_listen(struct lab_arena *arena, int number, struct talk_frame *ret_frame,
			 const uint8_t **ret_body)
{
	struct arena_host *host = &arena->hosts[number];
	enum watch_end end;
	int got;

	while ((got = talk_next(&host->talk, ret_frame, ret_body)) == 0) {
		if (host->process->local) {
			host_lies(arena, number, "it does not answer");
			return false;
		}
		end = watch_wait(&host->process->watch);
		if (end == WATCH_READABLE && talk_read(&host->talk) <= 0)
			end = WATCH_DIED;
		if (end != WATCH_READABLE) {
			host_fail(arena, number, end);
			return false;
		}
	}
	if (got < 0)
		host_lies(arena, number, "nobody talks like this");
	return got > 0;
}

/* A host of this process hears at once, and has answered. */
static void arena_local(struct arena_host *host)
{
	struct talk *talk = host_talk(host->process->local);
	struct talk_frame frame;
	const uint8_t *body;

	talk_carry(&host->talk, talk);
	while (talk_next(talk, &frame, &body) > 0)
		host_hear(host->process->local, &frame, body);
	talk_carry(talk, &host->talk);
}

/* Says to a host what waits for it, which may have to listen first.  False: it does not, and the
 * trial failed. */
static bool arena_flush(struct lab_arena *arena, int number)
{
	struct arena_host *host = &arena->hosts[number];
	enum watch_end end = WATCH_READABLE;
	int result;

	if (host->process->local) {
		arena_local(host);
		return true;
	}
	while ((result = talk_flush(&host->talk)) == -EAGAIN && end == WATCH_READABLE)
		end = watch_wait_to_write(&host->process->watch);
	if (result < 0 && end == WATCH_READABLE) /* it hung up: it ends, or will be ended */
		end = watch_wait(&host->process->watch);
	if (result < 0 && end == WATCH_READABLE)
		host_lies(arena, number, "it talks and does not listen");
	else if (result < 0)
		host_fail(arena, number, end);
	return result == 0;
}

static void arena_turn(struct lab_arena *arena, int number, int64_t limit_ns)
{
	struct arena_host *host = &arena->hosts[number];
	struct talk_frame frame;
	const uint8_t *body;

	if (++arena->turns > arena->bench->limits.turns) {
		host_lies(arena, number, "virtual time does not go on: a timer without a delay?");
		return;
	}
	talk_put(&host->talk, TALK_RUN, limit_ns, 0, 0, NULL, 0);
	arena_flush(arena, number);
	while (host->process && arena_listen(arena, number, &frame, &body) &&
	       !arena_hear(arena, number, limit_ns, &frame, body))
		continue;
}

void arena_command(struct lab_arena *arena, int number, enum talk_word word, int64_t time_ns,
		   uint64_t frame_number, uint64_t other, const void *body, size_t length)
{
	struct arena_host *host = &arena->hosts[number];

	talk_put(&host->talk, word, time_ns, frame_number, other, body, length);
	if (time_ns < host->next_ns)
		host->next_ns = time_ns;
}

/* ---------------------------------------------------------------------- beginning */

/* The name and the text of a host's config. */
static char *arena_config(const struct lab_arena *arena, const struct arena_host *host,
			  size_t *ret_length)
{
	char *path = tool_printed("%s/%s", arena->bench->folder[host->code], host->config);
	char *config = lab_read_file(path, LAB_FILE_MAX), *text = NULL;
	FILE *out = tool_need(open_memstream(&text, ret_length));

	if (!config)
		lab_fail(arena->trial, 0, "there is no %s, or it is too long", host->config);
	fprintf(out, "%s%c%s", path, '\0', config ? config : "");
	fclose(out);
	free(config);
	free(path);
	return text;
}

/* A process for the host, and the talk with it. */
static bool host_spawn(struct lab_arena *arena, struct arena_host *host)
{
	const struct lab_bench *bench = arena->bench;
	struct spawner_order order = { .folder = bench->folder[host->code],
				       .sanitized = bench->sanitized[host->code] };

	if (bench->traced)
		host->trace_fd = memfd_create("trace", MFD_CLOEXEC);
	order.trace_fd = host->trace_fd;
	host->process = process_begin(bench->pool, bench->spawner[host->code], order,
				      &bench->limits.process);
	if (host->process)
		host->talk.fd = host->process->talk_fd;
	return host->process != NULL;
}

/* The set-up goes in front of the commands that wait already. */
static void host_begin(struct lab_arena *arena, int number)
{
	struct arena_host *host = &arena->hosts[number];
	struct talk commands = host->talk;
	struct talk_frame frame;
	const uint8_t *body;
	size_t length;
	char *config = arena_config(arena, host, &length);

	talk_init(&host->talk, -1);
	if (arena->trial->failed || !host_spawn(arena, host)) {
		lab_fail(arena->trial, 0, "host %d cannot be started", number);
		free(config);
		talk_fini(&commands);
		return;
	}
	host->socket =
		nopal_sim_socket_open(arena->world, number, HOST_PORT, arena_on_arrival, host);
	talk_put(&host->talk, TALK_SETUP, arena->mtu, (uint64_t)number,
		 secret_seed(arena->bench->secret, arena->trial->seed, (uint64_t)number), config,
		 length);
	free(config);
	if (arena_flush(arena, number) && arena_listen(arena, number, &frame, &body) &&
	    frame.word != TALK_READY) {
		lab_fail(arena->trial, 0, "the config is refused: %.*s", (int)frame.length,
			 (const char *)body);
		host_end(host);
	}
	commands.fd = host->talk.fd;
	commands.in = host->talk.in;
	commands.in_room = host->talk.in_room;
	commands.in_used = host->talk.in_used;
	commands.in_from = host->talk.in_from;
	free(host->talk.out);
	host->talk = commands;
}

/* -------------------------------------------------------------------------- the run */

/* The earliest host, and the time at which the next of the others has something to do. */
static int arena_first(const struct lab_arena *arena, int64_t *ret_others_ns)
{
	int first = -1;
	int64_t first_ns = NOPAL_NEVER;

	*ret_others_ns = NOPAL_NEVER;
	for (int i = 0; i < arena->trial->host_count; i++) {
		int64_t next_ns = arena->hosts[i].next_ns;

		if (next_ns < first_ns) {
			*ret_others_ns = first_ns;
			first_ns = next_ns;
			first = i;
		} else if (next_ns < *ret_others_ns) {
			*ret_others_ns = next_ns;
		}
	}
	return first;
}

void arena_run(struct lab_arena *arena, int64_t until_ns)
{
	struct lab_trial *trial = arena->trial;

	if (!arena->begun)
		for (int i = 0; i < trial->host_count && !trial->failed; i++)
			host_begin(arena, i);
	arena->begun = true;
	while (!trial->failed) {
		int64_t others_ns, limit_ns, world_ns = nopal_sim_next(arena->world);
		int first = arena_first(arena, &others_ns);
		int64_t host_ns = first < 0 ? NOPAL_NEVER : arena->hosts[first].next_ns;

		trial->now_ns = host_ns < world_ns ? host_ns : world_ns;
		if (trial->now_ns > until_ns || trial->now_ns == NOPAL_NEVER)
			break;
		if (world_ns <= host_ns) {
			nopal_sim_step(arena->world);
			continue;
		}
		limit_ns = others_ns < world_ns ? others_ns : world_ns;
		limit_ns = limit_ns > until_ns ? until_ns : limit_ns - 1;
		arena_turn(arena, first, limit_ns > host_ns ? limit_ns : host_ns);
	}
	if (!trial->failed)
		trial->now_ns = until_ns;
}

/* The trace of a host is whole. */
static void host_stop(struct lab_arena *arena, int number)
{
	struct arena_host *host = &arena->hosts[number];
	struct talk_frame frame;
	const uint8_t *body;

	talk_put(&host->talk, TALK_STOP, arena->trial->now_ns, 0, 0, NULL, 0);
	if (arena_flush(arena, number))
		arena_listen(arena, number, &frame, &body);
}

void arena_kill(struct arena_host *host)
{
	host_end(host);
}

void arena_end(struct lab_arena *arena)
{
	for (int i = 0; i < arena->trial->host_count; i++) {
		struct arena_host *host = &arena->hosts[i];

		if (host->process && arena->bench->traced)
			host_stop(arena, i);
		if (host->process && !arena->trial->failed && !arena->bench->traced) {
			process_keep(arena->bench->pool, host->process);
			host->process = NULL;
		}
		host_end(host);
	}
}

bool arena_shared(struct lab_arena *arena, int number, int session, const char *name,
		  int64_t *ret_value)
{
	struct arena_host *host = &arena->hosts[number];
	struct talk_frame frame;
	const uint8_t *body;

	if (!host->process)
		return false;
	talk_put(&host->talk, TALK_SHARED, arena->trial->now_ns, 0, (uint64_t)session, name,
		 strlen(name) + 1);
	if (!arena_flush(arena, number) || !arena_listen(arena, number, &frame, &body) ||
	    frame.word != TALK_VALUE)
		return false;
	*ret_value = (int64_t)frame.other;
	return frame.number != 0;
}

char *lab_holders(struct lab_trial *trial, int number)
{
	struct arena_host *host = &trial->arena->hosts[number];
	struct talk_frame frame;
	const uint8_t *body;
	char *text;

	if (!host->process)
		return NULL;
	talk_put(&host->talk, TALK_DUMP, trial->now_ns, 0, 0, NULL, 0);
	if (!arena_flush(trial->arena, number) ||
	    !arena_listen(trial->arena, number, &frame, &body) || frame.word != TALK_TEXT)
		return NULL;
	text = tool_need(strndup((const char *)body, frame.length));
	plain_text(text);
	return text;
}
