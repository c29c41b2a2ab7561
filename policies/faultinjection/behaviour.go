package faultinjection

import (
	"fmt"
	"time"

	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/sim/faults"
)

// Faults are those that are ever injected, in their order.
func (c *Conf) Faults() []faults.Fault {
	var out []faults.Fault
	for j := range c.HTTP {
		x, f := &c.HTTP[j], faults.Fault{Index: j}
		if a := x.Abort; a != nil && some(a.Percentage) {
			f.Status, f.Aborted = *a.HTTPStatus, part(a.Percentage)
		}
		if d := x.Delay; d != nil && some(d.Percentage) {
			f.Delay, f.Delayed = time.Duration(*d.Value), part(d.Percentage)
		}
		if b := x.ResponseBandwidth; b != nil && some(b.Percentage) {
			f.Bandwidth, f.Slowed = fmt.Sprintf("%s (%d KiB/s)", *b.Limit, b.Limit.kib()), part(b.Percentage)
		}
		if f != (faults.Fault{Index: j}) {
			out = append(out, f)
		}
	}
	return out
}

// FaultsField is the field whose author says so.
func (c *Conf) FaultsField() string { return field }

// part is a percentage as a part of one.
func part(p *policies.Percentage) float64 {
	n, _ := p.Millionths()
	return float64(n) / 1_000_000
}
