# Mounts every filesystem that this machine can have below the folder $1, in a mount namespace of
# its own (unshare(1)) that the tests enter. Says "yes NAME" or "no NAME why" of each, then "ready".
# It waits until its input ends, which is when the test program has ended one way or the other: then
# everything goes, and nothing was ever seen outside.
set -u
root=$1
image_bytes=384M

yes() { echo "yes $1"; }
no() { echo "no $1 $2"; }
last() { tail -n 1 "$root/said" | tr -d '\n'; }

# mount_image NAME KIND ARGUMENTS...: a filesystem of that kind on a file of its own, which is
# sparse, lies in memory, and loses its name at once.
mount_image() {
  name=$1
  kind=$2
  shift 2
  if ! command -v "mkfs.$kind" > /dev/null; then
    no "$name" "there is no mkfs.$kind"
    return
  fi
  image="$root/images/$name"
  if ! truncate -s "$image_bytes" "$image" 2> "$root/said" || ! "mkfs.$kind" "$@" "$image" > "$root/said" 2>&1; then
    no "$name" "mkfs.$kind: $(last)"
  elif mount -t "$kind" -o loop,noatime,discard "$image" "$root/$name" 2> "$root/said"; then
    yes "$name"
  else
    no "$name" "$(last)"
  fi
  rm -f "$image"
}

mkdir "$root/images" "$root/tmpfs" "$root/small" "$root/ramfs" "$root/ext4" "$root/btrfs" "$root/xfs" "$root/overlay" "$root/untyped"
mount -t tmpfs -o size=2g none "$root/images" 2> "$root/said" # else they lie on the disk
if mount -t tmpfs -o size=256m,noatime none "$root/tmpfs" 2> "$root/said"; then yes tmpfs; else no tmpfs "$(last)"; fi
if mount -t tmpfs -o size=4m,nr_inodes=200 none "$root/small" 2> "$root/said"; then yes small; else no small "$(last)"; fi
if mount -t ramfs none "$root/ramfs" 2> "$root/said"; then yes ramfs; else no ramfs "$(last)"; fi
mount_image ext4 ext4 -q -F -b 4096 -E lazy_itable_init=1,lazy_journal_init=1 -m 0
mount_image btrfs btrfs -q -f
mount_image xfs xfs -q -f
# Its folders do not say what kind their entries are of.
mount_image untyped ext4 -q -F -b 4096 -O ^filetype -E lazy_itable_init=1,lazy_journal_init=1 -m 0

# Upper and lower layer on a tmpfs, as containers have them on a disk.
mkdir -p "$root/tmpfs/.lower" "$root/tmpfs/.upper" "$root/tmpfs/.work"
if mount -t overlay -o "noatime,lowerdir=$root/tmpfs/.lower,upperdir=$root/tmpfs/.upper,workdir=$root/tmpfs/.work" none "$root/overlay" 2> "$root/said"; then
  yes overlay
else
  no overlay "$(last)"
fi

# The same folder a second time, elsewhere.
mkdir -p "$root/tmpfs/.bind/from/inner" "$root/tmpfs/.bind/to"
if mount --bind "$root/tmpfs/.bind/from" "$root/tmpfs/.bind/to" 2> "$root/said"; then yes bind; else no bind "$(last)"; fi
echo ready

cat > /dev/null
umount -l "$root/untyped" "$root/tmpfs/.bind/to" "$root/overlay" "$root/xfs" "$root/btrfs" "$root/ext4" "$root/small" "$root/ramfs" "$root/tmpfs" "$root/images" 2> /dev/null
rm -f "$root/said"
rmdir "$root"/* "$root"
