#!/bin/sh
# SPDX-License-Identifier: MIT
# include_rules SOURCE -- who may include whom (docs/architecture.md, rooms).
set -eu
cd "$1"
faults=$(mktemp)
trap 'rm -f "$faults"' EXIT

# refuse WHY: reads lines "file:line:#include ..."; each is a fault.
refuse() {
	sed "s|\$|   <- $1|" >>"$faults"
}

includes() { # FOLDER: all includes of its C files, as file:line:text
	find "$1" -name '*.[ch]' -exec grep -Hn '^ *# *include' {} +
}

# A microprotocol sees the author's header and headers of its own family.
includes microprotocols | while IFS=: read -r file line text; do
	case $text in
	*'"microprotocol.h"'* | *'<std'* | *'<string.h>'* | *'<limits.h>'* | \
		*'<assert.h>'* | *'<errno.h>'* | *'<inttypes.h>'*) ;;
	*'<isa-l'*)
		case $file in *_isal.c) ;; *) echo "$file:$line:$text" ;; esac ;;
	*'<openssl/'*)
		case $file in *_openssl.c) ;; *) echo "$file:$line:$text" ;; esac ;;
	*'<lz4'*) case $file in *_lz4.c) ;; *) echo "$file:$line:$text" ;; esac ;;
	*'<zstd'*) case $file in *_zstd.c) ;; *) echo "$file:$line:$text" ;; esac ;;
	*\"*\"*)
		name=$(echo "$text" | cut -d'"' -f2)
		[ -f "$(dirname "$file")/$name" ] || echo "$file:$line:$text" ;;
	*) echo "$file:$line:$text" ;;
	esac
done | refuse "a microprotocol includes microprotocol.h only"

includes tools | { grep '"' || true; } | while IFS=: read -r file line text; do
	name=$(echo "$text" | cut -d'"' -f2)
	case $name in
	nopal.h | microprotocol.h | events.def) ;;
	*) [ -f "tools/$name" ] || echo "$file:$line:$text" ;;
	esac
done | refuse "tools use the public headers only"

includes runtime | { grep '"' || true; } | while IFS=: read -r file line text; do
	name=$(echo "$text" | cut -d'"' -f2)
	[ -f "$(dirname "$file")/$name" ] || [ -f "runtime/$name" ] ||
		[ -f "runtime/io/$name" ] || echo "$file:$line:$text"
done | refuse "the runtime knows no protocol"

includes runtime | { grep '<event2/' || true; } |
	{ grep -v '^runtime/io/live.*\.[ch]:' | grep -v '^runtime/io/blocking\.c:' ||
		true; } |
	refuse "libevent belongs to the live world"

includes runtime |
	{ grep -E '<(sys/socket|netinet/|arpa/|netdb|sys/time|time|poll)[./a-z]*' ||
		true; } |
	{ grep -v -E '^runtime/io/(live.*|blocking)\.[ch]:' || true; } |
	refuse "sockets and clocks belong to the live world"

includes runtime/io | { grep -E '^runtime/io/(sim|link)' || true; } |
	{ grep -E '<(event2|sys/|netinet|pthread|time)' || true; } |
	refuse "the simulated world has neither clock nor socket"

# Public headers stand alone: the pages that runtime/meson.build installs.
pages=$(sed -n '/_pages = files(/,/)/p' runtime/meson.build | grep -o "[a-z_]*\.[a-z]*'" |
	tr -d "'")
[ -n "$pages" ] || echo "runtime/meson.build:1:no pages" >>"$faults"
for page in $pages; do
	grep -n '^#include "' "runtime/$page" | while IFS=: read -r line text; do
		echo "$pages" | grep -qx "$(echo "$text" | cut -d'"' -f2)" ||
			echo "runtime/$page:$line:$text"
	done
done | refuse "a public header includes no private one"

cat "$faults"
[ ! -s "$faults" ]
