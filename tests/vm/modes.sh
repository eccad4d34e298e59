#!/bin/sh
# `ringway bench modes` with kernel TLS, on few and small files. Prints the rows as JSON lines, then
# `left N` for the files that it has not removed. Runs in the guest, where the clock counts
# instructions, and directly on a machine whose own kernel has TLS. Needs ringway.
set -u
work=$(mktemp -d /tmp/ringway-modes-XXXXXX)
clock=
[ "${1:-}" = guest ] && clock=--instruction-clock
ringway bench modes --json --at "$work" --small 40 --medium 4 --huge 1M --rounds 1 --lanes 1,2 $clock
status=$?
echo "left $(find "$work" -mindepth 1 | wc -l)"
rm -rf "$work"
exit "$status"
