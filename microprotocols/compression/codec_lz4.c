/* SPDX-License-Identifier: MIT */
/*
 * codec_lz4.c -- blocks of LZ4: levels below 3 are the fast way, from 3 on the thorough one.
 */
#include <errno.h>
#include <lz4.h>
#include <lz4hc.h>

#include <nopal/microprotocol.h>

#include "codec.h"

enum {
	CODEC_LZ4_MAX_LEVEL = 12,
	CODEC_LZ4_THOROUGH = 3, /* levels from here on */
	/* A byte of a length says 255 bytes of a match. */
	CODEC_LZ4_MAX_EXPANSION = 255,
};

static size_t codec_lz4_squeeze(struct nopal_session *session, struct nopal__codec_memory *memory,
				int level, const uint8_t *from, size_t length, uint8_t *to,
				size_t room)
{
	bool thorough = level >= CODEC_LZ4_THOROUGH;
	int bytes;

	if (!memory->squeezer)
		memory->squeezer = nopal_alloc(
			session, (size_t)(thorough ? LZ4_sizeofStateHC() : LZ4_sizeofState()));
	if (!memory->squeezer)
		return 0;
	if (thorough)
		bytes = LZ4_compress_HC_extStateHC(memory->squeezer, (const char *)from, (char *)to,
						   (int)length, (int)room, level);
	else
		bytes = LZ4_compress_fast_extState(memory->squeezer, (const char *)from, (char *)to,
						   (int)length, (int)room, 1);
	return bytes > 0 ? (size_t)bytes : 0;
}

static int codec_lz4_expand(struct nopal_session *session, struct nopal__codec_memory *memory,
			    const uint8_t *from, size_t length, uint8_t *to, size_t exactly)
{
	int bytes = LZ4_decompress_safe((const char *)from, (char *)to, (int)length, (int)exactly);

	(void)session;
	(void)memory;
	return bytes >= 0 && (size_t)bytes == exactly ? 0 : -EINVAL;
}

static void codec_lz4_idle(struct nopal_session *session, struct nopal__codec_memory *memory)
{
	nopal_free(session, memory->squeezer);
	memory->squeezer = NULL;
}

const struct nopal__codec nopal__codec_lz4 = {
	.built = true,
	.max_level = CODEC_LZ4_MAX_LEVEL,
	.max_expansion = CODEC_LZ4_MAX_EXPANSION,
	.squeeze = codec_lz4_squeeze,
	.expand = codec_lz4_expand,
	.idle = codec_lz4_idle,
};
