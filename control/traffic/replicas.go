package traffic

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weftmesh/weft/inspect/traffic"
)

// ReplicaSums answer for all replicas of a control plane.
type ReplicaSums struct {
	Own *TrafficCollector
	// Peers asks the other replicas, and names those that did not answer; nil where there are none.
	Peers func(ctx context.Context, question []byte) (answers [][]byte, silent []string)
}

// Traffic adds what all replicas know.
func (r ReplicaSums) Traffic(ctx context.Context, q traffic.TrafficQuery) (traffic.PartialSums, []string) {
	own := r.Own.Answer(q)
	if r.Peers == nil {
		return own, nil
	}
	question, err := json.Marshal(q)
	if err != nil {
		panic(err) // a struct of texts
	}
	answers, silent := r.Peers(ctx, question)
	parts := []traffic.PartialSums{own}
	for _, text := range answers {
		var p traffic.PartialSums
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
func (c *TrafficCollector) Sums(question []byte) ([]byte, error) {
	var q traffic.TrafficQuery
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, fmt.Errorf("a question for sums: %w", err)
	}
	return json.Marshal(c.Answer(q))
}
