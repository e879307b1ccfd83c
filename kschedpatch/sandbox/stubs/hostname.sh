#!/bin/sh
read -r name <"${0%/*}/../../sim/name"
echo "$name"
