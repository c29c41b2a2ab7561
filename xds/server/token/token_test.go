package token

import (
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/server/authn"
)

// load makes keys in a new directory, at a clock that tests move.
func load(t *testing.T, now *time.Time) (*SigningKeys, string) {
	t.Helper()
	dir := t.TempDir()
	k, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	k.now = func() time.Time { return *now }
	return k, dir
}

// TestRoundTrip: a token is good for its dataplane until it ends, after a
// restart too, and has the claims that other programs read.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	now := time.Now()
	k, dir := load(t, &now)
	bound := Claims{Mesh: "default", Name: "web-1", Tags: map[string][]string{"kuma.io/service": {"web"}}, Labels: map[string][]string{"team": {"shop"}}, Workload: "w"}
	issued, err := k.Issue(bound, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	s := issued.Text
	again, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := again.Verify(s)
	want := authn.Identity{Dataplane: api.Ref{Kind: "Dataplane", Mesh: "default", Name: "web-1"}, Expires: got.Expires,
		Token: issued.ID, Proof: api.Proof{Tags: bound.Tags, Labels: bound.Labels, Workload: "w"}}
	if d := cmp.Diff(want, got); err != nil || d != "" || got.Expires.Sub(now.Add(time.Hour)).Abs() > time.Second {
		t.Errorf("verified until %v, %v (-want +got):\n%s", got.Expires, err, d)
	}
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(s, claims); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sub", "mesh", "name", "aud", "exp", "jti", "tags", "workload"} {
		if claims[name] == nil {
			t.Errorf("no claim %s in %v", name, claims)
		}
	}
	now = now.Add(time.Hour - time.Second)
	if _, err := k.Verify(s); err != nil {
		t.Errorf("before its end: %v", err)
	}
	now = now.Add(2 * time.Second) // on the clock by which it was issued
	if _, err := k.Verify(s); err == nil || !strings.Contains(err.Error(), "issue a new one") {
		t.Errorf("expired: %v", err)
	}
}

// TestRevokedWithoutADisk: a token is void at once, also where that cannot be kept; the error says
// so, and the next attempt keeps it.
func TestRevokedWithoutADisk(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var kept map[string]time.Time
	full := errors.New("no space left on device")
	r := NewRevocations(func(ids map[string]time.Time) error {
		if full != nil {
			return full
		}
		kept = ids
		return nil
	})
	if err := r.Revoke(now, "one"); !errors.Is(err, ErrNotStored) || !errors.Is(err, full) || !r.Has("one") {
		t.Errorf("%v, and it is void: %v", err, r.Has("one"))
	}
	full = nil
	if err := r.Revoke(now, "one"); err != nil || len(kept) != 1 {
		t.Errorf("again: %v, kept are %v", err, kept)
	}
}

