// Package client speaks to the HTTP API of a control plane.
//
// It promises that a refusal of the server arrives as the violations that the
// server saw, and that an unreachable server says where it was looked for.
// It knows paths and shapes, and nothing of what the documents mean.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
)

// DefaultServer is where a local `weft serve` listens.
const DefaultServer = "http://127.0.0.1:5681"

// Client is one control plane and the credential for it.
type Client struct {
	base   *url.URL
	source string // how the address was found, for errors
	token  string
	http   *http.Client
}

// Find takes the server from the flag, then WEFT_SERVER, then the default; and
// the credential from the file, then WEFT_TOKEN, then the admin token in the
// data directory. That last one only where the server is on this host: it
// belongs to a local server, and to no other that somebody wants to ask.
func Find(server, tokenFile string) (*Client, error) { return find(server, tokenFile, os.Getenv) }

func find(server, tokenFile string, env func(string) string) (*Client, error) {
	c := &Client{source: "--server", http: &http.Client{Timeout: 60 * time.Second}}
	if server == "" {
		server, c.source = env("WEFT_SERVER"), "WEFT_SERVER"
	}
	if server == "" {
		server, c.source = DefaultServer, "the default"
	}
	base, err := url.Parse(server)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("%s %q is not the address of a control plane; write http://HOST:PORT", c.source, server)
	}
	c.base = base
	switch {
	case tokenFile != "":
		c.token, err = read(tokenFile)
		if err != nil {
			err = fmt.Errorf("--token-file: %w", err)
		}
	case env("WEFT_TOKEN") != "":
		c.token = env("WEFT_TOKEN")
	case loopback(base.Hostname()):
		c.token, err = adminToken(env("WEFT_DATA_DIR"))
	}
	return c, err
}

// loopback reports whether a host is this one, whatever else names resolve to.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// At is a client of a known server with a known token.
func At(server, token string) (*Client, error) {
	base, err := url.Parse(server)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", server, err)
	}
	return &Client{base: base, source: "this program", token: token, http: &http.Client{Timeout: 60 * time.Second}}, nil
}

// Anonymous reports whether there is no credential.
func (c *Client) Anonymous() bool { return c.token == "" }

// GUI is the address of the server's pages, with the credential in its fragment, which a
// browser keeps to itself (spec/contract.md 2).
func (c *Client) GUI() string {
	u := c.base.JoinPath("gui/")
	if c.token != "" {
		u.Fragment = url.Values{"token": {c.token}}.Encode()
	}
	return u.String()
}

// adminToken is what a server leaves in its data directory; empty where there is
// none to read, for the server may need none.
func adminToken(dir string) (string, error) {
	if dir == "" {
		dir = "weft-data"
	}
	token, err := read(filepath.Join(dir, "admin-token"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the admin token: %w", err)
	}
	return token, nil
}

func read(file string) (string, error) {
	text, err := os.ReadFile(file)
	return strings.TrimSpace(string(text)), err
}

// Refusal is an answer that is not a success.
type Refusal struct {
	Status     int
	Detail     string
	Violations []api.Violation // at the places in the texts that were sent
}

// Error is the server's own words.
func (r *Refusal) Error() string {
	return fmt.Sprintf("the control plane answers %d: %s", r.Status, r.Detail)
}

// Several are its violations, each an error of its own.
func (r *Refusal) Several() []error {
	var all []error
	for i := range r.Violations {
		all = append(all, &r.Violations[i])
	}
	return all
}

// Missing reports whether err says that the object is not there.
func Missing(err error) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Status == http.StatusNotFound
}

// Lost reports whether err says that the object is not as it was read.
func Lost(err error) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Status == http.StatusPreconditionFailed
}

// Call sends one request; path is escaped already. It decodes the answer into
// out unless that is nil; a *[]byte gets it as it came.
func (c *Client) Call(ctx context.Context, method, path, contentType string, body []byte, out any) error {
	_, err := c.Exchange(ctx, method, path, http.Header{"Content-Type": {contentType}}, body, out)
	return err
}

