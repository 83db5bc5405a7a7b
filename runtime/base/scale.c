/* SPDX-License-Identifier: MIT */
/*
 * scale.c -- a * b / c without overflow in between.
 *
 * Rates, windows and times are scaled by each other all over the tree; decisions use no floating
 * point, so that they are the same on every machine.
 */
#include <nopal/microprotocol.h>

__extension__ typedef unsigned __int128 scale_wide;

uint64_t nopal_scale(uint64_t a, uint64_t b, uint64_t c)
{
	scale_wide product = (scale_wide)a * b;

	if (product >> 64 == 0)
		return c ? (uint64_t)product / c : UINT64_MAX;
	if (product >> 64 >= c)
		return UINT64_MAX;
	return (uint64_t)(product / c);
}
