package issuer

import (
	"fmt"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
)

// TestCapsOfCertificates: a dataplane may have six at once and one in ten seconds after that, and
// no other has fewer for it.
func TestCapsOfCertificates(t *testing.T) {
	t.Parallel()
	var c rateLimiter
	at := time.Now()
	web, ui := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "web"}, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "ui"}
	for _, s := range []struct {
		after time.Duration
		dp    api.Ref
		want  string
	}{
		{0, web, "yyyyyyn"}, {9 * time.Second, web, "n"}, {10 * time.Second, web, "yn"}, {10 * time.Second, ui, "yyyyyyn"},
		{25 * time.Second, web, "yn"}, {30 * time.Second, web, "yn"}, {10 * time.Minute, web, "yyyyyyn"},
	} {
		got := ""
		for range s.want {
			got += map[bool]string{true: "y", false: "n"}[c.allowAt(s.dp, at.Add(s.after))]
		}
		if got != s.want {
			t.Errorf("%s after %v: %s, want %s", s.dp.Name, s.after, got, s.want)
		}
	}
}

// TestCapsAreForgotten: those who have nothing to wait for cost nothing for good, and nothing at all
// from the next minute on.
func TestCapsAreForgotten(t *testing.T) {
	t.Parallel()
	var c rateLimiter
	at := time.Now()
	for i := range 5000 {
		c.allowAt(api.Ref{Mesh: "default", Name: fmt.Sprint(i)}, at.Add(time.Duration(i)*time.Second))
	}
	if n := len(c.until); n > 1024 {
		t.Errorf("%d are known, of which 10 count", n)
	}
	last := at.Add(4999 * time.Second)
	if c.expire(last); len(c.until) != 10 {
		t.Errorf("%d are known, of which 10 count", len(c.until))
	}
	web := api.Ref{Mesh: "default", Name: "web"}
	for range certifyBurst {
		c.allowAt(web, last)
	}
	if c.expire(last.Add(certifyEvery - 1)); c.allowAt(web, last.Add(certifyEvery-1)) {
		t.Error("what still counts is forgotten")
	}
	if c.expire(last.Add(certifyBurst * certifyEvery)); c.until != nil {
		t.Errorf("the room of a map is kept, of %d", len(c.until))
	}
	if c.expire(last.Add(time.Hour)); !c.allowAt(web, last.Add(time.Hour)) {
		t.Error("who has nothing to wait for is refused")
	}
}
