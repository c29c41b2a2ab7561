package server_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
)

// TestStreamsEndLittleByLittle: each no earlier than its turn; those that are left are served
// until then, and new ones are refused from the first moment on.
func TestStreamsEndLittleByLittle(t *testing.T) {
	t.Parallel()
	const many, over = 100, 5 * time.Second
	documents := []string{exclusive, service("web", 10001), member("web", 10001)}
	for i := range many {
		documents = append(documents, caller(fmt.Sprintf("front-%03d", i), map[uint32]string{20001: "web"}))
	}
	p := serve(t, nil, documents...)
	var clients []*delta
	for i := range many {
		c := p.delta(fmt.Sprintf("default.front-%03d", i), "")
		c.configure()
		clients = append(clients, c)
	}
	started, done := time.Now(), make(chan struct{})
	go func() {
		p.Drain(t.Context(), over)
		close(done)
	}()
	if code, _ := clients[0].ended(); code != codes.Unavailable {
		t.Errorf("the first stream ended with %v", code)
	}
	late := p.delta("default.front-000", "")
	late.ask("cds", nil)
	if code, _ := late.ended(); code != codes.Unavailable {
		t.Errorf("a new stream ended with %v", code)
	}
	last := clients[many-1]
	p.apply(retries(3))
	last.ack(last.next("rds"))
	for i, c := range clients[1:] {
		_, _ = c.ended()
		if at, turn := time.Since(started), time.Duration(i+1)*over/many; at < turn {
			t.Errorf("stream %d ended after %v, before its turn at %v", i+1, at, turn)
		}
	}
	<-done
}
