/* SPDX-License-Identifier: MIT */
/*
 * host.c -- a host of a trial: a session's application, driven by the grader.
 *
 * The host has a simulated world of its own, in which it is the only one with an endpoint: what
 * leaves is told to the grader, who has the network, and what arrives is injected.  Commands are
 * calls at their virtual time.  The turn ends at the instant at which a datagram leaves, since
 * nobody here knows what comes of it.
 *
 * Messages for which there is no room wait in the order in which they came.
 */
#include "lab/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame/properties.h"
#include "lab/lab.h"
#include "lab/talk.h"

enum { HOST_SESSIONS = 256 };

struct host;

/* A message that the application is to send. */
struct host_message {
	struct host_message *next;
	uint64_t number;
	char *properties; /* "": none; what follows its end is the body */
	const uint8_t *bytes;
	size_t length;
};

struct host_session {
	struct host *host;
	uint64_t number;
	struct nopal_session *session; /* NULL: ended */
	struct host_message *waiting, **last;
};

struct host {
	struct talk talk;
	int trace_fd;
	int number;
	struct nopal_plan *plan;
	struct nopal_world *world;
	struct nopal_endpoint *endpoint;
	struct host_session sessions[HOST_SESSIONS];
	uint64_t session_count;
	bool spoke; /* a datagram left at this instant */
	struct host_command *commands;
	char *config; /* of the plan */
};

/* A command that waits for its time. */
struct host_command {
	struct host_command *next, **from;
	struct host *host;
	struct talk_frame frame;
	uint8_t body[];
};

static void host_tell(struct host *host, enum talk_word word, uint64_t number, uint64_t other,
		      const void *body, size_t length)
{
	talk_put(&host->talk, word, nopal_world_now(host->world), number, other, body, length);
}

/* -------------------------------------------------------------------- sessions */

static struct host_session *host_session_new(struct host *host, bool opened)
{
	struct host_session *session = &host->sessions[host->session_count];

	if (host->session_count == HOST_SESSIONS)
		return NULL;
	session->host = host;
	session->number = host->session_count++;
	session->last = &session->waiting;
	host_tell(host, TALK_STARTED, opened, session->number, NULL, 0);
	return session;
}

static void *host_on_accepted(struct nopal_session *session, void *listener_user)
{
	struct host_session *accepted = host_session_new(listener_user, false);

	if (accepted)
		accepted->session = session;
	else
		nopal_session_abort(session, "too many sessions for a host of a lab");
	return accepted;
}

static void host_on_opened(struct nopal_session *session, void *user)
{
	const struct host_session *opened = user;

	(void)session;
	if (opened)
		host_tell(opened->host, TALK_OPENED, 0, opened->number, NULL, 0);
}

static void host_on_received(struct nopal_session *session, struct nopal_message *message,
			     void *user)
{
	const struct host_session *receiver = user;
	size_t length = (size_t)nopal_message_length(message);
	uint8_t *bytes = tool_need(malloc(length + 1));

	(void)session;
	nopal_message_copy(message, 0, bytes, length);
	if (receiver)
		host_tell(receiver->host, TALK_DELIVERED, 0, receiver->number, bytes, length);
	free(bytes);
}

static void host_on_outcome(struct nopal_session *session, uint64_t cookie,
			    enum nopal_outcome outcome, void *user)
{
	const struct host_session *sender = user;

	(void)session;
	if (sender)
		host_tell(sender->host, TALK_OUTCOME, cookie, outcome, NULL, 0);
}

