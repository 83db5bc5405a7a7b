# SPDX-License-Identifier: MIT
# page.awk -- the head comment of a microprotocol as the first part of its manual page; page.sh
# adds the other one.
# usage: awk -f page.awk microprotocols/FAMILY/NAME.c
function fence(wanted)
{
	if (wanted != fenced)
		print "```"
	fenced = wanted
}
/^\/\*$/ && !inside {
	inside = 1
	next
}
inside && /\*\// {
	exit
}
!inside {
	next
}
{
	sub(/^ \* ?/, "")
}
!titled && / -- / {
	titled = 1
	split($0, part, " -- ")
	printf "# %s\n\n%s\n", part[1], part[2]
	next
}
/^[A-Z][a-z]+: / {
	fence(0)
	heading = $0
	sub(/:.*/, "", heading)
	sub(/^[A-Za-z]+: */, "")
	printf "\n**%s:** %s\n", heading, $0
	next
}
/^$/ {
	heading = ""
	print
	next
}
# drawings and formulas are indented
!heading {
	fence(/^  /)
}
{
	sub(heading ? "^ +" : "^  ", "")
	print
}
END {
	fence(0)
}
