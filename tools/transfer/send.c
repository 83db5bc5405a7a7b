/* SPDX-License-Identifier: MIT */
/*
 * send.c -- `nopal send FILE... HOST:PORT...`: files to one `nopal recv` (send_one.c) or to several
 * (send_many.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include <nopal/microprotocol.h>
#include "file/transfer.h"
#include "peer/live_judge.h"
#include "transfer/send.h"

static bool send_may_read(const struct tool_call *call, int files)
{
	for (int i = 0; i < files; i++) {
		const char *path = call->words[i];
		const char *wrong = NULL;
		struct stat now;

		if (stat(path, &now) || access(path, R_OK))
			wrong = strerror(errno);
		else if (!S_ISREG(now.st_mode))
			wrong = S_ISDIR(now.st_mode) ? "is a folder" : "is no plain file";
		if (wrong)
			return tool_error(
				"%s: %s\n"
				"  fix: %s",
				path, wrong,
				strcmp(path, "-") == 0
					? "pipes go by `nopal stream`"
					: "give plain files that may be read; a folder goes as "
					  "an archive, as tar makes it");
	}
	return true;
}

/* The receiver holds each piece to the promise of a message without properties; and to whom a
 * piece goes is not --with's to say. */
static bool send_may_have(const struct nopal_plan *plan, const struct properties *with)
{
	struct nopal_service service, plain;
	const char *wrong = NULL;
	unsigned bit;

	nopal_plan_service(plan, 0, NULL, &plain);
	for (bit = 0; bit < with->name_count && !wrong; bit++) {
		nopal_plan_service(plan, 0, with->names[bit], &service);
		if (strcmp(with->names[bit], "destination") == 0)
			wrong = "each piece goes to every receiver";
		else if (!nopal_promises(&service, NOPAL_DELIVERY, NOPAL_ALL))
			wrong = "its messages need not arrive, and a file arrives whole";
		else if (!nopal_promises(&service, NOPAL_ORDER, plain.quality[NOPAL_ORDER].value))
			wrong = "its messages may overtake others, and pieces keep their order";
	}
	if (wrong)
		tool_error("--with: %s: %s\n"
			   "  fix: leave it out; `nopal stream` carries data that may get lost",
			   with->names[bit - 1], wrong);
	return !wrong;
}

static enum tool_exit send_run(const struct tool_call *call)
{
	int count = call->word_count, files = count - 1;
	enum tool_exit exit = TOOL_BAD_INPUT;
	struct nopal_plan *plan = NULL;
	struct rendezvous rendezvous;
	struct nopal_address *peers;
	struct properties with;
	int64_t rate_bps;
	bool to_many;

	/* At the end stand addresses, one at least, which have a colon and are no files. */
	while (files > 1 && strrchr(call->words[files - 1], ':') &&
	       access(call->words[files - 1], F_OK))
		files--;
	peers = calloc((size_t)(count - files), sizeof(*peers));
	if (!peers)
		return TOOL_ENVIRONMENT;
	if (tool_destinations(call, files, peers) && send_may_read(call, files) &&
	    tool_quantity(call, "rate", NOPAL_RATE, 0, &rate_bps))
		plan = tool_chosen_plan(call, "bulk");
	to_many = plan && nopal_plan_provides(plan, "fan_out");
	if (plan && count - files > 1 && !to_many)
		tool_error("%s and %s: config %s has one destination\n"
			   "  fix: take -c one_to_many_all, or _any, _quorum, _balance; or call "
			   "`nopal send` once for each",
			   call->words[count - 2], call->words[count - 1],
			   nopal_plan_info(plan)->name);
	else if (plan && tool_value(call, "small") && (to_many || tool_value(call, "rendezvous")))
		tool_error("--small goes to one receiver that listens\n  fix: leave --small out");
	else if (plan && transfer_plan_fits(plan, false) &&
		 (nopal_plan_provides(plan, "host_streams") ||
		  tool_destinations_differ(call, files, peers,
					   ", or take -c one_to_many_streams on both sides")) &&
		 rendezvous_parse(call, peers, plan, &rendezvous) &&
		 properties_read(call, plan, 1, &with) && send_may_have(plan, &with))
		exit = to_many ? send_many(call, plan, files, peers, rate_bps, &with)
			       : send_one(call, plan, files, peers, &rendezvous, rate_bps, &with);
	if (plan)
		nopal_plan_unref(plan);
	free(peers);
	return exit;
}

