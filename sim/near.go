package sim

import (
	"fmt"
	"strings"

	"github.com/weftmesh/weft/resolve/effective"
)

// nearText says which parts of the requests of r to a cluster go to endpoints that are near to it; empty where it
// prefers nobody.
func nearText(r *effective.Resolved, use *effective.ClusterUse) string {
	near := r.Nearness(use.Cluster)
	if len(near.Tags) == 0 || use.Endpoints == nil {
		return ""
	}
	var out []string
	for i, share := range near.Shares(use.List) {
		name := "others"
		if i < len(near.Tags) {
			name = near.Tags[i].String()
		}
		if share > 0 {
			out = append(out, fmt.Sprintf("%.3g%% to %s", 100*share, name))
		}
	}
	return strings.Join(out, ", ")
}

// balanceText is how an endpoint is chosen, and which are preferred before that.
func balanceText(balance, near string) string {
	switch {
	case near == "":
		return balance
	case balance == "":
		return "nearness (" + near + ")"
	}
	return balance + ", nearness (" + near + ")"
}
