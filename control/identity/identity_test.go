package identity_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/weftmesh/weft/control/identity"
	"github.com/weftmesh/weft/internal/kubetest"
)

type pods map[string]identity.Pod

func (p pods) Pod(namespace, name string) (identity.Pod, bool) {
	found, ok := p[namespace+"/"+name]
	return found, ok
}

// reviewer says of every token that it is that of pod p1.
type reviewer struct {
	asked atomic.Int32
	away  atomic.Bool
}

func (r *reviewer) Review(context.Context, *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
	r.asked.Add(1)
	if r.away.Load() {
		return nil, errors.New("away")
	}
	out := &authenticationv1.TokenReview{}
	out.Status.Authenticated, out.Status.Audiences = true, []string{"weft-dataplane"}
	out.Status.User = authenticationv1.UserInfo{Username: "system:serviceaccount:on:app", Extra: map[string]authenticationv1.ExtraValue{
		"authentication.kubernetes.io/pod-name": {"p1"}, "authentication.kubernetes.io/pod-uid": {"u1"}}}
	return out, nil
}

func token(t *testing.T, valid time.Duration) string {
	t.Helper()
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{Audience: jwt.ClaimStrings{"weft-dataplane"}, ExpiresAt: jwt.NewNumericDate(time.Now().Add(valid))}).SignedString([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestReviewsHold: until their token ends, also while the API server is away.
func TestReviewsHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := new(reviewer)
		d := identity.NewDataplanes(r, pods{"on/p1": {UID: "u1", Account: "app", Mesh: "default"}})
		first := token(t, time.Hour)
		for range 3 {
			who, err := d.Authenticate(t.Context(), first)
			if err != nil || who.Dataplane.FullName() != "p1.on" || who.Token != identity.TokenOf("u1") || time.Until(who.Expires) > time.Hour {
				t.Fatalf("%+v %v", who, err)
			}
			r.away.Store(true)
		}
		if n := r.asked.Load(); n != 1 {
			t.Errorf("reviewed %d times", n)
		}
		time.Sleep(time.Hour)
		if _, err := d.Authenticate(t.Context(), first); status.Code(err) != codes.Unauthenticated {
			t.Errorf("ended: %v", err)
		}
		if _, err := d.Authenticate(t.Context(), token(t, time.Hour)); status.Code(err) != codes.Unavailable {
			t.Errorf("new, while the API server is away: %v", err)
		}
	})
}

// TestOnlyItself: pods that are not known, of the same name, ended or bare.
func TestOnlyItself(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pods pods
		want codes.Code
	}{
		"unknown":           {pods{}, codes.Unavailable},
		"of that name":      {pods{"on/p1": {UID: "u2", Account: "app", Mesh: "default"}}, codes.PermissionDenied},
		"of another":        {pods{"on/p1": {UID: "u1", Account: "other", Mesh: "default"}}, codes.PermissionDenied},
		"that has ended":    {pods{"on/p1": {UID: "u1", Account: "app", Mesh: "default", Ended: true}}, codes.PermissionDenied},
		"without a sidecar": {pods{"on/p1": {UID: "u1", Account: "app"}}, codes.PermissionDenied},
		"injected":          {pods{"on/p1": {UID: "u1", Account: "app", Mesh: "default"}}, codes.OK},
	} {
		synctest.Test(t, func(t *testing.T) {
			if _, err := identity.NewDataplanes(new(reviewer), c.pods).Authenticate(t.Context(), token(t, time.Hour)); status.Code(err) != c.want {
				t.Errorf("a pod %s: %v", name, err)
			}
		})
	}
}

// says is one answer to all reviews.
type says authenticationv1.TokenReviewStatus

func (s says) Review(context.Context, *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
	return &authenticationv1.TokenReview{Status: authenticationv1.TokenReviewStatus(s)}, nil
}

