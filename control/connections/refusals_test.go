package connections

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/api"
)

// TestWhoIsKeptOutIsTold: of a dataplane that there is and whose sidecar is not let in is told why, and how often,
// until it comes. Nothing is told of what clients say without being any dataplane, of what is no fault of theirs, or
// of one that is connected.
func TestWhoIsKeptOutIsTold(t *testing.T) {
	t.Parallel()
	web, pay := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "web"}, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "pay"}
	here := false
	r := NewRefusals(func(dp api.Ref) bool { return dp == web || dp == pay }, func(dp api.Ref) bool { return here && dp == web })
	told := func() (out []string) {
		for _, n := range r.Notes() {
			out = append(out, n.Origin.Name+" "+n.Message)
		}
		return out
	}
	bad := status.Error(codes.Unauthenticated, "the token has ended")
	for node, err := range map[string]error{
		"": bad, "web": bad, "default.nobody": bad, "other.web": bad,
		"default.web": status.Error(codes.Unavailable, "it is stopping"), "default.pay": status.Error(codes.DeadlineExceeded, "too late"),
	} {
		if r.Refused(node, err); told() != nil {
			t.Errorf("%q, %v: it is told %q", node, err, told())
		}
	}
	r.Refused("default.web", errors.New("something else"))
	r.Refused("default.web", bad)
	if got := told(); len(got) != 1 || !strings.HasPrefix(got[0], "web its sidecar is not let in, last at ") || !strings.HasSuffix(got[0], "(2 times): the token has ended") {
		t.Errorf("of who was refused twice is told %q", got)
	}
	if here = true; told() != nil {
		t.Errorf("of who is connected is told %q", told())
	}
	here = false
	if r.Joined(web); told() != nil {
		t.Errorf("of who came is told %q", told())
	}
}

// TestRefusalsAreBounded: clients that say that they are ever another dataplane fill no memory.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	r := NewRefusals(func(api.Ref) bool { return true }, func(api.Ref) bool { return false })
	for i := range mostRefusals + 10 {
		r.Refused(fmt.Sprint("default.dp-", i), status.Error(codes.PermissionDenied, "a test"))
	}
	if n := len(r.Notes()); n != mostRefusals {
		t.Errorf("%d are kept", n)
	}
}
