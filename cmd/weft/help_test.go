package main

import (
	"testing"

	"github.com/spf13/cobra"
)

// TestEveryCommandShowsAnExample holds help to what people look for first.
func TestEveryCommandShowsAnExample(t *testing.T) {
	t.Parallel()
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "help" {
			return
		}
		if c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		if c.Short == "" {
			t.Errorf("%s does not say what it does", c.CommandPath())
		}
		if c.Name() == "completion" {
			return // its subcommands are cobra's own
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&app{}))
}
