# SPDX-License-Identifier: MIT
# extract.awk -- one file out of a page: the fenced block behind
# <!-- file: NAME -->.   usage: awk -v name=NAME -f extract.awk PAGE.md
$0 == "<!-- file: " name " -->" {
	wanted = 1
	next
}
/^```/ && wanted {
	if (inside)
		exit
	inside = 1
	next
}
inside
