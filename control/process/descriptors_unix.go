//go:build unix

package process

import "syscall"

// RaiseDescriptors makes as many descriptors available as the process may have,
// and says how many.
func RaiseDescriptors() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return usualDescriptors
	}
	if l.Cur < l.Max {
		raised := l
		raised.Cur = raised.Max
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised); err == nil {
			l = raised
		}
	}
	return int(min(uint64(l.Cur), 1<<20))
}

const usualDescriptors = 1024
