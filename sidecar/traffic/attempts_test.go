package traffic_test

import (
	"testing"
	"time"

	"github.com/weftmesh/weft/sidecar/attach"
)

// TestAttemptsOfRequests: of a request that was tried several times a real Envoy's lines tell each attempt that failed,
// and they are found by the request that they are of.
func TestAttemptsOfRequests(t *testing.T) {
	t.Parallel()
	s := newSidecar(t)
	s.send(0, outcome{path: "/urx", script: "503", n: 3, status: 503}) // tried three times
	until(t, "each request has its attempts", func() bool {
		answer, err := s.log.Recent.Answer(attach.RequestsQuestion{}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		whole := 0
		for _, r := range answer.Requests {
			if len(r.Attempts) == 3 && r.Attempts[0].Status == 503 && r.Attempts[0].Host != "" {
				whole++
			}
		}
		return whole == 3
	})
}
