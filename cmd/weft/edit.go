package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
)

func newEdit(a *app) *cobra.Command {
	c := a.command(&cobra.Command{
		Use:   "edit KIND NAME",
		Short: "Change a stored object in an editor",
		Long: `Opens the object in the editor of VISUAL or EDITOR (else vi), checks what comes
back, and stores it. If it is refused, the text stays in a file that the message names.`,
		Example:           "  weft edit meshretry mr-1\n  EDITOR=nano weft edit mt slow",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeObject,
		RunE:              func(c *cobra.Command, args []string) error { return a.edit(c, args[0], args[1]) },
	}, groupChange)
	a.serverFlags(c)
	a.meshFlag(c)
	return c
}

func (a *app) edit(c *cobra.Command, word, name string) error {
	t, server, err := a.located(word)
	if err != nil {
		return err
	}
	item, err := server.One(c.Context(), path(t, a.mesh, name)+"?format=written")
	if err != nil {
		return a.named(c.Context(), server, t, name, err)
	}
	var text bytes.Buffer
	if err := writeYAML(&text, item); err != nil {
		return err
	}
	before := text.Bytes()
	file, err := draft(t.Short, before)
	if err != nil {
		return err
	}
	if err := a.openEditor(c, file); err != nil {
		return err
	}
	after, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read what was edited: %w", err)
	}
	if bytes.Equal(before, after) {
		fmt.Fprintln(a.out, ref(t, a.mesh, name), "unchanged")
		return os.Remove(file)
	}
	a.output = "table"
	if err := a.apply(c, applyOptions{files: []string{file}, draft: true}); err != nil {
		stored := "nothing was stored; the"
		if errors.Is(err, client.ErrUnanswered) {
			stored = "the"
		}
		fmt.Fprintf(a.err, "weft: %s text is in %s, apply it with `weft apply -f %s`\n", stored, file, file)
		return err
	}
	return os.Remove(file)
}

func draft(name string, text []byte) (string, error) {
	f, err := os.CreateTemp("", "weft-"+name+"-*.yaml")
	if err != nil {
		return "", fmt.Errorf("make a file to edit: %w", err)
	}
	_, err = f.Write(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", fmt.Errorf("write the file to edit: %w", err)
	}
	return f.Name(), nil
}

// openEditor runs the editor, whose setting may hold arguments.
func (a *app) openEditor(c *cobra.Command, file string) error {
	editor := "vi"
	for _, name := range []string{"EDITOR", "VISUAL"} {
		if v := os.Getenv(name); v != "" {
			editor = v
		}
	}
	words := append(strings.Fields(editor), file)
	cmd := exec.CommandContext(c.Context(), words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, a.out, a.err
	if _, ok := a.out.(*os.File); !ok {
		cmd.Stdout = io.Discard
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("editor %s: %w; set EDITOR to another one", words[0], err)
	}
	return nil
}
