#!/bin/sh
# Measures listings over a link, where the clock counts instructions. Prints a line `figure
# CONTENDER DATASET ROUND MICROSECONDS_TO_THE_FIRST_LINE MICROSECONDS WIRE_BYTES INSTRUCTIONS` for
# each, and `fault ...` for failures. Runs in the guest only. Needs far.sh beside it and what that
# needs, find, ls, sshfs.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
set -u
. /payload/amounts
work=/tmp/listing
mkdir -p "$work"
cd "$work" || exit 1
. /payload/far.sh

# show CONTENDER DATASET: prints the listing.
show() {
  case $1 in
    ls) as near ringway ls -lR "$far:47398:source/$2" ;;
    find) ssh -F ssh_config there "/bin/find $work/source/$2 -mindepth 1 -printf '%M %s %T+ %P %l\n'" ;;
    sshfs) /bin/ls -lR "mounted/$2" ;;
  esac
}

# list CONTENDER DATASET ROUND ENTRIES
list() {
  local before wire_before started first=0 ended lines=0
  [ "$1" = sshfs ] && { sshfs -F "$work/ssh_config" "there:$work/source" mounted || fault "sshfs: not mounted"; }
  busy
  before=$now
  wired
  wire_before=$bytes
  started=${EPOCHREALTIME/./}
  show "$1" "$2" 2> list.err | { read -r _ && echo "${EPOCHREALTIME/./}" > first; cat > list.out; }
  ended=${EPOCHREALTIME/./}
  read -r first < first
  # The last packets.
  sleep 1
  busy
  wired
  lines=$(grep -c -- -sample- list.out)
  # The first line is not among them, and may be an entry.
  [ "$((lines - $4))" -ge -1 ] || fault "$1 $2: $lines of $4 entries: $(tail -n 1 list.err | cut -c 1-300)"
  echo "figure $1 $2 $3 $((first - started)) $((ended - started)) $((bytes - wire_before)) $((now - before))"
  [ "$1" != sshfs ] || umount mounted
  rm -f list.out list.err first
}

# make DATASET: empty files.
make() {
  local folders=$1_folders entries=$1_entries folder entry
  for ((folder = 0; folder < ${!folders}; folder++)); do
    mkdir -p "source/$1/part-$folder"
    for ((entry = 0; entry < ${!entries}; entry++)); do : > "source/$1/part-$folder/a-sample-$entry"; done
  done
}

mkdir mounted
long
for dataset in one many; do
  make "$dataset"
  folders=${dataset}_folders entries=${dataset}_entries
  for round in $(seq "$rounds"); do
    for contender in ls find sshfs; do list "$contender" "$dataset" "$round" $((${!folders} * ${!entries})); done
  done
  rm -rf "source/$dataset"
done
exit "$failed"
