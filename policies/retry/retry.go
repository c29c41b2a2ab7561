// Package retry is the policy MeshRetry: requests and connections that are sent
// again when they fail (spec/kuma.md 3.1).
//
// It promises that what the simulator says of a retry is what Envoy does, that
// numRetries 0 means no retry at all, and that merged confs which Envoy would
// refuse are brought into its bounds with a note.
package retry

import (
	_ "embed"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

//go:embed example.yaml
var example string

// initial has Kuma's values, but for what is repeated: weft repeats by itself only what surely had no
// effect, which leaves no retry for gRPC, whose conditions cannot say that. It has no perTryTimeout: these
// conditions do not repeat an attempt that takes long, so that one would end the request, whatever its
// timeout is.
//
//go:embed initial.yaml
var initial string

// Kind is all of this package that the engine sees.
var Kind = &policies.Kind{
	Name:       "MeshRetry",
	Plural:     "meshretries",
	Short:      "mr",
	Title:      "Sends requests and connections again when they fail",
	New:        func() policies.Conf { return new(Conf) },
	Schema:     policies.SchemaOf[Conf](),
	Defaults:   defaults,
	OnAttempts: true,
	Applies:    acts,
	Requires:   needs,
	Implies:    implies,
	Relaxes:    looser,
	Explains: map[policies.EndWords][]string{
		policies.EndPerTryTimeout: {"http.perTryTimeout", "http.numRetries", "grpc.perTryTimeout", "grpc.numRetries"},
		policies.EndAllRetries:    {"http.numRetries", "grpc.numRetries"},
	},
	Initial: &policies.Initial{Name: "mesh-retry-all-", Spec: initial, Earlier: []string{
		strings.Replace(initial, "numRetries: 5\n", "numRetries: 5\n          perTryTimeout: 16s\n", 1),
	}},
	Docs:    docs,
	Example: example,
}

// acts: each protocol has its block (spec/kuma.md 3.1).
func acts(path string, p api.Protocol) bool {
	block, _, _ := strings.Cut(path, ".")
	switch p {
	case api.GRPC:
		return block == "grpc"
	case api.HTTP, api.HTTP2:
		return block == "http"
	}
	return block == "tcp"
}

// needs: where nothing is repeated only the number that says so counts.
func needs(conf policies.Conf, path string) string {
	c := conf.(*Conf)
	block, field, _ := strings.Cut(path, ".")
	none := block == "http" && c.HTTP != nil && c.HTTP.shared().count() == 0 ||
		block == "grpc" && c.GRPC != nil && c.GRPC.shared().count() == 0
	if none && field != "numRetries" {
		return "numRetries is 0"
	}
	return ""
}

// looser: more attempts load a service more.
func looser(path string, before, after any) bool {
	b, ok := before.(*uint32)
	a, same := after.(*uint32)
	counts := strings.HasSuffix(path, ".numRetries") || path == "tcp.maxConnectAttempt"
	return counts && ok && same && *a > *b
}

// baseInterval is Envoy's own pause where a policy names none.
const baseInterval = api.Duration(25 * time.Millisecond)

// defaults are what Envoy does, and where Envoy has no default what
// spec/kuma.md 3.1 says, in a block of which something is set. A limit without a
// fixed default (maxInterval, ten times the base) is not among them.
func defaults() policies.Conf {
	once, base := uint32(1), baseInterval
	return &Conf{
		HTTP: &HTTP{NumRetries: &once, BackOff: &BackOff{BaseInterval: &base}, RetryOn: defaultHTTP},
		GRPC: &GRPC{NumRetries: &once, BackOff: &GRPCBackOff{BaseInterval: &base}, RetryOn: defaultGRPC},
	}
}
