/* SPDX-License-Identifier: MIT */
/*
 * Whichever allocation fails while sessions open, talk and close: each ends, and says truly how.
 * Nothing crashes, nothing is lost, no run lasts for ever, and a good end means that all has
 * arrived, as it was sent.
 *
 * Both ends and the network between them live in one simulated world, and any of their allocations
 * fails: one alone, or it and all after it.  Every point is tried of some, from the making of the
 * world to its end, and every 11th of configs that hold every pair of microprotocols.
 * NOPAL_NO_MEMORY_STRIDE=N tries every N-th of all, NOPAL_NO_MEMORY_ONLY=N the N-th alone,
 * NOPAL_NO_MEMORY_TALK=NAME in one talk.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "session/endpoint_sessions.h"
#include "support/covering.h"
#include "support/failing.h"
#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "support/test.h"

enum {
	TALK_SENDERS = 3,
	TALK_RECEIVERS = 64, /* without a handshake one comes after the other */
	TALK_PORT = 9000,
	TALK_STEPS = 400000, /* far beyond any of these */
	TALK_BYTE = 251,     /* bytes count up to this prime */
	STRIDE = 11,	     /* of the many configs */
};
static const int64_t talk_end_ns = 600 * NOPAL_SECOND;

struct talk;

struct talk_end {
	struct talk *talk;
	struct nopal_session *session; /* NULL before and after its life */
	bool ended;
	int end;
	uint32_t messages; /* sent, or delivered */
	char text[128];
};

/* Topics of a talk. */
struct talk_about {
	const char *name, *config;
	const char *link;
	unsigned senders;      /* streams of one flow, or sessions; 0: one */
	unsigned destinations; /* of a group; 0: no group */
	uint32_t messages, bytes;
	bool joins; /* senders are opened as sessions */
	bool reliable;
};

struct talk {
	const struct talk_about *about;
	struct nopal_plan *plan;
	struct nopal_world *world;
	struct talk_end sender[TALK_SENDERS], receiver[TALK_RECEIVERS];
	unsigned senders, receivers;
	uint32_t wrong;	  /* messages that are not as they were sent */
	unsigned dropped; /* destinations that ended badly, as we were told */
};

/* No longer than the plan takes. */
static uint32_t bytes_of(const struct talk *talk)
{
	uint64_t max = nopal_plan_info(talk->plan)->message_limit;

	return max < talk->about->bytes ? (uint32_t)max : talk->about->bytes;
}

/* -------------------------------------------------------------------- sending */

static void pump(struct talk_end *sender)
{
	const struct talk_about *about = sender->talk->about;
	uint8_t bytes[8192];
	int error = 0;

	for (uint32_t i = 0; i < bytes_of(sender->talk); i++)
		bytes[i] = (uint8_t)(i % TALK_BYTE);
	while (sender->session && sender->messages < about->messages) {
		error = nopal_send(sender->session, bytes, bytes_of(sender->talk), 0);
		if (error)
			break;
		sender->messages++;
	}
	if (!sender->session)
		return;
	if (error && error != -EAGAIN && error != -EPIPE)
		nopal_session_abort(sender->session, strerror(-error));
	else if (sender->messages == about->messages)
		nopal_session_close(sender->session);
}

static void on_opened(struct nopal_session *session, void *user)
{
	struct talk_end *sender = user;

	sender->session = session;
	pump(sender);
}

static void on_writable(struct nopal_session *session, void *user)
{
	(void)session;
	pump(user);
}

static void on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
		     void *user)
{
	struct talk_end *one = user;

	(void)session;
	assert_non_null(text);
	one->session = NULL;
	one->ended = true;
	one->end = (int)end;
	snprintf(one->text, sizeof(one->text), "%s", text);
}

static void on_destination(struct nopal_session *session, const struct nopal_destination_info *info,
			   void *user)
{
	struct talk_end *sender = user;

	(void)session;
	sender->talk->dropped += info->ended && info->end != NOPAL_ENDED_WELL;
}

static const struct nopal_callbacks sending = {
	.opened = on_opened,
	.destination = on_destination,
	.writable = on_writable,
	.ended = on_ended,
};

/* ------------------------------------------------------------------ receiving */

