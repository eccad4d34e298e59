#!/bin/busybox sh
# The guest's first process: mounts, modules, loopback, then the payload; its exit status leaves
# through the last line.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp LANG=C
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/shm /run
mount -t tmpfs -o size=90%,mode=1777 tmpfs /tmp
mount -t tmpfs tmpfs /run
while read -r module; do
  insmod "/modules/$module" || echo "guest: $module did not load"
done < /modules/order
ip link set lo up
cd /tmp
sh /payload/run.sh guest
echo "guest: exit $?"
sync
poweroff -f
