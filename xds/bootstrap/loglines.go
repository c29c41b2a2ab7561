package bootstrap

import "time"

// What loggers of Envoy send to the agent of the sidecar by OTLP, for receivers that Envoy itself cannot write
// to: the body of a record is a list of members by these names. An agent that knows nothing of them loses the
// lines, and no listener.
const (
	// LogTo is the member which says who receives the line: LogTCP or LogFile, and the rest of the address.
	LogTo = "to"
	// LogText is the member with a line of text, as a list of parts.
	LogText = "text"
	// LogObject is the one with a line that is a JSON object: a list of members, each a list of parts.
	LogObject = "object"
	// LogOmits is the one that is there where empty values are left out.
	LogOmits = "omits"

	// LogTCP begins the address of who takes lines by TCP: host:port follows.
	LogTCP = "tcp:"
	// LogFile begins that of a file in the agent's directory of logs: its name follows.
	LogFile = "file:"
)

// The parts of a text. Envoy writes - for what a command finds nothing for.
const (
	PartLiteral = "l" // text as it is
	PartText    = "t" // what a command found, a text
	PartNumber  = "n" // a number
	PartValue   = "v" // JSON
)

// LogDirectory is where the agent writes files of lines unless it was told another place.
const LogDirectory = "/var/log/weft"

// LogFlush is how long Envoy keeps a line at most before it sends it: less than an agent waits before it stops
// an Envoy that has drained.
const LogFlush = 150 * time.Millisecond
