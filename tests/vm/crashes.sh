#!/bin/sh
# Power cuts under a receiver. A transfer runs once on a disk whose writes dm-log-writes logs. A
# round replays the log up to an instant that its seed draws; any writes since the last flush may be
# missing, as from the disk's own memory. The round then mounts that disk, checks each file and
# repeats the send. Prints `ok NAME` or `not ok NAME` for each check. Runs in the guest only. Needs
# beside it transfer.sh, and `rounds` with lines `KIND MIB EXPIRY OPTIONS SEED...`; and ringway,
# ringway-testtools, dmsetup, rsync, cp, and mkfs of each kind.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /tmp/ringway-crashes-XXXXXX)
cd "$work" || exit 1
port=47400
. "$here/transfer.sh"
# Only dmsetup itself makes device nodes here.
export DM_DISABLE_UDEV=1
# The log is a sparse file.
log_mib=600

# copied FROM TO: a copy whose holes stay. By its path, because the shell's own would fill them.
copied() {
  /bin/cp "$1" "$2"
}

# passes REPAIR...: a repair, until it finds nothing. One pass may leave damage that the next one
# finds; status 1 means that a pass repaired something.
passes() {
  "$@" || "$@" || "$@"
}

# begin NAME FAR INBOX [RECV_OPTION...]: starts a receiver that replaces files, in the background.
begin() {
  port=$((port + 1))
  at=$1 far=$2 inbox=$3
  shift 3
  # That of the round before says that it listens.
  rm -f "$at/recv.json"
  as "$far" ringway recv "$inbox" --listen "127.0.0.1:$port" --yes --once --json --on-conflict replace \
    "$@" > "$at/recv.json" 2> "$at/recv.err" &
  receiver=$!
  while kill -0 "$receiver" 2> /dev/null; do
    grep -qs '"listening"' "$at/recv.json" && return 0
    sleep 0.1
  done
  return 1
}

# finish NAME [SEND_OPTION...]: sends both folders to that receiver; leaves the sender's status in
# `sent`.
finish() {
  at=$1
  shift
  as near timeout 120 ringway send newer/merged newer/fresh "127.0.0.1:$port" --json --retry no "$@" \
    > "$at/send.json" 2> "$at/send.err"
  sent=$?
}