// TestRevoked: a revoked token is void at once and after a restart, others are
// good, and what cannot be an id or cannot be read is refused.
func TestRevoked(t *testing.T) {
	t.Parallel()
	now := time.Now()
	k, dir := load(t, &now)
	var list []Token
	for range 2 {
		issued, err := k.Issue(Claims{Mesh: "default", Name: "web-1"}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, issued)
	}
	for _, bad := range []string{"", "a b", "../x", strings.Repeat("a", 129), list[0].Text} {
		if err := k.Revocations().Revoke(now, list[1].ID, bad); err == nil || k.Revocations().Has(list[1].ID) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := k.Revocations().Revoke(now, list[0].ID); err != nil {
		t.Fatal(err)
	}
	again, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range []*SigningKeys{k, again} {
		if _, err := keys.Verify(list[0].Text); err == nil || !strings.Contains(err.Error(), list[0].ID) {
			t.Errorf("the revoked one: %v", err)
		}
		if _, err := keys.Verify(list[1].Text); err != nil {
			t.Errorf("the other: %v", err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, revokedFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), revokedFile) {
		t.Errorf("a damaged list: %v", err)
	}
}

// TestRevokedTokensEnd: what has ended need not be remembered, an hour later.
func TestRevokedTokensEnd(t *testing.T) {
	t.Parallel()
	now := time.Now()
	k, dir := load(t, &now)
	first, err := k.Issue(Claims{Mesh: "default", Name: "web-1"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{first.ID, "of-an-older-weft"} {
		if err := k.Revocations().Revoke(now, id); err != nil {
			t.Fatal(err)
		}
	}
	for late, want := range map[time.Duration]int{90 * time.Minute: 3, 3 * time.Hour: 2} { // with the one that is revoked then
		r, err := LoadRevocations(dir)
		if err != nil {
			t.Fatal(err)
		}
		r.path = filepath.Join(t.TempDir(), revokedFile)
		if err := r.Revoke(now.Add(late), "another"); err != nil || len(r.All()) != want || !r.Has("of-an-older-weft") {
			t.Errorf("after %v: %v %v", late, r.All(), err)
		}
	}
}

// TestForged: what was not signed by the key, or says too little, is refused.
func TestForged(t *testing.T) {
	t.Parallel()
	now := time.Now()
	k, _ := load(t, &now)
	other, _ := load(t, &now)
	foreign, err := other.Issue(Claims{Mesh: "default", Name: "web-1"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	full := func() jwt.MapClaims {
		return jwt.MapClaims{"iss": issuer, "aud": audience, "sub": "default.web-1", "mesh": "default", "name": "web-1", "jti": "1", "exp": now.Add(time.Hour).Unix()}
	}
	sign := func(method jwt.SigningMethod, key any, change func(jwt.MapClaims)) string {
		c := full()
		change(c)
		s, err := jwt.NewWithClaims(method, c).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	without := func(name string) string {
		return sign(jwt.SigningMethodEdDSA, k.private, func(c jwt.MapClaims) { delete(c, name) })
	}
	public := []byte(k.private.Public().(ed25519.PublicKey))
	if _, err := k.Verify(sign(jwt.SigningMethodEdDSA, k.private, func(jwt.MapClaims) {})); err != nil {
		t.Fatalf("the token from which the others differ: %v", err)
	}
	for name, s := range map[string]string{
		"empty": "", "garbage": "a.b.c", "another key": foreign.Text,
		"unsigned":           sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, func(jwt.MapClaims) {}),
		"the public key":     sign(jwt.SigningMethodHS256, public, func(jwt.MapClaims) {}),
		"another audience":   sign(jwt.SigningMethodEdDSA, k.private, func(c jwt.MapClaims) { c["aud"] = "admin" }),
		"another subject":    sign(jwt.SigningMethodEdDSA, k.private, func(c jwt.MapClaims) { c["sub"] = "default.web-2" }),
		"without an end":     without("exp"),
		"without audience":   without("aud"),
		"without issuer":     without("iss"),
		"without mesh":       without("mesh"),
		"without name":       without("name"),
		"without identifier": without("jti"),
	} {
		if ref, err := k.Verify(s); err == nil {
			t.Errorf("%s: good for %v", name, ref)
		}
	}
}

// TestIssueRefuses says what is missing.
func TestIssueRefuses(t *testing.T) {
	t.Parallel()
	now := time.Now()
	k, _ := load(t, &now)
	for _, tc := range []struct {
		mesh, name string
		valid      time.Duration
	}{{"", "a", 1}, {"m", "", 1}, {"m", "a", 0}, {"m", "a", -1}, {"m", "a", MostValid + 1}} {
		if s, err := k.Issue(Claims{Mesh: tc.mesh, Name: tc.name}, tc.valid); err == nil {
			t.Errorf("%+v: %v", tc, s)
		}
	}
}

// TestKeyFile: nobody else reads the key, and a damaged one is not replaced.
func TestKeyFile(t *testing.T) {
	t.Parallel()
	now := time.Now()
	_, dir := load(t, &now)
	file := filepath.Join(dir, keyFile)
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(file, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), keyFile) {
		t.Errorf("a damaged key: %v", err)
	}
}

// TestTheKeyIsASecret: one that others can read, or that a loss of power left
// empty, signs nothing, and the error says what to do.
func TestTheKeyIsASecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Load(dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, keyFile)
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "chmod 600 "+file) {
		t.Errorf("a key that others can read: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("an empty key: %v", err)
	}
}
