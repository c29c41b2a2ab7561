package timeline_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/sim/timeline"
)

// TestPlay: attempts, back-offs and bounds of one request.
func TestPlay(t *testing.T) {
	t.Parallel()
	const s = time.Second
	always := timeline.RetryPlan{Retries: 2, Base: s, Max: 10 * s, Connect: true, Status: func(n uint32) bool { return n >= 500 }}
	perTry := always
	perTry.PerTry, perTry.Reset = s, true
	for name, c := range map[string]struct {
		player timeline.Player
		script []timeline.BackendResponse
		want   string
	}{
		"a delay is silence": {timeline.Player{Bounds: timeline.Timeouts{StreamIdle: 2 * s}, Delay: 3 * s}, []timeline.BackendResponse{{Status: 200}},
			"streamIdleTimeout 504 after 0 at 2s..2s"},
		"the bound of a request begins behind it": {timeline.Player{Bounds: timeline.Timeouts{Request: 2 * s}, Delay: 3 * s}, []timeline.BackendResponse{{Status: 200, Delay: 3 * s}},
			"3s..3s requestTimeout 504; requestTimeout 504 after 1 at 5s..5s"},
		"a delay within it": {timeline.Player{Bounds: timeline.Timeouts{Request: 2 * s}, Delay: s}, []timeline.BackendResponse{{Status: 200}},
			"1s..1s answer 200; answer 200 after 1 at 1s..1s"},
		"retries end with numRetries": {timeline.Player{Plan: always}, []timeline.BackendResponse{{Status: 503}},
			"0s..0s answer 503; 0s..1s answer 503; 0s..3s answer 503; answer 503 after 3 at 0s..3s"},
		"a good answer ends them": {timeline.Player{Plan: always}, []timeline.BackendResponse{{Refuse: true}, {Status: 200}},
			"0s..0s refused 503; 0s..1s answer 200; answer 200 after 2 at 0s..1s"},
		"each attempt has its bound": {timeline.Player{Plan: perTry}, []timeline.BackendResponse{{Status: 200, Delay: 3 * s}},
			"0s..0s perTryTimeout 504; 1s..2s perTryTimeout 504; 2s..5s perTryTimeout 504; perTryTimeout 504 after 3 at 3s..6s"},
		"a long body is not repeated": {timeline.Player{Plan: always, LongBody: true}, []timeline.BackendResponse{{Status: 503}},
			"0s..0s answer 503; early; answer 503 after 1 at 0s..0s"},
		"an answer that takes too long is cut": {timeline.Player{Bounds: timeline.Timeouts{Stream: 2 * s}}, []timeline.BackendResponse{{Status: 200, Delay: s, Complete: 3 * s}},
			"0s..0s answer 200; maxStreamDuration 200 after 1 at 2s..2s"},
		"silence cuts it": {timeline.Player{Bounds: timeline.Timeouts{StreamIdle: s}}, []timeline.BackendResponse{{Status: 200, Complete: 3 * s}},
			"0s..0s answer 200; streamIdleTimeout 200 after 1 at 1s..1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := c.player
			p.Answer = func(n int) timeline.BackendResponse { return c.script[min(n, len(c.script)-1)] }
			line := p.Play()
			var got []string
			for _, x := range line.Tries {
				got = append(got, fmt.Sprintf("%v..%v %s %d", x.Earliest, x.Latest, x.Ended, x.Status))
			}
			if line.Early {
				got = append(got, "early")
			}
			for _, e := range line.Ends {
				got = append(got, fmt.Sprintf("%s %d after %d at %v..%v", e.By, e.Status, e.Attempts, e.Earliest, e.Latest))
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("got\n%s\nwant\n%s", text, c.want)
			}
		})
	}
}