/* 0; -EAGAIN: later.  All else is the grader's to hear. */
static int host_send_one(struct host_session *session, const struct host_message *message)
{
	const char *const texts[] = { *message->properties ? message->properties : NULL, NULL };
	struct nopal_property list[PROPERTIES_MAX];
	struct properties properties;
	struct nopal_outgoing outgoing = { .bytes = message->bytes,
					   .length = message->length,
					   .cookie = message->number };
	unsigned class;
	int result = -EINVAL;

	if (properties_parse(texts, session->host->plan, 0, &properties)) {
		outgoing.properties = list;
		outgoing.property_count =
			properties_of(&properties, message->number - 1, list, &class);
		result = nopal_send_message(session->session, &outgoing);
	}
	if (result != -EAGAIN)
		host_tell(session->host, TALK_SENT, message->number, (uint64_t)-result, NULL, 0);
	return result;
}

static void host_send_waiting(struct host_session *session)
{
	struct host_message *message;

	while ((message = session->waiting) && session->session &&
	       host_send_one(session, message) != -EAGAIN) {
		session->waiting = message->next;
		free(message->properties);
		free(message);
	}
	if (!session->waiting)
		session->last = &session->waiting;
}

static void host_on_writable(struct nopal_session *session, void *user)
{
	(void)session;
	if (user)
		host_send_waiting(user);
}

static void host_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			  void *user)
{
	struct host_session *ended = user;

	(void)session;
	if (!ended)
		return;
	ended->session = NULL;
	host_tell(ended->host, TALK_ENDED, end, ended->number, text, strlen(text));
}

static const struct nopal_callbacks host_callbacks = {
	.accepted = host_on_accepted,
	.opened = host_on_opened,
	.received = host_on_received,
	.sent = host_on_outcome,
	.writable = host_on_writable,
	.ended = host_on_ended,
};

/* -------------------------------------------------------------------- commands */

static void host_open(struct host *host, int to)
{
	struct host_session *opened = host_session_new(host, true);
	struct nopal_address peer;

	if (!opened)
		return;
	nopal_sim_address(to, HOST_PORT, &peer);
	opened->session = nopal_open(host->endpoint, host->plan, &peer, &host_callbacks, opened);
	if (!opened->session)
		host_tell(host, TALK_ENDED, NOPAL_RESOURCE, opened->number, "cannot open", 11);
}

/* The properties stand in front of the body, as a text. */
static void host_send(struct host_session *session, const struct talk_frame *frame,
		      const uint8_t *body)
{
	struct host_message *message = tool_need(calloc(1, sizeof(*message)));
	size_t text = strnlen((const char *)body, frame->length);

	message->number = frame->number;
	message->properties = tool_need(malloc(frame->length + 1));
	memcpy(message->properties, body, frame->length);
	message->properties[frame->length] = '\0';
	if (text < frame->length) {
		message->bytes = (const uint8_t *)message->properties + text + 1;
		message->length = frame->length - text - 1;
	}
	*session->last = message;
	session->last = &message->next;
	if (session->waiting == message)
		host_send_waiting(session);
}

static void host_destination(struct host_session *session, int to)
{
	struct nopal_address address;

	nopal_sim_address(to, HOST_PORT, &address);
	nopal_destination_add(session->session, &address);
}

static void host_command_free(struct host_command *command)
{
	*command->from = command->next;
	if (command->next)
		command->next->from = command->from;
	free(command);
}

/* The call at the command's time. */
static void host_obey(void *user)
{
	struct host_command *command = user;
	struct host *host = command->host;
	const struct talk_frame *frame = &command->frame;
	struct host_session *session =
		frame->other < host->session_count ? &host->sessions[frame->other] : NULL;
	struct nopal_address from;

	if (session && !session->session)
		session = NULL;
	if (frame->word == TALK_OPEN)
		host_open(host, (int)frame->number);
	else if (frame->word == TALK_SEND && session)
		host_send(session, frame, command->body);
	else if (frame->word == TALK_SEND)
		host_tell(host, TALK_SENT, frame->number, EPIPE, NULL, 0);
	else if (frame->word == TALK_CLOSE && session)
		nopal_session_close(session->session);
	else if (frame->word == TALK_DESTINATION && session)
		host_destination(session, (int)frame->number);
	else if (frame->word == TALK_ARRIVE) {
		nopal_sim_address((int)frame->number, HOST_PORT, &from);
		nopal_sim_inject(host->world, host->endpoint, &from, command->body, frame->length);
	}
	host_command_free(command);
}

