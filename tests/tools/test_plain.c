/* SPDX-License-Identifier: MIT */
/* test_plain -- texts of strangers that command terminals, or are no UTF-8. */
#include <string.h>

#include "lab/plain.c"

#include "support/test.h"

static void expect_plain(const char *from, const char *expected)
{
	char text[64];

	strcpy(text, from);
	plain_text(text);
	assert_string_equal(text, expected);
}

TEST(test_words_stay)
{
	expect_plain("", "");
	expect_plain("a line\n\tand another", "a line\n\tand another");
	expect_plain("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x8c\xb5",
		     "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x8c\xb5");
}

TEST(test_control_characters_go)
{
	expect_plain("\x1b[2J\r\x07", "?[2J??");
	expect_plain("\x7f", "?");
	expect_plain("\xc2\x9b", "??"); /* the other way to begin a command */
}

TEST(test_bytes_that_are_no_characters_go)
{
	expect_plain("\xff\xfe", "??");
	expect_plain("a\xe2\x82", "a??"); /* cut off */
	expect_plain("\xc0\xaf", "??");	  /* longer than it need be */
	expect_plain("\xe0\x80\xaf", "???");
	expect_plain("\xed\xa0\x80", "???");	  /* half of a pair */
	expect_plain("\xf4\x90\x80\x80", "????"); /* beyond the last */
	expect_plain("\x80", "?");
}
