#!/bin/sh
# Receiving onto a filesystem that does not tell upper from lower case (vfat): of two names that are one there, the first stays whole and the other is
# reported. `ok NAME` or `not ok NAME` for each. Runs in the guest only. Needs transfer.sh and the image of a vfat beside it, and ringway.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /tmp/ringway-folding-XXXXXX)
cd "$work" || exit 1
port=47300
. "$here/transfer.sh"

# folded NAME: a vfat of its own where NAME is received.
folded() {
  mkdir -p "$1/inbox"
  cp "$here/vfat" "$1/image" && mount -t vfat -o loop,quiet,utf8 "$1/image" "$1/inbox"
  verdict "$1: a vfat is mounted" $?
}

# crossing NAME: of File and file one arrives, of Folder and folder all; what else is sent is there.
crossing() {
  start_receiver "$1"
  cross "$1" tree "127.0.0.1:$port"
  [ "$sent" -eq 3 ] && [ "$received" -eq 3 ]
  verdict "$1: both ends say that it is not all" $?
  [ "$(grep -c '"entry_failed".*tree/[Ff]ile"' "$1/recv.json")" -eq 1 ]
  verdict "$1: one of the two names is reported" $?
  at=$1/inbox/tree
  [ "$(cat "$at"/File)" = "$(ls "$at" | grep -i '^file$')" ] && [ "$(cat "$at/Folder/a" "$at/Folder/b")" = "a
b" ] && [ "$(cat "$at/other")" = other ]
  verdict "$1: what is there is whole" $?
  [ "$failed" -eq 0 ] || tell_about "$1"
}

# Each of the two holds its own name.
mkdir -p tree/Folder tree/folder
for name in File file other; do echo "$name" > "tree/$name"; done
echo a > tree/Folder/a
echo b > tree/folder/b

folded fresh
crossing fresh
folded merged
mkdir merged/inbox/tree
crossing merged
folded there
mkdir there/inbox/tree
echo older > there/inbox/tree/FILE
start_receiver there
cross there tree "127.0.0.1:$port"
[ "$sent" -eq 3 ] && [ "$(cat there/inbox/tree/FILE)" = older ]
verdict "there: a file of another name is not replaced" $?

cd /
umount "$work"/*/inbox
rm -rf "$work"
exit "$failed"
