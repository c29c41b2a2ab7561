package xds

import (
	"fmt"
	"math"
	"net/http"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// Unresolved is the name of a cluster that no destination can have. Envoy draws
// one number for a request, so a share that must fail is one of the weights.
const Unresolved = "weft/unresolved"

// redirectCodes are the statuses that Envoy redirects with.
var redirectCodes = map[uint32]routev3.RedirectAction_RedirectResponseCode{
	301: routev3.RedirectAction_MOVED_PERMANENTLY,
	302: routev3.RedirectAction_FOUND,
	303: routev3.RedirectAction_SEE_OTHER,
	307: routev3.RedirectAction_TEMPORARY_REDIRECT,
	308: routev3.RedirectAction_PERMANENT_REDIRECT,
}

// split is a route's backends as Envoy divides them.
type split struct {
	shares   []share // none: nobody can answer
	broken   uint32  // the status of a share that is Unresolved; 0: there is none
	external bool    // one of the shares is outside the mesh
	scaled   bool    // the weights were too large together
	filtered bool    // one of the shares has filters of its own
}

type share struct {
	cluster string
	weight  uint32
	filters []route.Filter
}

// divide keeps what gets traffic. Weights that exceed what Envoy can add up
// are scaled down together, and none of them to nothing.
func divide(backends []effective.Backend) split {
	var s split
	var sum uint64
	usable := false
	for _, b := range effective.Sharing(backends) {
		name := b.Cluster
		if name == "" {
			name, s.broken = Unresolved, b.Broken.Status
		} else {
			usable = true
			s.external = s.external || b.Kind == api.KindMeshExternalService
		}
		s.shares = append(s.shares, share{name, b.Weight, b.Filters})
		s.filtered = s.filtered || len(b.Filters) > 0
		sum += uint64(b.Weight)
	}
	if !usable {
		return split{}
	}
	if sum > math.MaxUint32 {
		s.scaled = true
		limit := math.MaxUint32 - uint64(len(s.shares)) // room for those that round up to one
		for i, h := range s.shares {
			scaled := float64(h.weight) / float64(sum) * float64(limit)
			s.shares[i].weight = max(1, uint32(scaled))
		}
	}
	return s
}

// act gives out the action of r.
func act(out *routev3.Route, r *effective.Route, s split) {
	switch do := r.Answers().(type) {
	case *route.Redirect:
		out.Action = &routev3.Route_Redirect{Redirect: redirection(do, r.Match.Path())}
	case *route.Respond:
		out.Action = respond(do)
	default:
		action := forward(s)
		if rewrite := route.LastRewrite(r.Filters); rewrite != nil {
			applyRewrite(action, rewrite, r.Match.Path())
		}
		if s.external && action.HostRewriteSpecifier == nil {
			action.HostRewriteSpecifier = &routev3.RouteAction_AutoHostRewrite{AutoHostRewrite: wrapperspb.Bool(true)}
		}
		action.RequestMirrorPolicies = mirrors(r.Mirrors)
		action.UpgradeConfigs = upgrades(r.Upgrade)
		action.HashPolicy = hashPolicies(r.Hash)
		out.Action = &routev3.Route_Route{Route: action}
	}
}

func respond(do *route.Respond) *routev3.Route_DirectResponse {
	out := &routev3.DirectResponseAction{Status: do.Status}
	if do.Body != "" {
		out.Body = &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: do.Body}}
	}
	return &routev3.Route_DirectResponse{DirectResponse: out}
}

// forward has no timeout of its own: unset is not Envoy's 15 seconds.
func forward(s split) *routev3.RouteAction {
	action := &routev3.RouteAction{Timeout: durationpb.New(0)}
	if s.broken == http.StatusInternalServerError { // Envoy's own is 503
		action.ClusterNotFoundResponseCode = routev3.RouteAction_INTERNAL_SERVER_ERROR
	}
	if len(s.shares) == 1 && !s.filtered {
		action.ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: s.shares[0].cluster}
		return action
	}
	weighted := &routev3.WeightedCluster{}
	for _, h := range s.shares {
		weighted.Clusters = append(weighted.Clusters, &routev3.WeightedCluster_ClusterWeight{
			Name: h.cluster, Weight: wrapperspb.UInt32(h.weight),
		})
	}
	action.ClusterSpecifier = &routev3.RouteAction_WeightedClusters{WeightedClusters: weighted}
	return action
}

func applyRewrite(action *routev3.RouteAction, w *route.Rewrite, path *route.Condition) {
	switch {
	case w.HostHeader != "":
		action.HostRewriteSpecifier = &routev3.RouteAction_HostRewriteHeader{HostRewriteHeader: w.HostHeader}
	case w.Hostname != "":
		action.HostRewriteSpecifier = &routev3.RouteAction_HostRewriteLiteral{HostRewriteLiteral: w.Hostname}
	case w.BackendsHost:
		action.HostRewriteSpecifier = &routev3.RouteAction_AutoHostRewrite{AutoHostRewrite: wrapperspb.Bool(true)}
	}
	change := rewritten(w.Path, path)
	action.PrefixRewrite, action.RegexRewrite = change.prefix, change.regex
}

func redirection(d *route.Redirect, path *route.Condition) *routev3.RedirectAction {
	status := d.Status
	if status == 0 {
		status = 302
	}
	out := &routev3.RedirectAction{HostRedirect: d.Hostname, PortRedirect: d.Port, ResponseCode: redirectCodes[status]}
	if d.Scheme != "" {
		out.SchemeRewriteSpecifier = &routev3.RedirectAction_SchemeRedirect{SchemeRedirect: d.Scheme}
	}
	switch change := rewritten(d.Path, path); {
	case change.regex != nil:
		out.PathRewriteSpecifier = &routev3.RedirectAction_RegexRewrite{RegexRewrite: change.regex}
	case change.prefix != "":
		out.PathRewriteSpecifier = &routev3.RedirectAction_PrefixRewrite{PrefixRewrite: change.prefix}
	}
	return out
}

// upgrades is none where the listener's word holds.
func upgrades(u route.Upgrade) []*routev3.RouteAction_UpgradeConfig {
	if u == route.UpgradeUnset {
		return nil
	}
	return []*routev3.RouteAction_UpgradeConfig{{UpgradeType: webSocket, Enabled: wrapperspb.Bool(u == route.UpgradeOn)}}
}

func mirrors(list []effective.Mirror) []*routev3.RouteAction_RequestMirrorPolicy {
	var out []*routev3.RouteAction_RequestMirrorPolicy
	for _, m := range list {
		if m.Cluster == "" || m.Percent <= 0 {
			continue // a copy that nobody gets; resolve has said so
		}
		out = append(out, &routev3.RouteAction_RequestMirrorPolicy{
			Cluster: m.Cluster, HostRewriteLiteral: m.Host,
			RuntimeFraction: &corev3.RuntimeFractionalPercent{DefaultValue: &typev3.FractionalPercent{
				Numerator:   uint32(math.Round(min(m.Percent, 100) * 10_000)),
				Denominator: typev3.FractionalPercent_MILLION,
			}},
		})
	}
	return out
}

func (s split) note(r *effective.Route) (api.Note, bool) {
	if !s.scaled {
		return api.Note{}, false
	}
	return api.Note{
		Origin: r.ActionBy, Severity: api.Warning, Code: "WeightsScaled",
		Message: fmt.Sprintf("the weights add up to more than %d; they were scaled down together, so lower them", uint32(math.MaxUint32)),
	}, true
}