static void host_schedule(struct host *host, const struct talk_frame *frame, const uint8_t *body)
{
	struct host_command *command = tool_need(malloc(sizeof(*command) + frame->length));

	*command = (struct host_command){ host->commands, &host->commands, host, *frame };
	if (host->commands)
		host->commands->from = &command->next;
	host->commands = command;
	memcpy(command->body, body, frame->length);
	if (nopal_sim_at(host->world, frame->time_ns, host_obey, command) < 0)
		tool_need(NULL);
}

static void host_run(struct host *host, int64_t until_ns)
{
	int64_t next_ns = nopal_sim_next(host->world);

	host->spoke = false;
	while (!host->spoke && next_ns <= until_ns && next_ns != NOPAL_NEVER) {
		nopal_sim_step(host->world);
		next_ns = nopal_sim_next(host->world);
	}
	host_tell(host, TALK_DONE, 0, (uint64_t)next_ns, NULL, 0);
}

static void host_say_shared(struct host *host, uint64_t number, const char *name)
{
	int64_t value = 0;
	bool there = number < host->session_count && host->sessions[number].session &&
		     nopal_session_shared(host->sessions[number].session, name, &value);

	host_tell(host, TALK_VALUE, there, (uint64_t)value, NULL, 0);
}

static void host_say_holders(struct host *host)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = tool_need(open_memstream(&text, &length));

	for (uint64_t i = 0; i < host->session_count; i++)
		if (host->sessions[i].session)
			nopal_session_dump(host->sessions[i].session, out);
	fclose(out);
	host_tell(host, TALK_TEXT, 0, 0, text, length);
	free(text);
}

/* --------------------------------------------------------------------- the host */

static void host_on_datagram(void *user, int64_t now_ns, const struct nopal_address *from,
			     const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	struct host *host = user;

	(void)now_ns;
	(void)from;
	host->spoke = true;
	host_tell(host, TALK_DATAGRAM,
		  (uint64_t)to->ip[NOPAL_V4_AT + 2] << 8 | to->ip[NOPAL_V4_AT + 3], 0, bytes,
		  length);
}

/* Problems go to the grader, as they would be printed. */
static void host_refuse(struct host *host, struct nopal_problems *problems)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = tool_need(open_memstream(&text, &length));

	nopal_problems_print(problems, out);
	fclose(out);
	talk_put(&host->talk, TALK_REFUSED, 0, 0, 0, text, length);
	free(text);
}

/* The network around the host: the first link's MTU, and nothing that impairs. */
static bool host_network(struct host *host, int mtu)
{
	struct nopal_link link = { .mtu = (uint32_t)mtu };

	for (int other = 0; other < LAB_HOSTS; other++)
		nopal_sim_host(host->world);
	for (int other = 0; other < LAB_HOSTS; other++)
		if (other != host->number &&
		    nopal_sim_connect(host->world, host->number, other, &link, &link) < 0)
			return false;
	host->endpoint = nopal_sim_endpoint(host->world, host->number, HOST_PORT);
	nopal_sim_tap(host->world, host_on_datagram, host);
	return host->endpoint != NULL;
}

/* The trial is over: its world goes, and all that waits in it. */
static void host_clear(struct host *host)
{
	if (host->world) {
		nopal_trace_stop(host->world);
		nopal_world_free(host->world);
	}
	while (host->commands)
		host_command_free(host->commands);
	for (uint64_t i = 0; i < host->session_count; i++)
		while (host->sessions[i].waiting) {
			struct host_message *message = host->sessions[i].waiting;

			host->sessions[i].waiting = message->next;
			free(message->properties);
			free(message);
		}
	host->talk.out_used = 0; /* ends of sessions of which nobody asks */
	memset(host->sessions, 0, sizeof(host->sessions));
	host->session_count = 0;
	host->world = NULL;
	host->endpoint = NULL;
}

