package agent

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
)

// logFormat makes Envoy's lines easy to take apart: level, component, message.
const logFormat = "%l\x1f%n\x1f%v"

// longestLine is where a line that does not end is cut.
const longestLine = 64 << 10

// forwarder turns Envoy's output into log records, line by line.
type forwarder struct {
	log   *slog.Logger
	mu    sync.Mutex
	rest  []byte     // of a line that has not ended
	level slog.Level // of the last line that named one: what follows belongs to it
}

func newForwarder(log *slog.Logger) *forwarder {
	return &forwarder{log: log.With("source", "envoy"), level: slog.LevelInfo}
}

// Write takes output in any portions.
func (f *forwarder) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rest = append(f.rest, p...)
	for {
		line, rest, whole := bytes.Cut(f.rest, []byte("\n"))
		if !whole && len(line) < longestLine {
			f.rest = bytes.Clone(line)
			return len(p), nil
		}
		if len(line) > longestLine {
			line, rest = f.rest[:longestLine], f.rest[longestLine:]
		}
		f.line(string(line))
		f.rest = rest
	}
}

// end forwards a last line without an end: that of an Envoy that aborted.
func (f *forwarder) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.line(string(f.rest))
	f.rest = nil
}

func (f *forwarder) line(text string) {
	parts := strings.SplitN(text, "\x1f", 3)
	if len(parts) < 3 {
		if text = strings.TrimSpace(text); text != "" {
			f.log.Log(context.Background(), f.level, text)
		}
		return
	}
	f.level = level(parts[0])
	f.log.Log(context.Background(), f.level, strings.TrimSpace(parts[2]), "component", parts[1])
}

func level(envoy string) slog.Level {
	switch envoy {
	case "trace", "debug":
		return slog.LevelDebug
	case "warning", "warn":
		return slog.LevelWarn
	case "error", "critical":
		return slog.LevelError
	}
	return slog.LevelInfo
}
