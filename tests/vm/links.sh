#!/bin/sh
# Transfers over a long link: 50 ms there and back, one packet in a hundred lost. `ok NAME` or `not ok NAME` for each, and lines
# `figure NAME SECONDS MEGABYTES LANES`. Runs in the guest only, whose loopback it changes. Needs ringway, ringway-testtools, rsync, ip, tc.
set -u
work=$(mktemp -d /tmp/ringway-links-XXXXXX)
cd "$work" || exit 1
failed=0
port=47200
# One way; and what the link carries in both directions together.
delay=25ms
loss=1%
rate=80mbit

verdict() {
  if [ "$2" -eq 0 ]; then echo "ok $1"; else echo "not ok $1"; failed=1; fi
}

# as DEVICE COMMAND...: with folders of its own.
as() {
  device=$work/$1
  mkdir -p "$device/config/ringway" "$device/data" "$device/state" "$device/runtime"
  echo "name = \"$(basename "$1")\"" > "$device/config/ringway/config.toml"
  shift
  chmod 700 "$device/runtime"
  env HOME="$device" XDG_CONFIG_HOME="$device/config" XDG_DATA_HOME="$device/data" XDG_STATE_HOME="$device/state" \
    XDG_RUNTIME_DIR="$device/runtime" "$@"
}

# until_said PATTERN FILE: at most a minute.
until_said() {
  for _ in $(seq 300); do
    grep -q "$1" "$2" 2>/dev/null && return 0
    sleep 0.2
  done
  echo "nothing like $1 in $2"
  return 1
}

# last KEY FILE: the number under KEY in the last line that has it.
last() {
  grep -o "\"$1\":[0-9.]*" "$2" | tail -n 1 | cut -d : -f 2
}

# crossing NAME TREE [SEND_OPTION...]
crossing() {
  name=$1 tree=$2
  shift 2
  port=$((port + 1))
  mkdir -p "$name/inbox"
  as "$name/far" ringway recv "$name/inbox" --listen "127.0.0.1:$port" --yes --once --json --code-file code \
    > "$name/recv.json" 2> "$name/recv.err" &
  receiver=$!
  until_said '"listening"' "$name/recv.json"
  as "$name/near" ringway send "$tree" "127.0.0.1:$port" --json --code-file code "$@" > "$name/send.json" 2> "$name/send.err"
  sent=$?
  wait "$receiver"
  received=$?
  rsync -aHAXn --delete --checksum --itemize-changes --modify-window=-1 "$tree/" "$name/inbox/$tree/" > "$name/differences" 2>&1
  compared=$?
  [ "$sent" -eq 0 ] && [ "$received" -eq 0 ] && [ "$compared" -eq 0 ] && [ ! -s "$name/differences" ]
  verdict "$name: the tree arrives" $?
  lanes=$(grep '"finished"' "$name/send.json" | grep -o '"lanes":[0-9]*' | tail -n 1 | cut -d : -f 2)
  echo "figure $name $(last seconds "$name/send.json") $(du -sk "$tree" | cut -f 1) ${lanes:-0}"
  if [ "$sent" -ne 0 ] || [ "$received" -ne 0 ]; then
    for file in "$name"/*.err "$name"/*.json; do tail -n 3 "$file" | cut -c 1-600; done
  fi
  rm -rf "$name/inbox"
}

echo 23-orbit-velvet > code
chmod 600 code
# Ten thousand small files without much in them, and one large one.
mkdir many large
for folder in $(seq 100); do
  mkdir "many/$folder"
  for file in $(seq 100); do echo "$folder $file" > "many/$folder/$file"; done
done
head -c 40000000 /dev/urandom > large/file

# Packets, not 64-KiB pieces of what is sent, are what a link loses.
# By their paths: the guest's shell has an ip and a tc of its own, which know less.
/bin/ip link set lo mtu 1500 gso_max_segs 1 || exit 1
/bin/tc qdisc add dev lo root netem delay "$delay" loss "$loss" rate "$rate" limit 20000
verdict "there is a long link" $?

crossing many-files many
crossing large-file large
crossing large-file-one-lane large --lanes 1
grown=$(grep '"finished"' large-file/send.json | grep -o '"lanes":[0-9]*' | tail -n 1 | cut -d : -f 2)
[ "${grown:-0}" -ge 4 ]
verdict "a long link is given several lanes" $?
grep -q '"network"' large-file/send.json
verdict "the network is named as what limits" $?

/bin/tc qdisc del dev lo root
cd /
rm -rf "$work"
exit "$failed"