static void *on_accepted(struct nopal_session *session, void *user)
{
	struct talk *talk = user;
	struct talk_end *one = &talk->receiver[talk->receivers++];

	assert_true(talk->receivers <= TALK_RECEIVERS);
	*one = (struct talk_end){ .talk = talk, .session = session };
	return one;
}

static void on_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	struct talk_end *receiver = user;
	uint8_t bytes[8192];
	bool good =
		nopal_message_copy(message, 0, bytes, sizeof(bytes)) == bytes_of(receiver->talk);

	(void)session;
	for (uint32_t i = 0; good && i < bytes_of(receiver->talk); i++)
		good = bytes[i] == i % TALK_BYTE;
	receiver->talk->wrong += !good;
	receiver->messages++;
}

static const struct nopal_callbacks receiving = {
	.accepted = on_accepted,
	.received = on_received,
	.ended = on_ended,
};

/* -------------------------------------------------------------------- a talk */

/* Host 0 speaks to each of the others. */
static bool build(struct talk *talk)
{
	struct nopal_link forward, reverse;
	unsigned others = talk->about->destinations;

	if (nopal_link_parse(talk->about->link, &forward, &reverse, NULL) < 0 ||
	    nopal_sim_star(talk->world, others ? (int)others : 1, &forward, &reverse) < 0)
		return false;
	for (int host = 1; host <= (others ? (int)others : 1); host++) {
		struct nopal_endpoint *endpoint = nopal_sim_endpoint(talk->world, host, TALK_PORT);

		if (!endpoint ||
		    nopal_endpoint_allow(endpoint, talk->plan, NOPAL_ALLOW_CONNECTIONLESS,
					 &receiving, talk) < 0)
			return false;
	}
	return true;
}

static struct nopal_session *open_group(struct talk *talk, struct nopal_endpoint *endpoint,
					struct talk_end *sender)
{
	struct nopal_session *group = nopal_session_open(&(struct nopal_open){
		.endpoint = endpoint, .plan = talk->plan, .callbacks = &sending, .user = sender });
	struct nopal_address address;
	unsigned added = 0;

	for (unsigned host = 1; group && host <= talk->about->destinations; host++) {
		nopal_sim_address((int)host, TALK_PORT, &address);
		added += nopal_destination_add(group, &address) >= 0;
	}
	if (group && added < talk->about->destinations)
		nopal_session_abort(group, "a destination is missing");
	return group;
}

static void open_one(struct talk *talk, struct nopal_endpoint *endpoint)
{
	struct talk_end *sender = &talk->sender[talk->senders];
	struct nopal_session *session, *first = talk->sender[0].session;
	struct nopal_address peer;

	nopal_sim_address(1, TALK_PORT, &peer);
	sender->talk = talk;
	if (talk->about->destinations)
		session = open_group(talk, endpoint, sender);
	else if (talk->senders == 0 || talk->about->joins)
		session = nopal_open(endpoint, talk->plan, &peer, &sending, sender);
	else if (first)
		session = nopal_session_open(&(struct nopal_open){
			.beside = first, .callbacks = &sending, .user = sender });
	else
		session = NULL;
	if (!session)
		return;
	talk->senders++;
	if (!sender->ended)
		sender->session = session;
}

static bool is_over(const struct talk *talk)
{
	for (unsigned i = 0; i < talk->senders; i++)
		if (!talk->sender[i].ended)
			return false;
	for (unsigned i = 0; i < talk->receivers; i++)
		if (!talk->receiver[i].ended)
			return false;
	return true;
}

static void talk_run(struct talk *talk)
{
	struct nopal_endpoint *endpoint;
	unsigned senders = talk->about->senders ? talk->about->senders : 1;
	uint32_t steps = 0;

	if (!build(talk))
		return;
	endpoint = nopal_sim_endpoint(talk->world, 0, 0);
	for (unsigned i = 0; endpoint && i < senders; i++)
		open_one(talk, endpoint);
	while (!is_over(talk) && steps++ < TALK_STEPS &&
	       nopal_world_now(talk->world) < talk_end_ns && nopal_sim_step(talk->world))
		continue;
}

/* -------------------------------------------------------------------- judging */

/* All are told, then the test fails. */
static unsigned violations;

static void say_end(const char *whose, unsigned index, const struct talk_end *one)
{
	print_message("  %s %u: %u messages, %s: %d, %s\n", whose, index, one->messages,
		      one->ended ? "ended" : "alive", one->end, one->text);
}

