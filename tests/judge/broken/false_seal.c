/* SPDX-License-Identifier: MIT */
/* false_seal -- calls damaged datagrams good. */
#include <nopal/microprotocol.h>

static void false_seal_close(struct nopal_at at, uint8_t *bytes, size_t length)
{
	(void)at;
	bytes[length] = 0;
}

static bool false_seal_open(struct nopal_at at, uint8_t *bytes, size_t length)
{
	(void)at;
	if (length > 900)
		bytes[length - 1] ^= 1;
	return true;
}

const struct nopal_microprotocol nopal_false_seal = {
	.abi = NOPAL_ABI,
	.name = "false_seal",
	.family = "broken",
	.summary = "calls damaged datagrams good",
	.provides = (const struct nopal_role[]){ { "seal", true }, { 0 } },
	.promises = NOPAL_PROMISES({ NOPAL_INTEGRITY, NOPAL_SEAL_STAGE, NOPAL_GIVES,
				     NOPAL_ACCIDENTS, .because = "it says so" }),
	.seal = &(const struct nopal_seal){ 1, false_seal_close, false_seal_open },
};
