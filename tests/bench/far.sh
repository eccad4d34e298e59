# A far end in the guest: a network namespace behind a link with delay, loss and a rate, with an ssh
# server, and devices of Ringway that are paired. Sourced by bash when `work` is made and entered,
# and `rtt_us`, `loss` and `rate` are set. Needs ringway, ip, tc, ssh, sshd.
failed=0
near=10.9.0.1 far=10.9.0.2

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

# there COMMAND...: runs it at the far end of the link.
there() { /bin/ip netns exec far "$@"; }

for device in near far host; do
  mkdir -p "$device/config/ringway" "$device/data" "$device/state" "$device/runtime"
  echo "name = \"$device\"" > "$device/config/ringway/config.toml"
  chmod 700 "$device/runtime"
done

# The link. It is to lose single packets, not the 64-KiB pieces in which data is sent.
mkdir -p /run/netns
/bin/ip netns add far &&
  /bin/ip link add to-far type veth peer name to-near netns far &&
  /bin/ip addr add "$near/24" dev to-far && /bin/ip link set to-far gso_max_segs 1 up &&
  there /bin/ip addr add "$far/24" dev to-near && there /bin/ip link set to-near gso_max_segs 1 up &&
  there /bin/ip link set lo up || fault "no link"
# The queue is longer than what the fastest link has under way.
shape="netem delay $((rtt_us / 2))us loss $loss rate $rate limit 50000"
long() {
  /bin/tc qdisc add dev to-far root $shape && there /bin/tc qdisc add dev to-near root $shape || fault "no delay"
}

# ssh, with keys and no password, and with a key exchange that costs it little on this slow
# processor.
mkdir -p /root /run/sshd /var/empty /etc
chmod 700 /root
printf 'root:x:0:0::/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/bin/false\n' > /etc/passwd
printf 'root:x:0:\nnogroup:x:65534:\n' > /etc/group
mkdir ssh
cp /payload/host /payload/user /payload/user.pub ssh/
chmod 600 ssh/host ssh/user
printf 'ringway-bench %s\n' "$(cat /payload/host.pub)" > known_hosts
cat > sshd_config << END
HostKey $work/ssh/host
AuthorizedKeysFile $work/ssh/user.pub
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PidFile none
PrintMotd no
Ciphers aes128-gcm@openssh.com
KexAlgorithms ecdh-sha2-nistp256
Subsystem sftp internal-sftp
END
cat > ssh_config << END
Host there
  HostName $far
  User root
  HostKeyAlias ringway-bench
  UserKnownHostsFile $work/known_hosts
  IdentityFile $work/ssh/user
  IdentityAgent none
  Ciphers aes128-gcm@openssh.com
END
there /bin/sshd -f sshd_config -E sshd.log || fault "no sshd: $(tail -n 1 sshd.log)"

# The devices pair first, so that no measured transfer includes it. `host` serves what `near` gets.
echo 7-river-canal > code
chmod 600 code
mkdir pairing inbox source
# pair DEVICE PORT
pair() {
  as "$1" there ringway recv pairing --listen "$far:$2" --yes --json --code-file code > recv.out 2>&1 &
  local receiver=$!
  sleep 2
  as near ringway pair "$far:$2" --json --code-file code > pair.out 2>&1 || fault "pairing: $(tail -n 1 pair.out)"
  kill "$receiver"
  wait "$receiver"
}
pair far 47396
pair host 47397
as host ringway share add "$work/source" --name source --with near > share.out 2>&1 || fault "share: $(tail -n 1 share.out)"
as host there ringway serve pairing --listen "$far:47398" --no-announce --json > serve.out 2>&1 &
sleep 2

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

# wired: sets `bytes` to those on the wire in both directions.
wired() {
  local sent received
  read -r sent < /sys/class/net/to-far/statistics/tx_bytes
  read -r received < /sys/class/net/to-far/statistics/rx_bytes
  bytes=$((sent + received))
}

