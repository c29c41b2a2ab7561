package differential

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	omittagsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/omit_host_metadata/v3"
	omithostsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	prioritiesv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/priority/previous_priorities/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
)

// retryPolicy is that of the route of p.
func (p envoyPlace) retryPolicy() *routev3.RetryPolicy { return p.route.GetRoute().GetRetryPolicy() }

// tcpFields are those of connections.
var tcpFields = []field{
	{kind: "MeshRetry", name: "tcp.maxConnectAttempt", ofRoute: false, there: func(p envoyPlace) string {
		if n := p.bytes.GetMaxConnectAttempts(); n != nil {
			return fmt.Sprint(n.GetValue())
		}
		return unset
	}, without: unset},
}

// hostFields are those that only the http block of MeshRetry has. A method in
// retryOn stands among the request headers too: it is compared there.
var hostFields = []field{
	{kind: "MeshRetry", name: "http.hostSelection", ofRoute: true, there: func(p envoyPlace) string { return avoided(p.retryPolicy()) },
		without: "", as: func(_ sim.Policy, value any) string { return writtenHosts(value) }},
	{kind: "MeshRetry", name: "http.hostSelectionMaxAttempts", ofRoute: true, there: func(p envoyPlace) string {
		return fmt.Sprint(p.retryPolicy().GetHostSelectionRetryMaxAttempts())
	}, without: "0"},
	{kind: "MeshRetry", name: "http.retriableResponseHeaders", ofRoute: true, there: func(p envoyPlace) string {
		r := p.retryPolicy()
		if looks := slices.Contains(strings.Split(r.GetRetryOn(), ","), headerWord); looks != (len(r.GetRetriableHeaders()) > 0) {
			return "headers that it does not look at, or none to look at"
		}
		written := slices.DeleteFunc(slices.Clone(r.GetRetriableHeaders()), func(h *routev3.HeaderMatcher) bool { return h.Name == route.UnsentHeader })
		if marked := len(written) < len(r.GetRetriableHeaders()); marked != p.heedsUnsent() {
			return fmt.Sprintf("the mark of called sidecars in %v, where %s lead outside: %t", r, clustersOf(p.route), p.outside())
		}
		return headers(written)
	}, without: "", as: func(_ sim.Policy, value any) string { return writtenHeaders(value) }},
	{kind: "MeshRetry", name: "http.retriableRequestHeaders", ofRoute: true, there: func(p envoyPlace) string {
		return headers(slices.DeleteFunc(slices.Clone(p.retryPolicy().GetRetriableRequestHeaders()), func(h *routev3.HeaderMatcher) bool { return h.Name == ":method" }))
	}, without: "", as: func(_ sim.Policy, value any) string { return writtenHeaders(value) }},
}

// avoided is which hosts a policy of Envoy avoids, in the words of MeshRetry, with
// the priorities last.
func avoided(r *routev3.RetryPolicy) string {
	var out []string
	for _, predicate := range r.GetRetryHostPredicate() {
		out = append(out, hostPredicate(predicate.GetTypedConfig()))
	}
	if p := r.GetRetryPriority(); p != nil {
		c := &prioritiesv3.PreviousPrioritiesConfig{}
		if err := p.GetTypedConfig().UnmarshalTo(c); err != nil {
			return err.Error()
		}
		out = append(out, fmt.Sprint("OmitPreviousPriorities ", c.UpdateFrequency))
	}
	return strings.Join(out, ", ")
}

func hostPredicate(a *anypb.Any) string {
	tags := &omittagsv3.OmitHostMetadataConfig{}
	switch {
	case a.MessageIs(&omithostsv3.PreviousHostsPredicate{}):
		return "OmitPreviousHosts"
	case a.UnmarshalTo(tags) != nil:
		return a.GetTypeUrl()
	}
	return "OmitHostsWithTags " + plain(tags.GetMetadataMatch().GetFilterMetadata()["envoy.lb"].AsMap())
}

// writtenHost is an entry of hostSelection.
type writtenHost struct {
	Predicate       string
	Tags            map[string]string
	UpdateFrequency *int
}

// writtenHosts are entries of hostSelection as avoided has them.
func writtenHosts(value any) string {
	var list []writtenHost
	if err := json.Unmarshal([]byte(plain(value)), &list); err != nil {
		return err.Error()
	}
	slices.SortStableFunc(list, func(a, b writtenHost) int {
		return cmp.Compare(strings.Count(a.Predicate, "Priorities"), strings.Count(b.Predicate, "Priorities"))
	})
	var out []string
	for _, s := range list {
		switch text := s.Predicate; {
		case s.UpdateFrequency != nil:
			out = append(out, fmt.Sprint(text, " ", *s.UpdateFrequency))
		case text == "OmitPreviousPriorities":
			out = append(out, text+" 2") // where a document names none
		case s.Tags != nil:
			out = append(out, text+" "+plain(s.Tags))
		default:
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}

// headers are conditions of Envoy in the words of documents.
func headers(list []*routev3.HeaderMatcher) string {
	var out []string
	for _, h := range list {
		word, value := "", ""
		switch text := h.GetStringMatch(); {
		case h.InvertMatch || h.TreatMissingHeaderAsEmpty || text.GetIgnoreCase():
			word = "something else"
		case text.GetSafeRegex() != nil:
			word, value = "RegularExpression", text.GetSafeRegex().Regex
		case text.GetPrefix() != "":
			word, value = "Prefix", text.GetPrefix()
		case text != nil:
			word, value = "Exact", text.GetExact()
		case h.GetPresentMatch():
			word = "Present"
		default:
			word = "Absent"
		}
		out = append(out, fmt.Sprintf("%s %s %q", word, h.Name, value))
	}
	return strings.Join(out, ", ")
}

// writtenHeaders are conditions of a document as headers has them.
func writtenHeaders(value any) string {
	var list []struct{ Type, Name, Value string }
	if err := json.Unmarshal([]byte(plain(value)), &list); err != nil {
		return err.Error()
	}
	var out []string
	for _, h := range list {
		word := cmp.Or(h.Type, "Exact")
		if word == "Prefix" && h.Value == "" {
			word = "Present" // what every value begins with
		}
		out = append(out, fmt.Sprintf("%s %s %q", word, h.Name, h.Value))
	}
	return strings.Join(out, ", ")
}

// heedsUnsent reports whether connections that fail are repeated, those to workloads too unless a share
// leads out of the mesh, where anybody may write the mark.
func (p envoyPlace) heedsUnsent() bool {
	return !p.outside() && slices.ContainsFunc(strings.Split(p.retryPolicy().GetRetryOn(), ","), func(word string) bool {
		return slices.Contains([]string{"5xx", "gateway-error", "reset", "reset-before-request", "connect-failure"}, word)
	})
}

// outside reports whether a share of the route leads out of the mesh.
func (p envoyPlace) outside() bool {
	return slices.ContainsFunc(clustersOf(p.route), func(name string) bool { return strings.Contains(name, "extsvc_") })
}
