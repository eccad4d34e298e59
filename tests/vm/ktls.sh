#!/bin/sh
# Both ends of real transfers over loopback, with kernel TLS at both, either or neither end: `ok NAME` or `not ok NAME` for each.
# Runs in the guest, and as it is on a machine whose own kernel has TLS. Needs ringway, ringway-testtools, rsync, setfattr.
set -u
work=$(mktemp -d /tmp/ringway-ktls-XXXXXX)
cd "$work" || exit 1
failed=0
port=47100
# Past handshake and offer, and well before the tree's 40 MB have passed.
flip_after=6000000

verdict() {
  if [ "$2" -eq 0 ]; then echo "ok $1"; else echo "not ok $1"; failed=1; fi
}

counter() {
  awk -v name="$1" '$1 == name { print $2 }' /proc/net/tls_stat
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

# start_receiver NAME TLS: in the background, on the next port.
start_receiver() {
  port=$((port + 1))
  mkdir -p "$1/inbox"
  as "$1/far" ringway recv "$1/inbox" --listen "127.0.0.1:$port" --yes --once --json --code-file code --tls "$2" \
    > "$1/recv.json" 2> "$1/recv.err" &
  receiver=$!
  until_said '"listening"' "$1/recv.json"
}

tell_about() {
  for file in "$1"/*.err; do sed "s|^|$(basename "$file"): |" "$file" | tail -n 5; done
  for file in "$1"/*.json; do sed "s|^|$(basename "$file"): |" "$file" | tail -n 3 | cut -c 1-600; done
}

# crossing SENDER_TLS RECEIVER_TLS [PREFIX SEND_OPTION...]: leaves in `grown` by how much the kernel's counters of TLS sockets grew.
crossing() {
  tls_here=$1 tls_there=$2
  name=${3:-}$1-$2
  shift $(($# < 3 ? $# : 3))
  mkdir -p "$name"
  tx=$(counter TlsTxSw) rx=$(counter TlsRxSw) errors=$(counter TlsDecryptError)
  start_receiver "$name" "$tls_there"
  as "$name/near" ringway send tree "127.0.0.1:$port" --json --code-file code --tls "$tls_here" "$@" \
    > "$name/send.json" 2> "$name/send.err"
  sent=$?
  wait "$receiver"
  received=$?
  rsync -aHAXn --delete --checksum --itemize-changes --modify-window=-1 tree/ "$name/inbox/tree/" > "$name/differences" 2>&1
  compared=$?
  [ "$sent" -eq 0 ] && [ "$received" -eq 0 ]
  verdict "$name: both ends succeed" $?
  grep '"finished"' "$name/send.json" | grep "\"tls_here\":\"$tls_here\"" | grep -q "\"tls_there\":\"$tls_there\""
  verdict "$name: the report says so" $?
  [ "$compared" -eq 0 ] && [ ! -s "$name/differences" ]
  verdict "$name: identical trees" $?
  head -n 20 "$name/differences"
  grown=$(($(counter TlsTxSw) - tx))
  [ "$grown" -eq $(($(counter TlsRxSw) - rx)) ] && [ "$(counter TlsDecryptError)" -eq "$errors" ]
  verdict "$name: the kernel's counters agree" $?
  [ "$sent" -eq 0 ] && [ "$received" -eq 0 ] || tell_about "$name"
  rm -rf "$name/inbox"
}

# tampered SENDER_TLS RECEIVER_TLS: one bit of one record flipped on the way.
tampered() {
  name=tampered-$1-$2
  mkdir -p "$name"
  start_receiver "$name" "$2"
  errors=$(counter TlsDecryptError)
  ringway-testtools proxy 127.0.0.1:47000 "127.0.0.1:$port" --flip-after "$flip_after" > "$name/proxy" 2>&1 < /dev/null &
  proxy=$!
  until_said '"listening"' "$name/proxy"
  as "$name/near" ringway send tree 127.0.0.1:47000 --json --code-file code --tls "$1" \
    > "$name/send.json" 2> "$name/send.err"
  sent=$?
  wait "$receiver"
  received=$?
  kill "$proxy"
  wait "$proxy" 2> /dev/null
  grep -q '"flipped"' "$name/proxy"
  verdict "$name: a bit was flipped" $?
  [ "$sent" -eq 1 ] && [ "$received" -eq 1 ]
  verdict "$name: both ends fail" $?
  [ -z "$(ls -A "$name/inbox")" ]
  verdict "$name: nothing arrived" $?
  if [ "$2" = kernel ]; then
    [ "$(counter TlsDecryptError)" -gt "$errors" ]
    verdict "$name: the kernel refused the record" $?
  fi
  [ "$failed" -eq 0 ] || tell_about "$name"
  rm -rf "$name/inbox"
}

echo 23-orbit-velvet > code
chmod 600 code
ringway-testtools tree tree --bulk-mib 40 --small 3000 --all-modes || exit 1

crossing kernel kernel
both=$grown
crossing kernel user
sender=$grown
crossing user kernel
receiver_only=$grown
crossing user user
[ "$both" -gt 0 ] && [ "$sender" -gt 0 ] && [ "$sender" -eq "$receiver_only" ] && [ "$both" -eq $((2 * sender)) ] && [ "$grown" -eq 0 ]
verdict "the kernel did it where it was asked to, and only there" $?
# 16 MB under each key.
crossing kernel kernel renewed- --records-per-key 1024
[ "$grown" -ge $((2 * both)) ]
verdict "the kernel took new keys on the way" $?
crossing kernel user renewed- --records-per-key 1024
crossing user kernel renewed- --records-per-key 1024
tampered kernel kernel
tampered user kernel

cd /
chmod -R u+rwX "$work" && rm -rf "$work"
exit "$failed"
