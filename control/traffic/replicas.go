package traffic

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weftmesh/weft/inspect/traffic"
)

// Replicas answer for all replicas of a control plane.
type Replicas struct {
	Own *Collector
	// Peers asks the other replicas, and names those that did not answer; nil where there are none.
	Peers func(ctx context.Context, question []byte) (answers [][]byte, silent []string)
}

// Traffic adds what all replicas know.
func (r Replicas) Traffic(ctx context.Context, q traffic.Query) (traffic.Part, []string) {
	own := r.Own.Answer(q)
	if r.Peers == nil {
		return own, nil
	}
	question, err := json.Marshal(q)
	if err != nil {
		panic(err) // a struct of texts
	}
	answers, silent := r.Peers(ctx, question)
	parts := []traffic.Part{own}
	for _, text := range answers {
		var p traffic.Part
		if err := json.Unmarshal(text, &p); err != nil {
			silent = append(silent, "one whose answer is not understood: "+err.Error())
			continue
		}
		parts = append(parts, p)
	}
	slices.Sort(silent)
	return traffic.Merge(parts...), silent
}

// Sums answers a peer.
func (c *Collector) Sums(question []byte) ([]byte, error) {
	var q traffic.Query
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, fmt.Errorf("a question for sums: %w", err)
	}
	return json.Marshal(c.Answer(q))
}
