package loadbalancingstrategy

import (
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/envoy"
)

// Bounds of the tags by which endpoints are near: without weights each counts ten times as much as the next one, and
// Envoy adds weights up in 32 bits.
const (
	mostAffinityTags = 8
	mostWeight       = 100_000_000
)

// affinityTags are those that hold.
func (c *Conf) affinityTags() []AffinityTag {
	if l := c.LocalityAwareness; l != nil && l.LocalZone != nil && !isTrue(l.Disabled) {
		return l.LocalZone.AffinityTags
	}
	return nil
}

// Lb lets weights of localities count, where endpoints come in such.
func (c *Conf) Lb(at envoy.Place) envoy.Lb {
	return envoy.Lb{LocalityWeighted: at.Localities && len(c.affinityTags()) > 0}
}

// NearnessField is the leaf that names the tags.
func (c *Conf) NearnessField() string {
	if len(c.affinityTags()) == 0 {
		return ""
	}
	return "localityAwareness.localZone.affinityTags"
}

// Nearness is by the tags that the caller has; those that it has not are passed over.
func (c *Conf) Nearness(value func(key string) (string, bool)) (out effective.Nearness) {
	tags := c.affinityTags()
	weight := uint32(9)
	for i := len(tags) - 1; i >= 0; i, weight = i-1, weight*10 {
		has, ok := value(tags[i].Key)
		if !ok {
			continue
		}
		near := effective.NearTag{Key: tags[i].Key, Value: has, Weight: weight}
		if w := tags[i].Weight; w != nil {
			near.Weight = *w
		}
		out.Tags = append([]effective.NearTag{near}, out.Tags...)
	}
	if len(out.Tags) > 0 {
		out.Overprovisioning = c.factor()
	}
	return out
}
