// Package tokens issues credentials of dataplanes and users, and makes them void.
package tokens

import (
	"cmp"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
)

// Handlers issue tokens and take them back.
type Handlers struct {
	Tokens Issuer
	// InCluster says that the cluster knows the users, so that none are issued for them.
	InCluster bool
	Log       *slog.Logger
}

// Endpoints issue tokens and take them back.
func (h *Handlers) Endpoints() []endpoint.Operation {
	return []endpoint.Operation{
		endpoint.New("POST /tokens/dataplane", h.dataplaneToken, "Issue a token for one dataplane", endpoint.Reads[dataplaneTokenRequest](endpoint.SaysText())),
		endpoint.New("POST /tokens/user", h.userToken, "Issue a token for a user", endpoint.Reads[userTokenRequest](endpoint.SaysText())),
		endpoint.New("POST /tokens/revoke", h.revokeTokens, "Make tokens void before their time, by their ids (jti)", endpoint.Reads[tokenIDs](endpoint.Says[revoked]())),
		endpoint.New("GET /tokens/revoked", h.revokedTokens, "The ids of all revoked tokens", endpoint.Says[tokenIDs]()),
		endpoint.New("POST /tokens/zone", h.zoneToken, "Refused: there are no zones", endpoint.Form{}),
	}
}

// validity reads how long a token is to be good.
func validity(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, httpapi.BadField("validFor", "the validity is missing or no positive duration; write 720h")
	}
	return d, nil
}

// tokenRequest is what any token is wanted for.
type tokenRequest struct {
	Name     string `json:"name"`
	ValidFor string `json:"validFor"` // 720h
}

// dataplaneTokenRequest is what a token of a dataplane is wanted for.
type dataplaneTokenRequest struct {
	tokenRequest
	Mesh     string              `json:"mesh,omitempty"`
	Type     string              `json:"type,omitempty"`   // Kuma's clients send dataplane
	Tags     map[string][]string `json:"tags,omitempty"`   // that the Dataplane may have
	Labels   map[string][]string `json:"labels,omitempty"` // likewise
	Workload string              `json:"workload,omitempty"`
}

// userTokenRequest is what a token of a user is wanted for.
type userTokenRequest struct {
	tokenRequest
	Groups []string `json:"groups,omitempty"`
}

// tokenIDs are the claims jti of tokens.
type tokenIDs struct {
	IDs []string `json:"ids"`
}

// revoked is how many tokens a request made void.
type revoked struct {
	Revoked int `json:"revoked"`
}

// check reads how long the token is to be good, and wants the name of whom it is for. More is
// what else is wrong with the request.
func (q tokenRequest) check(whom string, more ...error) (time.Duration, error) {
	var wrong *multierror.Error
	validFor, err := validity(q.ValidFor)
	if err != nil {
		wrong = multierror.Append(wrong, err)
	}
	if q.Name == "" {
		wrong = multierror.Append(wrong, httpapi.BadField("name", "the name is missing; name the "+whom))
	}
	return validFor, multierror.Append(wrong, more...).ErrorOrNil()
}

func (h *Handlers) dataplaneToken(w http.ResponseWriter, r *http.Request) error {
	var ask dataplaneTokenRequest
	if err := httpapi.ReadLeniently(w, r, &ask); err != nil {
		return err
	}
	var more []error
	if ask.Type != "" && ask.Type != "dataplane" {
		more = append(more, httpapi.BadField("type", "there are tokens for dataplanes only; leave it out"))
	}
	validFor, err := ask.check("dataplane that the token is for: no token is for all that have a tag, so each dataplane gets its own, by\n"+ask.command(), more...)
	if err != nil {
		return err
	}
	if ask.Mesh == "" {
		ask.Mesh = api.DefaultMesh
	}
	token, err := h.Tokens.Dataplane(DataplaneToken{Mesh: ask.Mesh, Name: ask.Name, Proof: api.Proof{Tags: written(ask.Tags), Labels: written(ask.Labels), Workload: ask.Workload}, ValidFor: validFor})
	return h.issued(w, r, token, err, "dataplane", ask.Mesh+"."+ask.Name)
}

