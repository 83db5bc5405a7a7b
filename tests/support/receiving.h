/* SPDX-License-Identifier: MIT */
/*
 * receiving.h -- `nopal recv` on a loop of its own, in a folder of its own, and a sender that says
 * by hand what it sends.
 *
 *     scene_offers(scene, 0);
 *     scene_say(scene, &(struct step){ TRANSFER_START, 0, 0 });
 *     scene_say(scene, &(struct step){ TRANSFER_DATA, 0, FILE_BYTES });
 *     scene_wait(scene, TRANSFER_RESULT);
 */
#ifndef NOPAL_TEST_RECEIVING_H
#define NOPAL_TEST_RECEIVING_H

#include "file/file_hash.h"
#include <nopal/microprotocol.h>
#include "transfer/recv_session.h"
#include "transfer/recv_session.h"

enum {
	FILE_BYTES = 300000,
	HALF_BYTES = 150000,
	HANG_S = 60, /* it would never end */
};

/* A note of the sender; of DATA, what it carries. */
struct step {
	enum transfer_type type;
	uint64_t from, end;
};

struct scene {
	char path[64];
	struct recv_group group;
	struct nopal_session *session;
	struct loop_event *hang;
	uint8_t content[FILE_BYTES];
	struct transfer_note heard;		  /* the last ANSWER or RESULT */
	struct range ranges[TRANSFER_RANGES_MAX]; /* of HELD */
	size_t held_count;
};

extern const struct nopal_callbacks scene_callbacks;

uint64_t scene_hash(const struct scene *scene);
struct transfer_note scene_offer_of(const char *name);
struct transfer_note scene_offer(void);

/* A note, and so many bytes behind it. */
void scene_say_note(struct scene *scene, const struct transfer_note *note, const uint8_t *more,
		    size_t more_bytes);
void scene_say(struct scene *scene, const struct step *step);

/* Until something is answered. */
void scene_wait(struct scene *scene, enum transfer_type type);

/* For a while, or until something is answered. */
void scene_look(struct scene *scene);
void scene_half_ours(const struct scene *scene);
void scene_half_other(const struct scene *scene);
int scene_open(void **state);
int scene_close(void **state);

/* A session to the receiver. */
void scene_comes(struct scene *scene);

/* Until it is answered. */
void scene_offer_with(struct scene *scene, struct transfer_note offer);

/* A session to the receiver, and its answer to an offer: so much is there. */
void scene_offers(struct scene *scene, uint64_t there);
void scene_is_whole(const struct scene *scene);

/* Says all of them, and the file is whole. */
void scene_takes(struct scene *scene, uint64_t there, const struct step *steps);

/* All that there is, START last. */
extern const struct step all_and_start[];

#endif
