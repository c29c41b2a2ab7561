package resolve_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain makes the laws look at more worlds than other packages do: what an
// update may forget shows only after rare sequences of changes.
func TestMain(m *testing.M) {
	if os.Getenv("RAPID_CHECKS") == "" {
		if err := flag.Set("rapid.checks", "400"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
