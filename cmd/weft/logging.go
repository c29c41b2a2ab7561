package main

import (
	"io"
	"log/slog"

	"github.com/spf13/cobra"
)

func logFlags(c *cobra.Command, format, level *string) {
	c.Flags().StringVar(format, "log-format", "text", "text or json")
	c.Flags().StringVar(level, "log-level", "info", "debug, info, warn or error")
}

func newLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	var l slog.Level
	switch level {
	case "debug", "info", "warn", "error":
		if err := l.UnmarshalText([]byte(level)); err != nil {
			return nil, usage("--log-level: %v", err)
		}
	default:
		return nil, usage("--log-level %q is unknown; use debug, info, warn, error", level)
	}
	options := &slog.HandlerOptions{Level: l}
	switch format {
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	}
	return nil, usage("--log-format %q is unknown; use text, json", format)
}
