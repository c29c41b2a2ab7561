package sim

import (
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sim/lookup"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// Play says what happens to a forwarded request if its backend does to the n-th
// attempt (from 0) what answer says.
func Play(w lookup.Reader, from api.Ref, q wire.Request, answer func(n int) timeline.BackendResponse) (timeline.Timeline, error) {
	r, ok := w.Dataplane(from)
	if !ok {
		return timeline.Timeline{}, fmt.Errorf("%s: there is no such dataplane", from)
	}
	if err := Check(q); err != nil {
		return timeline.Timeline{}, err
	}
	f, err := lookup.Find(w, r, q)
	if err != nil {
		return timeline.Timeline{}, err
	}
	if len(f.Ends) > 1 {
		return timeline.Timeline{}, fmt.Errorf("draw: chance decides which route takes the request; say by which draw")
	}
	return trace{from: r}.playAt(f.Ends[0], answer)
}
