package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"
)

// Reached is what a control plane says that was reached, and asked for nothing.
type Reached struct {
	Clock  time.Time // its time; zero where it does not tell
	Status int       // what it answers who wants a certificate for no key
	Says   string    // and its words
}

// CheckControlPlane looks whether a sidecar would reach its control plane: by its address, its authority and its token, as
// Run does. It brings no Dataplane, and gets neither a bootstrap nor a certificate.
func CheckControlPlane(ctx context.Context, config Config) (out Reached, err error) {
	dir, err := os.MkdirTemp("", "weft-check-")
	if err != nil {
		return out, fmt.Errorf("make a working directory: %w", err)
	}
	defer os.RemoveAll(dir)
	log := slog.New(slog.DiscardHandler)
	s, err := newSource(config, newToken(config.TokenFile, dir, log), newAuthorities(config, dir, log))
	if err != nil {
		return out, err
	}
	var with request
	client, err := s.connect(&with)
	if err != nil {
		return out, err
	}
	defer client.CloseIdleConnections()
	text, err := json.Marshal(map[string]any{"mesh": config.Mesh, "name": config.Name})
	if err != nil {
		return out, err
	}
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, s.certifyURL, bytes.NewReader(text))
	if err != nil {
		return out, err
	}
	if with.DataplaneToken != "" {
		ask.Header.Set("Authorization", "Bearer "+with.DataplaneToken)
	}
	resp, err := client.Do(ask)
	if err != nil {
		return out, unreachable(err)
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what is missing of it is words
	out.Clock, _ = http.ParseTime(resp.Header.Get("Date"))
	out.Status, out.Says = resp.StatusCode, wordsOf(answer)
	return out, nil
}

// TokenEnds is when the token of a file says that it ends; zero where it does not say.
func TokenEnds(file string) (ends time.Time, err error) {
	text, err := (&token{file: file}).read()
	if err != nil {
		return ends, err
	}
	return endOf(text), nil
}
