package envoytest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
)

// Authorizer is a small authorization service. It believes every token: one is a JWT
// whose payload has the claims, and a list of scopes. Who has none is answered 401, who
// lacks something 403, and so is a check that it does not know.
type Authorizer struct {
	Port   uint32
	server *grpc.Server

	mu    sync.Mutex
	asked []map[string]string
}

// AnswerHeader is the request header that tells an Authorizer what to answer whatever the
// token says: allow, down, which is none, or a status.
const AnswerHeader = "x-echo-authz"

// UserHeader is what an Authorizer adds to what it lets pass.
const UserHeader = "x-authorized"

// StartAuthorizer serves on loopback until the test ends.
func StartAuthorizer(t testing.TB) *Authorizer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &Authorizer{Port: uint32(l.Addr().(*net.TCPAddr).Port), server: grpc.NewServer()}
	authv3.RegisterAuthorizationServer(a.server, a)
	go func() { _ = a.server.Serve(l) }() // ends with Stop
	t.Cleanup(a.Stop)
	return a
}

// Stop ends the service before the test does.
func (a *Authorizer) Stop() { a.server.Stop() }

// Asked are the context extensions of all questions, in order.
func (a *Authorizer) Asked() []map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked)
}

// Check answers Envoy.
func (a *Authorizer) Check(_ context.Context, q *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	asked := q.GetAttributes().GetContextExtensions()
	a.mu.Lock()
	a.asked = append(a.asked, asked)
	a.mu.Unlock()
	switch told := q.GetAttributes().GetRequest().GetHttp().GetHeaders()[AnswerHeader]; told {
	case "":
	case "allow":
		return allowed(asked), nil
	case "down":
		return nil, grpcstatus.Error(codes.Unavailable, told)
	default:
		code, err := strconv.Atoi(told)
		return denied(code), err
	}
	claims, ok := payload(q.GetAttributes().GetRequest().GetHttp().GetHeaders()["authorization"])
	if !ok {
		return denied(http.StatusUnauthorized), nil
	}
	names, all := strings.Split(asked["filter"], " -> "), [][]string{nil}
	into := any(&all)
	if len(names) == 1 {
		into = &all[0]
	}
	if err := json.Unmarshal([]byte(asked["args"]), into); err != nil || len(all) != len(names) {
		return denied(http.StatusBadRequest), nil
	}
	for i, name := range names {
		if !holds(name, all[i], claims) {
			return denied(http.StatusForbidden), nil
		}
	}
	return allowed(asked), nil
}

func allowed(asked map[string]string) *authv3.CheckResponse {
	return &authv3.CheckResponse{HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: &authv3.OkHttpResponse{
		Headers: []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: UserHeader, Value: asked["filter"]}}}}}}
}

// Token is a bearer token with that payload.
func Token(payload string) string {
	return "Bearer e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".x"
}

func payload(authorization string) (out map[string]any, ok bool) {
	token, bearer := strings.CutPrefix(authorization, "Bearer ")
	parts := strings.Split(token, ".")
	if !bearer || len(parts) != 3 {
		return nil, false
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	return out, err == nil && json.Unmarshal(text, &out) == nil
}

// holds is what some filters of Skipper mean.
func holds(name string, args []string, claims map[string]any) bool {
	scopes, _ := claims["scope"].([]any)
	pairs := func(want bool) bool { // whether some pair has that result
		for i := 0; i+1 < len(args); i += 2 {
			if (claims[args[i]] == args[i+1]) == want {
				return true
			}
		}
		return false
	}
	switch name {
	case "oauthTokeninfoAllScope":
		return !slices.ContainsFunc(args, func(s string) bool { return !slices.Contains(scopes, any(s)) })
	case "oauthTokeninfoAllKV":
		return !pairs(false)
	case "oauthTokeninfoAnyKV":
		return pairs(true)
	}
	return false
}

func denied(code int) *authv3.CheckResponse {
	return &authv3.CheckResponse{
		Status: &status.Status{Code: int32(codes.PermissionDenied)},
		HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: &authv3.DeniedHttpResponse{
			Status: &typev3.HttpStatus{Code: typev3.StatusCode(code)}}},
	}
}
