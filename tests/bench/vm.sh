#!/bin/sh
# Measures whole transfers by separate processes over the guest's loopback, from tmpfs to tmpfs,
# where the clock counts instructions. Prints a line `figure CONTENDER DATASET ROUND SENDER RECEIVER
# ALL` for each, in nanoseconds of processor time, and `fault ...` for failures. Runs in the guest
# only. Needs ringway, bash and split; uses uring-sync if it is there.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
set -u
. /payload/amounts
work=/tmp/cost
mkdir -p "$work/far" "$work/near"
cd "$work" || exit 1
failed=0
port=47300
# Three decimals: the kernel keeps microseconds and shows milliseconds.
TIMEFORMAT='%3U %3S'

fault() {
  echo "fault $*"
  failed=1
}

# as DEVICE COMMAND...: runs it with the device's own folders.
as() {
  local device=$work/$1
  shift
  HOME=$device XDG_CONFIG_HOME=$device/config XDG_DATA_HOME=$device/data XDG_STATE_HOME=$device/state \
    XDG_RUNTIME_DIR=$device/runtime "$@"
}

for device in near far; do
  mkdir -p "$device/config/ringway" "$device/data" "$device/state" "$device/runtime"
  echo "name = \"$device\"" > "$device/config/ringway/config.toml"
  chmod 700 "$device/runtime"
done

# busy: sets `now` to the nanoseconds that the processor has not been idle. Starts no process.
busy() {
  local name counters
  while read -r name counters; do
    if [ "$name" = cpu0 ]; then
      set -- $counters
      now=$7
      return
    fi
  done < /proc/schedstat
}

# spent FILE: sets `ns` to the user and system time in it.
spent() {
  local user system
  read -r user system < "$1"
  ns=$(((10#${user/./} + 10#${system/./}) * 1000000))
}

# The receivers and senders, each in the foreground of its own subshell. Their arguments are TREE
# and the folder INBOX.
receive_ringway() { as far ringway recv "$inbox" --listen "127.0.0.1:$port" --yes --once --no-pairing --json --tls "$1"; }
send_ringway() { as near ringway send "$tree" "127.0.0.1:$port" --json --tls "$1"; }
receive_uring() { uring-sync recv "$inbox" --listen "$port" --secret bench "$@"; }
send_uring() { uring-sync send "$tree" "127.0.0.1:$port" --secret bench "$@"; }

receive() {
  case $1 in
    ringway-kernel) receive_ringway kernel ;;
    ringway-user) receive_ringway user ;;
    uring-sync-ktls) receive_uring --tls ;;
    uring-sync-plain) receive_uring ;;
    nothing) true ;;
  esac
}

send() {
  case $1 in
    ringway-kernel) send_ringway kernel ;;
    ringway-user) send_ringway user ;;
    uring-sync-ktls) send_uring --tls ;;
    uring-sync-plain) send_uring ;;
    nothing) true ;;
  esac
}

# transfer CONTENDER DATASET ROUND
transfer() {
  tree=$2 inbox=inbox
  local at=inbox before after sender receiver status
  # uring-sync puts a folder's contents where ringway puts the folder.
  case $1 in ringway-*) at=inbox/$2 ;; esac
  port=$((port + 1))
  mkdir "$inbox"
  busy
  before=$now
  ({ time receive "$1" > recv.out 2> recv.err; } 2> recv.time) &
  local pid=$!
  # Both listen well within that time; the guest's clock does not wait for it.
  sleep 1
  # In a shell of its own, whose only child it is, so that the other end's time is not counted.
  ({ time send "$1" > send.out 2> send.err; } 2> send.time)
  status=$?
  wait "$pid" || status=$?
  busy
  after=$now
  [ "$status" -eq 0 ] || fault "$1 $2: exit $status: $(tail -n 2 send.err recv.err | cut -c 1-300 | tr '\n' ' ')"
  case $1 in
    ringway-*) grep '"finished"' send.out | grep "\"here\":{\"tls\":{\?\"${1#ringway-}\"" | grep -q "\"there\":{\"tls\":{\?\"${1#ringway-}\"" || fault "$1 $2: another path" ;;
  esac
  [ "$1" = nothing ] || diff -r "$2" "$at" > differences 2>&1 || fault "$1 $2: $(head -n 1 differences)"
  rm -rf "$inbox"
  spent send.time
  sender=$ns
  spent recv.time
  receiver=$ns
  [ "$3" = 0 ] || echo "figure $1 $2 $3 $sender $receiver $((after - before))"
}

# The two devices pair first, so that no measured transfer includes pairing or the making of keys.
pair() {
  echo 7-river-canal > code
  chmod 600 code
  mkdir pairing
  as far ringway recv pairing --listen 127.0.0.1:47300 --yes --json --code-file code > pair.out 2>&1 &
  local receiver=$!
  sleep 2
  as near ringway pair 127.0.0.1:47300 --json --code-file code > pair.out 2>&1 || fault "pairing: $(tail -n 1 pair.out)"
  kill "$receiver"
  wait "$receiver"
}

mkdir start many large
printf x > start/file
head -c $((many_files * many_bytes)) /dev/urandom > bytes
split -b "$many_bytes" -a 4 bytes many/sample-
# Ten folders of such files.
count=0
for file in many/sample-*; do
  folder=many/part-$((count * 10 / many_files))
  [ -d "$folder" ] || mkdir "$folder"
  mv "$file" "$folder/"
  count=$((count + 1))
done
head -c "$large_bytes" /dev/urandom > large/file
rm bytes

pair
# Nothing: the time of this script itself.
contenders="nothing ringway-kernel ringway-user"
[ -x /bin/uring-sync ] && contenders="$contenders uring-sync-ktls uring-sync-plain"
for round in $(seq 0 "$rounds"); do
  for dataset in start many large; do
    for contender in $contenders; do
      # Once without counting, so that programs and directories are in memory.
      [ "$round" = 0 ] && [ "$dataset" != start ] && continue
      [ "$contender" = nothing ] && [ "$dataset" != start ] && continue
      # It fails if all sent data fits into buffers: the receiver asks for kernel TLS after the
      # sender has closed.
      [ "$contender $dataset" = "uring-sync-ktls start" ] && continue
      transfer "$contender" "$dataset" "$round"
    done
  done
done
cd /
rm -rf "$work"
exit "$failed"
