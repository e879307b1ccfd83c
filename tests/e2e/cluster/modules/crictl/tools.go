//go:build tools

// Package tools names the command that the end-to-end rig builds, so that
// go.mod and go.sum pin all that it needs.
package tools

import _ "sigs.k8s.io/cri-tools/cmd/crictl"
