package issuer

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/peers"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/inspect/web/certificates"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/store"
)

// leaderRequest is a Turn as one replica passes it on to the leader.
type leaderRequest struct {
	Owner api.Ref                   `json:"owner"`
	Ask   certificates.RootRotation `json:"ask"`
}

// sendRotation has the replica that leads do it.
func (s CAAdmin) sendRotation(ctx context.Context, owner api.Ref, ask certificates.RootRotation) (out mtls.Rotated, err error) {
	if s.leader == nil {
		return out, httpapi.Refusal(http.StatusServiceUnavailable, "this replica does not lead, so it writes nothing of authorities, and it knows no other; ask the one that holds the Lease "+LeaseName)
	}
	text, err := json.Marshal(leaderRequest{owner, ask})
	if err != nil {
		return out, err
	}
	outcome, err := s.leader.Send(ctx, text)
	switch {
	case err != nil:
		return out, httpapi.Refusal(http.StatusServiceUnavailable, "the leader rotates the root of an authority: "+err.Error())
	case outcome.GetStatus() != 0:
		return out, httpapi.Refusal(int(outcome.GetStatus()), outcome.GetDetail())
	}
	err = json.Unmarshal(outcome.GetText(), &out)
	return out, err
}

// LeaderRequest does what a peer asks of the leader.
func (s CAAdmin) LeaderRequest(ctx context.Context, text []byte) (*peers.Outcome, error) {
	var e leaderRequest
	if err := json.Unmarshal(text, &e); err != nil {
		return &peers.Outcome{Status: http.StatusBadRequest, Detail: "the replica that leads does not understand the other one; give all the same release"}, nil
	}
	turned, err := s.rotate(ctx, e.Owner, e.Ask)
	if errors.Is(err, store.ErrNotLeading) {
		return nil, peers.ErrNotLeading
	}
	if status, detail, ok := httpapi.Refused(err); ok {
		return &peers.Outcome{Status: int32(status), Detail: detail}, nil
	}
	if err != nil {
		return nil, err
	}
	answer, err := json.Marshal(turned)
	return &peers.Outcome{Text: answer}, err
}

// LeaseName is the Lease of the replica that writes to the cluster (spec/kubernetes.md 6.2).
const LeaseName = "weft-leader"
