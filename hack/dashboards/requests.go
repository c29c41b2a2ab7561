package main

import (
	"fmt"
	"strings"

	"github.com/weftmesh/weft/inspect/traffic"
)

// Names of metrics.
var (
	counted  = traffic.RequestsFamily.Name
	buckets  = traffic.SecondsFamily.Name + "_bucket"
	retries  = traffic.RetriesFamily.Name
	causes   = traffic.CausesFamily.Name
	apart    = traffic.ApartFamily.Name
	inOthers = traffic.SummedFamily.Name
)

// most is how many lines of the largest a panel has.
const most = 15

// picked is what the variables choose, of a metric with more conditions.
func picked(metric string, more ...string) string {
	all := []string{`job=~"$job"`, `mesh=~"$mesh"`, `caller=~"$caller"`, `to=~"$to"`, `route=~"$route"`}
	return metric + "{" + strings.Join(append(all, more...), ",") + "}"
}

// rate is how often in a second, by labels; of all together where none are given.
func rate(series string, by ...string) string {
	of := "sum"
	if len(by) > 0 {
		of += " by (" + strings.Join(by, ", ") + ") "
	}
	return of + "(rate(" + series + "[$__rate_interval]))"
}

// ratio is the part that one rate is of another.
func ratio(of, in string) string { return of + " / " + in }

// success is the part of requests that were not answered with 5xx.
func success(by ...string) string {
	return "1 - " + ratio(rate(picked(counted, `class="`+traffic.ClassFailed+`"`), by...), rate(picked(counted), by...))
}

// duration is the bound that a part of requests did not exceed.
func duration(part string, by ...string) string {
	return fmt.Sprintf("histogram_quantile(%s, %s)", part, rate(picked(buckets), append([]string{"le"}, by...)...))
}

func largest(expr string) string { return fmt.Sprintf("topk(%d, %s)", most, expr) }

// requests is the dashboard.
func requests() dashboard {
	s := &sheet{}
	s.row("Is all well?")
	s.stat("Requests", "Of all services that are chosen, as those who called counted them.", "reqps", query{rate(picked(counted)), "requests"})
	s.stat("Success", "The part that was not answered with 5xx.", "percentunit", query{success(), "success"})
	s.stat("Denied", "The part that was answered with 401, 403 or 429.", "percentunit", query{ratio(rate(picked(counted, `class="`+traffic.ClassDenied+`"`)), rate(picked(counted))), "denied"})
	s.stat("99 of 100 took up to", "A bound of the eight classes in which durations are counted, or between two.", "s", query{duration("0.99"), "p99"})
	s.stat("Retries", "Attempts beyond the first, for each request. More than 20 % is a storm.", "percentunit", query{ratio(rate(picked(retries)), rate(picked(counted))), "retries"})
	s.stat("Series", "Rules and causes that are kept apart, by control plane, and those that are in others: beyond 20,000 let Prometheus read the sidecars.", "short",
		query{`max(` + apart + `{job=~"$job"})`, "apart"}, query{`sum(` + inOthers + `{job=~"$job"})`, "in others"})
	for _, part := range []struct{ title, whose, legend string }{{"Services", "service that is called", "to"}, {"Routes", "route that took the requests", "route"}, {"Callers", "service that calls", "caller"}} {
		s.row(part.title)
		s.of(part.whose, "{{"+part.legend+"}}", part.legend)
	}
	s.row("Rules")
	s.of("rule, and who is called", "{{to}} {{route}} {{rule}}", "to", "route", "rule")
	s.row("Why not")
	s.lines("Causes", "Requests that ended without an answer of who was called, by why. Estimated from a sample where many fail at once.", "reqps", query{largest(rate(picked(causes), "cause")), "{{cause}}"})
	s.lines("Causes by route", "The same by who is called and the route.", "reqps", query{largest(rate(picked(causes), "to", "route", "cause")), "{{to}} {{route}}: {{cause}}"})
	s.lines("Causes as Envoy says them", "By the flags of access logs.", "reqps", query{largest(rate(picked(causes), "flag")), "{{flag}}"})
	s.row("Retries")
	s.lines("Retries by route", "Attempts beyond the first.", "reqps", query{largest(rate(picked(retries), "to", "route")), "{{to}} {{route}}"})
	s.lines("Retries for each request", "More than 20 % is a storm: retries are then a part of the load.", "percentunit", query{largest(ratio(rate(picked(retries), "to"), rate(picked(counted), "to"))), "{{to}}"})
	s.lines("Denied by route", "Answered with 401, 403 or 429: permissions and limits.", "reqps", query{largest(rate(picked(counted, `class="`+traffic.ClassDenied+`"`), "to", "route")), "{{to}} {{route}}"})
	return dashboard{Title: "weft requests", UID: "weft-requests", Tags: []string{"weft"}, SchemaVersion: 39, Version: 1, Editable: true, Timezone: "browser", Refresh: "30s",
		Time: map[string]string{"from": "now-1h", "to": "now"}, Templating: templating{variables()}, Panels: s.panels}
}

// of are rate, success and latency by labels.
func (s *sheet) of(whose, legend string, by ...string) {
	s.lines("Requests", "By the "+whose+".", "reqps", query{largest(rate(picked(counted), by...)), legend})
	s.lines("Success", "The part that was not answered with 5xx, of those with the most failures.", "percentunit", query{fmt.Sprintf("bottomk(%d, %s)", most, success(by...)), legend})
	var durations []query
	for _, p := range []struct{ part, name string }{{"0.5", "p50"}, {"0.95", "p95"}, {"0.99", "p99"}} {
		durations = append(durations, query{largest(duration(p.part, by...)), legend + " " + p.name})
	}
	s.lines("Latency", "Half of the requests, 95 and 99 of 100 took up to so long.", "s", durations...)
}

func variables() []variable {
	all := func(name, label, query string) variable {
		return variable{Name: name, Type: "query", Query: query, Label: label, Datasource: prometheus, Refresh: 2, IncludeAll: true, AllValue: ".*", Multi: true, Current: map[string]string{"text": "All", "value": "$__all"}}
	}
	of := func(label, metric string) string { return "label_values(" + metric + ", " + label + ")" }
	return []variable{
		{Name: "datasource", Type: "datasource", Query: "prometheus", Label: "Prometheus"},
		all("job", "Job", of("job", apart)),
		all("mesh", "Mesh", of("mesh", counted+`{job=~"$job"}`)),
		all("to", "Service", of("to", counted+`{job=~"$job",mesh=~"$mesh"}`)),
		all("caller", "Caller", of("caller", counted+`{job=~"$job",mesh=~"$mesh",to=~"$to"}`)),
		all("route", "Route", of("route", counted+`{job=~"$job",mesh=~"$mesh",to=~"$to"}`)),
	}
}
