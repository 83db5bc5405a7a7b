/* SPDX-License-Identifier: MIT */
/*
 * nonces.h -- the law that holds in every simulated world of every test: no key seals with a nonce
 * twice.
 *
 * The linker puts it between aead and its cryptography (--wrap, tests/meson.build):
 * nobody has to ask for it, and a nonce that comes again fails the test.  A new world forgets what
 * was sealed before, as the same seed makes the same keys again; what is sealed by hand before
 * there is any world, as the vectors of a standard, is not noted.  Fused units seal for themselves,
 * and do what the interpreter does.
 */
#ifndef NOPAL_TEST_NONCES_H
#define NOPAL_TEST_NONCES_H

#include <stdbool.h>
#include <stdint.h>

/* Of this process, in all worlds. */
uint64_t nonces_sealed(void);
uint64_t nonces_repeated(void);
/* Only counts them, where a test makes one come again. */
void nonces_tolerate(bool tolerate);

#endif
