package peers

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAPeerIsFollowedAtOneAddress: a replica that has addresses of two families is one, and stays
// followed where it is when the other becomes known.
func TestAPeerIsFollowedAtOneAddress(t *testing.T) {
	t.Parallel()
	four, six, other := ReplicaAddress{Address: "10.0.0.1:5678", Name: "b"}, ReplicaAddress{Address: "[fd00::1]:5678", Name: "b"}, ReplicaAddress{Address: "10.0.0.2:5678", Name: "c"}
	nameless, too := ReplicaAddress{Address: "10.0.0.3:5678"}, ReplicaAddress{Address: "10.0.0.4:5678"}
	live := &following{lastHeard: time.Now()}
	for name, x := range map[string]struct {
		following  map[string]*following
		all, wants []ReplicaAddress
	}{
		"the first":               {nil, []ReplicaAddress{four, six, other}, []ReplicaAddress{four, other}},
		"the one that is there":   {map[string]*following{six.Address: live}, []ReplicaAddress{four, six, other}, []ReplicaAddress{six, other}},
		"not one that is over":    {map[string]*following{six.Address: {over: true, lastHeard: time.Now()}}, []ReplicaAddress{four, six}, []ReplicaAddress{four}},
		"not one that is silent":  {map[string]*following{six.Address: {}}, []ReplicaAddress{four, six}, []ReplicaAddress{four}},
		"one that is left":        {map[string]*following{six.Address: live}, []ReplicaAddress{four}, []ReplicaAddress{four}},
		"those of whom none says": {nil, []ReplicaAddress{nameless, too}, []ReplicaAddress{nameless, too}},
	} {
		r := New()
		if x.following != nil {
			r.following = x.following
		}
		if diff := cmp.Diff(x.wants, r.once(x.all)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestWhoIsSilentIsNamed: a replica that should answer and does not, also one that is stopping,
// but none that has said that it holds nothing more.
func TestWhoIsSilentIsNamed(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		is   following
		want string
	}{
		"one that never answered":       {following{peer: ReplicaAddress{Name: "b", Ready: true}}, "the replica b at 10.0.0.1:5678 does not answer, so"},
		"one that starts":               {following{peer: ReplicaAddress{Name: "b"}}, ""},
		"one that stops":                {following{peer: ReplicaAddress{Name: "b", Stopping: true}, why: errSilent}, "the replica b at 10.0.0.1:5678 is stopping and does not answer, so"},
		"one that stopped":              {following{peer: ReplicaAddress{Name: "b", Stopping: true}, left: true}, ""},
		"one that stopped and is ready": {following{peer: ReplicaAddress{Name: "b", Ready: true}, left: true}, "the replica b at 10.0.0.1:5678 does not answer, so"},
		"this one":                      {following{peer: ReplicaAddress{Ready: true}, self: true}, ""},
	} {
		r := New()
		x.is.since = time.Now().Add(-time.Minute)
		r.following["10.0.0.1:5678"] = &x.is
		switch notes := r.Silent(); {
		case x.want == "" && len(notes) > 0:
			t.Errorf("%s: %v", name, notes)
		case x.want != "" && (len(notes) != 1 || !strings.HasPrefix(notes[0].Message, x.want)):
			t.Errorf("%s: %v", name, notes)
		}
	}
}
