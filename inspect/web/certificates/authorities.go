// Package certificates answers about the authorities of workloads' certificates and how far a mesh is with
// mutual TLS, replaces roots, and revokes identities.
package certificates

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/objects"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/inspect/web/sidecars"
)

// CAAdmin are those that sign the certificates of workloads.
type CAAdmin interface {
	// Authorities are those of a mesh.
	Authorities(mesh string) []mtls.Authority
	// Roots are theirs.
	Roots(mesh string) []mtls.Root
	// Rotate replaces the root of the authority of a document, or goes back.
	Rotate(ctx context.Context, owner api.Ref, ask RootRotation) (mtls.Rotated, error)
	// Revoke has an identity of a mesh refused everywhere.
	Revoke(ctx context.Context, mesh, spiffeID string, dry bool) (mtls.RevokedIdentity, error)
}

// RootRotation is what is asked of the root of an authority.
type RootRotation struct {
	Abort, Force, Now, Dry bool
	Spread                 time.Duration // 0: as the configuration says
}

// RotateRequest is the body of a request for another root, or to go back.
type RotateRequest struct {
	Identity string `json:"identity,omitempty"` // a MeshIdentity; that of Mesh.mtls where it is left out
	Force    bool   `json:"force,omitempty"`
	Now      bool   `json:"now,omitempty"`
	Spread   string `json:"spread,omitempty"` // 10m
	DryRun   bool   `json:"dryRun,omitempty"`
}

// revokeRequest is the body of a request to revoke an identity.
type revokeRequest struct {
	SpiffeID string `json:"spiffeID"`
	DryRun   bool   `json:"dryRun,omitempty"`
}

// Handlers answer about authorities and mutual TLS, and turn roots.
type Handlers struct {
	*objects.Finder
	Authorities CAAdmin  // nil where none are kept
	Security    Security // nil where nobody tells
	Sidecars    sidecars.Sidecars
	Log         *slog.Logger
}

// Endpoints are those of authorities and mutual TLS of a mesh.
func (h *Handlers) Endpoints() []endpoint.Operation {
	return []endpoint.Operation{
		endpoint.New("GET /meshes/{mesh}/_authorities", h.authorities, "The authorities of workloads' certificates, and where the rotations of their roots stand", endpoint.Says[mtls.Authorities]()),
		endpoint.New("POST /meshes/{mesh}/_authorities/rotate", h.rotates(false), "Replace the root of an authority while sidecars call each other", endpoint.Reads[RotateRequest](endpoint.Says[mtls.Rotated]())),
		endpoint.New("POST /meshes/{mesh}/_authorities/abort", h.rotates(true), "Go back to the root that was to be replaced", endpoint.Reads[RotateRequest](endpoint.Says[mtls.Rotated]())),
		endpoint.New("POST /meshes/{mesh}/_authorities/revoke", h.revokeIdentity, "Refuse an identity everywhere, and give it no certificate", endpoint.Reads[revokeRequest](endpoint.Says[mtls.RevokedIdentity]())),
		endpoint.New("GET /meshes/{mesh}/_mtls", h.mtls, "How far a mesh is with mutual TLS: roots, certificates, modes, and who calls in plain text", endpoint.Says[mtls.MTLS](endpoint.StatusSize, endpoint.PageOffset, endpoint.PartOfName)),
	}
}

// meshOf is the mesh that the path names, which must be there.
func (h *Handlers) meshOf(r *http.Request) (string, error) {
	mesh := r.PathValue("mesh")
	if err := h.CheckMesh(mesh); err != nil {
		return "", err
	}
	if h.Authorities == nil {
		return "", httpapi.ProblemDetails{Status: http.StatusNotImplemented, Title: "Not here", Detail: "this control plane keeps no authorities"}
	}
	return mesh, nil
}

func (h *Handlers) authorities(w http.ResponseWriter, r *http.Request) error {
	mesh, err := h.meshOf(r)
	if err != nil {
		return err
	}
	q, err := h.Reader(r.Context())
	if err != nil {
		return err
	}
	all := append([]mtls.Authority{}, h.Authorities.Authorities(mesh)...)
	conditions.Lack(q, mesh, all)
	httpapi.Answer(w, http.StatusOK, mtls.Authorities{Mesh: mesh, Items: all})
	return nil
}

// rotates answers who asks for another root, or for the former one.
func (h *Handlers) rotates(abort bool) endpoint.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		var ask RotateRequest
		body, err := httpapi.Body(w, r, httpapi.MaxSmall)
		if err != nil {
			return err
		}
		if string(bytes.TrimSpace(body)) == "null" {
			return httpapi.BadField("", "the body is null; write {} where nothing is to be said")
		}
		if err := httpapi.DecodeBody(body, &ask); err != nil {
			return err
		}
		turn := RootRotation{Abort: abort, Force: ask.Force, Now: ask.Now, Dry: ask.DryRun}
		if abort && (ask.Force || ask.Now || ask.Spread != "") {
			return httpapi.BadField("", "to go back is never forced, and takes the way that it takes; leave force, now and spread out")
		}
		if ask.Spread != "" {
			d, err := time.ParseDuration(ask.Spread)
			if err != nil || d <= 0 {
				return httpapi.BadField("spread", strconv.Quote(redact.Clip(ask.Spread))+" is no positive duration; write 10m")
			}
			turn.Spread = d
		}
		mesh, err := h.meshOf(r)
		if err != nil {
			return err
		}
		owner := api.Ref{Kind: api.KindMesh, Name: mesh}
		if ask.Identity != "" {
			owner = h.identityRef(mesh, ask.Identity)
		}
		out, err := h.Authorities.Rotate(r.Context(), owner, turn)
		if err != nil {
			return err
		}
		if !ask.DryRun {
			by, client, _ := rights.Caller(r.Context())
			h.Log.Info("root of an authority", "of", owner.String(), "abort", abort, "force", ask.Force, "now", ask.Now, "phase", out.Authority.Phase, "by", httpapi.Truncate(by), "client", client)
		}
		httpapi.Answer(w, http.StatusOK, out)
		return nil
	}
}

// identityRef is the MeshIdentity of a name, in whatever namespace it lies.
func (h *Handlers) identityRef(mesh, name string) api.Ref {
	ref := api.Ref{Kind: api.KindMeshIdentity, Mesh: mesh, Name: name}
	return ref.Resolve(h.Documents.Snapshot().Has)
}

func (h *Handlers) revokeIdentity(w http.ResponseWriter, r *http.Request) error {
	var ask revokeRequest
	if err := httpapi.Read(w, r, &ask); err != nil {
		return err
	}
	if ask.SpiffeID == "" {
		return httpapi.BadField("spiffeID", "the identity is missing; write spiffe://DOMAIN/PATH")
	}
	mesh, err := h.meshOf(r)
	if err != nil {
		return err
	}
	out, err := h.Authorities.Revoke(r.Context(), mesh, ask.SpiffeID, ask.DryRun)
	if err != nil {
		return err
	}
	if !ask.DryRun {
		by, client, _ := rights.Caller(r.Context())
		h.Log.Info("identity revoked", "mesh", mesh, "identity", httpapi.Truncate(ask.SpiffeID), "by", httpapi.Truncate(by), "client", client)
	}
	httpapi.Answer(w, http.StatusOK, out)
	return nil
}