# ended: waits for the receiver, a minute at most after its sender has ended; leaves its status in
# `received`.
ended() {
  for _ in $(seq 600); do
    kill -0 "$receiver" 2> /dev/null || break
    sleep 0.1
  done
  if kill -0 "$receiver" 2> /dev/null; then
    echo "the receiver does not end"
    for stack in /proc/"$receiver"/task/*/stack; do echo "$stack" && cat "$stack"; done
    dmesg | tail -n 20
    kill -9 "$receiver"
  fi
  wait "$receiver"
  received=$?
}

# record KIND MIB EXPIRY OPTIONS: a transfer onto KIND/base, with its writes logged in KIND/log.
record() {
  kind=$1 mib=$2 expiry=$3 options=$4
  mkdir -p "$kind/inbox"
  # Made here, because an archive would be unpacked with every zero of an empty image.
  truncate -s "${mib}M" "$kind/base" && "mkfs.$kind" $make "$kind/base" > /dev/null
  mount -t "$kind" -o "loop,$options" "$kind/base" "$kind/inbox" && cp -r older/merged older/beside "$kind/inbox/" && umount "$kind/inbox"
  verdict "$kind: an older tree is there" $?
  copied "$kind/base" "$kind/live"
  rm -f "$kind/log"
  truncate -s "${log_mib}M" "$kind/log"
  live=$(losetup -f) && losetup "$live" "$kind/live" && log=$(losetup -f) && losetup "$log" "$kind/log" &&
    dmsetup create live --table "0 $(($(stat -c %s "$kind/live") / 512)) log-writes $live $log" &&
    mount -t "$kind" -o "$options" /dev/mapper/live "$kind/inbox"
  verdict "$kind: its writes are logged" $?
  # The kernel writes data older than this by itself: names may reach the disk before contents.
  echo "$expiry" > /proc/sys/vm/dirty_expire_centisecs
  echo "$expiry" > /proc/sys/vm/dirty_writeback_centisecs
  cp -r far "$kind/far"
  begin "$kind" "$kind/far" "$kind/inbox"
  dmsetup message live 0 mark begun
  finish "$kind" --limit 12MB
  dmsetup message live 0 mark receipt
  ended
  [ "$sent" -eq 0 ] && [ "$received" -eq 0 ]
  verdict "$kind: the transfer that is cut succeeds by itself" $?
  [ "$sent" -eq 0 ] && [ "$received" -eq 0 ] || tell_about "$kind"
  echo 3000 > /proc/sys/vm/dirty_expire_centisecs
  umount "$kind/inbox" && dmsetup remove live && losetup -d "$live" && losetup -d "$log"
  rm -f "$kind/live"
}

# seen INBOX: checks that the files there, as the disk has them, are those that were sent.
seen() {
  umount "$1" && mount -t "$kind" -o "loop,$options" "$kind/image" "$1" &&
    ringway-testtools crash judge newer newer "$1" nothing || return 1
  # Sizes and times, because the contents have just been compared.
  for folder in merged fresh; do
    rsync $compared -n --delete --itemize-changes "newer/$folder/" "$1/$folder/" ||
      return 1
  done > "$kind/differences" 2>&1
  cat "$kind/differences"
  [ ! -s "$kind/differences" ]
}

# round KIND SEED
round() {
  name="$1, seed $2"
  copied "$1/base" "$1/image"
  ringway-testtools crash cut "$1/log" "$1/image" "$2" > "$1/cut"
  sed "s|^|$name: |" "$1/cut"
  repair "$1/image" > "$1/repaired" 2>&1
  mount -t "$1" -o "loop,$options" "$1/image" "$1/inbox"
  verdict "$name: the disk is mounted again" $?
  # Files without a name that a repair found.
  rm -rf "$1/inbox"/FSCK*.REC "$1/inbox"/LOST.DIR "$1/inbox"/lost+found
  before=older allows=$allowed
  grep -q 'after the receipt' "$1/cut" && before=newer allows=nothing
  ringway-testtools crash judge "$before" newer "$1/inbox" "$allows"
  verdict "$name: each file is as the filesystem promises" $?
  rm -rf "$1/again"
  cp -r far "$1/again"
  begin "$1" "$1/again" "$1/inbox"
  finish "$1"
  ended
  [ "$sent" -eq 0 ] && [ "$received" -eq 0 ]
  verdict "$name: the send is repeated" $?
  [ "$sent" -eq 0 ] && [ "$received" -eq 0 ] || tell_about "$1"
  seen "$1/inbox"
  verdict "$name: the trees are identical" $?
  umount "$1/inbox"
}

ringway-testtools crash trees older newer
# The rounds need no code: this transfer pairs the two devices.
mkdir -p pairing/inbox
begin pairing far pairing/inbox --code-file code
as near ringway send code "127.0.0.1:$port" --json --code-file code > pairing/send.json 2> pairing/send.err
verdict "the two are paired" $?
ended

while read -r kind mib expiry options seeds; do
  # The tree has no extended attributes. On f2fs, which has no birth time, the receiver sets one.
  compared="-aHA --modify-window=-1" allowed=nothing make="-q -f"
  case $kind in
    vfat)
      compared="-rt --modify-window=2" allowed=damaged make="-F 32"
      repair() { passes fsck.vfat -a "$1"; }
      ;;
    exfat)
      compared="-rt --modify-window=2" allowed=gone make=
      repair() { passes fsck.exfat -y "$1"; }
      ;;
    *)
      [ "$kind" = ext4 ] && make="-q -F"
      repair() { :; }
      ;;
  esac
  record "$kind" "$mib" "$expiry" "$options"
  for seed in $seeds; do round "$kind" "$seed"; done
  rm -rf "$kind"
done < "$here/rounds"

cd /
rm -rf "$work"
exit "$failed"
