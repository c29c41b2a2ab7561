package agent

import "syscall"

// apart keeps the signals of the agent's terminal from Envoy, which the agent
// drains first, and ends Envoy with an agent that was killed.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
