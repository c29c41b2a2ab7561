package metrics

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/sidecar/attach"
)

// basic are parts of the names of the figures of the profile BASIC: rates, errors, durations, bytes, health
// (spec/kinds.md 8), and whether Envoy refuses what its control plane sends.
var basic = []string{
	"rq_time", "cx_length_ms", "cx_count", "_rq", "bytes", "timeout", "health_check", "lb_healthy_panic", "cx_destroy",
	"error", "fail", "reset", "eject", "overflow", "cancelled", "membership_healthy", "membership_degraded",
	"lds_update_rejected", "cds_update_rejected", "rds_update_rejected",
}

// control are labels of figures about what is between Envoy and its control plane and agent, which the profile
// BASIC leaves out.
var control = [][]byte{[]byte(`envoy_cluster_name="ads_cluster"`), []byte(`envoy_cluster_name="sidecar_secrets"`), []byte(`envoy_cluster_name="sidecar_metrics"`)}

// choice tells which of Envoy's figures are told.
type choice struct {
	profile          attach.Metrics_Profile
	exclude, include []func(string) bool
}

func choose(m *attach.Metrics) choice {
	return choice{m.GetProfile(), matchers(m.GetExclude()), matchers(m.GetInclude())}
}

// matchers are nil for what this agent does not know.
func matchers(list []*attach.Metrics_Matcher) (out []func(string) bool) {
	for _, m := range list {
		match := m.GetMatch()
		switch m.GetType() {
		case "Prefix":
			out = append(out, func(name string) bool { return strings.HasPrefix(name, match) })
		case "Exact":
			out = append(out, func(name string) bool { return name == match })
		case "Contains":
			out = append(out, func(name string) bool { return strings.Contains(name, match) })
		case "Regex":
			if r, err := regexp.Compile(match); err == nil { // else the control plane is not ours
				out = append(out, r.MatchString)
			}
		}
	}
	return out
}

// nothing reports whether none of Envoy's figures can be told.
func (c choice) nothing() bool { return c.profile == attach.Metrics_NONE && len(c.include) == 0 }

// takes reports whether a figure is told, and whether that of control too.
func (c choice) takes(name string) (told, all bool) {
	is := func(m func(string) bool) bool { return m(name) }
	switch {
	case slices.ContainsFunc(c.include, is):
		return true, true
	case slices.ContainsFunc(c.exclude, is), c.profile == attach.Metrics_NONE:
		return false, false
	case c.profile == attach.Metrics_ALL:
		return true, true
	}
	return slices.ContainsFunc(basic, func(part string) bool { return strings.Contains(name, part) }), false
}

// ofControl reports whether a line is about the control plane or the agent.
func ofControl(line []byte) bool {
	return slices.ContainsFunc(control, func(label []byte) bool { return bytes.Contains(line, label) })
}
