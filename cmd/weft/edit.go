package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	var item client.Item
	header, err := server.Exchange(c.Context(), http.MethodGet, path(t, a.mesh, name)+"?format=written", nil, nil, &item)
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
	if err := a.putEdited(c.Context(), server, path(t, a.mesh, name), header.Get("ETag"), after); err != nil {
		stored := "nothing was stored; the"
		switch {
		case errors.Is(err, client.ErrUnanswered):
			stored = "the"
		case client.Lost(err):
			stored = "somebody else changed the object while you edited it, so nothing was stored: edit it again; your"
		}
		fmt.Fprintf(a.err, "weft: %s text is in %s, apply it with `weft apply -f %s`\n", stored, file, file)
		return err
	}
	fmt.Fprintln(a.out, ref(t, a.mesh, name), "updated")
	return os.Remove(file)
}

// putEdited stores a text in place of the object as it was read, and of no other.
func (a *app) putEdited(ctx context.Context, server *client.Client, at, tag string, text []byte) error {
	var answer struct{ Warnings []string }
	_, err := server.Exchange(ctx, http.MethodPut, at, http.Header{"Content-Type": {"application/yaml"}, "If-Match": {tag}}, text, &answer)
	var refused *client.Refusal
	if errors.As(err, &refused) && len(refused.Violations) > 0 {
		return invalid(refused)
	}
	for _, w := range answer.Warnings {
		fmt.Fprintln(a.err, "warning:", oneLine(w))
	}
	return err
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
