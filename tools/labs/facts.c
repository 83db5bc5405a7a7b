/* SPDX-License-Identifier: MIT */
/* facts.c -- what checks of several labs ask of a trial. */
#include "labs/facts.h"

void facts_pair(struct lab_trial *trial, enum lab_code sender, enum lab_code receiver,
		const char *config, const char *link)
{
	int from = lab_host(trial, sender, config), to = lab_host(trial, receiver, config);

	lab_link(trial, from, to, link);
	lab_open(trial, from, to, 0);
}

void facts_stream(struct lab_trial *trial, int host, unsigned count, int64_t every_ns,
		  uint32_t length)
{
	for (unsigned i = 0; i < count; i++)
		lab_send(trial, host, 0, i * every_ns, length, NULL);
}

size_t facts_resent(const struct lab_trial *trial, int host)
{
	size_t count = 0;

	for (size_t i = 0; i < trial->datagram_count; i++)
		count += trial->datagrams[i].from == host && trial->datagrams[i].message &&
			 trial->datagrams[i].again;
	return count;
}

size_t facts_lost(const struct lab_trial *trial, int host)
{
	size_t count = 0;

	for (size_t i = 0; i < trial->datagram_count; i++)
		count += trial->datagrams[i].from == host && trial->datagrams[i].message &&
			 trial->datagrams[i].arrived_ns < 0;
	return count;
}

int64_t facts_delivery(struct lab_trial *trial, uint32_t message)
{
	if (message > trial->message_count || !trial->messages[message - 1].deliveries) {
		lab_fail(trial, trial->now_ns, "message %u is not delivered by %.6f s", message,
			 (double)trial->now_ns / (double)NOPAL_SECOND);
		return 0;
	}
	return trial->messages[message - 1].delivered_ns;
}

void facts_outcomes(struct lab_trial *trial)
{
	for (uint32_t i = 0; i < trial->message_count; i++)
		if (!trial->messages[i].has_outcome ||
		    trial->messages[i].outcome != NOPAL_OUTCOME_DELIVERED)
			lab_fail(trial, trial->now_ns,
				 "the sender is not told by %.6f s that message %u has arrived",
				 (double)trial->now_ns / (double)NOPAL_SECOND, i + 1);
}
