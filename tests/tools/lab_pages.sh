#!/bin/sh
# SPDX-License-Identifier: MIT
# lab_pages.sh TEST_LAB_PAGE -- the pages that the test program makes, in a headless browser
# (browser.py), which notices faults of a page that has them.
set -eu
here=$(dirname "$0")
browser=
for name in chromium-headless-shell chromium chromium-browser; do
	[ -n "$browser" ] || browser=$(command -v $name || true)
done
[ -n "$browser" ] || { echo "no Chromium here"; exit 77; }
command -v python3 >/dev/null || { echo "no Python here"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM

NOPAL_LAB_PAGES=$folder "$1" >"$folder/said" 2>&1 || { cat "$folder/said"; exit 1; }
[ "$(ls "$folder"/*.html | wc -l)" -ge 3 ] || { echo "no pages"; exit 1; }
mkdir "$folder/faulty"
cat >"$folder/faulty/bad.html" <<'PAGE'
<!doctype html><title>a bad page</title>
<p style="color: #bbb; background: #fff">pale</p>
<p style="width: 900px">wide</p>
<img src="http://127.0.0.1:9/picture.png" alt="from elsewhere">
<script>nothing()</script>
PAGE
python3 "$here/browser.py" "$browser" "$folder"/*.html --faulty "$folder/faulty/bad.html" \
	>"$folder/said" || fault=$?
[ "${fault:-0}" != 77 ] || { cat "$folder/said"; exit 77; }
for word in 'pale letters: pale' 'pixels wide' 'asks for http' 'nothing is not'; do
	grep -q "faulty/bad.html, .*$word" "$folder/said" || { echo "not noticed: $word"; fault=1; }
done
[ "${fault:-0}" = 0 ] || cat "$folder/said"
exit "${fault:-0}"