static void complain(const struct talk *talk, const char *what)
{
	print_message("%s, %s: %s\n", talk->about->name, failing_text(), what);
	for (unsigned i = 0; i < talk->senders; i++)
		say_end("sender", i, &talk->sender[i]);
	for (unsigned i = 0; i < talk->receivers; i++)
		say_end("receiver", i, &talk->receiver[i]);
	violations++;
}

static uint64_t delivered(const struct talk *talk)
{
	uint64_t messages = 0;

	for (unsigned i = 0; i < talk->receivers; i++)
		messages += talk->receiver[i].messages;
	return messages;
}

/* Nobody looks whether the peer lives; or where that broke another session took its place, and
 * seems to be it. */
static bool may_wait(const struct talk *talk)
{
	return !nopal_plan_provides(talk->plan, "liveness") ||
	       (talk->receivers > talk->senders && !talk->about->destinations);
}

/* check_fifo ended it at either side. */
static bool is_told(const struct talk *talk)
{
	bool told = strstr(talk->sender[0].text, "check_fifo");

	for (unsigned i = 0; i < talk->receivers; i++)
		told |= strstr(talk->receiver[i].text, "check_fifo") != NULL;
	return told;
}

/* Where no order is promised, check_fifo is right to end a session, though nothing failed. */
static bool may_be_told(const struct talk *talk)
{
	struct nopal_service service;

	nopal_plan_service(talk->plan, 0, NULL, &service);
	return !nopal_promises(&service, NOPAL_ORDER, NOPAL_FORWARD);
}

static void judge(const struct talk *talk, bool failed, bool over)
{
	const struct talk_about *about = talk->about;
	unsigned reached = about->destinations ? about->destinations - talk->dropped : 1;
	uint64_t expected = 0;
	bool well = talk->senders > 0;

	for (unsigned i = 0; i < talk->senders; i++) {
		const struct talk_end *sender = &talk->sender[i];

		well = well && sender->end == NOPAL_ENDED_WELL;
		if (sender->end == NOPAL_ENDED_WELL)
			expected += (uint64_t)about->messages * reached;
	}
	if (!over)
		complain(talk, "a session never ends");
	if (talk->wrong)
		complain(talk, "a message is not as it was sent");
	if (!failed && !well && !is_told(talk))
		complain(talk, "it did not end well, and nothing failed");
	if (is_told(talk) && !may_be_told(talk))
		complain(talk, "the order that is promised was not kept");
	if (about->reliable && delivered(talk) < expected)
		complain(talk, "a good end, and something is missing");
}

static void talk_once(void *context)
{
	struct talk *talk = context;
	const struct talk_about *about = talk->about;
	struct nopal_plan *plan = talk->plan;
	bool over;

	memset(talk, 0, sizeof(*talk));
	talk->about = about;
	talk->plan = plan;
	talk->world = nopal_sim_new(1);
	if (talk->world)
		talk_run(talk);
	over = is_over(talk) || may_wait(talk);
	nopal_world_free(talk->world);
	judge(talk, failing_stop() > 0, over);
}

