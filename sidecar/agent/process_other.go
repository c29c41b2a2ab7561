//go:build !linux

package agent

import "syscall"

// apart keeps the signals of the agent's terminal from Envoy, which the agent drains first.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
