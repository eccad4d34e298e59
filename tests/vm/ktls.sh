#!/bin/sh
# Both ends of real transfers over loopback, with kernel TLS at both, either or neither end. Prints
# `ok NAME` or `not ok NAME` for each. Runs in the guest, and directly on a machine whose own kernel
# has TLS. Needs tls.sh and transfer.sh beside it, ringway, ringway-testtools, rsync, setfattr.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /tmp/ringway-ktls-XXXXXX)
cd "$work" || exit 1
port=47100
# After handshake and offer, and well before the 10 MB of the tree have been sent.
flip_after=3000000
. "$here/transfer.sh"
. "$here/tls.sh"

# tampered SENDER_TLS RECEIVER_TLS: one bit of one record is flipped on the way.
tampered() {
  name=tampered-$1-$2
  mkdir -p "$name"
  start_receiver "$name" --tls "$2"
  errors=$(counter TlsDecryptError)
  ringway-testtools proxy 127.0.0.1:47000 "127.0.0.1:$port" --flip-after "$flip_after" > "$name/proxy" 2>&1 < /dev/null &
  proxy=$!
  until_said '"listening"' "$name/proxy"
  cross "$name" tree 127.0.0.1:47000 --tls "$1"
  kill "$proxy"
  wait "$proxy" 2> /dev/null
  grep -q '"flipped"' "$name/proxy"
  verdict "$name: a bit was flipped" $?
  [ "$sent" -eq 1 ] && [ "$received" -eq 1 ]
  verdict "$name: both ends fail" $?
  # Data from before that bit stays hidden for the next attempt.
  [ -z "$(ls "$name/inbox")" ]
  verdict "$name: nothing arrived" $?
  if [ "$2" = kernel ]; then
    [ "$(counter TlsDecryptError)" -gt "$errors" ]
    verdict "$name: the kernel refused the record" $?
  fi
  [ "$failed" -eq 0 ] || tell_about "$name"
  rm -rf "$name/inbox"
}

ringway-testtools tree tree --bulk-mib 10 --small 300 --all-modes || exit 1

# One lane, because a slow machine would add some, and the kernel's connections are counted.
crossing kernel kernel "" --lanes 1
both=$grown
crossing kernel user "" --lanes 1
sender=$grown
crossing user kernel "" --lanes 1
receiver_only=$grown
crossing user user "" --lanes 1
[ "$both" -gt 0 ] && [ "$sender" -gt 0 ] && [ "$sender" -eq "$receiver_only" ] && [ "$both" -eq $((2 * sender)) ] && [ "$grown" -eq 0 ]
verdict "the kernel did it where it was asked to, and only there" $?
# 4 MB under each key, the least that is possible.
crossing kernel kernel renewed- --lanes 1 --records-per-key 256
[ "$grown" -ge $((2 * both)) ]
verdict "the kernel took new keys on the way" $?
crossing kernel user renewed- --records-per-key 256
crossing user kernel renewed- --records-per-key 256
# The other way round: the end that was dialled sends, by its kernel.
fetching kernel-kernel kernel --lanes 1
[ "$grown" -eq "$both" ]
verdict "the kernel did it at both ends of a get" $?
fetching user-user user --lanes 1
[ "$grown" -eq "$sender" ]
verdict "the kernel did it at the serving end of a get, and only there" $?
fetching renewed-kernel-kernel kernel --lanes 1 --records-per-key 256
[ "$grown" -ge $((2 * both)) ]
verdict "the kernel of a serving end took new keys on the way" $?
tampered kernel kernel
tampered user kernel

cd /
chmod -R u+rwX "$work" && rm -rf "$work"
exit "$failed"
