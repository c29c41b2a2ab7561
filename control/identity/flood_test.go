package identity_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc/codes"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/weftmesh/weft/control/identity"
)

// ofPod is a token that says to be of a pod; signed tells one from another.
func ofPod(t *testing.T, pod, uid, signed string) string {
	t.Helper()
	ends := time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC) // bubbles begin at its midnight
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"aud": []string{"weft-dataplane"}, "exp": ends.Unix(),
		"kubernetes.io": map[string]any{"namespace": "on", "pod": map[string]any{"name": pod, "uid": uid}, "serviceaccount": map[string]any{"name": "app"}}}).SignedString([]byte(signed))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// slow takes a second for each review, and knows the tokens of one key.
type slow struct {
	good        map[string]string // pods by tokens
	asked, most atomic.Int32
	at          atomic.Int32
}

func (s *slow) Review(_ context.Context, q *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
	s.asked.Add(1)
	s.most.Store(max(s.most.Load(), s.at.Add(1)))
	time.Sleep(time.Second)
	s.at.Add(-1)
	out := &authenticationv1.TokenReview{}
	if pod := s.good[q.Spec.Token]; pod != "" {
		out.Status.Authenticated, out.Status.Audiences = true, []string{"weft-dataplane"}
		out.Status.User = authenticationv1.UserInfo{Username: "system:serviceaccount:on:app", Extra: map[string]authenticationv1.ExtraValue{
			"authentication.kubernetes.io/pod-name": {pod}, "authentication.kubernetes.io/pod-uid": {"uid-" + pod}}}
	}
	return out, nil
}

// comes knows the pod new once it is late.
type comes struct {
	pods
	late *atomic.Bool
}

func (c comes) Pod(namespace, name string) (identity.Pod, bool) {
	if name == "new" && !c.late.Load() {
		return identity.Pod{}, false
	}
	return c.pods.Pod(namespace, name)
}

func by(ctx context.Context, address string) context.Context {
	return grpcpeer.NewContext(ctx, &grpcpeer.Peer{Addr: &net.TCPAddr{IP: net.ParseIP(address), Port: 4711}})
}

// TestForgedTokensKeepNoPodWaiting: thousands of them, of many addresses, of no pod, of one that
// the forger knows and of the forger's own; a pod that is known, and one that is new, are let
// in at once, and what is asked of the API server stays bounded.
func TestForgedTokensKeepNoPodWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{good: map[string]string{}}
		known, late := pods{}, new(atomic.Bool)
		for _, pod := range []string{"p1", "p2", "forger", "new"} {
			s.good[ofPod(t, pod, "uid-"+pod, "the API server")] = pod
			known["on/"+pod] = identity.Pod{UID: "uid-" + pod, Account: "app", Mesh: "default"}
		}
		d := identity.NewDataplanes(s, comes{known, late})
		attack, stop := context.WithCancel(t.Context())
		for i := range 3000 {
			pod := []string{"p1", "forger", fmt.Sprint("no", i)}[i%3]
			go func() {
				_, _ = d.Authenticate(by(attack, fmt.Sprint("10.0.0.", i%10)), ofPod(t, pod, "uid-"+pod, fmt.Sprint("forged", i)))
			}()
		}
		synctest.Wait()
		in := func(pod, address string) {
			t.Helper()
			who, err := d.Authenticate(by(t.Context(), address), ofPod(t, pod, "uid-"+pod, "the API server"))
			if err != nil || who.Dataplane.Name != pod {
				t.Errorf("%s: %+v %v", pod, who, err)
			}
		}
		started := time.Now()
		in("p2", "10.1.0.2")
		in("p1", "10.1.0.1")
		if took := time.Since(started); took > 6*time.Second {
			t.Errorf("pods that are known waited %v", took)
		}
		started = time.Now()
		go func() {
			time.Sleep(time.Second)
			late.Store(true)
		}()
		in("new", "10.1.0.3")
		if took := time.Since(started); took > 6*time.Second {
			t.Errorf("one that is new waited %v", took)
		}
		if n := s.most.Load(); n > 32 {
			t.Errorf("%d reviews at once", n)
		}
		stop()
		synctest.Wait()
		time.Sleep(time.Minute)
		in("p1", "10.1.0.1")
	})
}

// TestRefusalsAreRemembered: a token that is sent again and again is one review, and none that
// says to be bound to nothing.
func TestRefusalsAreRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		d := identity.NewDataplanes(s, pods{})
		forged := ofPod(t, "p1", "u", "forged")
		for range 100 {
			if _, err := d.Authenticate(t.Context(), forged); status.Code(err) != codes.Unauthenticated {
				t.Fatal(err)
			}
		}
		if _, err := d.Authenticate(t.Context(), ofPod(t, "", "", "forged")); status.Code(err) != codes.Unauthenticated {
			t.Error(err)
		}
		if n := s.asked.Load(); n != 1 {
			t.Errorf("%d reviews", n)
		}
		time.Sleep(10 * time.Second)
		_, _ = d.Authenticate(t.Context(), forged)
		if n := s.asked.Load(); n != 2 {
			t.Errorf("%d reviews of one that was forgotten", n)
		}
	})
}
