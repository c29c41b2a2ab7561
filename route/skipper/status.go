package skipper

import (
	"github.com/weftmesh/weft/route"
)

// own is the status of a RouteGroup in the form of Kubernetes. The published
// definition has no place for conditions; weft's own has.
type own struct {
	Conditions []condition `json:"conditions"`
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

func status(f route.Findings) any {
	var s own
	for _, v := range f.Verdicts {
		s.Conditions = append(s.Conditions, condition(v))
	}
	return s
}
