package skipper_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
)

// many is 10,000 routes in groups of so many.
func many(each int) string {
	var b strings.Builder
	for g := range 10_000 / each {
		fmt.Fprintf(&b, "---\napiVersion: zalando.org/v1\nkind: RouteGroup\nmetadata: {name: g%d}\nspec:\n  hosts: [h%[1]d.example]\n"+
			"  backends: [{name: s, serviceName: s, servicePort: 80}]\n  defaultBackends: [{backendName: s}]\n  routes:\n", g)
		for r := range each {
			fmt.Fprintf(&b, "  - {pathSubtree: /a/%d, methods: [GET], predicates: ['Header(\"X\", \"%d\")'], filters: ['setRequestHeader(\"x\", \"y\")']}\n", r, r%3)
		}
	}
	return b.String()
}

// BenchmarkCompile compiles 10,000 routes, which are read already.
func BenchmarkCompile(b *testing.B) {
	for _, each := range []int{10, 1000} {
		objects, err := decode.Objects(world.Catalog(), "many.yaml", []byte(shop()+many(each)))
		if err != nil {
			b.Fatal(err)
		}
		s := world.Snapshot(objects...)
		b.Run(fmt.Sprintf("groups of %d", each), func(b *testing.B) {
			for b.Loop() {
				world.Compile(s)
			}
		})
	}
}
