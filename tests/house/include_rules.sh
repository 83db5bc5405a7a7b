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

# A microprotocol sees the author's pages and headers of the microprotocols' own.
includes microprotocols | while IFS=: read -r file line text; do
	case $text in
	*'<nopal/microprotocol.h>'* | *'<std'* | *'<string.h>'* | *'<limits.h>'* | \
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
done | refuse "a microprotocol includes <nopal/microprotocol.h> only"

# Rooms of the tools, the lowest first: main.c stands above them all.
tools_rooms=$(sed -n "s/^  '\([a-z]*\)': \[\$/\1/p" tools/meson.build)
[ "$(echo $tools_rooms | tr ' ' '\n' | sort)" = "$(cd tools && ls -d */ | tr -d / | sort)" ] ||
	echo "tools/meson.build:" $tools_rooms | refuse "every folder of tools/ is a room of the list"

# A room's README.md has a line for each of its files.
for file in tools/*/*.c; do
	grep -q "^- \`${file##*/}\`: " "${file%/*}/README.md" || echo "$file"
done | refuse "README.md of the room has no line for this file"

# lower ROOM: the room itself and all rooms below it.
lower() {
	echo $tools_rooms | sed "s/\(\b$1\b\).*/\1/"
}

includes tools | { grep -E '"|<nopal/' || true; } | while IFS=: read -r file line text; do
	case $text in
	*'<nopal/nopal.h>'* | *'<nopal/microprotocol.h>'* | *'<nopal/events.def>'*) continue ;;
	esac
	name=$(echo "$text" | cut -d'"' -f2)
	room=${file#tools/}
	case " $(lower "${room%%/*}") " in
	*" ${name%%/*} "*) [ -f "tools/$name" ] || echo "$file:$line:$text" ;;
	*) echo "$file:$line:$text" ;;
	esac
done | refuse "a tool includes the public pages, its own room and rooms below it"

includes runtime | { grep '"' || true; } | { grep -v '^runtime/nopal/' || true; } |
	while IFS=: read -r file line text; do
	name=$(echo "$text" | cut -d'"' -f2)
	[ -f "runtime/$name" ] || echo "$file:$line:$text"
done | refuse "a header is included by its room: \"ROOM/NAME.h\""

includes runtime | { grep '<event2/' || true; } |
	{ grep -v -E '^runtime/io/(live|blocking)/' || true; } |
	refuse "libevent belongs to the live world"

includes runtime |
	{ grep -E '<(sys/socket|netinet/|arpa/|netdb|sys/time|time|poll)[./a-z]*' ||
		true; } |
	{ grep -v -E '^runtime/(io/(live|blocking)/|base/address_text\.c:.*<arpa/)' || true; } |
	refuse "sockets and clocks belong to the live world"

includes runtime/io | { grep -E '^runtime/io/(sim|emulator)/' || true; } |
	{ grep -E '<(event2|sys/|netinet|pthread|time)' || true; } |
	refuse "the simulated world has neither clock nor socket"

# Public headers stand alone.
includes runtime/nopal | { grep '"' || true; } | while IFS=: read -r file line text; do
	[ -f "runtime/nopal/$(echo "$text" | cut -d'"' -f2)" ] || echo "$file:$line:$text"
done | refuse "a public header includes no private one"

cat "$faults"
[ ! -s "$faults" ]
