package faultinjection

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/policies"
)

// The bounds of a document.
const (
	mostFaults   = 16
	longestDelay = time.Hour
)

// Validate reports every mistake, not the first.
func (c *Conf) Validate(at api.Path) error {
	var f policies.Findings
	at = at.Field(field)
	switch {
	case c.HTTP == nil:
		f.Breaks(at, "is missing; write the faults, or [] for none")
	case len(c.HTTP) > mostFaults:
		f.Breaks(at, "has %d entries; at most %d are possible", len(c.HTTP), mostFaults)
	}
	for j := range c.HTTP {
		c.HTTP[j].check(&f, at.Index(j))
	}
	return f.Err()
}

// Rules of a fault; their twin is Fault.check.
func (Fault) Rules() []api.ValidationRule {
	return []api.ValidationRule{{Test: "has(self.abort) || has(self.delay) || has(self.responseBandwidth)", Message: nothing}}
}

const nothing = "injects nothing; write abort, delay or responseBandwidth"

func (x *Fault) check(f *policies.Findings, at api.Path) {
	if x.Abort == nil && x.Delay == nil && x.ResponseBandwidth == nil {
		f.Breaks(at, nothing)
	}
	if a := x.Abort; a != nil {
		at := at.Field("abort")
		switch status := at.Field("httpStatus"); {
		case a.HTTPStatus == nil:
			f.Breaks(status, "is missing; write the status of the answer, as 503")
		case *a.HTTPStatus < 200 || *a.HTTPStatus > 599:
			f.Breaks(status, "%d is no status that ends a request; write one from 200 to 599", *a.HTTPStatus)
		}
		share(f, at, a.Percentage)
	}
	if d := x.Delay; d != nil {
		at := at.Field("delay")
		switch value := at.Field("value"); {
		case d.Value == nil:
			f.Breaks(value, "is missing; write how long requests wait, as 2s")
		case *d.Value == 0:
			f.Breaks(value, "must be longer than 0s; write percentage: 0, or leave delay out")
		case time.Duration(*d.Value) > longestDelay:
			f.Breaks(value, "%s is too long; write at most 1h", d.Value)
		default:
			f.Positive(value, d.Value)
		}
		share(f, at, d.Percentage)
	}
	if b := x.ResponseBandwidth; b != nil {
		at := at.Field("responseBandwidth")
		switch limit := at.Field("limit"); {
		case b.Limit == nil:
			f.Breaks(limit, "is missing; write how fast answers go on, as 50Mbps")
		case !bandwidth.MatchString(string(*b.Limit)):
			f.Breaks(limit, "%q is no bandwidth; write a number of at most nine digits and kbps, Mbps or Gbps, as 50Mbps", redact.Clip(string(*b.Limit)))
		case b.Limit.bits() == 0:
			f.Breaks(limit, "must be above 0; write percentage: 0, or leave responseBandwidth out")
		}
		share(f, at, b.Percentage)
	}
}

// share checks the percentage of a part.
func share(f *policies.Findings, at api.Path, p *policies.Percentage) {
	if at := at.Field("percentage"); p == nil {
		f.Breaks(at, "is missing; write how many requests it is for, from 0 to 100")
	} else {
		f.Percentage(at, p)
	}
}

var bandwidth = regexp.MustCompile(bandwidthPattern)

// bits are those of a second.
func (b Bandwidth) bits() uint64 {
	text := string(b)
	digits := strings.TrimRight(strings.TrimSuffix(text, "bps"), "kMG ")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0 // which was refused
	}
	for _, u := range []struct {
		unit string
		bits uint64
	}{{"kbps", 1e3}, {"Mbps", 1e6}, {"Gbps", 1e9}} {
		if strings.HasSuffix(text, u.unit) {
			return n * u.bits
		}
	}
	return 0
}

// kib is the same in KiB, as Envoy counts it (spec/kinds.md F10): it takes nothing below one.
func (b Bandwidth) kib() uint64 {
	return max(1, uint64(math.Round(float64(b.bits())/8192)))
}
