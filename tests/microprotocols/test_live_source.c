/* SPDX-License-Identifier: MIT */
/*
 * test_live_source -- a layered encoder of variable rate above frame_fifo, as in UDTCP's paper,
 * figure 2: on a link whose rate falls to a quarter and comes back, it follows the rate that it is
 * told, and what is dropped is the refinement, not the base.
 */
#include <nopal/microprotocol.h>
#include <nopal/nopal.h>

#include "support/suite.h"
#include "support/test.h"

enum {
	PORT = 9000,
	PIECE = 1000, /* bytes of a message: the base is one, a refinement several */
	MOST = 24,    /* pieces of a frame */
	FRAMES = 750, /* 30 s */
	FIRST_BPS = 1000000,
	BITS = 8,
};
#define FRAME_NS (40 * NOPAL_MILLISECOND)
/* The link has 4 Mbit/s, then 1, then 4 again. */
#define PHASE_NS (10 * NOPAL_SECOND)
enum { PHASES = 3 };
static const char *const words[PHASES] = { "rate 4mbit delay 35ms limit 50",
					   "rate 1mbit delay 35ms limit 50",
					   "rate 4mbit delay 35ms limit 50" };

static const char config[] = "extends = \"udtcp\"\nsend_unsent = 1000msg\n"
			     "frame_fifo { frames = 4  interval = 250ms }\n";

struct head {
	int64_t made_ns;
	uint32_t frame, layer;
};

struct source {
	struct nopal_world *world;
	struct nopal_plan *plan;
	struct nopal_session *session;
	bool listens; /* to the rate that it is told */
	int64_t told_bps;
	uint32_t frame;
	/* by phase of making */
	uint32_t bases, bases_came, bases_late, pieces, pieces_came;
	int64_t mean_bps[PHASES]; /* told, in the second half of the phase */
};

static void make_piece(struct source *source, uint32_t layer)
{
	uint8_t bytes[PIECE] = { 0 };
	struct head head = { nopal_world_now(source->world), source->frame, layer };
	struct nopal_property properties[] = {
		{ nopal_property(source->plan, "frame"), source->frame + 1 },
		{ nopal_property(source->plan, "layer"), layer },
	};

	memcpy(bytes, &head, sizeof(head));
	assert_int_equal(nopal_send_message(source->session,
					    &(struct nopal_outgoing){ .bytes = bytes,
								      .length = PIECE,
								      .properties = properties,
								      .property_count = 2 }),
			 0);
	*(layer ? &source->pieces : &source->bases) += 1;
}

/* A base, and refinement for the rest of the rate: the nearer to the base, the lower the layer. */
static void make_frame(void *user)
{
	struct source *source = user;
	int64_t now_ns = nopal_world_now(source->world);
	int64_t pieces = source->told_bps / BITS * FRAME_NS / NOPAL_SECOND / PIECE;
	int phase = (int)(source->frame * FRAME_NS / PHASE_NS);

	if (source->frame * FRAME_NS % PHASE_NS >= PHASE_NS / 2)
		source->mean_bps[phase] += source->told_bps * FRAME_NS / (PHASE_NS / 2);
	nopal_batch_start(source->world);
	make_piece(source, 0);
	for (int64_t i = 1; i < pieces && i < MOST; i++)
		make_piece(source, i <= pieces / 2 ? 1 : 2);
	nopal_batch_stop(source->world);
	if (++source->frame < FRAMES)
		nopal_sim_at(source->world, now_ns + FRAME_NS, make_frame, source);
}

static void on_opened(struct nopal_session *session, void *user)
{
	struct source *source = user;

	source->session = session;
	make_frame(source);
}

static void on_rate(struct nopal_session *session, int64_t bps, void *user)
{
	struct source *source = user;

	(void)session;
	if (source->listens)
		source->told_bps = bps;
}

static void on_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	struct source *source = user;
	struct head head;

	(void)session;
	nopal_message_copy(message, 0, &head, sizeof(head));
	if (head.layer) {
		source->pieces_came++;
		return;
	}
	source->bases_came++;
	source->bases_late += nopal_world_now(source->world) - head.made_ns > NOPAL_SECOND / 2;
}

static void *on_accepted(struct nopal_session *session, void *user)
{
	(void)session;
	return user;
}

static const struct nopal_callbacks opener_callbacks = { .opened = on_opened, .rate = on_rate };
static const struct nopal_callbacks listener_callbacks = {
	.accepted = on_accepted,
	.received = on_received,
};

static struct source play(bool listens, int64_t first_bps)
{
	struct source source = {
		.world = nopal_sim_new(1),
		.listens = listens,
		.told_bps = first_bps,
	};
	struct nopal_problems problems = { 0 };
	struct nopal_link forward, reverse;
	struct nopal_address peer;

	source.plan = nopal_plan_parse(config, "live.conf", NULL, &problems);
	assert_non_null(source.plan);
	for (int phase = 0; phase < PHASES; phase++) {
		assert_int_equal(nopal_link_parse(words[phase], &forward, &reverse, &problems), 0);
		if (phase) {
			assert_int_equal(nopal_sim_change(source.world, 0, 1, &forward), 0);
		} else {
			nopal_sim_host(source.world);
			nopal_sim_host(source.world);
			nopal_sim_connect(source.world, 0, 1, &forward, &reverse);
			nopal_endpoint_allow(nopal_sim_endpoint(source.world, 1, PORT), source.plan,
					     NOPAL_ALLOW_CONNECTIONLESS, &listener_callbacks,
					     &source);
			nopal_sim_address(1, PORT, &peer);
			assert_non_null(nopal_open(nopal_sim_endpoint(source.world, 0, 0),
						   source.plan, &peer, &opener_callbacks, &source));
		}
		nopal_sim_run(source.world, (phase + 1) * PHASE_NS);
	}
	nopal_sim_run(source.world, PHASES * PHASE_NS + NOPAL_SECOND);
	nopal_world_free(source.world);
	nopal_plan_unref(source.plan);
	nopal_problems_fini(&problems);
	return source;
}

static double share(uint32_t part, uint32_t whole)
{
	return (double)part / whole;
}

TEST(test_encoder_that_listens_follows_the_link_and_keeps_its_base)
{
	struct source source = play(true, FIRST_BPS);

	assert_true(source.mean_bps[0] > 3000000);
	assert_true(source.mean_bps[1] < 1250000 && source.mean_bps[1] > 750000);
	assert_true(source.mean_bps[2] > 3000000);
	assert_true(share(source.bases_came, source.bases) > 0.97);
	assert_true(share(source.bases_late, source.bases) < 0.02);
}

TEST(test_encoder_that_does_not_listen_loses_refinement_before_the_base)
{
	struct source source = play(false, 3 * FIRST_BPS), other = play(true, FIRST_BPS);

	assert_true(share(source.bases_came, source.bases) >
		    share(source.pieces_came, source.pieces) + 0.1);
	assert_true(share(other.bases_came, other.bases) >
		    share(source.bases_came, source.bases) + 0.05);
}