static const struct tool_option send_options[] = {
	{ "config", 'c', "CONF", "composition, the same on both sides (default bulk)" },
	{ "rate", 0, "RATE", "read the file no faster, as 100Mbit" },
	{ "small", 0, "SIZE", "files up to SIZE go beside the others, in a session of their own" },
	{ "rendezvous", 0, "[ADDR:]PORT", "open from this port towards `nopal recv --rendezvous`" },
	LIVE_JUDGE_OPTIONS,
	TOOL_SET_OPTION,
	TOOL_TRACE_OPTION,
	TOOL_WITH_OPTION,
	PROGRESS_JSON_OPTIONS,
	{ NULL },
};

const struct tool tool_send = {
	.name = "send",
	.words = "FILE... HOST:PORT...",
	.summary = "send files to `nopal recv`",
	.help = "Sends files, one after the other in one session, to a `nopal recv` with the same "
		"composition.  A transfer that was cut short goes on where it ended when the same "
		"command is given again: the receiver's beginning is compared by hash first.\n"
		"\n"
		"  nopal recv -o incoming\n"
		"  nopal send big.iso HOST:9000\n"
		"\n"
		"With --small, files up to a size do not wait for larger ones: they go in a second "
		"session, which is a stream of the same flow where the composition has streams.\n"
		"\n"
		"  nopal send big.iso notes.txt HOST:9000 -c madp_streams --small 64KiB\n"
		"\n"
		"Where firewalls let no datagram in, both sides open, with --rendezvous: see `nopal "
		"recv --help`.\n\n"
		"With several addresses at the end, each file goes to all receivers at once, in a "
		"session of its own, by a composition that is one to many.  The transfer begins "
		"when each receiver has answered or is given up, and ends when the file has ended "
		"for each receiver, with a table: complete (the hash agrees, and the file is on "
		"disk), was there, share, refused, failed, no answer, died.  A receiver that dies "
		"does not stop the others.  The exit code is 0 where the composition's rule is "
		"kept: one_to_many_all, every receiver has the file; _any, one receiver; _quorum, "
		"as many as --set fan_out.acks=N says.  The other receivers get the file, too, "
		"unless they fall too far behind.  Receivers run one_to_many_all for all three.\n\n"
		"An address that is given twice gets the file by two streams, with "
		"one_to_many_streams on both sides: each is a session of its own, the file's "
		"pieces take turns among the streams of a receiver, which puts them together, and "
		"the rule counts receivers.  Where a stream breaks, its pieces go by the others; "
		"with the first one the receiver is lost.\n\n"
		"Where fewer than all must have the file, it leaves one second after as many "
		"receivers have answered: receivers that have not answered by then are reported, "
		"and do not get it.\n\n"
		"one_to_many_balance, on both sides, spreads the file: each piece goes to one "
		"receiver, which keeps it at its place in .NAME.nopal-part and calls it no file.  "
		"The rule is that the receivers that are left at the end have all of the file "
		"together: pieces of a receiver that died are sent again to the others.\n\n"
		"A receiver with the whole file is left alone.  The others go on from the shortest "
		"beginning that one of them has, when all of them have one; else all begin anew, "
		"as always where the file is spread.\n\n"
		"  nopal send big.iso A:9000 B:9000 C:9000 -c one_to_many_all\n"
		"  nopal send big.iso A:9000 A:9000 B:9000 -c one_to_many_streams\n" TOOL_WITH_HELP
		"Here these are the messages with pieces of a file, which must all arrive: a "
		"property that lets a message get lost is refused.\n"
		"\n"
		"  nopal send urgent.txt HOST:9000 -c ctp_mixed --with urgent=on\n",
	.min_words = 2,
	.max_words = -1,
	.options = send_options,
	.run = send_run,
};
