package connections

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
		h := NewTokenUse(slog.New(slog.DiscardHandler))
		stays := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "stays"}
		h.begins(stays, "10.0.0.1")
		for i := range 1000 {
			dp := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: fmt.Sprint("gone-", i)}
			h.begins(dp, "10.0.0.2")
			h.ends(dp, "10.0.0.2")
		}
		time.Sleep(usesKept + time.Second)
		h.begins(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "new"}, "10.0.0.3")
		if len(h.of) != 2 || len(h.of[stays]) != 1 {
			t.Errorf("%d dataplanes are known, of which the one with a stream has %d hosts", len(h.of), len(h.of[stays]))
		}
	})
}
