package main

import (
	"context"
	"fmt"
	"html/template"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
)

func newGUI(a *app) *cobra.Command {
	var noOpen bool
	c := a.command(&cobra.Command{
		Use:   "gui",
		Short: "Open the GUI of a control plane in a browser",
		Long: `Prints the address of the GUI, with the token in its fragment, which browsers send
to no server, and opens it where there is a desktop. Whoever has the address has
the rights of the token.`,
		Example: "  weft gui\n  weft gui --server http://127.0.0.1:5681 --no-open",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			server, err := client.Find(a.server, a.tokenFile)
			if err != nil {
				return err
			}
			// Asked first, so that a wrong address or token is told here and not by a browser.
			if err := server.Get(c.Context(), "/who-am-i", nil); err != nil {
				return err
			}
			at := server.GUI()
			fmt.Fprintln(a.out, at)
			if noOpen || !desktop() || !overwrites(a.out) {
				return nil
			}
			return browse(c.Context(), at)
		},
	}, groupAsk)
	c.Flags().BoolVar(&noOpen, "no-open", false, "print the address alone")
	a.serverFlags(c)
	return c
}

// desktop reports whether there is one to show a page on.
func desktop() bool {
	return runtime.GOOS == "darwin" || os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

var forward = template.Must(template.New("").Parse(`<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={{.}}"><a href="{{.}}">The GUI of weft</a>
`))

// browse opens a page that leads to the address: every user of a machine sees the words of a
// command that runs there, and nobody else this file.
func browse(ctx context.Context, at string) error {
	dir, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("find a place for a page that leads to the GUI: %w; open the address above", err)
	}
	dir = filepath.Join(dir, "weft")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make a place for a page that leads to the GUI: %w; open the address above", err)
	}
	f, err := os.CreateTemp(dir, "gui-*.html") // mode 0600
	if err != nil {
		return fmt.Errorf("write a page that leads to the GUI: %w; open the address above", err)
	}
	defer os.Remove(f.Name())
	err = forward.Execute(f, at)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write a page that leads to the GUI: %w; open the address above", err)
	}
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	if err := exec.CommandContext(ctx, opener, f.Name()).Run(); err != nil {
		return fmt.Errorf("%s: %w; open the address above", opener, err)
	}
	select { // until the browser has read it
	case <-ctx.Done():
	case <-time.After(5 * time.Second):
	}
	return nil
}
