package agent

import (
	"context"
	"io"
	"net/http"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/callers"
)

// countEvery is how often connections are counted where nobody new has come.
const countEvery = 30 * time.Second

// reportConnections tells the control plane of connections of inbounds, as they change, until ctx
// ends: soon where somebody came in plain text, counts once in a while.
func (t *attachment) reportConnections(ctx context.Context, g attach.Sidecar_AttachClient) {
	if t.identity == nil {
		return
	}
	var told *attach.Connections
	var seen uint64
	var counted time.Time
	for look := time.NewTicker(t.intervals.connections); ; {
		senders, changes := t.callers.Senders()
		if changes != seen || time.Since(counted) >= countEvery {
			inbounds, err := t.count(ctx)
			if now := (&attach.Connections{Inbounds: inbounds, Senders: senders}); err == nil && !proto.Equal(now, told) {
				if g.Send(&attach.Up{Is: &attach.Up_Connections{Connections: now}}) != nil {
					look.Stop()
					return // once sees why
				}
				told = now
			}
			if err == nil {
				seen, counted = changes, time.Now()
			}
		}
		select {
		case <-ctx.Done():
			look.Stop()
			return
		case <-look.C:
		}
	}
}

// count asks Envoy for the connections of its inbounds.
func (t *attachment) count(ctx context.Context) ([]*attach.Inbound, error) {
	ctx, cancel := context.WithTimeout(ctx, attach.AnswerWithin)
	defer cancel()
	resp, err := t.request(ctx, http.MethodGet, callers.Query)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return callers.Count(io.LimitReader(resp.Body, 1<<20))
}
