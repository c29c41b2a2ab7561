//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/inspect/explain"
)

// browser is one that shows the pages of a control plane: inspect/web/ui/test/why.mjs, which
// answers each question by a line.
type browser struct {
	in  io.Writer
	out *bufio.Reader
}

// shownField is a field of a policy as a page shows it.
type shownField struct {
	Name, Value, By string
	Over            []shownField
}

func browsing(t *testing.T, server string) *browser {
	t.Helper()
	c := exec.Command("node", "test/why.mjs")
	c.Dir, c.Stderr = "../../inspect/web/ui", os.Stderr
	c.Env = append(os.Environ(), "SERVER="+server)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := c.Wait(); err != nil {
			t.Errorf("the browser: %v", err)
		}
	})
	return &browser{in, bufio.NewReader(out)}
}

// shows asks by clicks why a route's requests are repeated so often, and fails where the page
// says other than what is explained. It counts the fields.
func (b *browser) shows(t *testing.T, e *explain.Explanation, r *explain.Route) int {
	t.Helper()
	o := &e.Outbounds[0]
	question, _ := json.Marshal(object{"dataplane": e.Dataplane, "row": fmt.Sprintf("%s %d %s", o.ID, o.Port, r.Key)})
	if _, err := fmt.Fprintf(b.in, "%s\n", question); err != nil {
		t.Fatal(err)
	}
	line, err := b.out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Clicks int
		Fields []shownField
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		t.Fatalf("%v\n%s", err, line)
	}
	if answer.Clicks > 3 {
		t.Errorf("it takes %d clicks", answer.Clicks)
	}
	want, got := map[string]shownField{}, map[string]shownField{}
	for field, said := range r.Policies["MeshRetry"].Why {
		shown := shownField{Over: []shownField{}}
		for i := len(said) - 1; i >= 0; i-- {
			one := shownField{Name: field, Value: valueText(said[i].Value), By: "default"}
			if said[i].Origin != nil && said[i].Origin.Name != "" {
				one.By = said[i].Origin.Kind + " " + said[i].Origin.Name
			}
			if i == len(said)-1 {
				shown.Name, shown.Value, shown.By = one.Name, one.Value, one.By
			} else {
				shown.Over = append(shown.Over, one)
			}
		}
		want[field] = shown
	}
	for _, f := range answer.Fields {
		got[f.Name] = f
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s: explained (-) and shown (+):\n%s", question, diff)
	}
	return len(want)
}
