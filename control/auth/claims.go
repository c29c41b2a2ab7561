package auth

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/xds/server/authn"
)

// UnboundTokens is the label of a Mesh that says what a token without tags and
// workload lets a sidecar bring along: "any", or by default only what a
// Dataplane of that name has already.
const UnboundTokens = "weft.io/unbound-tokens"

const workloadLabel = api.LabelWorkload

// CheckClaims refuses a Dataplane that a sidecar brings along and that says more of
// the workload than its token allows: tags and labels decide which services it
// answers for and which policies it gets. There is the Dataplane of that name,
// nil for none.
func CheckClaims(who authn.Identity, brought, there, mesh *api.Object) error {
	switch {
	case who.Dataplane.Name == "": // nobody proves anything here
		return nil
	case !applied(brought, there) && (mesh == nil || mesh.Labels[UnboundTokens] != "any"):
		return httpapi.Refusal(http.StatusForbidden, fmt.Sprintf("%s: it serves clients from outside and may show certificates, so no sidecar brings it along: "+
			"apply it by `weft apply`, start the sidecar with its --name, or label the mesh %s: any", brought.Ref, UnboundTokens))
	case len(who.Tags) > 0 || len(who.Labels) > 0 || who.Workload != "":
		return claimed(who, brought)
	case mesh != nil && mesh.Labels[UnboundTokens] == "any":
		return nil
	case there == nil:
		return outside(brought, "the token binds no tags, and there is no Dataplane of this name that the sidecar could repeat")
	}
	has := tagsOf(there)
	for name, values := range tagsOf(brought) {
		for _, v := range values {
			if !slices.Contains(has[name], v) {
				return outside(brought, fmt.Sprintf("the token binds no tags, and the Dataplane of this name has not %s: %s", name, v))
			}
		}
	}
	if name, ok := foreignLabel(brought, there); ok {
		return outside(brought, fmt.Sprintf("the token binds no tags, and the Dataplane of this name has not the label %s: %s", name, brought.Labels[name]))
	}
	return nil
}

// foreignLabel is the first label of the Dataplane brought along that there has not, or not
// with its value.
func foreignLabel(brought, there *api.Object) (name string, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(brought.Labels)) {
		if there.Labels[name] != brought.Labels[name] {
			return name, true
		}
	}
	return "", false
}

// applied reports whether what an edge dataplane would serve is what the one of that name
// serves already: its listeners and labels decide which certificates it gets, with their
// keys. Others serve nothing to clients from outside.
func applied(brought, there *api.Object) bool {
	spec, ok := brought.Spec.(*api.Dataplane)
	if !ok || spec.Networking == nil || !spec.Networking.Edge() {
		return true
	}
	if there == nil {
		return false
	}
	has, ok := there.Spec.(*api.Dataplane)
	if !ok || has.Networking == nil || !reflect.DeepEqual(spec.Networking.Gateway, has.Networking.Gateway) {
		return false
	}
	_, foreign := foreignLabel(brought, there)
	return !foreign
}

// claimed holds a Dataplane against the claims of its token, as Kuma does: it has
// each tag that is named, with no other values; tags that are not named are free.
func claimed(who authn.Identity, brought *api.Object) error {
	tags := tagsOf(brought)
	for _, name := range slices.Sorted(maps.Keys(who.Tags)) {
		if len(tags[name]) == 0 {
			return outside(brought, fmt.Sprintf("the token is for dataplanes with the tag %s, and this one has none", name))
		}
		for _, v := range tags[name] {
			if !slices.Contains(who.Tags[name], v) {
				return outside(brought, fmt.Sprintf("the token is for %s: %s, and not for %s", name, strings.Join(who.Tags[name], ", "), v))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(who.Labels)) {
		if got := brought.Labels[name]; !slices.Contains(who.Labels[name], got) {
			return outside(brought, fmt.Sprintf("the token is for the label %s: %s, and this one says %q", name, strings.Join(who.Labels[name], ", "), got))
		}
	}
	if got := brought.Labels[workloadLabel]; who.Workload != "" && got != who.Workload {
		return outside(brought, fmt.Sprintf("the token is for the workload %s, and the label %s says %q", who.Workload, workloadLabel, got))
	}
	return nil
}

// outside is the refusal, with the command that makes a token which would do.
func outside(o *api.Object, why string) error {
	command := "weft token dataplane --mesh " + o.Mesh + " --name " + o.FullName()
	for _, v := range tagsOf(o)[api.TagService] {
		command += " --tag " + api.TagService + "=" + v
	}
	return httpapi.Refusal(http.StatusForbidden, fmt.Sprintf("%s: %s; issue another by `%s`, apply the Dataplane, or label the mesh %s: any", o.Ref, why, command, UnboundTokens))
}

// tagsOf are all tags of a dataplane with all their values.
func tagsOf(o *api.Object) map[string][]string {
	out := map[string][]string{}
	add := func(tags map[string]string) {
		for name, v := range tags {
			if !slices.Contains(out[name], v) {
				out[name] = append(out[name], v)
			}
		}
	}
	spec, ok := o.Spec.(*api.Dataplane)
	if !ok || spec.Networking == nil {
		return out
	}
	for i := range spec.Networking.Inbound {
		add(spec.Networking.Inbound[i].Tags)
	}
	if spec.Networking.Gateway != nil {
		add(spec.Networking.Gateway.Tags)
	}
	return out
}

// TokenCommand issues a token that proves what an ephemeral dataplane says of itself.
func TokenCommand(o *api.Object, labels []string) string {
	text := "weft token dataplane --mesh " + o.Mesh + " --name " + o.FullName()
	for _, v := range slices.Sorted(slices.Values(tagsOf(o)[api.TagService])) {
		text += " --tag " + api.TagService + "=" + v
	}
	for _, k := range labels {
		if k == workloadLabel {
			text += " --workload " + o.Labels[k]
		} else {
			text += " --tag " + k + "=" + o.Labels[k]
		}
	}
	return text
}
