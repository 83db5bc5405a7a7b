/* SPDX-License-Identifier: MIT */
/*
 * codec_zstd.c -- frames of Zstandard (RFC 8878), without checksum and without content size: both
 * travel elsewhere.
 */
#define ZSTD_STATIC_LINKING_ONLY /* for contexts in memory of ours */
#include <errno.h>
#include <zstd.h>

#include <nopal/microprotocol.h>

#include "codec.h"

enum {
	CODEC_ZSTD_MAX_LEVEL = 19,
	/* A block of 4 bytes says one byte 128 Ki times: RFC 8878, 3.1.1.2. */
	CODEC_ZSTD_MAX_EXPANSION = (128 << 10) / 4,
};

static void *codec_zstd_alloc(void *session, size_t bytes)
{
	return nopal_alloc(session, bytes);
}

static void codec_zstd_free(void *session, void *bytes)
{
	nopal_free(session, bytes);
}

/* All that a context allocates is charged to its session. */
static ZSTD_customMem codec_zstd_memory(struct nopal_session *session)
{
	return (ZSTD_customMem){ codec_zstd_alloc, codec_zstd_free, session };
}

static size_t codec_zstd_squeeze(struct nopal_session *session, struct nopal__codec_memory *memory,
				 int level, const uint8_t *from, size_t length, uint8_t *to,
				 size_t room)
{
	size_t bytes;

	if (!memory->squeezer) {
		memory->squeezer = ZSTD_createCCtx_advanced(codec_zstd_memory(session));
		if (!memory->squeezer)
			return 0;
		ZSTD_CCtx_setParameter(memory->squeezer, ZSTD_c_compressionLevel, level);
		ZSTD_CCtx_setParameter(memory->squeezer, ZSTD_c_contentSizeFlag, 0);
	}
	bytes = ZSTD_compress2(memory->squeezer, to, room, from, length);
	return ZSTD_isError(bytes) ? 0 : bytes;
}

static int codec_zstd_expand(struct nopal_session *session, struct nopal__codec_memory *memory,
			     const uint8_t *from, size_t length, uint8_t *to, size_t exactly)
{
	if (!memory->expander)
		memory->expander = ZSTD_createDCtx_advanced(codec_zstd_memory(session));
	if (!memory->expander)
		return -ENOMEM;
	return ZSTD_decompressDCtx(memory->expander, to, exactly, from, length) == exactly
		       ? 0
		       : -EINVAL;
}

static void codec_zstd_idle(struct nopal_session *session, struct nopal__codec_memory *memory)
{
	(void)session;
	ZSTD_freeCCtx(memory->squeezer);
	ZSTD_freeDCtx(memory->expander);
	*memory = (struct nopal__codec_memory){ 0 };
}

const struct nopal__codec nopal__codec_zstd = {
	.built = true,
	.max_level = CODEC_ZSTD_MAX_LEVEL,
	.max_expansion = CODEC_ZSTD_MAX_EXPANSION,
	.squeeze = codec_zstd_squeeze,
	.expand = codec_zstd_expand,
	.idle = codec_zstd_idle,
};
