package envoytest

import (
	"flag"
	"strconv"
)

// Waits lets so many tests of a program run beside each other, for a program whose tests mostly wait: for
// Envoys, limits that fill and bounds of time. Without it they are as many as there are processors. -parallel
// on the command line wins.
func Waits(tests int) {
	if err := flag.Set("test.parallel", strconv.Itoa(tests)); err != nil {
		panic(err)
	}
}
