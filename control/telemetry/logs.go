package telemetry

import (
	"context"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// Logs adds to each line that is written within a trace its ids, trace_id and span_id, as
// OpenTelemetry names them in logs.
func Logs(to *slog.Logger) *slog.Logger { return slog.New(traced{to.Handler()}) }

type traced struct{ slog.Handler }

// Handle writes a line.
func (h traced) Handle(ctx context.Context, r slog.Record) error {
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", sc.TraceID().String()), slog.String("span_id", sc.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs keeps the ids.
func (h traced) WithAttrs(all []slog.Attr) slog.Handler { return traced{h.Handler.WithAttrs(all)} }

// WithGroup keeps the ids.
func (h traced) WithGroup(name string) slog.Handler { return traced{h.Handler.WithGroup(name)} }

// Truncate is as much of a client's text as a line of the log takes.
func Truncate(text string) string {
	const most = 512
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strings.ToValidUTF8(text, "")
}
