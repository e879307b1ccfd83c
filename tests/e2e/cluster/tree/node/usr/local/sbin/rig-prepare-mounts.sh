#!/bin/sh
# Makes what systemd-nspawn mounts read-only writable for containers: control
# groups (runc), /proc/sys (kubelet, kube-proxy), and mounts that propagate.
set -eu

for hierarchy in /sys/fs/cgroup/*; do
    if mountpoint -q "$hierarchy" && ! [ -L "$hierarchy" ]; then
        mount -o remount,rw,bind "$hierarchy"
    fi
done
if mountpoint -q /proc/sys; then
    mount -o remount,rw,bind /proc/sys
fi
mount --make-rshared /
sysctl -q -w net.ipv4.ip_forward=1
