package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sim"
)

// Explanation is the simulator's verdict about a request, as it came.
type Explanation struct {
	sim.Verdict
	raw json.RawMessage
}

// MarshalJSON is the verdict as it came.
func (e Explanation) MarshalJSON() ([]byte, error) { return e.raw, nil }

// step sends the requests of one step, asks why, prints both and compares.
func (d *Demo) step(ctx context.Context, number int, s step) error {
	said, err := d.prepare(ctx, s)
	if err != nil {
		return err
	}
	request := Request{Method: http.MethodGet, URL: "http://" + s.host + s.path}
	reasons := map[string]Explanation{} // by caller
	var all []Response
	for i := range s.times {
		from := d.callerOf(s, i)
		if _, ok := reasons[from]; !ok {
			if reasons[from], err = d.explain(ctx, from, request); err != nil {
				return err
			}
		}
		r, err := d.ask(ctx, from, s, fmt.Sprintf("%d.%d", number, i))
		if err != nil {
			return err
		}
		all = append(all, r)
		if s.times < splitRequests || i == 0 {
			d.results = append(d.results, Result{request, r, reasons[from]})
		}
	}
	why := reasons[d.callerOf(s, 0)]
	remark, wrong := s.compare(all, why)
	d.print(number, s, all, cmp.Or(said, remark), why)
	return wrong
}

// callerOf is the dataplane through whose sidecar request i of a step goes.
func (d *Demo) callerOf(s step, i int) string {
	if len(s.callers) == 0 {
		return d.mesh.caller
	}
	return s.callers[i%len(s.callers)]
}

// ask sends one request through the sidecar of a caller.
func (d *Demo) ask(ctx context.Context, from string, s step, id string) (Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.mesh.outbounds[way{from, s.host}]+s.path, nil)
	if err != nil {
		return Response{}, fmt.Errorf("ask %s: %w", s.host, err)
	}
	req.Host = s.host
	req.Header.Set(headerID, id)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Response{}, fmt.Errorf("ask %s: %w", s.host, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return Response{}, fmt.Errorf("read the answer of %s: %w", s.host, err)
	}
	r := Response{Status: resp.StatusCode, Headers: map[string]string{}}
	for name, values := range resp.Header {
		r.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	var a answer
	if json.Unmarshal(body, &a) == nil && a.Service != "" {
		r.answer = &a
	} else {
		r.text = string(body)
	}
	return r, nil
}

// explain asks the control plane what should happen and why.
func (d *Demo) explain(ctx context.Context, from string, r Request) (Explanation, error) {
	var e Explanation
	if err := d.plane.Client.Post(ctx, "/meshes/"+d.mesh.mesh+"/dataplanes/"+from+"/_simulate", r, &e.raw); err != nil {
		return e, fmt.Errorf("explain %s %s: %w", r.Method, r.URL, err)
	}
	if err := json.Unmarshal(e.raw, &e.Verdict); err != nil {
		return e, fmt.Errorf("understand the explanation of %s %s: %w", r.Method, r.URL, err)
	}
	if len(e.Branches) == 0 {
		return e, fmt.Errorf("explain %s %s: the verdict has no branches", r.Method, r.URL)
	}
	return e, nil
}

// compare holds answers and explanation against what the documents promise.
func (s step) compare(all []Response, why Explanation) (remark string, err error) {
	var wrong []error
	for i, r := range all {
		if r.Status != s.statuses(i) {
			wrong = append(wrong, fmt.Errorf("request %d: status %d, wanted %d", i+1, r.Status, s.statuses(i)))
		}
	}
	if s.check != nil {
		if remark, err = s.check(all); err != nil {
			wrong = append(wrong, err)
		}
	}
	branch := why.Branches[0]
	if got := originNames(branch.Route); !slices.Equal(got, s.origins) {
		wrong = append(wrong, fmt.Errorf("the route comes from %v, wanted %v", got, s.origins))
	}
	if s.permission != nil {
		wrong = append(wrong, s.permission.compare(branch.Permission))
	}
	for _, f := range s.fields {
		if err := f.compare(branch.Policies[f.kind].Why[f.path]); err != nil {
			wrong = append(wrong, fmt.Errorf("%s %s: %w", f.kind, f.path, err))
		}
	}
	return remark, errors.Join(wrong...)
}

func (f field) compare(said []sim.Opinion) error {
	if len(said) == 0 {
		return errors.New("nobody sets it")
	}
	winner := said[len(said)-1]
	if got, by := value(winner.Value), origin(winner.Origin); got != f.value || by != f.by {
		return fmt.Errorf("%s by %s, wanted %s by %s", got, by, f.value, f.by)
	}
	for _, over := range f.over {
		if !slices.ContainsFunc(said[:len(said)-1], func(x sim.Opinion) bool { return origin(x.Origin) == over }) {
			return fmt.Errorf("%s is not among those that it overrides", over)
		}
	}
	return nil
}

func originNames(r *sim.Route) []string {
	if r == nil {
		return nil
	}
	var out []string
	for _, o := range r.Origins {
		out = append(out, origin(o))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// builtIn stands for the origin of values that no document sets.
const builtIn = "built-in default"

func origin(o *api.Origin) string {
	if o == nil || o.Name == "" {
		return builtIn
	}
	return o.Ref.String()
}

// value is how a field's value is written in JSON.
func value(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', -1, 64) + " %" }
