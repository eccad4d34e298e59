#!/bin/sh
# The packaged commands with kernel TLS, sending to each other in both directions: that of the
# package, which uses this system's libraries, and that for servers, which uses none. Prints `ok
# NAME` or `not ok NAME` for each. Runs in the guest, and directly on a machine whose own kernel has
# TLS. Needs beside it transfer.sh and tls.sh, ringway-shared, ringway-static, rsync.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /tmp/ringway-packaged-XXXXXX)
cd "$work" || exit 1
port=47400
. "$here/transfer.sh"
. "$here/tls.sh"

mkdir -p tree/below
for file in $(seq 100); do echo "content $file" > "tree/below/$file"; done
head -c 10000000 /dev/urandom > tree/large

for near in shared static; do
  far=static
  [ "$near" = shared ] || far=shared
  near_ringway=ringway-$near far_ringway=ringway-$far
  crossing kernel kernel "$near-to-$far-" --lanes 1
  one_key=$grown
  # 4 MB under each key, the least that is possible.
  crossing kernel kernel "renewed-$near-to-$far-" --lanes 1 --records-per-key 256
  [ "$one_key" -gt 0 ] && [ "$grown" -ge $((2 * one_key)) ]
  verdict "$near-to-$far: the kernel encrypted, and took new keys on the way" $?
done

cd /
rm -rf "$work"
exit "$failed"
