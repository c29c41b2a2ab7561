package xds_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve/effective"
)

// What a rendering has to say is known without rendering: before and after it.
func TestNotesAreThoseOfRendering(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := worlds.Snapshot(t, world.Catalog(), 4)
		m, _ := world.Compile(s)
		x := renderer()
		for r := range m.Dataplanes("") {
			before := noteTexts(x.Notes(r))
			want := noteTexts(x.Render(r).Notes)
			if diff := cmp.Diff(want, before); diff != "" {
				t.Fatalf("%s: rendering (-) says other than what is known without it (+):\n%s", r.Ref, diff)
			}
			if diff := cmp.Diff(want, noteTexts(x.Notes(r))); diff != "" {
				t.Fatalf("%s, after rendering:\n%s", r.Ref, diff)
			}
		}
	})
}

// TestHostsShareAnAddress: hosts that a dataplane calls by one port are told apart by their names, so nobody is told
// that their addresses clash; a service at that port clashes with them.
func TestHostsShareAnAddress(t *testing.T) {
	t.Parallel()
	r := sidecar(nil, nil)
	for _, host := range []string{"a.example.org", "b.example.org", "c.example.org"} {
		d := &effective.Destination{ID: "host_" + host + ":80", Kind: api.KindHost, Name: host, Port: 80, Protocol: api.HTTP, Hostnames: []string{host}}
		r.Outbounds = append(r.Outbounds, &effective.Outbound{Address: "127.0.0.1", Port: 10080, Destination: d, Table: &effective.Table{Destination: d, Routes: []*effective.Route{rest()}}})
	}
	if said := noteTexts(renderer().Notes(r)); len(said) > 0 {
		t.Errorf("three hosts: %q", said)
	}
	again := sidecar([]*effective.Table{table()}, nil)
	again.Outbounds[0].Port = 10080
	r.Outbounds = append(r.Outbounds, again.Outbounds...)
	said := noteTexts(renderer().Notes(r))
	if len(said) != 1 || !strings.Contains(said[0], "127.0.0.1:10080") {
		t.Errorf("hosts and a service: %q", said)
	}
}

func noteTexts(notes []api.Note) []string {
	out := []string{}
	for _, n := range notes {
		text := n.Code + " " + string(n.Field) + " " + n.Message
		if n.Origin != nil {
			text = n.Origin.Ref.String() + " " + string(n.Origin.Field) + " " + text
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
