package reachability

import "testing"

// TestCallsThatStay: after a change a dataplane calls what it called where list and redirection are the same, be the
// list empty, one with the other, or written anew.
func TestCallsThatStay(t *testing.T) {
	t.Parallel()
	one := []Call{{Port: 80}}
	for _, c := range []struct {
		what string
		a, b *Calls
		same bool
	}{
		{"nothing", newCalls(nil, false), newCalls(nil, false), true},
		{"one list", newCalls(one, true), newCalls(one, true), true},
		{"written anew", newCalls(one, false), newCalls([]Call{{Port: 80}}, false), true},
		{"another port", newCalls(one, false), newCalls([]Call{{Port: 81}}, false), false},
		{"redirected now", newCalls(one, false), newCalls(one, true), false},
		{"nothing redirected now", newCalls(nil, false), newCalls(nil, true), false},
		{"more", newCalls(one, false), newCalls([]Call{{Port: 80}, {Port: 81}}, false), false},
	} {
		if got := c.a.equal(c.b); got != c.same {
			t.Errorf("%s: the same is %v", c.what, got)
		}
	}
}
