package cli

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// WithoutCoreDump keeps the memory of this process, in which keys and tokens are, out of core
// dumps and from other processes of its user. Programs that it starts leave no core dumps either.
func WithoutCoreDump() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbid core dumps: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid core dumps: %w", err)
	}
	return nil
}