static uint64_t asked(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

/* How many points were tried. */
static uint64_t sweep_config(const struct talk_about *about, uint64_t stride)
{
	uint64_t only = asked("NOPAL_NO_MEMORY_ONLY", 0), points = 0;
	struct nopal_problems problems = { 0 };
	static struct talk talk;

	talk = (struct talk){
		.about = about,
		.plan = nopal_plan_parse(about->config, "talk.conf", NULL, &problems),
	};
	if (!talk.plan) /* else they are warnings */
		nopal_problems_print(&problems, stderr);
	assert_non_null(talk.plan);
	nopal_problems_fini(&problems);
	for (int on = 0; only && on <= 1; on++) {
		failing_from(only, on);
		talk_once(&talk);
	}
	if (!only)
		points = failing_sweep(talk_once, &talk, stride);
	nopal_plan_unref(talk.plan);
	return points;
}

static void sweep(const struct talk_about *about)
{
	uint64_t stride = asked("NOPAL_NO_MEMORY_STRIDE", 1);
	const char *talks = getenv("NOPAL_NO_MEMORY_TALK");

	if (talks && strcmp(talks, about->name) != 0)
		skip();
	violations = 0;
	print_message("%s: %llu points\n", about->name,
		      (unsigned long long)sweep_config(about, stride));
	assert_int_equal(violations, 0);
}

/* --------------------------------------------------------------------- talks */

#define LOSSY "rate 10mbit delay 10ms limit 30 loss mask 000010000100000001"

TEST(test_bulk)
{
	sweep(&(struct talk_about){ .name = "bulk",
				    .config = "extends = \"bulk\"\n",
				    .link = LOSSY,
				    .messages = 12,
				    .bytes = 4000,
				    .reliable = true });
}

TEST(test_streams)
{
	sweep(&(struct talk_about){ .name = "streams",
				    .config = "extends = \"streams\"\n",
				    .link = LOSSY,
				    .senders = 3,
				    .messages = 6,
				    .bytes = 4000,
				    .reliable = true });
}

TEST(test_a_shared_flow)
{
	sweep(&(struct talk_about){ .name = "a shared flow",
				    .config = "extends = \"udt4_shared\"\n",
				    .link = LOSSY,
				    .senders = 2,
				    .joins = true,
				    .messages = 6,
				    .bytes = 4000,
				    .reliable = true });
}

TEST(test_one_to_many)
{
	sweep(&(struct talk_about){ .name = "one to many",
				    .config = "extends = \"one_to_many_all\"\n",
				    .link = LOSSY,
				    .destinations = 2,
				    .messages = 6,
				    .bytes = 4000,
				    .reliable = true });
}

TEST(test_multicast)
{
	sweep(&(struct talk_about){ .name = "multicast",
				    .config = "extends = \"multicast\"\n",
				    .link = LOSSY,
				    .destinations = 2,
				    .messages = 6,
				    .bytes = 4000,
				    .reliable = true });
}

TEST(test_redundancy)
{
	sweep(&(struct talk_about){ .name = "redundancy",
				    .config = "extends = \"bulk\"\n"
					      "forward_error_correction { k = 4 n = 5 }\n",
				    .link = LOSSY,
				    .messages = 8,
				    .bytes = 4000,
				    .reliable = true });
}

TEST(test_sealed_and_compressed)
{
	if (!nopal_registry_find("aead"))
		skip();
	sweep(&(struct talk_about){ .name = "sealed and compressed",
				    .config = "extends = \"bulk_aead\"\n"
					      "compression { single_secret = on }\n",
				    .link = LOSSY,
				    .messages = 8,
				    .bytes = 4000,
				    .reliable = true });
}

TEST(test_without_a_handshake)
{
	sweep(&(struct talk_about){ .name = "without a handshake",
				    .config = "transport_driver {}\nresize {}\n"
					      "sequenced_segments {}\nlossy_fifo {}\nchecksum {}\n",
				    .link = "delay 10ms",
				    .messages = 6,
				    .bytes = 2000 });
}

/* What the filter let in and the acks do not know of would be sent again for ever. */
TEST(test_acks_without_a_handshake)
{
	sweep(&(struct talk_about){ .name = "acks without a handshake",
				    .config = "transport_driver {}\nresize {}\n"
					      "sequenced_segments {}\npositive_ack {}\n"
					      "retransmission_timer {}\nretransmit {}\n"
					      "rate_cc {}\nreserved_rate {}\nkeep_alive {}\n",
				    .link = LOSSY,
				    .messages = 6,
				    .bytes = 3000,
				    .reliable = true });
}

/* Every microprotocol, with and without every other.  What they promise is another law's: here each
 * session ends, and nothing is lost or wrong. */
TEST(test_every_composition)
{
	uint64_t stride = asked("NOPAL_NO_MEMORY_STRIDE", STRIDE), points = 0;
	static struct covering covering;
	char name[64];

	violations = 0;
	covering_make(&covering, NULL, 0);
	for (size_t i = 0; i < covering.count; i++) {
		snprintf(name, sizeof(name), "composition %zu", i + 1);
		points += sweep_config(&(struct talk_about){ .name = name,
							     .config = covering.texts[i],
							     .link = LOSSY,
							     .messages = 6,
							     .bytes = 3000 },
				       stride);
	}
	print_message("%zu compositions: %llu points\n", covering.count,
		      (unsigned long long)points);
	covering_free(&covering);
	assert_int_equal(violations, 0);
}
