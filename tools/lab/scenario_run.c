/* SPDX-License-Identifier: MIT */
/*
 * scenario_run.c -- a trial of a case: what it says is set up, run, and held against what is
 * expected.
 *
 * The session is closed only where `ended` is expected: else its opening and the messages are all
 * that is on the way, and a student's count of datagrams is a count of these.
 */
#include <inttypes.h>

#include <nopal/microprotocol.h>
#include "lab/lab.h"

static const char *const scenario_relations[] = {
	[LAB_AT_MOST] = "at most", [LAB_AT_LEAST] = "at least", [LAB_EQUAL] = "exactly"
};

static double scenario_seconds(int64_t time_ns)
{
	return (double)time_ns / (double)NOPAL_SECOND;
}

static bool scenario_holds(const struct lab_expectation *expectation, int64_t value)
{
	switch (expectation->relation) {
	case LAB_AT_MOST:
		return value <= expectation->value;
	case LAB_AT_LEAST:
		return value >= expectation->value;
	case LAB_EQUAL:
		break;
	}
	return value == expectation->value;
}

static void scenario_count(struct lab_trial *trial, const struct lab_expectation *expectation,
			   const char *what, int64_t count)
{
	if (!scenario_holds(expectation, count))
		lab_fail(trial, trial->now_ns, "%s: %" PRId64 ", and %s %" PRId64 " were expected",
			 what, count, scenario_relations[expectation->relation],
			 expectation->value);
}

static int64_t scenario_delivered(const struct lab_trial *trial)
{
	int64_t count = 0;

	for (size_t i = 0; i < trial->message_count; i++)
		count += trial->messages[i].deliveries > 0;
	return count;
}

/* Of the messages that were delivered, the one that took longest. */
static void scenario_latest(struct lab_trial *trial, const struct lab_expectation *expectation)
{
	const struct lab_message *latest = NULL;
	int64_t longest_ns = 0;

	for (size_t i = 0; i < trial->message_count; i++) {
		const struct lab_message *message = &trial->messages[i];
		int64_t delay_ns = message->delivered_ns - message->sent_ns;

		if (message->deliveries && (!latest || delay_ns > longest_ns)) {
			latest = message;
			longest_ns = delay_ns;
		}
	}
	if (latest && !scenario_holds(expectation, longest_ns))
		lab_fail(trial, latest->delivered_ns,
			 "message %u takes %.6f s, the longest of all, and %s %.6f s was expected",
			 (unsigned)(latest - trial->messages) + 1, scenario_seconds(longest_ns),
			 scenario_relations[expectation->relation],
			 scenario_seconds(expectation->value));
}

/* The first transmission of the bytes that a datagram repeats. */
static const struct lab_datagram *scenario_first(const struct lab_trial *trial,
						 const struct lab_datagram *second)
{
	const struct lab_datagram *first = trial->datagrams;

	while (first->message != second->message || first->from_byte != second->from_byte ||
	       first->from != second->from)
		first++;
	return first;
}

/* Some second transmission leaves at the time that is expected, counted from the first. */
static void scenario_resend(struct lab_trial *trial, const struct lab_expectation *expectation,
			    int sender)
{
	const struct lab_datagram *nearest = NULL;
	int64_t nearest_ns = 0, away_ns = 0;

	for (size_t i = 0; i < trial->datagram_count; i++) {
		const struct lab_datagram *second = &trial->datagrams[i];
		int64_t after_ns, off_ns;

		if (second->from != sender || !second->message || second->again != 1)
			continue;
		after_ns = second->time_ns - scenario_first(trial, second)->time_ns;
		off_ns = after_ns > expectation->value ? after_ns - expectation->value
						       : expectation->value - after_ns;
		if (!nearest || off_ns < away_ns) {
			nearest = second;
			nearest_ns = after_ns;
			away_ns = off_ns;
		}
	}
	if (!nearest)
		lab_fail(trial, trial->now_ns,
			 "no message is sent a second time, which was expected after %.6f s",
			 scenario_seconds(expectation->value));
	else if (away_ns > expectation->tolerance)
		lab_fail(trial, nearest->time_ns,
			 "message %u is sent a second time after %.6f s, and %.6f s was expected, "
			 "give or take %.6f s",
			 nearest->message, scenario_seconds(nearest_ns),
			 scenario_seconds(expectation->value),
			 scenario_seconds(expectation->tolerance));
}

static void scenario_judge(struct lab_trial *trial, const struct lab_expectation *expectation,
			   int sender, int receiver)
{
	switch (expectation->subject) {
	case LAB_EXPECT_CHECKS:
		lab_check(trial, (unsigned)expectation->value);
		break;
	case LAB_EXPECT_DATAGRAMS:
		scenario_count(trial, expectation, "datagrams of the sender",
			       (int64_t)lab_sent(trial, sender, NULL));
		break;
	case LAB_EXPECT_ACKS:
		scenario_count(trial, expectation, "datagrams of the receiver",
			       (int64_t)lab_sent(trial, receiver, NULL));
		break;
	case LAB_EXPECT_DELIVERED:
		scenario_count(trial, expectation, "messages delivered", scenario_delivered(trial));
		break;
	case LAB_EXPECT_RESEND:
		scenario_resend(trial, expectation, sender);
		break;
	case LAB_EXPECT_LATEST:
		scenario_latest(trial, expectation);
		break;
	}
}

static bool scenario_closes(const struct lab_scenario *scenario)
{
	for (size_t i = 0; i < scenario->expectation_count; i++)
		if (scenario->expectations[i].subject == LAB_EXPECT_CHECKS &&
		    (scenario->expectations[i].value & LAB_ENDED))
			return true;
	return false;
}

void lab_scenario_run(struct lab_trial *trial, const struct lab_scenario *scenario)
{
	int sender = lab_host(trial, scenario->sender, NULL);
	int receiver = lab_host(trial, scenario->receiver, NULL);
	int64_t at_ns = 0;

	lab_link(trial, sender, receiver, scenario->link);
	lab_open(trial, sender, receiver, 0);
	for (unsigned i = 0; i < scenario->messages; i++, at_ns += scenario->every_ns)
		lab_send(trial, sender, 0, at_ns,
			 (uint32_t)lab_between(trial, scenario->size_min, scenario->size_max),
			 NULL);
	if (scenario_closes(scenario))
		lab_close(trial, sender, 0, at_ns);
	lab_run(trial, scenario->within_ns);
	for (size_t i = 0; i < scenario->expectation_count && !trial->failed; i++)
		scenario_judge(trial, &scenario->expectations[i], sender, receiver);
}