// command is what issues such a token once it has a name: Kuma's clients ask for some without one.
func (q *dataplaneTokenRequest) command() string {
	out := []string{"weft", "token", "dataplane", "--mesh", cmp.Or(q.Mesh, api.DefaultMesh), "--name", "NAME"}
	for _, part := range []struct {
		flag string
		of   map[string][]string
	}{{"--tag", written(q.Tags)}, {"--label", written(q.Labels)}} {
		for _, key := range slices.Sorted(maps.Keys(part.of)) {
			for _, value := range part.of[key] {
				out = append(out, part.flag, key+"="+value)
			}
		}
	}
	if q.Workload != "" {
		out = append(out, "--workload", q.Workload)
	}
	if d, err := validity(q.ValidFor); err == nil {
		out = append(out, "--valid-for", d.String())
	}
	for i, word := range out {
		if strings.ContainsFunc(word, isForShells) {
			out[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// isForShells says that a character may mean something to a shell.
func isForShells(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:=,@", r)
}

// written are those with a name and values: Kuma's clients send empty ones too.
func written(all map[string][]string) map[string][]string {
	out := map[string][]string{}
	for name, values := range all {
		values = slices.DeleteFunc(values, func(v string) bool { return v == "" })
		if name != "" && len(values) > 0 {
			out[name] = values
		}
	}
	return out
}

func (h *Handlers) userToken(w http.ResponseWriter, r *http.Request) error {
	var ask userTokenRequest
	if h.InCluster { // which would know none of them
		return httpapi.ProblemDetails{Status: http.StatusConflict, Title: "Not issued here", Detail: "the cluster says who its users are: ask it for a token by `kubectl create token ACCOUNT --audience weft-api`, " +
			"and give the account a role such as weft-view"}
	}
	if err := httpapi.ReadLeniently(w, r, &ask); err != nil {
		return err
	}
	validFor, err := ask.check("user that the token is for")
	if err != nil {
		return err
	}
	token, err := h.Tokens.User(ask.Name, ask.Groups, validFor)
	return h.issued(w, r, token, err, "user", ask.Name)
}

// revokeTokens makes tokens void.
func (h *Handlers) revokeTokens(w http.ResponseWriter, r *http.Request) error {
	var ask tokenIDs
	if err := httpapi.Read(w, r, &ask); err != nil {
		return err
	}
	if len(ask.IDs) == 0 {
		return httpapi.BadField("ids", "no ids of tokens; give the claims jti of those to revoke")
	}
	var refusal httpapi.ProblemDetails
	switch err := h.Tokens.Revoke(ask.IDs); {
	case errors.As(err, &refusal):
		h.Log.Error("revoked tokens are not kept", "ids", ask.IDs, "error", refusal.Detail)
		return refusal
	case err != nil:
		return httpapi.BadField("ids", err.Error())
	}
	by, client, _ := rights.Caller(r.Context())
	h.Log.Info("tokens revoked", "ids", ask.IDs, "by", httpapi.Truncate(by), "client", client)
	httpapi.Answer(w, http.StatusOK, revoked{len(ask.IDs)})
	return nil
}

func (h *Handlers) revokedTokens(w http.ResponseWriter, _ *http.Request) error {
	httpapi.Answer(w, http.StatusOK, tokenIDs{append([]string{}, h.Tokens.Revoked()...)})
	return nil
}

func (h *Handlers) zoneToken(http.ResponseWriter, *http.Request) error {
	return httpapi.ProblemDetails{Status: http.StatusNotImplemented, Title: "Not implemented", Detail: "this version has no zones that join a control plane, so there are no tokens for them"}
}

// issued answers with a token, and logs all of it but its text.
func (h *Handlers) issued(w http.ResponseWriter, r *http.Request, token Token, err error, kind, whom string) error {
	var refusal httpapi.ProblemDetails
	switch {
	case errors.As(err, &refusal):
		return refusal
	case err != nil:
		return httpapi.BadField("", err.Error())
	}
	by, client, _ := rights.Caller(r.Context())
	h.Log.Info("token issued", "kind", kind, "for", httpapi.Truncate(whom), "id", token.ID, "expires", token.Expires.UTC().Format(time.RFC3339), "by", httpapi.Truncate(by), "client", client)
	w.Header().Set("Cache-Control", "no-store")
	httpapi.Write(w, http.StatusOK, "text/plain", []byte(token.Text))
	return nil
}

// Issuer issues credentials, takes them back, and knows those of users again.
type Issuer interface {
	WhoIs(token string) (name string, groups []string, err error)
	Dataplane(DataplaneToken) (Token, error)
	User(name string, groups []string, validFor time.Duration) (Token, error)
	// Revoke makes tokens void, by their ids.
	Revoke(ids []string) error
	Revoked() []string
}

// DataplaneToken is what a dataplane's token is to say.
type DataplaneToken struct {
	Mesh, Name string
	api.Proof  // binds the Dataplane that the sidecar brings along
	ValidFor   time.Duration
}

// Token is one that was issued. All but Text may be shown.
type Token struct {
	Text    string
	ID      string
	Expires time.Time
}
