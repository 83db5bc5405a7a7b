/* SPDX-License-Identifier: MIT */
/*
 * lab_00_hello.c -- lab 0: a composition of the library at work, and six questions about it.
 */
#include "lab/questions.h"
#include "labs/labs.h"

static const char *const hello_files[] = { "lab.conf", NULL };

static const struct lab_item hello_items[] = {
	{ .name = "the answer to question 1 is right",
	  .points = 17,
	  .seeds = 1,
	  .section = "A run, and its ladder",
	  .hint = "own.html shows the trial that the question is about",
	  .question = 1 },
	{ .name = "the answer to question 2 is right",
	  .points = 17,
	  .seeds = 1,
	  .section = "A run, and its ladder",
	  .hint = "time goes down, and each arrow is a datagram",
	  .question = 2 },
	{ .name = "the answer to question 3 is right",
	  .points = 17,
	  .seeds = 1,
	  .section = "A run, and its ladder",
	  .hint = "an answer has a unit, as the line below its question shows",
	  .question = 3 },
	{ .name = "the answer to question 4 is right",
	  .points = 17,
	  .seeds = 1,
	  .section = "A run, and its ladder",
	  .hint = "a datagram that was lost has left its host all the same",
	  .question = 4 },
	{ .name = "the answer to question 5 is right",
	  .points = 16,
	  .seeds = 1,
	  .section = "Who waits for whom",
	  .hint = "`nopal trace own-0.trace` lists all that happened at host 0",
	  .question = 5 },
	{ .name = "the answer to question 6 is right",
	  .points = 16,
	  .seeds = 1,
	  .section = "Who waits for whom",
	  .hint = "`nopal why own-0.trace NUMBER` tells the life of a segment",
	  .question = 6 },
	{ 0 },
};

static const struct lab_question hello_questions[] = {
	{ .ask = LAB_ASK_LEFT },  { .ask = LAB_ASK_DELIVERED }, { .ask = LAB_ASK_TOOK },
	{ .ask = LAB_ASK_AGAIN }, { .ask = LAB_ASK_CARRIED },	{ .ask = LAB_ASK_LOST },
	{ .ask = LAB_ASK_SENT },  { .ask = LAB_ASK_SLOWEST },	{ 0 },
};

const struct lab lab_00_hello = {
	.number = 0,
	.name = "hello",
	.title = "hello, network",
	.files = hello_files,
	.items = hello_items,
	.questions = hello_questions,
	.question_case = "case \"your own trial\"\n"
			 "	link      delay 20ms 2ms fwd: loss 25%\n"
			 "	sender    reference\n"
			 "	receiver  reference\n"
			 "	messages  8 every 30ms size 100..900\n"
			 "	within    10s\n"
			 "	expect    all once ordered intact\n",
	.question_count = LAB_QUESTIONS,
};
