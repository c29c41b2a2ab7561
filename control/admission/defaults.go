package admission

import (
	"fmt"
	"log/slog"
	"reflect"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

// defaultPolicy is a document without its head.
type defaultPolicy struct {
	kind, name, spec string
}

func (p defaultPolicy) document(ref api.Ref) []byte {
	return fmt.Appendf(nil, "type: %s\nmesh: %s\nname: %s\nlabels: {%s: \"true\"}\n%s", ref.Kind, ref.Mesh, ref.Name, api.LabelDefault, p.spec)
}

// defaultPolicies have Kuma's values, but for the retries: weft repeats by
// itself only what surely had no effect, which leaves no retry for gRPC, whose
// conditions cannot say that. They have no perTryTimeout: these conditions do not repeat
// an attempt that takes long, so that one would end the request, whatever its timeout is.
var defaultPolicies = []defaultPolicy{
	{"MeshTimeout", "mesh-timeout-all-", `spec:
  targetRef:
    kind: Mesh
  to:
    - targetRef:
        kind: Mesh
      default:
        connectionTimeout: 5s
        idleTimeout: 1h
        http:
          requestTimeout: 15s
          streamIdleTimeout: 30m
  from:
    - targetRef:
        kind: Mesh
      default:
        connectionTimeout: 10s
        idleTimeout: 2h
        http:
          requestTimeout: 0s
          streamIdleTimeout: 1h
          maxStreamDuration: 0s
`},
	{"MeshRetry", "mesh-retry-all-", `spec:
  targetRef:
    kind: Mesh
  to:
    - targetRef:
        kind: Mesh
      default:
        tcp:
          maxConnectAttempt: 5
        http:
          numRetries: 5
          retryOn: [ConnectFailure, RefusedStream]
          backOff:
            baseInterval: 25ms
            maxInterval: 250ms
`},
}

// earlierPolicies are default policies as earlier releases wrote them, where they are others today.
var earlierPolicies = []defaultPolicy{
	{"MeshRetry", "mesh-retry-all-", strings.Replace(specOf("MeshRetry"), "numRetries: 5\n", "numRetries: 5\n          perTryTimeout: 16s\n", 1)},
}

func specOf(kind string) string {
	for _, p := range defaultPolicies {
		if p.kind == kind {
			return p.spec
		}
	}
	return ""
}

// object is the document for a mesh.
func (p defaultPolicy) object(ref api.Ref) *api.Object {
	o, err := decode.One(catalog, "", p.document(ref), ref)
	if o == nil {
		panic(fmt.Sprintf("built-in document: %v", err))
	}
	return o
}

// renewed is a default policy as this release writes it, where o is exactly what an earlier one wrote.
// Edited says that people have changed one of which that is to be known: it stays as it is.
func renewed(o *api.Object) (newer *api.Object, edited bool) {
	if !o.IsDefault() {
		return nil, false
	}
	for _, was := range earlierPolicies {
		if o.Kind != was.kind || o.Name != was.name+o.Mesh {
			continue
		}
		ref := api.Ref{Kind: o.Kind, Mesh: o.Mesh, Name: o.Name}
		now := defaultPolicy{was.kind, was.name, specOf(was.kind)}.object(ref)
		if reflect.DeepEqual(o.Spec, was.object(ref).Spec) {
			now.Namespace, now.InSystemNamespace = o.Namespace, o.InSystemNamespace
			return now, false
		}
		return nil, !reflect.DeepEqual(o.Spec, now.Spec)
	}
	return nil, false
}

// Renewals rewrite the default policies that are exactly what an earlier release wrote, and say in
// the log which ones people have changed: those stay.
func Renewals(now *snapshot.Snapshot, log *slog.Logger) (writes []store.Write) {
	for mesh := range now.OfKind(api.KindMesh) {
		for _, p := range DefaultPolicies(mesh.Name, nil) {
			for o := range now.Of(p.Kind, mesh.Name) {
				if o.Name != p.Name {
					continue
				}
				newer, edited := renewed(o)
				if newer != nil {
					writes = append(writes, store.Write{Put: newer, Own: true})
				}
				if edited {
					log.Warn("a default policy was edited, so it stays as it is; this release writes it without perTryTimeout, which its retryOn does not repeat: see docs/lint.md#shadowedtimeout", "policy", o.Ref.String())
				}
			}
		}
	}
	return writes
}
