# SPDX-License-Identifier: MIT
# reference.awk -- a public page as doxygen wants it: plain comments become documentation.
#
#   the head comment               text of the page, without its name
#   /* ---- words */               nothing: a section of the page
#   a comment on lines of its own  text of the declaration behind it, and of those that follow
#                                  without a comment of their own or a blank line
#   a comment behind a member      text of that member
#   COUNTER(name, "words")         a member of struct nopal_counters
function escaped(text) {
	gsub(/ ::/, " \\::", text)
	gsub(/</, "\\<", text)
	sub(/^\t* \* \./, " * \\.", text) # which would end a list
	return text
}
FNR == 1 { next } # the licence
FNR == 2 && $0 == "/*" {
	part = "name"
	next
}
part == "name" {
	sub(/^ \* [a-z_]*\.h -- /, "/** @file\n * ")
	part = "head"
}
part == "head" {
	if ($0 == " */")
		part = "code"
	else
		sub(/^ \*  /, " *      ") # a drawing
	print escaped($0)
	next
}
/^\/\* -----* .* \*\/$/ { next }

/COUNTER\([a-z_]+, "/ {
	split($0, word, /[("]|, "/)
	members = members "\tuint64_t " word[2] "; /**< " word[3] " */\n"
}
/^#(define|undef) NOPAL_COUNTER_FIELD/ { next }
/^\tNOPAL_COUNTERS\(/ {
	printf "%s", members
	next
}

/^\t*\/\* / && !comment_open {
	sub(/\/\*/, "/**")
	comment = ""
	comment_open = 1
}
comment_open {
	$0 = escaped($0)
	comment = comment $0 "\n"
	comment_open = !/\*\//
	used = 0
	print
	next
}
/^[a-z]/ {
	if (used && /[ *]nopal_[a-z_0-9]+\(/ && !/\/\*/)
		printf "%s", comment
	used = comment != ""
}
/^$/ || /^#/ {
	comment = ""
	used = 0
}
match($0, /\/\* /) {
	print substr($0, 1, RSTART - 1) "/**< " escaped(substr($0, RSTART + 3))
	next
}
{ print }
