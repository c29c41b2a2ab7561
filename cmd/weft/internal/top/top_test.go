package top

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/web/events"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// happens tells a view of an event so many milliseconds after noon.
func happens(v *View, ms int, kind string, revision uint64, dataplane string) {
	e := events.Event{Time: noon.Add(time.Duration(ms) * time.Millisecond), Type: kind, Revision: revision, Dataplane: dataplane}
	switch kind {
	case "change":
		e.Object, e.Action, e.User = "MeshRetry/default/mr-1", "updated", "alice"
	case "recompute":
		e.Count = 2
	}
	v.Event(e)
}

// A change stands there until all to whom it was sent have acknowledged it; who has it
// without having been sent it does not count.
func TestAChangeIsFollowedToItsAcknowledgements(t *testing.T) {
	t.Parallel()
	v := View{Mesh: "default"}
	happens(&v, 0, "change", 7, "")
	happens(&v, 1, "recompute", 7, "")
	for _, dp := range []string{"a", "b"} {
		happens(&v, 2, "push", 7, dp)
	}
	happens(&v, 250, "synced", 7, "a")
	happens(&v, 900, "synced", 7, "late")
	got := v.Summary().Changes
	if len(got) != 1 || *got[0].Affected != 2 || got[0].Pushed != 2 || got[0].Acked != 1 || got[0].Slowest != 0.25 || got[0].User != "alice" {
		t.Errorf("it is %+v", got)
	}
	text := strings.Join(v.Lines(0, 0, noon.Add(5*time.Second), false), "\n")
	if !strings.Contains(text, "1 of 2    250ms  alice          MeshRetry/default/mr-1 updated") {
		t.Errorf("it is shown as\n%s", text)
	}
	happens(&v, 300, "nack", 7, "b")
	if text = strings.Join(v.Lines(0, 0, noon, false), "\n"); !strings.Contains(text, "1 refuse") {
		t.Errorf("a refusal is not shown:\n%s", text)
	}
	v.Anew()
	if len(v.Summary().Changes) != 0 {
		t.Error("revisions of before a restart are still there")
	}
}

// With 10,000 sidecars a picture has as many lines as there is room for, the worst first,
// none longer than the terminal, and says how many it leaves out.
func TestTenThousandSidecarsFitTheTerminal(t *testing.T) {
	t.Parallel()
	var v View
	o := conditions.Overview{Sidecars: inspect.Sync{Revision: 9, Total: 10000, InSync: 2000,
		Refusing: []inspect.Refuser{{Dataplane: "bad-1", Type: "rds", Message: "no \x1b[2Jsuch\ncluster"}}}}
	for i := range 7999 {
		o.Sidecars.Behind = append(o.Sidecars.Behind, fmt.Sprintf("slow-%05d", i))
	}
	v.Status(o, noon)
	o.Sidecars.Behind = append([]string{"new-1"}, o.Sidecars.Behind...)
	v.Status(o, noon.Add(time.Minute))
	for i := range 40 {
		happens(&v, i, "change", uint64(i+1), "")
	}
	const columns, rows = 60, 20
	lines := v.Lines(columns, rows, noon.Add(90*time.Second), false)
	if len(lines) != rows {
		t.Errorf("%d lines, want %d", len(lines), rows)
	}
	for _, l := range lines {
		if n := utf8.RuneCountInString(l); n > columns {
			t.Errorf("%d columns: %q", n, l)
		}
	}
	text := strings.Join(lines, "\n")
	refusing, behind := strings.Index(text, "refusing           bad-1  rds: no \uFFFD[2Jsuch cluster"), strings.Index(text, "behind    1m30s    slow-00000")
	if refusing < 0 || behind < refusing || strings.Contains(text, "new-1") {
		t.Errorf("the worst and those who are so for longest do not come first:\n%s", text)
	}
	if !strings.Contains(text, "… and 799") || !strings.Contains(text, "… and 3") || !strings.Contains(text, "10000 dataplanes: 2000 in sync, 8000 behind, 1 refusing") {
		t.Errorf("what is left out is not said:\n%s", text)
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("a document commands the terminal: %q", text)
	}
	if coloured := strings.Join(v.Lines(columns, rows, noon, true), "\n"); !strings.Contains(coloured, "\x1b[31m") {
		t.Errorf("nothing is red: %q", coloured)
	}
}
