# Shared by the guest's transfers; sourced when `work` is made and entered. Both ends run here, each
# with its own folders.
# The command that each end runs.
: "${near_ringway:=ringway}" "${far_ringway:=ringway}"
failed=0
echo 23-orbit-velvet > code
chmod 600 code

# verdict NAME STATUS: `ok NAME` or `not ok NAME`.
verdict() {
  if [ "$2" -eq 0 ]; then echo "ok $1"; else echo "not ok $1"; failed=1; fi
}

# as DEVICE COMMAND...: runs it with the device's own folders.
as() {
  device=$work/$1
  mkdir -p "$device/config/ringway" "$device/data" "$device/state" "$device/runtime"
  echo "name = \"$(basename "$1")\"" > "$device/config/ringway/config.toml"
  shift
  chmod 700 "$device/runtime"
  env HOME="$device" XDG_CONFIG_HOME="$device/config" XDG_DATA_HOME="$device/data" XDG_STATE_HOME="$device/state" \
    XDG_RUNTIME_DIR="$device/runtime" "$@"
}

# until_said PATTERN FILE: waits for it for a minute at most.
until_said() {
  for _ in $(seq 300); do
    grep -q "$1" "$2" 2>/dev/null && return 0
    sleep 0.2
  done
  echo "nothing like $1 in $2"
  return 1
}

# start_receiver NAME [RECV_OPTION...]: starts one in the background, on the next `port`, into
# NAME/inbox; leaves its process in `receiver`.
start_receiver() {
  port=$((port + 1))
  at=$1
  shift
  mkdir -p "$at/inbox"
  rm -f "$at/recv.json"
  as "$at/far" "$far_ringway" recv "$at/inbox" --listen "127.0.0.1:$port" --yes --once --json --code-file code "$@" \
    > "$at/recv.json" 2> "$at/recv.err" &
  receiver=$!
  until_said '"listening"' "$at/recv.json"
}

# cross NAME TREE TARGET [SEND_OPTION...]: sends to the receiver that was started; leaves the
# statuses of both ends in `sent` and `received`.
cross() {
  at=$1 from=$2 target=$3
  shift 3
  as "$at/near" "$near_ringway" send "$from" "$target" --json --code-file code "$@" > "$at/send.json" 2> "$at/send.err"
  sent=$?
  wait "$receiver"
  received=$?
}

# start_service NAME TREE: shares TREE with the device to which NAME has paired, and serves it in
# the background, on the next `port`; leaves its process in `service`.
start_service() {
  port=$((port + 1))
  at=$1
  mkdir -p "$at/receive"
  rm -f "$at/serve.json"
  as "$at/far" "$far_ringway" share add "$2" --name "$2" --with near > "$at/share" 2> "$at/share.err"
  as "$at/far" "$far_ringway" serve "$at/receive" --listen "127.0.0.1:$port" --no-announce --json \
    > "$at/serve.json" 2> "$at/serve.err" &
  service=$!
  until_said '"listening"' "$at/serve.json"
}

# fetch NAME TREE [GET_OPTION...]: gets the tree from the service that was started, and ends that;
# leaves in `got` the status of who gets, and in `served` whether the service says that all went.
fetch() {
  at=$1 tree=$2
  shift 2
  mkdir -p "$at/inbox"
  as "$at/near" "$near_ringway" get "127.0.0.1:$port:$tree" "$at/inbox" --json "$@" > "$at/get.json" 2> "$at/get.err"
  got=$?
  until_said '"finished"' "$at/serve.json"
  grep '"finished"' "$at/serve.json" | grep -q '"outcome":"complete"'
  served=$?
  as "$at/far" "$far_ringway" stop > "$at/stop" 2> "$at/stop.err"
  wait "$service"
}

# same NAME TREE: whether the received files equal the sent ones in every attribute; leaves the
# differences in NAME/differences.
same() {
  rsync -aHAXn --delete --checksum --itemize-changes --modify-window=-1 "$2/" "$1/inbox/$2/" > "$1/differences" 2>&1 \
    && [ ! -s "$1/differences" ]
}

# tell_about NAME: prints the last lines of both ends.
tell_about() {
  for file in "$1"/*.err; do sed "s|^|$(basename "$file"): |" "$file" | tail -n 5; done
  for file in "$1"/*.json; do sed "s|^|$(basename "$file"): |" "$file" | tail -n 3 | cut -c 1-600; done
}
