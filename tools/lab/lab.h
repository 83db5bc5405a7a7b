/* SPDX-License-Identifier: MIT */
/*
 * lab.h -- a lab: what it hands out, its rubric, and the facts of one run of a submission.
 *
 * A trial is one run in virtual time.  Its hosts are processes of their own, behind the walls of
 * sandbox.h; the network between them, the clock and the contents of messages are here.  A check
 * looks at what the network saw and at what came out, and at nothing that a host says of itself:
 *
 *     static void lossy(struct lab_trial *trial)
 *     {
 *             int sender = lab_host(trial, LAB_STUDENT, NULL);
 *             int receiver = lab_host(trial, LAB_REFERENCE, NULL);
 *
 *             lab_link(trial, sender, receiver, "delay 10ms loss 10%");
 *             lab_open(trial, sender, receiver, 0);
 *             for (unsigned i = 0; i < 20; i++)
 *                     lab_send(trial, sender, 0, i * 20 * NOPAL_MILLISECOND, 8 + i);
 *             lab_close(trial, sender, 0, NOPAL_SECOND);
 *             lab_run(trial, 10 * NOPAL_SECOND);
 *             lab_check(trial, LAB_ALL | LAB_ONCE | LAB_ORDERED | LAB_INTACT);
 *     }
 *
 * After the first failure calls do nothing, so a check need not look at what they return.
 */
#ifndef NOPAL_LAB_H
#define NOPAL_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nopal/nopal.h>

/* ------------------------------------------------------------- facts of a trial */

/* The author of the microprotocol that a host loads. */
enum lab_code { LAB_STUDENT, LAB_REFERENCE, LAB_CODES };

enum { LAB_HOSTS = 64 };

/* A message of an application.  Numbers begin with 1, in the order of lab_send(); the bytes are
 * drawn, and no host knows them before it sends or gets them. */
struct lab_message {
	int host, session; /* the sender's */
	int64_t sent_ns;   /* -1: the application could not yet */
	uint32_t length;
	const uint8_t *bytes;
	unsigned deliveries;	    /* at all hosts */
	int64_t delivered_ns;	    /* the first; -1: none */
	enum nopal_outcome outcome; /* as the sender's side says */
	bool has_outcome;
};

/* A datagram that entered the network. */
struct lab_datagram {
	int64_t time_ns;
	int from, to;
	uint32_t length; /* UDP payload */
	const uint8_t *bytes;
	int64_t arrived_ns; /* the first copy; -1: it never came out */
	unsigned copies;    /* that came out */
	bool corrupt;	    /* a copy came out with other bytes */
	/* The message whose bytes it carries, or 0, from which byte on, and how many datagrams
	 * before it carried these.  Messages below 8 bytes are not looked for. */
	uint32_t message, from_byte;
	unsigned again;
};

struct lab_delivery {
	int64_t time_ns;
	int host, session;
	uint32_t message; /* 0: nobody sent these bytes */
	uint32_t length;
};

/* The life of a session, as its host says. */
struct lab_session {
	int host;
	bool opener, opened, ended;
	enum nopal_end end;
	int64_t opened_ns, ended_ns;
};

/* A sentence of the list of steps. */
struct lab_step {
	int64_t time_ns;
	bool failed;
	char *text;
};

/* Arrays grow; pointers into them hold until the next call about the trial. */
struct lab_trial {
	uint64_t seed;
	const char *name; /* of the case */
	int64_t now_ns;
	struct lab_message *messages; /* [0] is message 1 */
	struct lab_datagram *datagrams;
	struct lab_delivery *deliveries;
	struct lab_session *sessions;
	struct lab_step *steps; /* in the order of time, once the trial is over */
	size_t message_count, datagram_count, delivery_count, session_count, step_count;
	int host_count;
	bool failed;
	struct lab_arena *arena; /* private */
};

/* ------------------------------------------------------------------- setting up */

/* A number from the trial's own stream: the same for the same seed. */
uint64_t lab_random(struct lab_trial *trial);
/* Between the two, both included. */
int64_t lab_between(struct lab_trial *trial, int64_t least, int64_t most);
/* Adds a host with one port, which lets in sessions of its config: `config` is a file of the lab
 * (NULL: lab.conf).  Returns its number, from 0. */
int lab_host(struct lab_trial *trial, enum lab_code code, const char *config);
/* Joins two hosts; words of a link, "delay 10ms fwd: loss mask 01". Forward is from `from`. */
void lab_link(struct lab_trial *trial, int from, int to, const char *words);
/* Before all hosts: hosts 2i and 2i+1 are `pairs` pairs, joined by one bottleneck with these words.
 * The links to it have the words of `edge`. */
void lab_bottleneck(struct lab_trial *trial, int pairs, const char *edge, const char *words);
/* Opens a session at virtual time `at_ns`: of a host its sessions are numbered from 0, the opened
 * and the accepted ones alike, in the order of their time. */
void lab_open(struct lab_trial *trial, int host, int to, int64_t at_ns);
/* One more destination of the host's group, where the config is one to many; removed again. */
void lab_destination(struct lab_trial *trial, int host, int session, int to, int64_t at_ns);
/* A message of `length` drawn bytes; with properties, "required=2 deadline=40ms", or NULL.  Where
 * the send buffer is full it waits, and is sent when there is room.  Returns its number. */
uint32_t lab_send(struct lab_trial *trial, int host, int session, int64_t at_ns, uint32_t length,
		  const char *properties);
