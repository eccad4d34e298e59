#!/bin/sh
# Measures how long single questions about a share take over a link, alone, while a file is got from
# the same device, and in the session in which that is got, where the clock counts instructions.
# Prints a line `figure WHEN WHAT COUNT P50 P99 LONGEST` in microseconds for each, `figure WHEN get
# MICROSECONDS`, and `fault ...` for failures.
# Runs in the guest only. Needs far.sh beside it and what that needs, asks.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
set -u
. /payload/amounts
work=/tmp/asks
mkdir -p "$work"
cd "$work" || exit 1
. /payload/far.sh

# asked WHEN COUNT [WHAT FOLDER]: with what is got meanwhile, in its session.
asked() {
  as near asks "$far:47398:source/file" "${@:2}" > asked.out 2> asked.err || fault "$1: $(tail -n 1 asked.err)"
  while read -r figures; do echo figure "$1" $figures; done < asked.out
}

# The file that is read is another one than that which is got.
/bin/head -c 67108864 /dev/urandom > source/file
mkdir source/bulk
/bin/head -c "$bulk_bytes" /dev/urandom > source/bulk/file
long
asked alone "$count"
started=${EPOCHREALTIME/./}
as near ringway get "$far:47398:source/bulk" inbox --json > get.out 2>&1 &
getter=$!
# It adds lanes until the link is full.
sleep 3
asked beside "$count"
kill -0 "$getter" 2> /dev/null || fault "the transfer ended before the questions: $(tail -n 1 get.out)"
wait "$getter" || fault "get: $(tail -n 1 get.out)"
echo "figure beside get $((${EPOCHREALTIME/./} - started))"
rm -r inbox/bulk
asked same "$count" "$far:47398:source/bulk" inbox
exit "$failed"
