#!/bin/sh
# Only tells its version: the kubelet itself is simulated.
read -r version <"${0%/*}/../../sim/version"
echo "Kubernetes $version"
