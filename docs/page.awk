# SPDX-License-Identifier: MIT
# page.awk -- the head comment of a microprotocol as its manual page.
# usage: awk -f page.awk microprotocols/FAMILY/NAME.c >NAME.md
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
	heading = $0
	sub(/:.*/, "", heading)
	sub(/^[A-Za-z]+: */, "")
	printf "\n**%s:** %s\n", heading, $0
	next
}
{
	sub(/^ +/, "")
	print
}
