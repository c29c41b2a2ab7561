package subscription

import (
	"strconv"
	"strings"

	"github.com/weftmesh/weft/xds/resource"
)

// Versioned is a resource with the version under which one stream has it.
type Versioned struct {
	*resource.Resource
	version string
	again   bool // the client has, or had, another version of it
}

// versions are those under which one stream has resources, where that is not the hash of their content
// alone: <content hash>[.<n>].
type versions struct {
	// forced are versions that must go out again though their content did not
	// change; nil for none.
	forced map[string]forced
	most   int // the greatest suffix that any version had
}

// forced is a version with a suffix, for as long as the content is hash.
type forced struct {
	hash string
	n    int
}

// as is r under its version on this stream.
func (v *versions) as(r *resource.Resource) Versioned {
	if x, ok := v.forced[r.Name]; ok {
		if x.hash == r.Version {
			return Versioned{Resource: r, version: r.Version + "." + strconv.Itoa(x.n)}
		}
	}
	return Versioned{Resource: r, version: r.Version}
}

// force makes what the client has of a name look outdated.
func (v *versions) force(name, hash string) {
	v.most++
	v.set(name, forced{hash, v.most})
}

func (v *versions) set(name string, x forced) {
	if v.forced == nil {
		v.forced = map[string]forced{}
	}
	v.forced[name] = x
}

// settle lets go of the suffixes of what a client of the delta form has confirmed: it has the
// content, and the next suffix is greater, so nobody needs to know any more by which version it came.
// With them a stream would keep all names of a type whose clusters have changed once, as all do where
// mutual TLS is switched on. The settled ones are what the client has under the hash alone from here on.
func (v *versions) settle(list []Versioned, last LastSent) (settled []Versioned) {
	for _, x := range list {
		if had, _ := last.Version(x.Name); x.version == x.Resource.Version || had != x.version || v.as(x.Resource).version != x.version {
			continue
		}
		delete(v.forced, x.Name)
		settled = append(settled, Versioned{Resource: x.Resource, version: x.Resource.Version})
	}
	if len(v.forced) == 0 {
		v.forced = nil
	}
	return settled
}

// floor keeps suffixes of this stream above those that the client brought along.
func (v *versions) floor(last LastSent) {
	for name, version := range last.All() {
		hash, suffix, ok := strings.Cut(version, ".")
		if !ok {
			continue
		}
		if n, err := strconv.Atoi(suffix); err == nil {
			if x, ok := v.forced[name]; ok {
				hash, n = x.hash, max(x.n, n+1)
			}
			v.most = max(v.most, n)
			v.set(name, forced{hash, n})
		}
	}
}

// forget drops what is not in list.
func (v *versions) forget(list []*resource.Resource) {
	for name := range v.forced {
		if Find(list, name) == nil {
			delete(v.forced, name)
		}
	}
}
