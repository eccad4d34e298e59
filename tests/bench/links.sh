#!/bin/sh
# Measures transfers between two network namespaces over a link with delay, loss and a rate, from
# tmpfs to tmpfs, where the clock counts instructions. Prints a line `figure CONTENDER DATASET KIND
# ROUND MICROSECONDS WIRE_BYTES INSTRUCTIONS` for each, and `fault ...` for failures. Runs in the
# guest only. Needs ringway, bash, split, ip, tc, ssh, sshd, rsync, tar; uses uring-sync if it is
# there.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
set -u
. /payload/amounts
work=/tmp/links
mkdir -p "$work"
cd "$work" || exit 1
port=47400

. /payload/far.sh

# The receiver, where there is one that must listen first.
receive() {
  case $1 in
    send) as far there ringway recv inbox --listen "$far:$port" --yes --once --no-pairing --owner --json ;;
    uring-sync) there uring-sync recv "inbox/$2" --listen "$port" --secret bench ;;
  esac
}

# What is measured, of the tree source/$2.
move() {
  case $1 in
    send) as near ringway send "source/$2" "$far:$port" --json ;;
    get) as near ringway get "$far:47398:source/$2" inbox --owner --json ;;
    rsync | rsync-bbr) rsync -a -e "ssh -F ssh_config" "source/$2" "there:$work/inbox/" ;;
    rsyncz) rsync -az -e "ssh -F ssh_config" "source/$2" "there:$work/inbox/" ;;
    tar) /bin/tar -C source -cf - "$2" | ssh -F ssh_config there "/bin/tar -C $work/inbox -xpf -" ;;
    uring-sync) uring-sync send "source/$2" "$far:$port" --secret bench ;;
  esac
}

# congestion NAME: for connections that choose none, at both ends.
congestion() {
  echo "$1" > /proc/sys/net/ipv4/tcp_congestion_control
  there sh -c "echo $1 > /proc/sys/net/ipv4/tcp_congestion_control"
}

# transfer CONTENDER DATASET KIND ROUND
transfer() {
  local before wire_before started ended pid='' status=0
  port=$((port + 1))
  case $1 in
    send | uring-sync)
      receive "$1" "$2" > recv.out 2>&1 &
      pid=$!
      sleep 1
      ;;
    rsync-bbr) congestion bbr ;;
  esac
  busy
  before=$now
  wired
  wire_before=$bytes
  started=${EPOCHREALTIME/./}
  move "$1" "$2" > move.out 2>&1 || status=$?
  [ "$1" = uring-sync ] && wait "$pid"
  ended=${EPOCHREALTIME/./}
  [ -z "$pid" ] || wait "$pid" || status=$?
  # The last packets.
  sleep 1
  busy
  wired
  congestion cubic
  [ "$status" -eq 0 ] || fault "$1 $2 $3: exit $status: $(tail -n 2 move.out | cut -c 1-300 | tr '\n' ' ')"
  diff -r "source/$2" "inbox/$2" > differences 2>&1 || fault "$1 $2 $3: $(head -n 1 differences)"
  echo "figure $1 $2 $3 $4 $((ended - started)) $((bytes - wire_before)) $((now - before))"
  rm -rf "inbox/$2"
}

# stream KIND: bytes without end.
stream() {
  if [ "$1" = random ]; then
    cat /dev/urandom
  else
    while cat /payload/text; do :; done
  fi
}

# make DATASET KIND: folders of 200 files, or one file.
make() {
  local files=$1_files bytes=$1_bytes tree=source/$1 folder=0 left
  left=${!files} bytes=${!bytes}
  mkdir "$tree"
  if [ "$left" -eq 1 ]; then
    stream "$2" 2> /dev/null | /bin/head -c "$bytes" > "$tree/file"
    return
  fi
  # This head reads no more than it writes.
  stream "$2" 2> /dev/null | while [ "$left" -gt 0 ]; do
    folder=$((folder + 1))
    mkdir "$tree/part-$folder"
    /bin/head -c $((bytes * (left < 200 ? left : 200))) | split -b "$bytes" -a 4 - "$tree/part-$folder/sample-"
    left=$((left - 200))
  done
}

contenders="send get rsync rsyncz rsync-bbr tar"
[ -x /bin/uring-sync ] && contenders="$contenders uring-sync"
[ -z "$only" ] || contenders="send $only"
long
for dataset in small medium large; do
  for kind in random text; do
    make "$dataset" "$kind"
    for round in $(seq "$rounds"); do
      for contender in $contenders; do transfer "$contender" "$dataset" "$kind" "$round"; done
    done
    rm -rf "source/$dataset"
  done
done
exit "$failed"
