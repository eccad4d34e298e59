#!/bin/sh
# Receiving and copying onto a filesystem that does not tell upper from lower case (vfat, a folder of an ext4 with the casefold flag): of two names that are one there, the first stays whole and the other is
# reported. `ok NAME` or `not ok NAME` for each. Runs in the guest only. Needs transfer.sh and the images of a vfat and an ext4 beside it, and ringway.
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

# crossing NAME: of File and file one arrives, of Folder and folder one with all that is in it; what else is sent is there.
crossing() {
  start_receiver "$1"
  cross "$1" tree "127.0.0.1:$port"
  [ "$sent" -eq 3 ] && [ "$received" -eq 3 ]
  verdict "$1: both ends say that it is not all" $?
  [ "$(grep -c '"entry_failed".*tree/[Ff]ile"' "$1/recv.json")" -eq 1 ]
  verdict "$1: one of the two names is reported" $?
  [ "$(grep -c '"entry_failed".*tree/[Ff]older"' "$1/recv.json")" -eq 1 ]
  verdict "$1: one of the two folders is reported" $?
  at=$1/inbox/tree
  folder=$(ls "$at" | grep -i '^folder$')
  [ "$(cat "$at"/File)" = "$(ls "$at" | grep -i '^file$')" ] && [ "$(cat "$at/Folder"/*)" = "$folder" ] &&
    [ "$(cat "$at/other")" = other ]
  verdict "$1: what is there is whole" $?
  [ "$failed" -eq 0 ] || tell_about "$1"
}

# Each of the two holds its own name.
mkdir -p tree/Folder tree/folder
for name in File file other; do echo "$name" > "tree/$name"; done
echo Folder > tree/Folder/name
echo folder > tree/folder/name

folded fresh
crossing fresh
folded merged
mkdir merged/inbox/tree
crossing merged
# A vfat inside a destination that is another filesystem.
mkdir -p inside/inbox/tree
cp "$here/vfat" inside/image && mount -t vfat -o loop,quiet,utf8 inside/image inside/inbox/tree
verdict "inside: a vfat is mounted" $?
crossing inside
# A folder with the casefold flag inside a destination on an ext4 that tells names apart elsewhere.
mkdir -p flagged/inbox
cp "$here/ext4" flagged/image && mount -t ext4 -o loop flagged/image flagged/inbox && [ -d flagged/inbox/tree ]
verdict "flagged: an ext4 is mounted" $?
crossing flagged
folded there
mkdir there/inbox/tree
echo older > there/inbox/tree/FILE
start_receiver there
cross there tree "127.0.0.1:$port"
[ "$sent" -eq 3 ] && [ "$(cat there/inbox/tree/FILE)" = older ]
verdict "there: a file of another name is not replaced" $?

# copied NAME OPTIONS: the same by `ringway copy`.
copied() {
  name=$1
  shift
  ringway copy "$@" tree "$name/inbox/" > "$name/copy.out" 2>&1
  [ $? -eq 3 ]
  verdict "$name: a copy says that it is not all" $?
  at=$name/inbox/tree
  folder=$(ls "$at" | grep -i '^folder$')
  [ "$(cat "$at"/File)" = "$(ls "$at" | grep -i '^file$')" ] && [ "$(cat "$at/Folder"/*)" = "$folder" ] &&
    [ "$(cat "$at/other")" = other ] && [ "$(ls "$at" | wc -l)" -eq 3 ]
  verdict "$name: no copy is written over another one" $?
  [ "$failed" -eq 0 ] || { cat "$name/copy.out"; ls -lR "$at"; }
}

folded plain
copied plain
folded atomic
copied atomic --atomic
folded verified
copied verified --verify
folded twice
copied twice
copied twice
mkdir -p flagged-copy/inbox
cp "$here/ext4" flagged-copy/image && mount -t ext4 -o loop flagged-copy/image flagged-copy/inbox
copied flagged-copy
# What was there before, under another spelling, is written over as cp does it.
folded before
mkdir before/inbox/one
echo older > before/inbox/one/FILE
mkdir one
echo file > one/file
ringway copy one before/inbox/ > before/copy.out 2>&1 && [ "$(cat before/inbox/one/FILE)" = file ] && [ "$(ls before/inbox/one | wc -l)" -eq 1 ]
verdict "before: a file that was there under another spelling is written over" $?

cd /
umount "$work"/*/inbox/tree "$work"/*/inbox 2> /dev/null
rm -rf "$work"
exit "$failed"
