package routes

import (
	"math"
	"net/http"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/backends"
	"github.com/weftmesh/weft/xds/envoy"
)

// redirectCodes are the statuses that Envoy redirects with.
var redirectCodes = map[uint32]routev3.RedirectAction_RedirectResponseCode{
	301: routev3.RedirectAction_MOVED_PERMANENTLY,
	302: routev3.RedirectAction_FOUND,
	303: routev3.RedirectAction_SEE_OTHER,
	307: routev3.RedirectAction_TEMPORARY_REDIRECT,
	308: routev3.RedirectAction_PERMANENT_REDIRECT,
}

// act gives out the action of r.
func act(out *routev3.Route, r *effective.Route, s backends.Split) {
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
		if s.External && action.HostRewriteSpecifier == nil {
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
func forward(s backends.Split) *routev3.RouteAction {
	action := &routev3.RouteAction{Timeout: durationpb.New(0)}
	if s.Broken == http.StatusInternalServerError { // Envoy's own is 503
		action.ClusterNotFoundResponseCode = routev3.RouteAction_INTERNAL_SERVER_ERROR
	}
	if len(s.Shares) == 1 && !s.Filtered {
		action.ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: s.Shares[0].Cluster}
		return action
	}
	weighted := &routev3.WeightedCluster{}
	for _, h := range s.Shares {
		weighted.Clusters = append(weighted.Clusters, &routev3.WeightedCluster_ClusterWeight{
			Name: h.Cluster, Weight: wrapperspb.UInt32(h.Weight),
		})
	}
	action.ClusterSpecifier = &routev3.RouteAction_WeightedClusters{WeightedClusters: weighted}
	return action
}

func applyRewrite(action *routev3.RouteAction, w *route.Rewrite, path *match.Condition) {
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

func redirection(d *route.Redirect, path *match.Condition) *routev3.RedirectAction {
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
	return []*routev3.RouteAction_UpgradeConfig{{UpgradeType: envoy.WebSocket, Enabled: wrapperspb.Bool(u == route.UpgradeOn)}}
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

// aSession is the time for which Envoy sets a cookie that ends with the client's session.
const aSession time.Duration = 0

// hashPolicies are the keys as a route has them.
func hashPolicies(keys []route.HashKey) []*routev3.RouteAction_HashPolicy {
	var out []*routev3.RouteAction_HashPolicy
	for _, k := range keys {
		p := &routev3.RouteAction_HashPolicy{Terminal: k.Last}
		switch {
		case k.Header != "":
			p.PolicySpecifier = &routev3.RouteAction_HashPolicy_Header_{Header: &routev3.RouteAction_HashPolicy_Header{HeaderName: k.Header}}
		case k.Query != "":
			p.PolicySpecifier = &routev3.RouteAction_HashPolicy_QueryParameter_{QueryParameter: &routev3.RouteAction_HashPolicy_QueryParameter{Name: k.Query}}
		case k.Cookie != "":
			cookie := &routev3.RouteAction_HashPolicy_Cookie{Name: k.Cookie}
			if k.Session {
				cookie.Path, cookie.Ttl = "/", durationpb.New(aSession)
			}
			p.PolicySpecifier = &routev3.RouteAction_HashPolicy_Cookie_{Cookie: cookie}
		default:
			p.PolicySpecifier = &routev3.RouteAction_HashPolicy_ConnectionProperties_{ConnectionProperties: &routev3.RouteAction_HashPolicy_ConnectionProperties{SourceIp: true}}
		}
		out = append(out, p)
	}
	return out
}
