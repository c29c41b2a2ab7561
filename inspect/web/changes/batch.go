package changes

import (
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/store"
)

// batch is what one request writes.
type batch struct {
	*DocumentWriter
	objects, refused []*api.Object
	dry, asReal      bool              // it is only planned; as if documents of previews took part
	fields           bool              // of a plan: with what changes in Envoy's resources
	restoreRevoked   bool              // a rollback takes revocations back too
	stream           bool              // of documents, whose findings stand in the order of their places
	found            []*api.Violation  // in the texts
	prune            map[string]string // labels of what else is to go; nil for nothing
}

// carries reports whether labels hold all that is wanted.
func carries(labels, wanted map[string]string) bool {
	for k, v := range wanted {
		if got, ok := labels[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// selectorOf are the labels of ?prune=k=v,k=v; nil where it is not given.
func selectorOf(text string) (map[string]string, error) {
	labels := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		k, v, ok := strings.Cut(part, "=")
		if _, twice := labels[k]; !ok || twice || k == "" || strings.ContainsAny(k+v, "=!() \t") {
			return nil, httpapi.BadField("prune", strconv.Quote(part)+" is not a label; write the labels of what is to go as k=v, separated by commas")
		}
		labels[k] = v
	}
	return labels, nil
}

// changedRefs are the objects that a write changed.
func changedRefs(list []store.Result) (out []api.Ref) {
	for _, r := range list {
		if r.Action != store.Unchanged {
			out = append(out, r.Ref)
		}
	}
	return out
}
