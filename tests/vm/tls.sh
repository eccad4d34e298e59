# Shared by the scripts for kernel TLS; sourced after transfer.sh, when a `tree` is made.

# counter NAME: one of the kernel's counters of TLS sockets.
counter() {
  awk -v name="$1" '$1 == name { print $2 }' /proc/net/tls_stat
}

# says FILE HERE THERE: whether a transfer's end has said what encrypted at each end.
says() {
  grep '"finished"' "$1" | grep "\"here\":{\"tls\":{\?\"$2\"" | grep -q "\"there\":{\"tls\":{\?\"$3\""
}

# crossing SENDER_TLS RECEIVER_TLS [PREFIX SEND_OPTION...]: a transfer; leaves in `grown` by how
# much the kernel's counters of TLS sockets grew.
crossing() {
  tls_here=$1 tls_there=$2
  name=${3:-}$1-$2
  shift $(($# < 3 ? $# : 3))
  mkdir -p "$name"
  tx=$(counter TlsTxSw) rx=$(counter TlsRxSw) errors=$(counter TlsDecryptError)
  start_receiver "$name" --tls "$tls_there"
  cross "$name" tree "127.0.0.1:$port" --tls "$tls_here" "$@"
  [ "$sent" -eq 0 ] && [ "$received" -eq 0 ]
  verdict "$name: both ends succeed" $?
  says "$name/send.json" "$tls_here" "$tls_there"
  verdict "$name: the report says so" $?
  same "$name" tree
  verdict "$name: identical trees" $?
  head -n 20 "$name/differences"
  grown=$(($(counter TlsTxSw) - tx))
  [ "$grown" -eq $(($(counter TlsRxSw) - rx)) ] && [ "$(counter TlsDecryptError)" -eq "$errors" ]
  verdict "$name: the kernel's counters agree" $?
  [ "$sent" -eq 0 ] && [ "$received" -eq 0 ] || tell_about "$name"
  rm -rf "$name/inbox"
}

# fetching NAME REQUESTER_TLS [GET_OPTION...]: a get of the tree by who has sent it in the crossing
# NAME, from a service, which takes the kernel if it can; leaves `grown` as a crossing does.
fetching() {
  name=$1 tls_here=$2
  shift 2
  tx=$(counter TlsTxSw) rx=$(counter TlsRxSw) errors=$(counter TlsDecryptError)
  start_service "$name" tree
  fetch "$name" tree --tls "$tls_here" "$@"
  [ "$got" -eq 0 ] && [ "$served" -eq 0 ]
  verdict "got $name: both ends succeed" $?
  says "$name/get.json" "$tls_here" kernel && says "$name/serve.json" kernel "$tls_here"
  verdict "got $name: both reports say so" $?
  same "$name" tree
  verdict "got $name: identical trees" $?
  head -n 20 "$name/differences"
  grown=$(($(counter TlsTxSw) - tx))
  [ "$grown" -eq $(($(counter TlsRxSw) - rx)) ] && [ "$(counter TlsDecryptError)" -eq "$errors" ]
  verdict "got $name: the kernel's counters agree" $?
  [ "$got" -eq 0 ] && [ "$served" -eq 0 ] || tell_about "$name"
  rm -rf "$name/inbox"
}
