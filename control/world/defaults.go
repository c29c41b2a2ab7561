package world

import (
	"fmt"

	"github.com/weftmesh/weft/api"
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
// conditions cannot say that.
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
          perTryTimeout: 16s
          retryOn: [ConnectFailure, RefusedStream]
          backOff:
            baseInterval: 25ms
            maxInterval: 250ms
`},
}
