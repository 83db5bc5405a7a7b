/* SPDX-License-Identifier: MIT */
/* main.c -- the main() of test programs that have none: the linker takes this file then. */
#include "support/test.h"

int main(void)
{
	return tests_run();
}
