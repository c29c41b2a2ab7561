package web_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/inspect/web/events"
)

// TestOnlyEventsLastLong: whoever does not read an answer loses it in the end,
// and the stream of events goes on beyond the time of all other answers.
func TestOnlyEventsLastLong(t *testing.T) {
	t.Parallel()
	if s := web.Server(nil); s.WriteTimeout <= s.ReadTimeout || s.ReadTimeout == 0 {
		t.Errorf("an answer has %v after a request of up to %v", s.WriteTimeout, s.ReadTimeout)
	}
	api, bus := serve(t, "", false)
	hasty := httptest.NewUnstartedServer(api.Config.Handler)
	hasty.Config.WriteTimeout = 50 * time.Millisecond
	hasty.Start()
	t.Cleanup(hasty.Close)
	resp, err := http.Get(hasty.URL + "/_events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for end := time.Now().Add(4 * hasty.Config.WriteTimeout); time.Now().Before(end); {
		bus.Publish(events.Event{Type: "change"})
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "event: ") {
		}
		if lines.Text() != "event: change" {
			t.Fatalf("the stream ended: %v", lines.Err())
		}
	}
}
