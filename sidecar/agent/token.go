package agent

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// token keeps the token where Envoy finds it for each new stream, so that who
// renews the file in time need not restart anything.
type token struct {
	file string // that the user renews
	path string // that Envoy reads
	log  *slog.Logger

	told   string    // what path holds
	ends   time.Time // of told; zero where that cannot be told
	warnAt time.Time // zero: there is no more to say
	broken bool      // the file could not be read, and the log says so
}

// newToken is nil where there is no file.
func newToken(file, dir string, log *slog.Logger) *token {
	if file == "" {
		return nil
	}
	return &token{file: file, path: filepath.Join(dir, "token.json"), log: log.With("file", file)}
}

func (k *token) read() (string, error) {
	text, err := files.Read(k.file, files.MostSecret)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	t := strings.TrimSpace(string(text))
	if t == "" {
		return "", fmt.Errorf("--token-file %s is empty; issue a token with `weft token dataplane`", k.file)
	}
	return t, nil
}

// keep follows the file until ctx ends.
func (k *token) keep(ctx context.Context, every time.Duration) {
	for {
		k.look(time.Now())
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// look gives Envoy the token if it is another, and warns of its end.
func (k *token) look(now time.Time) {
	text, err := k.read()
	if err == nil && text != k.told {
		if err = k.give(text, now); err == nil {
			k.log.Info("token for envoy", "ends", k.ends)
		}
	}
	if err != nil && !k.broken {
		k.log.Warn("keeping the token of before", "error", err)
	}
	k.broken = err != nil
	switch {
	case k.warnAt.IsZero() || now.Before(k.warnAt):
	case now.Before(k.ends):
		k.log.Warn("the token ends soon; put a new one into its file", "ends", k.ends)
		k.warnAt = k.ends
	default:
		k.log.Error("the token has ended, and the control plane refuses this sidecar; put a new one into its file", "ended", k.ends)
		k.warnAt = time.Time{}
	}
}

// give puts a file in the place of the one that Envoy read before.
func (k *token) give(text string, now time.Time) error {
	secret, err := bootstrap.TokenFile(text)
	if err != nil {
		return err
	}
	if err := files.Replace(k.path, secret, files.Private); err != nil {
		return fmt.Errorf("keep the token: %w", err)
	}
	k.told, k.ends, k.warnAt = text, endOf(text), time.Time{}
	if !k.ends.IsZero() {
		k.warnAt = k.ends.Add(-k.ends.Sub(now) / 5)
	}
	return nil
}

// endOf is when a token says that it ends; whether that is true is for the
// control plane to judge.
func endOf(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if json.Unmarshal(body, &claims) != nil || claims.Exp <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Exp), 0)
}
