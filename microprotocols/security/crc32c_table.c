/* SPDX-License-Identifier: MIT */
/*
 * crc32c_table.c -- CRC-32C without ISA-L: eight bytes a step by eight tables (Kounavis and Berry,
 * A Systematic Approach to Building High Performance Software-based CRC Generators, 2005).
 *
 * A CRC without its inversions is linear: the entry of a byte is the sum of the entries of its
 * bits, so that a table is given by eight numbers.  The i-th is what is left of a byte with bit i
 * set, and s zero bytes behind it in table s, after division by the reflected polynomial
 * 0x82f63b78.
 */
#include "crc32c.h"

#define BIT0(x, a)		     (x), ((x) ^ (a))
#define BIT1(x, a, b)		     BIT0(x, a), BIT0((x) ^ (b), a)
#define BIT2(x, a, b, c)	     BIT1(x, a, b), BIT1((x) ^ (c), a, b)
#define BIT3(x, a, b, c, d)	     BIT2(x, a, b, c), BIT2((x) ^ (d), a, b, c)
#define BIT4(x, a, b, c, d, e)	     BIT3(x, a, b, c, d), BIT3((x) ^ (e), a, b, c, d)
#define BIT5(x, a, b, c, d, e, f)    BIT4(x, a, b, c, d, e), BIT4((x) ^ (f), a, b, c, d, e)
#define BIT6(x, a, b, c, d, e, f, g) BIT5(x, a, b, c, d, e, f), BIT5((x) ^ (g), a, b, c, d, e, f)
#define TABLE(a, b, c, d, e, f, g, h)                                                              \
	{                                                                                          \
		BIT6(0u, a, b, c, d, e, f, g), BIT6(h, a, b, c, d, e, f, g)                        \
	}

enum { CRC32C_STEP = 8, CRC32C_BYTE_VALUES = 256 };

static const uint32_t crc32c_table[CRC32C_STEP][CRC32C_BYTE_VALUES] = {
	TABLE(0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf, 0x105ec76f, 0x20bd8ede, 0x417b1dbc,
	      0x82f63b78),
	TABLE(0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8, 0x3fc5f181, 0x7f8be302, 0xff17c604,
	      0xfbc3faf9),
	TABLE(0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5, 0x70a27d8a, 0xe144fb14, 0xc76580d9,
	      0x8b277743),
	TABLE(0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6, 0xe964b13d, 0xd725148b, 0xaba65fe7,
	      0x52a0c93f),
	TABLE(0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91, 0x8f2261d3, 0x1ba8b557, 0x37516aae,
	      0x6ea2d55c),
	TABLE(0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f, 0xc00c303e, 0x85f4168d, 0x0e045beb,
	      0x1c08b7d6),
	TABLE(0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53, 0x9c5bfaa6, 0x3d5b83bd, 0x7ab7077a,
	      0xf56e0ef4),
	TABLE(0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da, 0x847609b4, 0x0d006599, 0x1a00cb32,
	      0x34019664),
};

/* The first byte of a step is followed by seven others: it is looked up in the last table. */
uint32_t nopal__crc32c(const uint8_t *bytes, size_t length)
{
	uint32_t crc = UINT32_MAX;

	for (; length >= CRC32C_STEP; length -= CRC32C_STEP) {
		uint32_t sum = 0;

		for (unsigned i = 0; i < CRC32C_STEP; i++) {
			uint32_t byte = *bytes++;

			if (i < sizeof(crc))
				byte ^= crc >> (8 * i) & UINT8_MAX;
			sum ^= crc32c_table[CRC32C_STEP - 1 - i][byte];
		}
		crc = sum;
	}
	for (; length; length--)
		crc = crc >> 8 ^ crc32c_table[0][(crc ^ *bytes++) & UINT8_MAX];
	return ~crc;
}
