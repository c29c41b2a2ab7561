package sim

import (
	"slices"

	"github.com/hashicorp/go-multierror"

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
func ParseAnswers(text string) ([]timeline.Answer, error) {
	list, wrong := timeline.ReadAnswers(text)
	return list, together(wrong)
}
