#!/bin/sh
# Transfers over a long link: 50 ms there and back, one packet in a hundred lost. Prints `ok NAME`
# or `not ok NAME` for each, and lines `figure NAME SECONDS MEGABYTES LANES`. Runs in the guest
# only, whose loopback it changes. Needs transfer.sh beside it, ringway, rsync, ip, tc.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /tmp/ringway-links-XXXXXX)
cd "$work" || exit 1
port=47200
# The delay one way, and the rate of the link for both directions together.
delay=25ms
loss=1%
rate=80mbit
. "$here/transfer.sh"

# last KEY FILE: the number under KEY in the last line that has it.
last() {
  grep -o "\"$1\":[0-9.]*" "$2" | tail -n 1 | cut -d : -f 2
}

# lanes FILE: how many a transfer had at its end.
lanes() {
  grep '"finished"' "$1" | grep -o '"lanes":[0-9]*' | tail -n 1 | cut -d : -f 2
}

# crossing NAME TREE [SEND_OPTION...]
crossing() {
  name=$1 tree=$2
  shift 2
  start_receiver "$name"
  cross "$name" "$tree" "127.0.0.1:$port" "$@"
  same "$name" "$tree" && [ "$sent" -eq 0 ] && [ "$received" -eq 0 ]
  verdict "$name: the tree arrives" $?
  grown=$(lanes "$name/send.json")
  echo "figure $name $(last seconds "$name/send.json") $(du -sk "$tree" | cut -f 1) ${grown:-0}"
  [ "$sent" -eq 0 ] && [ "$received" -eq 0 ] || tell_about "$name"
  rm -rf "$name/inbox"
}

# fetching NAME TREE: a get of the tree by who has sent it in the crossing NAME.
fetching() {
  start_service "$1" "$2"
  fetch "$1" "$2"
  same "$1" "$2" && [ "$got" -eq 0 ] && [ "$served" -eq 0 ]
  verdict "got $1: the tree arrives" $?
  grown=$(lanes "$1/get.json")
  echo "figure got-$1 $(last seconds "$1/get.json") $(du -sk "$2" | cut -f 1) ${grown:-0}"
  [ "$got" -eq 0 ] && [ "$served" -eq 0 ] || tell_about "$1"
  rm -rf "$1/inbox"
}

# Two thousand small files with little in them, and larger ones.
mkdir many large larger
for folder in $(seq 20); do
  mkdir "many/$folder"
  for file in $(seq 100); do echo "$folder $file" > "many/$folder/$file"; done
done
head -c 10000000 /dev/urandom > large/file
# Long enough for lanes to be added, which takes seconds.
head -c 40000000 /dev/urandom > larger/file

# The link is to lose single packets, not the 64-KiB pieces in which data is sent.
# By their paths, because the ip and tc of the guest's shell can do less.
/bin/ip link set lo mtu 1500 gso_max_segs 1 || exit 1
/bin/tc qdisc add dev lo root netem delay "$delay" loss "$loss" rate "$rate" limit 20000
verdict "there is a long link" $?

crossing many-files many
crossing large-file larger
crossing large-file-one-lane large --lanes 1
grown=$(lanes large-file/send.json)
[ "${grown:-0}" -ge 4 ]
verdict "a long link is given several lanes" $?
grep -q '"network"' large-file/send.json
verdict "the network is named as what limits" $?

# The first lanes fill this one, and more would only share it.
/bin/tc qdisc change dev lo root netem delay 10ms rate "$rate" limit 20000
crossing full-link larger
[ "${grown:-99}" -le 4 ]
verdict "a full link is given no more lanes" $?

# So near that with one processor it begins with one lane.
/bin/tc qdisc change dev lo root netem delay 1ms rate "$rate" limit 20000
fetching full-link larger
[ "${grown:-0}" -ge 2 ]
verdict "a get is given more lanes on the way while the network limits it" $?

/bin/tc qdisc del dev lo root
cd /
rm -rf "$work"
exit "$failed"
