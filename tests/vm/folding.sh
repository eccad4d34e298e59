#!/bin/sh
# Receiving and copying onto a filesystem that ignores case (vfat, exfat, a folder of an ext4 with
# the casefold flag). Of two names that are the same there, the first stays complete and the other
# is reported; a name that such a filesystem would change is reported, too. Prints `ok NAME` or `not
# ok NAME` for each. Runs in the guest only. Needs beside it transfer.sh, ringway, and the images of
# a vfat, an exfat and an ext4.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /tmp/ringway-folding-XXXXXX)
cd "$work" || exit 1
port=47300
. "$here/transfer.sh"

# folded NAME: a vfat of its own, which NAME is received into.
folded() {
  mkdir -p "$1/inbox"
  cp "$here/vfat" "$1/image" && mount -t vfat -o loop,quiet,utf8 "$1/image" "$1/inbox"
  verdict "$1: a vfat is mounted" $?
}

# crossing NAME: either File or file arrives, and either Folder or folder with everything in it; all
# other entries arrive.
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
# A vfat inside a destination on another filesystem.
mkdir -p inside/inbox/tree
cp "$here/vfat" inside/image && mount -t vfat -o loop,quiet,utf8 inside/image inside/inbox/tree
verdict "inside: a vfat is mounted" $?
crossing inside
# A folder with the casefold flag inside a destination on an ext4 that is case-sensitive elsewhere.
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

# copied NAME OPTIONS: the same with `ringway copy`.
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
# A file that existed before under another spelling is written over, as by cp.
folded before
mkdir before/inbox/one
echo older > before/inbox/one/FILE
mkdir one
echo file > one/file
ringway copy one before/inbox/ > before/copy.out 2>&1 && [ "$(cat before/inbox/one/FILE)" = file ] && [ "$(ls before/inbox/one | wc -l)" -eq 1 ]
verdict "before: a file that was there under another spelling is written over" $?

# Names that end in a dot, which vfat and exfat drop, and names that they refuse. Each file holds
# its own name.
mkdir -p loose/dotted. loose/dotted loose/fine
for name in x x. x... y. 'end ' 'a:b' other; do printf %s "$name" > "loose/$name"; done
echo below > loose/dotted./below
echo kept > loose/dotted/kept
ln -s x loose/link.
ln loose/other loose/other.

# mounted NAME KIND FOLDER: mounts that image on NAME/FOLDER.
mounted() {
  mkdir -p "$1/$3"
  options=loop
  [ "$2" = vfat ] && options=loop,quiet,utf8
  cp "$here/$2" "$1/image" && mount -t "$2" -o "$options" "$1/image" "$1/$3"
  verdict "$1: the $2 is mounted" $?
}

# held AT FILE: each file there has its own name and contents, and FILE lists every missing name as
# a failure.
held() {
  (
    cd "$1" || exit 1
    for entry in *; do
      case $entry in
        dotted) [ "$(ls dotted)" = kept ] || exit 1 ;;
        fine | link) ;;
        *) [ "$(cat "$entry")" = "$entry" ] || exit 1 ;;
      esac
    done
    [ -f x ] && [ -d dotted ] && [ -d fine ] && [ ! -e y ] && [ ! -e link ]
  ) || return 1
  # One object a line, with fields in any order.
  grep -o '{[^{}]*}' "$2" > "$2.objects"
  for entry in 'x.' 'x...' 'y.' 'dotted.' 'link.' 'other.'; do
    grep -F "/$entry\"" "$2.objects" | grep -q '"name_not_kept"' || { echo "no failure of $entry"; return 1; }
  done
  # Each is there under its own name, or reported. A hard link is reported if its file was found
  # under the name that cannot be held.
  for entry in 'end ' 'a:b' other; do
    [ -e "$1/$entry" ] || grep -qF "/$entry\"" "$2.objects" || { echo "nothing of $entry"; return 1; }
  done
  ls "$1" | sed 's/$/|/'
  [ -z "$(find "$1/.." -name '.ringway*')" ]
}

