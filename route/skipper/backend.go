package skipper

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
)

// The types of backends.
const (
	service  = "service"
	shunt    = "shunt"
	loopback = "loopback"
	network  = "network"
	lb       = "lb"
	dynamic  = "dynamic"
	forward  = "forward"
)

// algorithms are those of Skipper, and what they are here.
var algorithms = map[string]route.Algorithm{
	"": route.RoundRobin, "roundRobin": route.RoundRobin, weightedRoundRobin: route.RoundRobin, "random": route.Random, consistentHash: route.RingHash,
	"powerOfRandomNChoices": route.LeastRequest, "leastRequests": route.LeastRequestOfAll,
}

// weightedRoundRobin is taken for roundRobin, with a warning: endpoints have no weights.
const weightedRoundRobin = "weightedRoundRobin"

// consistentHash chooses by what consistentHashKey names.
const consistentHash = "consistentHash"

func (b *backendAt) kind() string {
	if b.Type == "" {
		return service
	}
	return b.Type
}

// use is the kind as filters know it.
func (b *backendAt) use() use {
	switch b.kind() {
	case shunt:
		return onShunt
	case loopback:
		return onLoopback
	}
	return anywhereElse
}

// validateBackends checks what every backend of the group says, used or not.
func (c *current) validateBackends() error {
	var errs *multierror.Error
	for _, name := range slices.Sorted(maps.Keys(c.backends)) {
		errs = multierror.Append(errs, c.backends[name].validate())
	}
	return errs.ErrorOrNil()
}

func (b *backendAt) validate() error {
	var errs *multierror.Error
	switch b.kind() {
	case service:
		if b.ServiceName == "" {
			errs = multierror.Append(errs, refused(b.at.Field("serviceName"), invalidSpec, "service name missing; write the name of the Service"))
		}
		if b.ServicePort < 1 || b.ServicePort > 65535 {
			errs = multierror.Append(errs, refused(b.at.Field("servicePort"), invalidSpec, "invalid service port %d; write a number from 1 to 65535", b.ServicePort))
		}
	case shunt, loopback:
	case network, lb:
		var err error
		b.addresses, err = b.readOutside()
		errs = multierror.Append(errs, err)
	case dynamic:
	case forward:
		return refused(b.at.Field("type"), unsupportedBackend, "a backend of type %s would open every address to those who send requests; the RouteGroup is not applied, so name the service", b.Type)
	default:
		return refused(b.at.Field("type"), unsupportedBackend, "unsupported backend type %s; write service, network, lb, shunt or loopback", redact.Clip(b.Type))
	}
	if _, known := algorithms[b.Algorithm]; !known {
		errs = multierror.Append(errs, refused(b.at.Field("algorithm"), invalidSpec, "unsupported algorithm %s; write one of %s", redact.Clip(b.Algorithm),
			strings.Join(slices.Sorted(maps.Keys(algorithms))[1:], ", ")))
	}
	return errs.ErrorOrNil()
}

// part is what becomes of a share of a route's requests.
type part struct {
	share    float64 // 1 is all
	backends []route.BackendRef
	kind     string // shunt, loopback, or service for those of backends
	none     bool   // nobody has a weight
}

// parts divides what refs get. Backends of the mesh are divided by weights, in one
// part; shunts and loopbacks are parts of their own, which come first.
func (c *current) parts(refs []ref, home api.Home) ([]part, []error) {
	var errs []error
	var own []part
	mesh, total, sum := part{kind: service, share: 1}, uint64(0), uint64(0)
	weights := weights(refs)
	seen := map[string]bool{}
	for i, r := range refs {
		b := c.backends[r.name]
		switch {
		case r.name == "":
			errs = append(errs, refused(r.at, invalidSpec, "unnamed backend reference; write backendName"))
			continue
		case b == nil:
			errs = append(errs, refused(r.at, invalidSpec, "invalid backend reference: %s; write the name of one of spec.backends", redact.Clip(r.name)))
			continue
		case seen[r.name]:
			errs = append(errs, refused(r.at, invalidSpec, "duplicate backend reference: %s; name it once", redact.Clip(r.name)))
		}
		seen[r.name] = true
		total += uint64(weights[i])
		if b.use() != anywhereElse {
			if weights[i] > 0 {
				own = append(own, part{kind: b.kind(), share: float64(weights[i])})
			}
			continue
		}
		sum += uint64(weights[i])
		mesh.backends = append(mesh.backends, b.ref(r, home, weights[i]))
	}
	for i := range own {
		own[i].share /= float64(total)
	}
	if sum > 0 || len(own) == 0 {
		if mesh.none = sum == 0; !mesh.none {
			mesh.share = float64(sum) / float64(total)
		}
		own = append(own, mesh)
	}
	return own, errs
}

// ref is what the backend means where r names it. That of a dynamic one nobody knows
// before the filters of its route are read: see planned.leadOutside.
func (b *backendAt) ref(r ref, home api.Home, weight uint32) route.BackendRef {
	out := route.BackendRef{Target: api.TargetRef{Kind: api.KindMeshService, Name: b.ServiceName}, Port: b.ServicePort}
	switch b.kind() {
	case network, lb:
		out = toAddresses(b.addresses)
	case dynamic:
		out = route.BackendRef{Target: api.TargetRef{Kind: api.KindAddress}}
	}
	out.Home, out.Weight, out.Broken, out.Field = home, weight, http.StatusInternalServerError, r.at
	out.Balance = route.Balance{Algorithm: algorithms[b.Algorithm]}
	return out
}

// weights are those of refs (spec/routegroup.md 3), by their greatest common divisor:
// the draw for a chance and that for the weights depend on each other where the sum
// is great.
func weights(refs []ref) []uint32 {
	given := slices.ContainsFunc(refs, func(r ref) bool { return r.weight != nil })
	out, common := make([]uint32, len(refs)), uint32(0)
	for i, r := range refs {
		switch {
		case !given:
			out[i] = 1
		case r.weight != nil:
			out[i] = *r.weight
		}
		common = route.GCD(out[i], common)
	}
	for i := range out {
		if common > 1 {
			out[i] /= common
		}
	}
	return out
}
