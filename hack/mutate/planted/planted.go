// Package planted chooses which of the defects that are built into a test
// program are active in a process.
//
// Environment variable WEFT_DEFECT holds the number of the one that is, or the
// path of a file to which the numbers of all places that the process reaches are
// appended, one a line. Processes that the tests start inherit it.
package planted

import (
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

// Variable is the environment variable that chooses.
const Variable = "WEFT_DEFECT"

var (
	value      = os.Getenv(Variable)
	active, no = strconv.Atoi(value)
	recording  = value != "" && no != nil

	writing sync.Mutex
	seen    [1 << 16]atomic.Bool
)

// Is tells whether the defect is active.
func Is(number int) bool { return number == active }

// Reached notes that the place of the defect is executed.
func Reached(number int) {
	if recording && !seen[number%len(seen)].Swap(true) {
		note(number)
	}
}

func note(number int) {
	writing.Lock()
	defer writing.Unlock()
	f, err := os.OpenFile(value, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strconv.Itoa(number) + "\n"); err != nil {
		panic(err)
	}
}
