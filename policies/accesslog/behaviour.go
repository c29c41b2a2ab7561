package accesslog

import "strconv"

// LogsTo are the places to which lines go, as people name them: a file, or host:port.
func (c *Conf) LogsTo() []string {
	var out []string
	for i := range c.Backends {
		b := &c.Backends[i]
		if !b.written() {
			continue
		}
		if at, ok := b.OpenTelemetry.collector(); ok {
			out = append(out, at.Host+":"+strconv.Itoa(int(at.Port)))
		} else {
			out = append(out, b.File.Path)
		}
	}
	return out
}

// LogsField is the field whose author says where they go.
func (c *Conf) LogsField() string { return "backends" }
