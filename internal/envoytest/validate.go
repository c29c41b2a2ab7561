package envoytest

import (
	"fmt"
	"path/filepath"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/weftmesh/weft/xds/resource"
)

// ValidateStates asks Envoy whether it would take all that many sidecars hold:
// nil, or its words about the first thing that it refuses. Every listener gets an
// address of its own, for all of them go into one file.
func ValidateStates(t testing.TB, states []*resource.State) error {
	t.Helper()
	u, dir, n := newUnion(t), Dir(t), 0
	u.listens = func(l *listenerv3.Listener) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		l.Address = &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: path}}}
	}
	for i, s := range states {
		u.add(fmt.Sprintf("%d/", i), s)
	}
	return Validate(t, JSON(t, Bootstrap(Socket(t), u.out)))
}
