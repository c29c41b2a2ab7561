package mtls

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/policies/tls"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// ProblemText is why there is no certificate, in words; empty where nothing is known to keep from one.
func ProblemText(why api.IdentityRefusal, ok bool) string {
	switch {
	case !ok:
		return ""
	case why.Code == api.CodeSpiffeIDInvalid:
		return why.Message
	}
	return why.Error()
}

// CodeNoIdentity is that of a warning: who has no identity is refused by inbounds that are to take
// mutual TLS alone.
const CodeNoIdentity = "NoIdentity"

// switched is what an object switches in its mesh: where a warning about it stands.
type switched struct {
	object *api.Object
	mesh   string
	field  api.Path
}

// switchesOf are those of objects that may give dataplanes identities, or change the modes of
// inbounds; of several in one mesh the first.
func switchesOf(objects []*api.Object) (out []switched) {
	for _, o := range objects {
		s := switched{o, o.Mesh, "spec"}
		switch o.Kind {
		case api.KindMesh:
			s.mesh, s.field = o.Name, "mtls"
		case api.KindMeshIdentity, tls.Kind.Name:
		default:
			continue
		}
		if !slices.ContainsFunc(out, func(x switched) bool { return x.mesh == s.mesh }) {
			out = append(out, s)
		}
	}
	return out
}

// warn is a warning at it.
func (s switched) warn(code, format string, args ...any) *api.Violation {
	return &api.Violation{Position: notes.LocatorIn(snapshot.New(0, s.object)).Of(api.Note{Origin: &api.Origin{Ref: s.object.Ref}, Field: s.field}),
		Object: s.object.Ref, Field: s.field, Code: code, Severity: api.Warning, Message: fmt.Sprintf(format, args...)}
}

// RefusedBySwitch are warnings on planned objects by which dataplanes get identities, or inbounds take
// plain text no more: whom that would refuse (spec/identity.md 5, phase 0). Unproven says of a
// dataplane why its sidecar would get no certificate.
func RefusedBySwitch(before, after *resolve.Reader, objects []*api.Object, unproven func(api.Ref) (api.IdentityRefusal, bool)) (out []*api.Violation) {
	for _, s := range switchesOf(objects) {
		lost, codes := map[string][]string{}, []string{}
		var strangers []string
		hardens, uncertified := false, after.Uncertified(s.mesh)
		for r := range after.Dataplanes(s.mesh) {
			was, _ := before.Dataplane(r.Ref)
			hardens = hardens || newlyStrict(was, r)
			if r.Identity == nil {
				strangers = append(strangers, r.Ref.FullName())
				continue
			}
			if was != nil && was.Identity != nil && slices.Equal(was.Identity.Names, r.Identity.Names) {
				continue
			}
			why, refused := uncertified(r.Ref)
			if !refused {
				why, refused = unproven(r.Ref)
			}
			if refused {
				if lost[why.Code] == nil {
					codes = append(codes, why.Code)
				}
				lost[why.Code] = append(lost[why.Code], r.Ref.FullName()+" ("+why.Message+")")
			}
		}
		slices.Sort(codes)
		for _, code := range codes {
			out = append(out, s.warn(code, "%s would get no certificate, so that whoever takes mutual TLS alone refuses them: %s", terminal.Counted(len(lost[code]), "dataplane", "dataplanes"), inspect.FirstOf(lost[code])))
		}
		if unproven := newlyLeft(before.LeftOut(s.mesh), after.LeftOut(s.mesh)); hardens && len(unproven) > 0 {
			out = append(out, s.warn(api.CodeUnprovenMember, "%s would answer no more for services that take mutual TLS alone, for what its token does not prove: %s; the notes on each name the token that would do",
				terminal.Counted(len(unproven), "dataplane", "dataplanes"), inspect.FirstOf(unproven)))
		}
		if hardens && len(strangers) > 0 {
			out = append(out, s.warn(CodeNoIdentity, "%s without an identity would be refused by inbounds that take mutual TLS alone: %s; let a MeshIdentity select them, or let a MeshTLS of mode Permissive be about the inbounds that they call",
				terminal.Counted(len(strangers), "dataplane", "dataplanes"), inspect.FirstOf(strangers)))
		}
	}
	return out
}

// newlyLeft are the dataplanes that are left out of destinations of which they were not before, in words.
func newlyLeft(before, after map[api.Ref][]string) (out []string) {
	for dp, ids := range after {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(before[dp], id) })
		if len(ids) > 0 {
			slices.Sort(ids)
			out = append(out, fmt.Sprintf("%s of %s", dp.FullName(), strings.Join(ids, ", ")))
		}
	}
	slices.Sort(out)
	return out
}

// newlyStrict reports whether an inbound is to take mutual TLS alone that was not.
func newlyStrict(was, is *effective.Resolved) bool {
	strict := func(r *effective.Resolved, address string, port uint32) bool {
		return r != nil && slices.ContainsFunc(r.Inbounds, func(i effective.InboundUse) bool {
			return i.Address == address && i.Port == port && i.TLS != nil && i.TLS.Mode == effective.Strict
		})
	}
	return slices.ContainsFunc(is.Inbounds, func(i effective.InboundUse) bool {
		return strict(is, i.Address, i.Port) && !strict(was, i.Address, i.Port)
	})
}
