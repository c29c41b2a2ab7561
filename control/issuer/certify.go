package issuer

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/auth"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/control/telemetry"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/authority/rotation"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// Certifier answers POST /certify (spec/identity.md 2.3): the agent of a sidecar has the key of
// its workload certified. Of the request nothing counts but the public key: who it is for is
// who the credential says, and the names are those that the dataplane has by the documents.
type Certifier struct {
	Proof      error // why nobody can prove anything here, an api.IdentityRefusal; nil where one can
	Model      func(context.Context) (*resolve.Model, error)
	Who        authn.Authenticator
	Controller *authorities.CAController
	Sidecar    func(dp, owner api.Ref) rotation.Sidecar
	Record     func(dp, owner api.Ref, root string, ends time.Time) error // before a certificate is given
	Answered   func(dp api.Ref, why api.IdentityRefusal)                  // of each answer; the zero value where nothing is refused
	Zone       api.Zone
	Log        *slog.Logger
	limiter    rateLimiter
	refusal    refusalLog // of the last refusals, so that each is logged once
}

// request is the body of a request.
type request struct {
	Mesh    string `json:"mesh"`
	Name    string `json:"name"`
	Request []byte `json:"request"` // PKCS #10 in DER form
	// Spire is what the Workload API beside the workload offers, as far as the agent has asked it.
	Spire *offered `json:"spire"`
}

// answer is that of an answer; package identity of the sidecar reads it.
type answer struct {
	Chain   string        `json:"chain,omitempty"` // in PEM, the certificate first
	Secret  string        `json:"secret"`
	Names   []string      `json:"names"`
	Root    string        `json:"root,omitempty"`
	Expires time.Time     `json:"expires,omitzero"`
	Renew   time.Time     `json:"renew,omitzero"`
	Spire   *spireOfAgent `json:"spire,omitempty"` // in the place of all but Secret and Names
}

// largestCertify bounds a request, in bytes.
const largestCertify = 16 << 10

// errTooMany is that a dataplane has had too many lately.
var errTooMany = httpapi.Refusal(http.StatusTooManyRequests, "this dataplane has asked for too many certificates; wait a minute")

// errNoIdentity is that the documents give a dataplane no identity.
var errNoIdentity = errors.New("the dataplane has no identity")

// ServeHTTP answers.
func (c *Certifier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var ask request
	answer, dp, err := c.answer(w, r, &ask)
	switch {
	case errors.Is(err, errNoIdentity):
		w.WriteHeader(http.StatusNoContent)
		return
	case err != nil:
		c.refused(r.RemoteAddr, dp, err)
		httpapi.Refuse(w, err)
		return
	}
	c.refusal.forget(dp)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(answer)
}

// refused logs each reason of a dataplane once.
func (c *Certifier) refused(address string, dp api.Ref, err error) {
	text := telemetry.Truncate(err.Error())
	if dp != (api.Ref{}) {
		if c.refusal.same(dp, text) {
			return
		}
	}
	c.Log.Warn("refused a certificate", "address", address, "dataplane", dp.String(), "error", text)
}

func (c *Certifier) answer(w http.ResponseWriter, r *http.Request, ask *request) (out answer, dp api.Ref, err error) {
	if c.Proof != nil {
		return out, dp, httpapi.Refusal(http.StatusForbidden, c.Proof.Error())
	}
	body, err := httpapi.Body(w, r, largestCertify)
	if err != nil {
		return out, dp, err
	}
	if err := json.Unmarshal(body, ask); err != nil {
		return out, dp, httpapi.Refusal(http.StatusBadRequest, "the request is not JSON of the right form: "+err.Error())
	}
	model, err := c.Model(r.Context())
	if err != nil {
		return out, dp, err
	}
	ref := api.Ref{Kind: api.KindDataplane, Mesh: ask.Mesh, Name: ask.Name}.Resolve(model.Snapshot().Has)
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	who, err := auth.AuthenticateAs(r.Context(), c.Who, token, ref, model.Snapshot())
	if err != nil {
		return out, dp, err
	}
	if who.Dataplane.Name == "" {
		return out, dp, httpapi.Refusal(http.StatusForbidden, api.CodeNoProof+": the credential says of nobody who he is")
	}
	o, there := model.Snapshot().Get(ref)
	if there {
		if by, ok := spireOf(model, o); ok { // nothing is signed, so that nothing is capped
			out, err = c.spire(model, o, who, by, ask.Spire)
			return out, ref, err
		}
	}
	if !c.limiter.allow(ref) {
		return out, ref, errTooMany
	}
	if !there {
		return out, ref, httpapi.Refusal(http.StatusServiceUnavailable, fmt.Sprintf("there is no %s yet; try again", ref))
	}
	out, err = c.sign(r.Context(), model, o, who, ask.Request)
	return out, ref, err
}