/* Closes a session in good order. */
void lab_close(struct lab_trial *trial, int host, int session, int64_t at_ns);
/* The host's process ends without a word, as by a power cut. */
void lab_kill(struct lab_trial *trial, int host, int64_t at_ns);

/* ------------------------------------------------------------ running, judging */

/* Runs until this time, or until nothing is left to happen. */
void lab_run(struct lab_trial *trial, int64_t until_ns);

/* The trial has failed, at this time, for this reason: a sentence in the present tense that says
 * what was to happen and what did, "message 3 is delivered twice, at 0.031 s and at 0.231 s".  The
 * first failure stands. */
void lab_fail(struct lab_trial *trial, int64_t at_ns, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A step on the way to it, "the datagram with message 2 is lost". */
void lab_say(struct lab_trial *trial, int64_t at_ns, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

enum lab_checks {
	LAB_ALL = 1,	 /* each message is delivered */
	LAB_ONCE = 2,	 /* none twice at one host */
	LAB_ORDERED = 4, /* in the order of sending, per session */
	LAB_INTACT = 8,	 /* only what was sent */
	LAB_NONE = 16,	 /* nothing is delivered */
	LAB_ENDED = 32,	 /* sessions that were closed have ended, and well */
};
/* Fails the trial by the first delivery that breaks one of them. */
void lab_check(struct lab_trial *trial, unsigned checks);
/* The n-th datagram (from 0) of a host with this message; NULL: there is none. */
const struct lab_datagram *lab_carrier(const struct lab_trial *trial, int host, uint32_t message,
				       unsigned n);
/* Datagrams that a host sent, and their UDP payload in bytes. */
size_t lab_sent(const struct lab_trial *trial, int host, uint64_t *ret_bytes);
/* Bytes of messages of one host delivered between two times. */
uint64_t lab_delivered_bytes(const struct lab_trial *trial, int sender, int64_t from_ns,
			     int64_t until_ns);
/* Counters of the last link on the way between two hosts that is shared with others, or of their
 * own link. */
bool lab_link_counters(const struct lab_trial *trial, int from, int to,
		       struct nopal_link_counters *ret_counters);
/* A shared variable of a session, as its host says: for labs about the inside of a composition,
 * and for questions.  False: it did not say. */
bool lab_shared(struct lab_trial *trial, int host, int session, const char *name,
		int64_t *ret_value);

/* ------------------------------------------------------------------- scenarios */

enum lab_subject {
	LAB_EXPECT_CHECKS,    /* value: enum lab_checks */
	LAB_EXPECT_DATAGRAMS, /* of the sender */
	LAB_EXPECT_ACKS,      /* datagrams of the receiver */
	LAB_EXPECT_DELIVERED, /* messages */
	LAB_EXPECT_RESEND,    /* a message's second datagram leaves `value` ns after its first */
	LAB_EXPECT_LATEST,    /* the longest time from sending to delivery, ns */
};
enum lab_relation { LAB_AT_MOST, LAB_AT_LEAST, LAB_EQUAL };
struct lab_expectation {
	enum lab_subject subject;
	enum lab_relation relation;
	int64_t value, tolerance;
	int line;
};
/* A case of cases.txt. */
struct lab_scenario {
	char *name, *link;
	int line;
	enum lab_code sender, receiver;
	unsigned messages;
	int64_t every_ns, within_ns;
	uint32_t size_min, size_max;
	struct lab_expectation *expectations;
	size_t expectation_count;
};
struct lab_scenarios {
	struct lab_scenario *list;
	size_t count, room;
};
/* `file` is what problems name.  Negative: problems were added. */
int lab_scenarios_parse(const char *text, const char *file, struct lab_scenarios *ret_scenarios,
			struct nopal_problems *problems);
void lab_scenarios_fini(struct lab_scenarios *scenarios);
/* Sets up, runs and judges a trial. */
void lab_scenario_run(struct lab_trial *trial, const struct lab_scenario *scenario);

/* ---------------------------------------------------------------------- labs */

/* An item of the rubric: all of its points, or none. */
struct lab_item {
	const char *name; /* the submission's deed, "a lost datagram is sent again" */
	int points;
	bool hidden;
	unsigned seeds;	     /* trials, each with a seed of its own; 1 where nothing is drawn */
	const char *section; /* of the hand-out, for the hint */
	const char *hint;    /* a sentence that helps and gives nothing away */
	/* One of these.  Cases in the language of scenarios, each run with all seeds: */
	const char *cases;
	const char *file; /* or those of a file that is handed out, "cases.txt" */
	void (*run)(struct lab_trial *trial);
	/* or the student's own cases (my_cases.txt), which hold for the reference and not for this
	 * mutant of it: the lab's file NAME.so */
	const char *mutant;
	/* or the answer to a question about the own trial, which is right; from 1 */
	int question;
};

struct lab_question;

struct lab {
	int number;
	const char *name, *title;     /* "loss": the folder is docs/labs/06-loss */
	const char *part;	      /* the microprotocol to write: PART.c; NULL: none */
	const char *own;	      /* a config to repair beside it; NULL: none */
	const char *const *files;     /* handed out, README.md left out; NULL-ended */
	const struct lab_item *items; /* points sum to 100; name NULL ends */
	/* What may be asked about a student's own trial (questions.h), NULL: nothing; and the case
	 * of that trial, in the language of scenarios. */
	const struct lab_question *questions;
	const char *question_case;
	int question_count; /* that are drawn; 0: LAB_QUESTIONS_USUAL */
};

#endif
