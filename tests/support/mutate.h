/* SPDX-License-Identifier: MIT */
/*
 * mutate.h -- one deliberate mistake in the text of a fused unit.
 *
 * The place is found by words: first `in`, then `find` behind it; `in` with an @ is the parameters
 * of the microprotocol so named, a #NAME in `find` the number of the kind of segments so named.
 * Numbers are changed by an amount; calls are those of the first `return` behind the place, divided
 * by `||`, and told by the microprotocol that is called.  So a mutation stays the same when configs
 * change.
 */
#ifndef NOPAL_TEST_MUTATE_H
#define NOPAL_TEST_MUTATE_H

enum mutate_how {
	MUTATE_WORD,	    /* `find` becomes `by_word` */
	MUTATE_ADD,	    /* the number behind `find` grows by `by`; `skip` are passed over */
	MUTATE_FLIP,	    /* its bits `by` are turned */
	MUTATE_SWAP_NUMBER, /* and the next one behind it change places */
	MUTATE_CLEAR,	    /* it becomes 0 */
	MUTATE_SWAP,	    /* the call of `call` and the next change places */
	MUTATE_DROP,	    /* the call is left out */
	MUTATE_DEAF,	    /* the call cannot say stop any more */
	MUTATE_PART,	    /* the call gets the part before its own */
};

struct mutation {
	const char *what; /* for people */
	const char *in, *find;
	enum mutate_how how;
	int by;
	const char *by_word;
	unsigned skip;	  /* numbers behind `find` before the one that is meant */
	const char *call; /* a microprotocol: its first call is meant */
};

/* The text with the mistake, or NULL where its place is not found or nothing would change.  Caller
 * frees. */
char *mutate(const char *text, const struct mutation *mutation);

#endif
