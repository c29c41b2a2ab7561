package web

import (
	"net/http"
	"time"

	"github.com/weftmesh/weft/api"
)

// validity reads how long a token is to be good.
func validity(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, badField("validFor", "the validity is missing or no positive duration; write 720h")
	}
	return d, nil
}

// tokenRequest is what any token is wanted for.
type tokenRequest struct {
	Name, ValidFor string
}

// check reads how long the token is to be good, and wants the name of whom it is for.
func (q tokenRequest) check(whom string) (time.Duration, error) {
	validFor, err := validity(q.ValidFor)
	if err == nil && q.Name == "" {
		err = badField("name", "the name is missing; name the "+whom+" that the token is for")
	}
	return validFor, err
}

func (s *server) dataplaneToken(w http.ResponseWriter, r *http.Request) error {
	var ask struct {
		tokenRequest
		Mesh string
		// What Kuma's clients send beside it, as a rule empty.
		Type string
		Tags map[string][]string
	}
	if err := read(w, r, &ask); err != nil {
		return err
	}
	validFor, err := ask.check("dataplane")
	switch {
	case err != nil:
		return err
	case ask.Type != "" && ask.Type != "dataplane":
		return badField("type", "there are tokens for dataplanes only; leave it out")
	case len(ask.Tags) > 0:
		return badField("tags", "a token is for one dataplane by its name, tags cannot limit it; leave them out")
	}
	if ask.Mesh == "" {
		ask.Mesh = api.DefaultMesh
	}
	token, err := s.Tokens.Dataplane(ask.Mesh, ask.Name, validFor)
	return tokenText(w, token, err)
}

func (s *server) userToken(w http.ResponseWriter, r *http.Request) error {
	var ask struct {
		tokenRequest
		Groups []string
	}
	if err := read(w, r, &ask); err != nil {
		return err
	}
	validFor, err := ask.check("user")
	if err != nil {
		return err
	}
	token, err := s.Tokens.User(ask.Name, ask.Groups, validFor)
	return tokenText(w, token, err)
}

func (s *server) zoneToken(http.ResponseWriter, *http.Request) error {
	return problem{Status: http.StatusNotImplemented, Title: "Not implemented", Detail: "this version has no zones that join a control plane, so there are no tokens for them"}
}

func tokenText(w http.ResponseWriter, token string, err error) error {
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	write(w, http.StatusOK, "text/plain", []byte(token))
	return nil
}
