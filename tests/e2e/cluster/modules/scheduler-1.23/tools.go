//go:build tools

// Package tools names the commands that the end-to-end rig builds, so that
// go.mod and go.sum pin all that they need.
package tools

import (
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
)
