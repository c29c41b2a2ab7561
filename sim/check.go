package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/sim/timeline"
	"github.com/weftmesh/weft/sim/wire"
)

// Check tells everything that is wrong with a request by itself, whatever it is asked of: what
// no client sends, and what Envoy closes the connection for without an answer. Each error begins
// with the field that is wrong and a colon; several are a *multierror.Error, in the order of
// the fields.
func Check(q wire.Request) error {
	_, wrong := q.Read()
	_, as := callerOf(&q)
	_, answers := timeline.ReadAnswers(q.Answers)
	wrong = append(wrong, checkAuthz(q.Authz), as)
	return together(append(wrong, answers...))
}

// together are errors as one, nil where there is none.
func together(list []error) error {
	list = slices.DeleteFunc(list, func(err error) bool { return err == nil })
	if len(list) == 1 {
		return list[0]
	}
	return multierror.Append(nil, list...).ErrorOrNil()
}

// ParseAnswers reads what workloads do at each attempt, by comma; the last one
// holds for all attempts that follow. One of
//
//	STATUS      it answers, as 503; 200 stands for the status where only a time is written
//	grpc:CODE   it answers as a gRPC server, with that status of gRPC
//	reset       it ends the stream without an answer
//	refused     there is no connection
//
// followed by @TIME, as 503@2s: how long it takes to begin. Of 200ms@5s, and of
// 200@200ms@5s, the answer begins after 200ms and is complete after 5s.
// It is nil for an empty text.
func ParseAnswers(text string) ([]timeline.BackendResponse, error) {
	list, wrong := timeline.ReadAnswers(text)
	return list, together(wrong)
}

// checkAuthz wants an answer of an authorization service, or nothing.
func checkAuthz(text string) error {
	if text == "" || text == authorized || text == withoutAuthorizer {
		return nil
	}
	if n, err := strconv.ParseUint(text, 10, 32); err != nil || n < 200 || n > 599 {
		return fmt.Errorf("authz: %q is no answer of the authorization service; write allow, down, or the status with which it refuses, as 403", redact.Clip(text))
	}
	return nil
}

// caller is how the one who asks shows itself, where that is not as its dataplane does.
type caller struct {
	as        []string
	plaintext bool
}

// callerOf reads who is supposed to ask.
func callerOf(q *wire.Request) (caller, error) {
	c := caller{plaintext: q.Plaintext}
	if q.As == "" {
		return c, nil
	}
	if q.Plaintext {
		return c, errors.New("plaintext: who speaks plaintext proves no identity; leave one of as and plaintext out")
	}
	id, err := spiffe.Parse(q.As)
	if err != nil {
		return c, fmt.Errorf("as: %w", err)
	}
	c.as = []string{id.String()}
	return c, nil
}

// idle notes that it makes no difference who asks, where somebody is named and nobody behind the
// branches asks who calls.
func (c *caller) idle(of []Branch) []api.Note {
	if c.as == nil {
		return nil
	}
	called := false
	for i := range of {
		for _, x := range of[i].Backends {
			for _, in := range x.Inbounds {
				if called = true; in.inbound.TLS != nil {
					return nil
				}
			}
		}
	}
	if !called {
		return nil
	}
	return []api.Note{{Severity: api.Warning, Code: "NotEnforced",
		Message: "as: nobody proves who calls there, so that it makes no difference who does; give the mesh mtls, or a MeshIdentity"}}
}
