package cli

import (
	"io"
	"log/slog"

	"github.com/spf13/cobra"
)

// LogFlags are the flags of a program that logs.
func LogFlags(c *cobra.Command, format, level *string) {
	c.Flags().StringVar(format, "log-format", "text", "text or json")
	c.Flags().StringVar(level, "log-level", "info", "debug, info, warn or error")
}

// NewLogger is what they ask for.
func NewLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	var l slog.Level
	switch level {
	case "debug", "info", "warn", "error":
		if err := l.UnmarshalText([]byte(level)); err != nil {
			return nil, Usage("--log-level: %v", err)
		}
	default:
		return nil, Usage("--log-level %q is unknown; use debug, info, warn, error", level)
	}
	options := &slog.HandlerOptions{Level: l}
	switch format {
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	}
	return nil, Usage("--log-format %q is unknown; use text, json", format)
}