for kind in vfat exfat; do
  for way in fresh merged inside; do
    name=loose-$kind-$way
    case $way in
      inside) mounted "$name" "$kind" inbox/loose ;;
      *) mounted "$name" "$kind" inbox ;;
    esac
    [ "$way" = fresh ] || mkdir -p "$name/inbox/loose"
    start_receiver "$name"
    cross "$name" loose "127.0.0.1:$port"
    [ "$sent" -eq 3 ] && [ "$received" -eq 3 ]
    verdict "$name: both ends say that it is not all" $?
    held "$name/inbox/loose" "$name/recv.json"
    verdict "$name: no name becomes another one" $?
    [ "$failed" -eq 0 ] || { tell_about "$name"; ls -lR "$name/inbox"; }
  done
done

# The owner's files stay, under any policy: the sender has only the other spelling.
mkdir -p alone/folder. 
for name in x. y...; do echo theirs > "alone/$name"; done
echo theirs > alone/folder./z
ln -s theirs alone/l.
echo theirs > top.
for kind in vfat exfat; do
  for policy in replace keep rename update; do
    name=owned-$kind-$policy
    mounted "$name" "$kind" inbox
    mkdir -p "$name/inbox/alone/folder"
    for rel in top alone/x alone/y alone/l alone/folder/z; do echo mine > "$name/inbox/$rel"; done
    (cd "$name/inbox" && find . -type f | sort) > "$name/before"
    start_receiver "$name" --on-conflict "$policy"
    as "$name/near" ringway send alone top. "127.0.0.1:$port" --json --code-file code > "$name/send.json" 2> "$name/send.err"
    sent=$?
    wait "$receiver"
    [ "$sent" -eq 3 ] && [ "$(grep -c '"name_not_kept"' "$name/recv.json")" -ge 5 ]
    verdict "$name: both ends name what cannot be held" $?
    (cd "$name/inbox" && find . -type f | sort) | diff "$name/before" - && ! grep -r theirs "$name/inbox"
    verdict "$name: what the owner has stays" $?
    [ "$failed" -eq 0 ] || { tell_about "$name"; find "$name/inbox"; }
  done
  for option in --reflink=auto --atomic --verify; do
    name=loose-copy-$kind$option
    mounted "$name" "$kind" inbox
    mkdir "$name/inbox/alone"
    echo mine > "$name/inbox/alone/x"
    ringway copy --json "$option" loose alone "$name/inbox/" > "$name/copy.json" 2>&1
    [ $? -eq 3 ] && [ "$(cat "$name/inbox/alone/x")" = mine ] && held "$name/inbox/loose" "$name/copy.json"
    verdict "$name: no name becomes another one" $?
    [ "$failed" -eq 0 ] || { tail -n 40 "$name/copy.json"; ls -lR "$name/inbox"; }
  done
done

# A file with several names, on a filesystem without hard links.
mkdir pair
echo both > pair/one
ln pair/one pair/two
for kind in vfat exfat; do
  for way in fresh merged; do
    name=pair-$kind-$way
    mounted "$name" "$kind" inbox
    [ "$way" = fresh ] || mkdir "$name/inbox/pair"
    start_receiver "$name"
    cross "$name" pair "127.0.0.1:$port"
    [ "$sent" -eq 0 ] && [ "$(cat "$name/inbox/pair/one" "$name/inbox/pair/two")" = "both
both" ]
    verdict "$name: each name of a file has its contents" $?
    [ "$failed" -eq 0 ] || tell_about "$name"
  done
done

# A vfat that shows short names in capital letters in lower case.
mkdir -p capital/SUB
for name in FILE Mixed; do echo capital > "capital/$name"; done
echo below > capital/SUB/below
mkdir -p lowered/inbox
cp "$here/vfat" lowered/image && mount -t vfat -o loop,quiet,utf8,shortname=lower lowered/image lowered/inbox &&
  mkdir -p lowered/inbox/capital/sub && echo mine > lowered/inbox/capital/file
start_receiver lowered
cross lowered capital "127.0.0.1:$port"
[ "$sent" -eq 3 ] && [ "$(grep -c '"name_not_kept"' lowered/recv.json)" -ge 2 ] &&
  [ "$(cat lowered/inbox/capital/file)" = mine ] && [ "$(cat lowered/inbox/capital/Mixed)" = capital ] &&
  [ -z "$(ls lowered/inbox/capital/sub)" ]
verdict "lowered: a name whose letters would be changed is named" $?
[ "$failed" -eq 0 ] || { tell_about lowered; ls -lR lowered/inbox; }

cd /
umount "$work"/*/inbox/tree "$work"/*/inbox/loose "$work"/*/inbox 2> /dev/null
rm -rf "$work"
exit "$failed"
