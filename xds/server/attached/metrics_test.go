package attached

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sidecar/attach"
)

// TestMetrics: what an agent is to tell goes out once, and again when it is other; that it is nothing any more is
// told too, and to whom nothing was told is not.
func TestMetrics(t *testing.T) {
	t.Parallel()
	var now *attach.Metrics
	o := Default()
	o.Metrics = func(api.Ref) *attach.Metrics { return proto.CloneOf(now) }
	st, last := &stream{server: New(o), hello: &attach.Hello{}}, &told{every: attach.ReportEverySeconds}
	for i, step := range []struct{ holds, told *attach.Metrics }{
		{nil, nil},
		{&attach.Metrics{Mesh: "default", Profile: attach.Metrics_ALL}, &attach.Metrics{Mesh: "default", Profile: attach.Metrics_ALL}},
		{&attach.Metrics{Mesh: "default", Profile: attach.Metrics_ALL}, nil},
		{&attach.Metrics{Mesh: "default", Profile: attach.Metrics_BASIC}, &attach.Metrics{Mesh: "default", Profile: attach.Metrics_BASIC}},
		{nil, &attach.Metrics{}},
		{nil, nil},
	} {
		now = step.holds
		var heard *attach.Metrics
		for _, m := range st.news(last) {
			heard = m.GetMetrics()
		}
		if !proto.Equal(heard, step.told) || (heard == nil) != (step.told == nil) {
			t.Errorf("step %d: %v, want %v", i, heard, step.told)
		}
	}
}