/* The plan of the config, which is most often that of the trial before. */
static void host_plan(struct host *host, const uint8_t *body, size_t length,
		      struct nopal_problems *problems)
{
	char *config = tool_need(calloc(1, length + 2));
	const char *text;

	memcpy(config, body, length);
	text = config + strlen(config) + 1;
	if (host->plan && !strcmp(host->config, config) &&
	    !strcmp(host->config + strlen(host->config) + 1, text)) {
		free(config);
		return;
	}
	nopal_plan_unref(host->plan);
	free(host->config);
	host->config = config;
	host->plan = nopal_plan_parse(text, config, NULL, problems);
}

static bool host_setup(struct host *host, const struct talk_frame *frame, const uint8_t *body)
{
	struct nopal_problems problems = { 0 };
	int result = 0;

	host_clear(host);
	host->number = (int)frame->number;
	host_plan(host, body, frame->length, &problems);
	if (host->plan)
		host->world = nopal_sim_new(frame->other);
	if (host->world && host->trace_fd >= 0)
		result = nopal_trace_start_fd(host->world, host->trace_fd, NOPAL_TRACE_EVENTS);
	if (host->world && result == 0 && host_network(host, (int)frame->time_ns))
		result = nopal_endpoint_allow(host->endpoint, host->plan,
					      NOPAL_ALLOW_CONNECTIONLESS, &host_callbacks, host);
	if (host->plan && (!host->endpoint || result < 0))
		nopal_problems_add(&problems, host->config, 0, NULL,
				   "the host cannot be set up: %s",
				   result < 0 ? nopal_strerror(result) : "no memory");
	if (problems.errors)
		host_refuse(host, &problems);
	else
		talk_put(&host->talk, TALK_READY, 0, 0, 0, NULL, 0);
	result = problems.errors ? -EINVAL : 0;
	nopal_problems_fini(&problems);
	return result == 0;
}

bool host_hear(struct host *host, const struct talk_frame *frame, const uint8_t *body)
{
	bool goes_on = true;

	switch (frame->word) {
	case TALK_SETUP:
		goes_on = host_setup(host, frame, body);
		break;
	case TALK_RUN:
		host_run(host, frame->time_ns);
		break;
	case TALK_SHARED:
		host_say_shared(host, frame->other, (const char *)body);
		break;
	case TALK_DUMP:
		host_say_holders(host);
		break;
	case TALK_STOP:
		nopal_trace_stop(host->world);
		host_tell(host, TALK_READY, 0, 0, NULL, 0);
		break;
	default:
		host_schedule(host, frame, body);
		return true;
	}
	return talk_flush(&host->talk) == 0 && goes_on;
}

struct host *host_new(int talk_fd, int trace_fd)
{
	struct host *host = tool_need(calloc(1, sizeof(*host)));

	talk_init(&host->talk, talk_fd);
	host->trace_fd = trace_fd;
	return host;
}

void host_free(struct host *host)
{
	host_clear(host);
	nopal_plan_unref(host->plan);
	free(host->config);
	talk_fini(&host->talk);
	free(host);
}

struct talk *host_talk(struct host *host)
{
	return &host->talk;
}

int host_serve(int talk_fd, int trace_fd)
{
	struct host *host = host_new(talk_fd, trace_fd);
	struct talk_frame frame;
	const uint8_t *body;
	bool goes_on = true;
	int got = 0;

	do {
		while (goes_on && (got = talk_next(&host->talk, &frame, &body)) > 0)
			goes_on = host_hear(host, &frame, body);
	} while (goes_on && got == 0 && talk_read(&host->talk) > 0);
	host_free(host);
	return TOOL_GOOD;
}
