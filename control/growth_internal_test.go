package control

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftmesh/weft/api"
)

// TestWhatIsKnownOfDataplanesThatAreGoneGoes: also where nobody asks for problems, as on a replica
// that does not lead.
func TestWhatIsKnownOfDataplanesThatAreGoneGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHosts(slog.New(slog.DiscardHandler))
		stays := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "stays"}
		h.begins(stays, "10.0.0.1")
		for i := range 1000 {
			dp := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: fmt.Sprint("gone-", i)}
			h.begins(dp, "10.0.0.2")
			h.ends(dp, "10.0.0.2")
		}
		time.Sleep(hostsKept + time.Second)
		h.begins(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "new"}, "10.0.0.3")
		if len(h.of) != 2 || len(h.of[stays]) != 1 {
			t.Errorf("%d dataplanes are known, of which the one with a stream has %d hosts", len(h.of), len(h.of[stays]))
		}
	})
}

func TestTheLastTextsAreBounded(t *testing.T) {
	t.Parallel()
	var l lastTexts
	of := func(i int) api.Ref { return api.Ref{Name: fmt.Sprint(i)} }
	if l.same(of(0), "a") || !l.same(of(0), "a") || l.same(of(0), "b") {
		t.Error("a text is not known again")
	}
	l.forget(of(0))
	if l.same(of(0), "b") {
		t.Error("a text that was forgotten is known")
	}
	for i := range 3 * mostTexts {
		l.same(of(i), "a")
	}
	if len(l.of) > mostTexts {
		t.Errorf("%d texts are kept", len(l.of))
	}
}
