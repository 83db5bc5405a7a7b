# SPDX-License-Identifier: MIT
# nobody.sh -- not run, but read by tests of what the program says without root, after
# `$nopal` and `$folder` are set.  Root may have built below a folder that nobody else
# may enter, so the user without rights runs a copy of the program, its library and the
# configs.
nobody_copy() {
	[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || return 1
	chmod 755 "$folder" && mkdir -p "$folder/nobody" &&
		cp "$nopal" "$folder/nobody/nopal" &&
		cp "$(dirname "$nopal")"/../libnopal.so.? "$folder/nobody" &&
		cp -r "${NOPAL_CONFIGS:-configs}" "$folder/nobody/configs" &&
		as_nobody --version >/dev/null
}
as_nobody() {
	NOPAL_CONFIGS=$folder/nobody/configs LD_LIBRARY_PATH=$folder/nobody \
		timeout 10 setpriv --reuid 65534 --regid 65534 --clear-groups \
		--inh-caps=-all "$folder/nobody/nopal" "$@"
}