// TestOnlyPods: a token is that of a pod only where the API server names one pod and its UID, for this audience.
func TestOnlyPods(t *testing.T) {
	t.Parallel()
	names := authenticationv1.ExtraValue{"p1"}
	uids := authenticationv1.ExtraValue{"u1"}
	good := func(edit func(s *says, pod, uid *authenticationv1.ExtraValue)) says {
		s, pod, uid := says{Authenticated: true, Audiences: []string{"weft-dataplane"}}, names, uids
		s.User.Username = "system:serviceaccount:on:app"
		edit(&s, &pod, &uid)
		s.User.Extra = map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/pod-name": pod, "authentication.kubernetes.io/pod-uid": uid}
		return s
	}
	known := pods{"on/p1": {UID: "u1", Account: "app", Mesh: "default"}, "on/": {Account: "app", Mesh: "default"}}
	for what, c := range map[string]struct {
		edit func(s *says, pod, uid *authenticationv1.ExtraValue)
		want codes.Code
	}{
		"a pod":             {func(*says, *authenticationv1.ExtraValue, *authenticationv1.ExtraValue) {}, codes.OK},
		"not authenticated": {func(s *says, _, _ *authenticationv1.ExtraValue) { s.Authenticated = false }, codes.Unauthenticated},
		"another audience":  {func(s *says, _, _ *authenticationv1.ExtraValue) { s.Audiences = []string{"vault"} }, codes.Unauthenticated},
		"a user":            {func(s *says, _, _ *authenticationv1.ExtraValue) { s.User.Username = "on:app" }, codes.Unauthenticated},
		"no namespace":      {func(s *says, _, _ *authenticationv1.ExtraValue) { s.User.Username = "system:serviceaccount:app" }, codes.Unauthenticated},
		"no pod":            {func(_ *says, pod, _ *authenticationv1.ExtraValue) { *pod = nil }, codes.Unauthenticated},
		"no UID":            {func(_ *says, _, uid *authenticationv1.ExtraValue) { *uid = nil }, codes.Unauthenticated},
		"an empty pod":      {func(_ *says, pod, _ *authenticationv1.ExtraValue) { *pod = authenticationv1.ExtraValue{""} }, codes.Unauthenticated},
		"an empty UID":      {func(_ *says, _, uid *authenticationv1.ExtraValue) { *uid = authenticationv1.ExtraValue{""} }, codes.Unauthenticated},
		"two pods":          {func(_ *says, pod, _ *authenticationv1.ExtraValue) { *pod = authenticationv1.ExtraValue{"p1", "p2"} }, codes.Unauthenticated},
		"two UIDs":          {func(_ *says, _, uid *authenticationv1.ExtraValue) { *uid = authenticationv1.ExtraValue{"u1", "u2"} }, codes.Unauthenticated},
		"no pod and no UID": {func(_ *says, pod, uid *authenticationv1.ExtraValue) {
			*pod, *uid = authenticationv1.ExtraValue{""}, authenticationv1.ExtraValue{""}
		}, codes.Unauthenticated},
	} {
		synctest.Test(t, func(t *testing.T) {
			if _, err := identity.NewDataplanes(good(c.edit), known).Authenticate(t.Context(), token(t, time.Hour)); status.Code(err) != c.want {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
}

// live reviews at a real API server.
type live struct {
	t *testing.T
	*kubetest.Cluster
}

func (l live) Review(_ context.Context, q *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
	_, answer := l.Send(l.t, http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", q)
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	out := new(authenticationv1.TokenReview)
	return out, json.Unmarshal(text, out)
}

// TestAPIServerSaysWhoIsWho is row 50 of spec/kubernetes.md 8.
func TestAPIServerSaysWhoIsWho(t *testing.T) {
	t.Parallel()
	l := live{t, kubetest.Start(t)}
	create := func(path string, body map[string]any) map[string]any {
		status, got := l.Send(t, http.MethodPost, "/api/v1/namespaces/default/"+path, body)
		if status != http.StatusCreated {
			t.Fatalf("%s: %d %v", path, status, got["message"])
		}
		return got
	}
	named := func(name string) map[string]any { return map[string]any{"name": name} }
	create("serviceaccounts", map[string]any{"metadata": named("app")})
	known, uids := pods{}, map[string]string{}
	for _, name := range []string{"p1", "p2"} {
		got := create("pods", map[string]any{"metadata": named(name), "spec": map[string]any{"serviceAccountName": "app", "containers": []any{map[string]any{"name": "app", "image": "app"}}}})
		uids[name], _ = got["metadata"].(map[string]any)["uid"].(string)
		known["default/"+name] = identity.Pod{UID: uids[name], Account: "app", Mesh: "default"}
	}
	issue := func(audience, pod string) string {
		spec := map[string]any{"expirationSeconds": 3600}
		if audience != "" {
			spec["audiences"] = []any{audience}
		}
		if pod != "" {
			spec["boundObjectRef"] = map[string]any{"kind": "Pod", "apiVersion": "v1", "name": pod, "uid": uids[pod]}
		}
		got := create("serviceaccounts/app/token", map[string]any{"spec": spec})
		text, _ := got["status"].(map[string]any)["token"].(string)
		return text
	}
	d := identity.NewDataplanes(l, known)
	bound := issue("weft-dataplane", "p1")
	who, err := d.Authenticate(t.Context(), bound)
	if err != nil || who.Dataplane.FullName() != "p1.default" {
		t.Fatalf("%+v %v", who, err)
	}
	if other, err := d.Authenticate(t.Context(), issue("weft-dataplane", "p2")); err != nil || other.Dataplane == who.Dataplane {
		t.Errorf("another pod of the account: %+v %v", other, err)
	}
	gone := issue("weft-dataplane", "p1") // not reviewed yet
	if status, got := l.Send(t, http.MethodDelete, "/api/v1/namespaces/default/pods/p1?gracePeriodSeconds=0", nil); status != http.StatusOK {
		t.Fatalf("%d %v", status, got["message"])
	}
	for name, text := range map[string]string{"API token": issue("", "p2"), "unbound": issue("weft-dataplane", ""), "of a pod that is gone": gone, "changed": bound[:len(bound)-9] + "AAAAAAAAA", "nonsense": "x", "none": ""} {
		if _, err := identity.NewDataplanes(l, known).Authenticate(t.Context(), text); status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
}
