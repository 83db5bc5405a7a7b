/* SPDX-License-Identifier: MIT */
/*
 * hush.c -- says of a peer that owes an answer that nothing is heard from it.
 */
#include "peer/hush.h"

#define HUSH_NS INT64_C(2000000000)

static void hush_say(struct progress *progress, const char *before, const char *peer,
		     const char *behind)
{
	char line[2 * NOPAL_ADDRESS_TEXT];

	snprintf(line, sizeof(line), "%s%s%s", before, peer, behind);
	if (progress)
		progress_say(progress, "%s", line);
	else
		fprintf(stderr, "%s\n", line);
}

void hush_look(struct hush *hush, const struct nopal_session *session, struct progress *progress)
{
	bool silent = session && nopal_session_silence(session) >= HUSH_NS;
	char text[NOPAL_ADDRESS_TEXT];
	struct nopal_address peer;

	if (!session || silent == hush->said)
		return;
	hush->said = silent;
	nopal_session_peer(session, &peer);
	nopal_address_format(&peer, text);
	if (silent)
		hush_say(progress, "nothing heard from ", text, " for 2 s");
	else
		hush_say(progress, "", text, " is heard again");
}