// Exchange is Call with headers, in both directions. Those without a value are
// not sent.
func (c *Client) Exchange(ctx context.Context, method, path string, header http.Header, body []byte, out any) (http.Header, error) {
	req, err := c.request(ctx, method, path, header, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "weft")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unanswered(method, path, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, c.unanswered(method, path, err)
	}
	if resp.StatusCode >= 300 {
		return nil, refusal(resp.StatusCode, answer)
	}
	return resp.Header, decode(path, answer, out)
}

// request is one to path, by who holds the token, with those headers that have a value.
func (c *Client) request(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Request, error) {
	at, err := c.at(path)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", path, err)
	}
	for name, values := range header {
		if values[0] != "" {
			req.Header.Set(name, values[0])
		}
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return req, nil
}

// at is the address of path, below whatever path the server has itself.
func (c *Client) at(path string) (string, error) {
	ref, err := url.Parse(path)
	if err != nil {
		return "", fmt.Errorf("address of %s: %w", path, err)
	}
	u := c.base.JoinPath(ref.EscapedPath())
	u.RawQuery = ref.RawQuery
	return u.String(), nil
}

// ErrUnanswered is a change of which nobody knows whether it was stored.
var ErrUnanswered = errors.New("its answer did not come")

// unanswered says of a request without a whole answer what is known: that no
// server was there to take it, or that one may have.
func (c *Client) unanswered(method, path string, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return fmt.Errorf("no control plane at %s (from %s): %w; start one with `weft serve`, or give --server", c.base, c.source, err)
	}
	if writes(method, path) {
		return fmt.Errorf("%s may have stored the change: %w: %w; look with `weft get`, or send it again", c.base, ErrUnanswered, err)
	}
	return fmt.Errorf("the answer of %s to %s did not come: %w; try again", c.base, path, err)
}

// writes reports whether a request may change what is stored.
func writes(method, path string) bool {
	path, query, _ := strings.Cut(path, "?")
	switch method {
	case http.MethodPut, http.MethodDelete:
	case http.MethodPost:
		if path != "/_apply" { // a question, or a token
			return false
		}
	default:
		return false
	}
	return !strings.Contains(query, "dryRun=true")
}

// Get asks for path.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	return c.Call(ctx, http.MethodGet, path, "", nil, out)
}

// Post sends a JSON value.
func (c *Client) Post(ctx context.Context, path string, body, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the request to %s: %w", path, err)
	}
	return c.Call(ctx, http.MethodPost, path, "application/json", text, out)
}

func decode(path string, answer []byte, out any) error {
	switch out := out.(type) {
	case nil:
		return nil
	case *[]byte:
		*out = answer
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("understand the answer of %s: %w", path, err)
	}
	return nil
}

// problem is the error body of the API.
type problem struct {
	Title      string
	Detail     string
	Violations []inspect.Violation
	Parameters []struct {
		Field  api.Path
		Reason string
	} `json:"invalid_parameters"`
}

func refusal(status int, answer []byte) error {
	r := &Refusal{Status: status, Detail: strings.TrimSpace(string(answer))}
	var p problem
	if json.Unmarshal(answer, &p) == nil && p.Title+p.Detail != "" {
		r.Detail = strings.TrimPrefix(p.Title+": "+p.Detail, ": ")
		for _, v := range p.Violations {
			r.Violations = append(r.Violations, api.Violation{Position: api.Position{File: v.File, Line: v.Line, Column: v.Column},
				Field: v.Field, Code: v.Code, Message: v.Message, Severity: v.Severity})
		}
		for _, v := range p.Parameters {
			if len(p.Violations) == 0 { // it is about the request, not about a text
				r.Violations = append(r.Violations, api.Violation{Field: v.Field, Message: v.Reason, Severity: api.Error})
			}
		}
	}
	switch status {
	case http.StatusUnauthorized:
		r.Detail += "; give --token-file or WEFT_TOKEN (the admin token of a data directory is found by itself beside a server on this host only)"
	case http.StatusForbidden:
		r.Detail += "; use a token of an administrator"
	}
	return r
}
