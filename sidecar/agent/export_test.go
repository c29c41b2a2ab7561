package agent

import (
	"io"
	"log/slog"
	"time"
)

// Admin is the address of Envoy's administration, empty while Envoy is down.
func (a *Agent) Admin() string { return text(a.state.admin.Load()) }

// Hasten has the agent wait for less than it usually does.
func (a *Agent) Hasten() *Agent {
	a.intervals = intervals{look: 10 * time.Millisecond, cut: 50 * time.Millisecond, idle: 10 * time.Millisecond, linger: 50 * time.Millisecond, first: 20 * time.Millisecond, longest: 100 * time.Millisecond, names: 50 * time.Millisecond, connections: 10 * time.Millisecond, report: time.Hour}
	return a
}

// Forward writes output of Envoy to log, in portions, to its end.
func Forward(log *slog.Logger, portions ...string) {
	f := newForwarder(log)
	for _, p := range portions {
		_, _ = io.WriteString(f, p)
	}
	f.end()
}

// Looker looks at the file of a token when it is told to.
func Looker(file, dir string, log *slog.Logger) func(time.Time) { return newToken(file, dir, log).look }
