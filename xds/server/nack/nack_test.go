package nack

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/subscription"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

func changed(names ...string) (out []subscription.Versioned) {
	for _, name := range names {
		out = append(out, subscription.Versioned{Resource: &resource.Resource{Name: name}})
	}
	return out
}

// TestCulprits: those whose names stand in the words as a whole, or the only one that there is.
func TestCulprits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words   string
		changed string
		want    string
	}{
		{"Error adding/updating listener(s) inbound:80: no such filter", "inbound:80 inbound:8080", "inbound:80"},
		{"inbound:8080 is wrong", "inbound:80 inbound:8080", "inbound:8080"},
		{"cluster web.", "web web.a", "web"},
		{"cluster web.a: no, web: no", "web web.a", "web web.a"},
		{"cluster web-1", "web a", ""},
		{"no", "web", "web"},
		{"no", "web a", ""},
		{"no", "", ""},
	} {
		var got []string
		for _, v := range Culprits(changed(strings.Fields(c.changed)...), c.words) {
			got = append(got, v.Name)
		}
		if d := cmp.Diff(strings.Fields(c.want), append([]string{}, got...)); d != "" {
			t.Errorf("%q of %q (-want +got):\n%s", c.words, c.changed, d)
		}
	}
}

// TestOf: a refusal that names nothing has some of what was sent.
func TestOf(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 2 * most {
		names = append(names, fmt.Sprint("c-", i))
	}
	r := &subscription.Response{Type: subscription.Clusters, Revision: 7, Changed: changed(names...)}
	n := Of(r, nil, "no")
	if d := cmp.Diff(syncstatus.Nack{Type: "cds", Resources: names[:most], Message: "no", Revision: 7}, n); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if n := Of(r, r.Changed[3:4], "no"); len(n.Resources) != 1 || n.Resources[0] != "c-3" {
		t.Errorf("%v are refused", n.Resources)
	}
}

// TestLog: each cause once in a while, few causes, and how many were left out, whichever stream they came from.
func TestLog(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	var l RefusalLog
	to, now := slog.New(slog.NewTextHandler(&text, nil)), time.Unix(0, 0)
	write := func(at time.Time, words string) {
		l.Write(to, api.Ref{Name: "web"}, syncstatus.Nack{At: at, Type: "cds", Message: words}, time.Minute)
	}
	write(now, "no")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { write(now.Add(time.Second), "no") })
	}
	all.Wait()
	if n := strings.Count(text.String(), "msg=refused"); n != 1 {
		t.Fatalf("%d lines:\n%s", n, text.String())
	}
	write(now.Add(time.Minute), "no")
	if !strings.Contains(text.String(), "unlogged=4") {
		t.Errorf("no count of those that were left out:\n%s", text.String())
	}
	for i := range 2 * mostCauses {
		write(now.Add(time.Minute), fmt.Sprint("no ", i))
	}
	if n := strings.Count(text.String(), "msg=refused"); n != 1+mostCauses {
		t.Errorf("%d lines", n)
	}
}
