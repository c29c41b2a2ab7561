package differential

import (
	"encoding/json"
	"fmt"
	"strings"

	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/policies/faultinjection"
	"github.com/weftmesh/weft/sim"
)

var faultFields = []field{
	{kind: faultinjection.Kind.Name, name: "http", ofRoute: true, there: func(p envoyPlace) string { return faultsOf(p.route.GetTypedPerFilterConfig()) }, without: unset, as: faultsSaid},
}

// mostFaults is more than a document of these worlds has.
const mostFaults = 16

// faultsOf are the faults that a route injects, as Envoy has them.
func faultsOf(filters map[string]*anypb.Any) string {
	var out []string
	for j := range mostFaults {
		f := &faultv3.HTTPFault{}
		if a := filters[fmt.Sprintf("weft.fault.%d", j)]; a == nil || a.UnmarshalTo(f) != nil {
			continue
		}
		text := fmt.Sprint(j)
		if a := f.Abort; a != nil {
			text += fmt.Sprintf(" abort %d %s", a.GetHttpStatus(), fraction(a.Percentage))
		}
		if d := f.Delay; d != nil {
			text += fmt.Sprintf(" delay %v %s", d.GetFixedDelay().AsDuration(), fraction(d.Percentage))
		}
		if r := f.ResponseRateLimit; r != nil {
			text += fmt.Sprintf(" %d KiB/s %s", r.GetFixedLimit().GetLimitKbps(), fraction(r.Percentage))
		}
		out = append(out, text)
	}
	if out == nil {
		return unset
	}
	return strings.Join(out, ", ")
}

func fraction(f *typev3.FractionalPercent) string {
	of := map[typev3.FractionalPercent_DenominatorType]float64{typev3.FractionalPercent_HUNDRED: 1, typev3.FractionalPercent_TEN_THOUSAND: 100, typev3.FractionalPercent_MILLION: 10_000}
	return fmt.Sprint(float64(f.GetNumerator()) / of[f.GetDenominator()])
}

// bandwidths are those of these worlds, in KiB a second.
var bandwidths = map[string]int{"1kbps": 1, "8Mbps": 977, "1 Gbps": 122070}

// faultsSaid are those that explain says, but for shares of 0.
func faultsSaid(_ sim.Policy, value any) string {
	var list []struct {
		Abort *struct {
			HTTPStatus int `json:"httpStatus"`
			Percentage any
		}
		Delay *struct {
			Value      string
			Percentage any
		}
		ResponseBandwidth *struct {
			Limit      string
			Percentage any
		} `json:"responseBandwidth"`
	}
	if err := json.Unmarshal([]byte(plain(value)), &list); err != nil {
		return err.Error()
	}
	var out []string
	for j, f := range list {
		text := fmt.Sprint(j)
		if a := f.Abort; a != nil && fmt.Sprint(a.Percentage) != "0" {
			text += fmt.Sprintf(" abort %d %v", a.HTTPStatus, a.Percentage)
		}
		if d := f.Delay; d != nil && fmt.Sprint(d.Percentage) != "0" {
			text += fmt.Sprintf(" delay %s %v", d.Value, d.Percentage)
		}
		if r := f.ResponseBandwidth; r != nil && fmt.Sprint(r.Percentage) != "0" {
			text += fmt.Sprintf(" %d KiB/s %v", bandwidths[r.Limit], r.Percentage)
		}
		if text != fmt.Sprint(j) {
			out = append(out, text)
		}
	}
	if out == nil {
		return unset
	}
	return strings.Join(out, ", ")
}
