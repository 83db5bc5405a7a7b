/* SPDX-License-Identifier: MIT */
/* checks.c -- the facts of a trial, held against what was to happen. */
#include <stdlib.h>

#include "lab/arena.h"

static double check_seconds(int64_t time_ns)
{
	return (double)time_ns / (double)NOPAL_SECOND;
}

/* Deliveries of one message at one host. */
static void check_once(struct lab_trial *trial, const struct lab_delivery *delivery)
{
	for (const struct lab_delivery *first = trial->deliveries; first < delivery; first++)
		if (first->message == delivery->message && first->host == delivery->host) {
			lab_fail(trial, delivery->time_ns,
				 "message %u is delivered twice, at %.6f s and at %.6f s",
				 delivery->message, check_seconds(first->time_ns),
				 check_seconds(delivery->time_ns));
			return;
		}
}

/* The delivery before it at the same session, and of the same sender, was of an earlier message. */
static void check_order(struct lab_trial *trial, const struct lab_delivery *delivery)
{
	int host = trial->messages[delivery->message - 1].host;

	for (const struct lab_delivery *before = delivery; before-- > trial->deliveries;)
		if (before->host == delivery->host && before->session == delivery->session &&
		    before->message && trial->messages[before->message - 1].host == host) {
			if (before->message > delivery->message)
				lab_fail(trial, delivery->time_ns,
					 "message %u is delivered at %.6f s, behind message %u",
					 delivery->message, check_seconds(delivery->time_ns),
					 before->message);
			return;
		}
}

static void check_missing(struct lab_trial *trial)
{
	for (uint32_t i = 0; i < trial->message_count && !trial->failed; i++)
		if (!trial->messages[i].deliveries)
			lab_fail(trial, trial->now_ns,
				 "message %u, sent at %.6f s, is not delivered by %.6f s", i + 1,
				 check_seconds(trial->messages[i].sent_ns),
				 check_seconds(trial->now_ns));
}

static void check_ended(struct lab_trial *trial)
{
	for (size_t i = 0; i < trial->session_count && !trial->failed; i++) {
		const struct lab_session *session = &trial->sessions[i];

		if (!session->ended)
			lab_fail(trial, trial->now_ns, "the session of host %d does not end",
				 session->host);
		else if (session->end != NOPAL_ENDED_WELL)
			lab_fail(trial, session->ended_ns,
				 "the session of host %d does not end well", session->host);
	}
}

void lab_check(struct lab_trial *trial, unsigned checks)
{
	for (size_t i = 0; i < trial->delivery_count && !trial->failed; i++) {
		const struct lab_delivery *delivery = &trial->deliveries[i];

		if (checks & LAB_NONE)
			lab_fail(trial, delivery->time_ns,
				 "%u bytes are delivered, and none were to be", delivery->length);
		else if (!delivery->message && (checks & LAB_INTACT))
			lab_fail(trial, delivery->time_ns,
				 "%u bytes are delivered that nobody has sent", delivery->length);
		if (delivery->message && (checks & LAB_ONCE))
			check_once(trial, delivery);
		if (delivery->message && (checks & LAB_ORDERED))
			check_order(trial, delivery);
	}
	if (checks & LAB_ALL)
		check_missing(trial);
	if (checks & LAB_ENDED)
		check_ended(trial);
}

const struct lab_datagram *lab_carrier(const struct lab_trial *trial, int host, uint32_t message,
				       unsigned n)
{
	for (size_t i = 0; i < trial->datagram_count; i++)
		if (trial->datagrams[i].message == message && trial->datagrams[i].from == host &&
		    n-- == 0)
			return &trial->datagrams[i];
	return NULL;
}

size_t lab_sent(const struct lab_trial *trial, int host, uint64_t *ret_bytes)
{
	size_t count = 0;

	if (ret_bytes)
		*ret_bytes = 0;
	for (size_t i = 0; i < trial->datagram_count; i++)
		if (trial->datagrams[i].from == host) {
			count++;
			if (ret_bytes)
				*ret_bytes += trial->datagrams[i].length;
		}
	return count;
}

uint64_t lab_delivered_bytes(const struct lab_trial *trial, int sender, int64_t from_ns,
			     int64_t until_ns)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < trial->delivery_count; i++) {
		const struct lab_delivery *delivery = &trial->deliveries[i];

		if (delivery->message && trial->messages[delivery->message - 1].host == sender &&
		    delivery->time_ns >= from_ns && delivery->time_ns < until_ns)
			bytes += delivery->length;
	}
	return bytes;
}

bool lab_link_counters(const struct lab_trial *trial, int from, int to,
		       struct nopal_link_counters *ret_counters)
{
	return nopal_sim_link_counters(trial->arena->world, from, to, ret_counters);
}
