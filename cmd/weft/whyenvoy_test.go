//go:build linux

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
)

// envoyRoute is what of a route in a config_dump is about retries.
type envoyRoute struct {
	Name  string
	Route struct {
		RetryPolicy *retryPolicy `json:"retry_policy"`
	}
}

type retryPolicy struct {
	RetryOn       string  `json:"retry_on"`
	NumRetries    *uint32 `json:"num_retries"`
	PerTryTimeout string  `json:"per_try_timeout"`
	Statuses      []int   `json:"retriable_status_codes"`
	Headers       []struct {
		Name string `json:"name"`
	} `json:"retriable_headers"`
	BackOff struct {
		BaseInterval string `json:"base_interval"`
		MaxInterval  string `json:"max_interval"`
	} `json:"retry_back_off"`
}

// words are what it repeats, without the mark of called sidecars, which is part of what the words say.
func (p *retryPolicy) words() string {
	if len(p.Headers) == 1 && p.Headers[0].Name == route.UnsentHeader {
		return strings.TrimSuffix(p.RetryOn, ",retriable-headers")
	}
	return p.RetryOn
}

// routesOf are the routes of a config_dump, by the destination and their name.
func routesOf(a *asked, dump string) map[string]*envoyRoute {
	a.t.Helper()
	all := read[struct {
		Configs []struct {
			Dynamic []struct {
				Config struct {
					VirtualHosts []struct {
						Name   string
						Routes []*envoyRoute
					} `json:"virtual_hosts"`
				} `json:"route_config"`
			} `json:"dynamic_route_configs"`
		}
	}](a, dump)
	out := map[string]*envoyRoute{}
	for _, c := range all.Configs {
		for _, d := range c.Dynamic {
			for _, h := range d.Config.VirtualHosts {
				for _, r := range h.Routes {
					out[h.Name+" "+r.Name] = r
				}
			}
		}
	}
	return out
}

// envoyWords are those of Envoy's documentation for those of MeshRetry.
var envoyWords = map[string]string{"5xx": "5xx", "GatewayError": "gateway-error", "Reset": "reset", "ConnectFailure": "connect-failure", "RefusedStream": "refused-stream",
	"Unavailable": "unavailable", "Canceled": "cancelled", "ResourceExhausted": "resource-exhausted"}

// enforced fails where the Envoy's route holds other than what is said of its retries.
func (a *asked) enforced(what string, p sim.Policy, block string, r *envoyRoute) {
	a.t.Helper()
	if r == nil {
		a.t.Fatalf("%s: Envoy has not the route", what)
	}
	holds := map[string]string{}
	for field, said := range p.Why {
		name, ok := strings.CutPrefix(field, block)
		if !ok || slices.Contains(p.Idle, field) {
			continue
		}
		last := said[len(said)-1]
		holds[name] = valueText(last.Value)
		a.note(block, said, last)
	}
	got := r.Route.RetryPolicy
	if len(holds) == 0 || holds["numRetries"] == "0" {
		a.seen["without"]++
		if got != nil {
			a.t.Fatalf("%s: Envoy repeats %+v, and nothing is said to be repeated: %v", what, got, holds)
		}
		return
	}
	want := []string{"1", "25ms"} // Envoy's own
	for i, name := range []string{"numRetries", "backOff.baseInterval"} {
		if v, ok := holds[name]; ok {
			want[i] = v
		}
	}
	if got == nil {
		a.t.Fatalf("%s: Envoy repeats nothing, want %v", what, holds)
	}
	is := []string{"1", a.length(got.BackOff.BaseInterval)}
	if got.NumRetries != nil {
		is[0] = fmt.Sprint(*got.NumRetries)
	}
	want, is = append(want, holds["perTryTimeout"], holds["backOff.maxInterval"]), append(is, a.length(got.PerTryTimeout), a.length(got.BackOff.MaxInterval))
	if want[3] != "" && a.duration(want[3]) < a.duration(want[1]) { // a longest pause is never shorter than the first
		want[3] = want[1]
	}
	if on, ok := holds["retryOn"]; ok {
		words, codes := conditionWords(on)
		want, is = append(want, words, codes), append(is, sorted(got.words()), fmt.Sprint(got.Statuses))
	}
	for i := range want {
		if d, err := time.ParseDuration(want[i]); err == nil {
			want[i] = d.String()
		}
	}
	if !slices.Equal(is, want) {
		a.t.Fatalf("%s: Envoy has %q, and %q holds", what, is, want)
	}
}

// note counts what was seen of a field.
func (a *asked) note(block string, said []sim.Opinion, last sim.Opinion) {
	a.seen[block]++
	if len(said) > 2 {
		a.seen["over others"]++
	}
	if last.Override {
		a.seen["override"]++
	}
	if last.Layer == "route" || last.Layer == "rule" {
		a.seen["of a route"]++
	}
}

// conditionWords are the words of a list in Envoy's, and its statuses. Where there are statuses
// alone, they stand beside the words that are built in.
func conditionWords(list string) (words, codes string) {
	var statuses []int
	var out []string
	others := false
	for word := range strings.SplitSeq(strings.Trim(list, "[]"), ",") {
		word = strings.Trim(word, `"`)
		if code, err := strconv.Atoi(word); err == nil {
			statuses = append(statuses, code)
			word = "retriable-status-codes"
		} else {
			others = true
		}
		if envoy, ok := envoyWords[word]; ok {
			word = envoy
		}
		out = append(out, word)
	}
	if !others {
		out = append(out, "gateway-error", "connect-failure", "refused-stream")
	}
	return sorted(strings.Join(out, ",")), fmt.Sprint(statuses)
}

func sorted(list string) string {
	words := strings.Split(list, ",")
	slices.Sort(words)
	return strings.Join(words, ",")
}

func (a *asked) duration(text string) time.Duration {
	a.t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		a.t.Fatal(err)
	}
	return d
}

// length is a duration of Envoy; empty for none.
func (a *asked) length(text string) string {
	a.t.Helper()
	if text == "" {
		return ""
	}
	return a.duration(text).String()
}