// sign has the key of a request certified.
func (c *Certifier) sign(ctx context.Context, m *resolve.Model, o *api.Object, who authn.Identity, request []byte) (out answer, err error) {
	if _, _, err := c.proves(m, o, who); err != nil {
		return out, err
	}
	key, err := workload.PublicKey(request)
	if err != nil {
		return out, httpapi.Refusal(http.StatusBadRequest, err.Error())
	}
	got, err := c.issue(ctx, m, o, who, key)
	if err != nil {
		return out, err
	}
	return answer{Chain: string(got.Chain.PEM()), Secret: naming.IdentitySecret(o.Mesh), Names: got.names, Root: got.Root, Expires: got.Ends, Renew: got.RenewAt}, nil
}

// proves is what the credential of a dataplane proves, and tells of what it does not.
func (c *Certifier) proves(m *resolve.Model, o *api.Object, who authn.Identity) (names []string, owner api.Ref, err error) {
	names, owner, err = Proven(m, c.Zone, o, who)
	var why api.IdentityRefusal
	if errors.As(err, &why) {
		err = httpapi.Refusal(http.StatusForbidden, err.Error())
	}
	c.Answered(o.Ref, why)
	return names, owner, err
}

// issued is a certificate, and what it was made by and for.
type issued struct {
	authorities.Issued
	owner api.Ref
	names []string
}

// issue has the names of a dataplane signed for a key, as far as its credential proves them.
func (c *Certifier) issue(ctx context.Context, m *resolve.Model, o *api.Object, who authn.Identity, key *ecdsa.PublicKey) (out issued, err error) {
	if out.names, out.owner, err = c.proves(m, o, who); err != nil {
		return out, err
	}
	out.Issued, err = c.wait(ctx, func() (authorities.Issued, error) {
		return c.signNoted(out, o.Ref, key)
	})
	if err != nil {
		return out, httpapi.Refusal(http.StatusServiceUnavailable, err.Error())
	}
	c.Log.Info("signed", "dataplane", o.Ref.String(), "names", out.names, "serial", out.Chain[0].SerialNumber.Text(16), "expires", out.Ends)
	return out, nil
}

// signNoted signs, and takes note of the certificate before anybody has it. A rotation that has
// begun in between did not see it: then this one is not given, and the sidecar has to know first
// whom to trust beside.
func (c *Certifier) signNoted(x issued, dp api.Ref, key *ecdsa.PublicKey) (authorities.Issued, error) {
	trust, _ := c.Controller.Trust(x.owner)
	got, err := c.Controller.Sign(x.owner, x.names, key, c.Sidecar(dp, x.owner))
	if err != nil {
		return got, err
	}
	if err := c.Record(dp, x.owner, got.Root, got.Ends); err != nil {
		return got, err
	}
	if now, _ := c.Controller.Trust(x.owner); now != trust {
		return got, authorities.ErrNotTrusting
	}
	return got, nil
}

// How long a request waits for what comes in a moment, and how often it looks.
const (
	certifyPatience = 5 * time.Second
	certifyLook     = 20 * time.Millisecond
)

// wait tries until a signature is possible: as a rule the sidecar's Envoy is just connecting.
func (c *Certifier) wait(ctx context.Context, sign func() (authorities.Issued, error)) (authorities.Issued, error) {
	end := time.Now().Add(certifyPatience)
	for {
		issued, err := sign()
		soon := errors.Is(err, authorities.ErrNotReady) || errors.Is(err, authorities.ErrNotTrusting) || errors.Is(err, authorities.ErrNoAuthority)
		if !soon || time.Now().After(end) {
			return issued, err
		}
		select {
		case <-ctx.Done():
			return issued, err
		case <-time.After(certifyLook):
		}
	}
}

// GivenCertificate is a certificate that was given, as it is written down. Nothing of it is secret.
type GivenCertificate struct {
	Dataplane api.Ref   `json:"dataplane"`
	Owner     api.Ref   `json:"owner"`
	Root      string    `json:"root"`
	Ends      time.Time `json:"ends"`
}
