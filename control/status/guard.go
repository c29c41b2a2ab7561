package status

import (
	"fmt"
	"runtime/debug"
)

// Guard makes a panic an error: a bug that a writer of the leader meets ends no process,
// and the next leader would meet it too. Whoever starts a goroutine guards it by itself.
func Guard(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a bug: %v\n%s", r, debug.Stack())
		}
	}()
	return do()
}
