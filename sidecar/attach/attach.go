// Package attach is what the agent of a sidecar and the control plane say to each
// other beside ADS: the service weft.v1.Sidecar, and the rules that both sides hold
// themselves to (spec/contract.md 7).
package attach

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

//go:generate go run -C ../../hack/protogen . "$PWD/attach.proto"

// The questions that there are, as paths of Envoy's administration interface; a RequestsQuestion is one
// more, to the agent itself.
const (
	ConfigDump   = "config_dump?include_eds"
	Stats        = "stats"
	StatsJSON    = "stats?format=json&usedonly"
	Clusters     = "clusters"
	ClustersJSON = "clusters?format=json"
)

// IsQuestion reports whether an agent answers path. All else could change something
// or tell what nobody needs to know.
func IsQuestion(path string) bool {
	if _, ok := ParseRequestsQuestion(path); ok {
		return true
	}
	return slices.Contains([]string{ConfigDump, Stats, StatsJSON, Clusters, ClustersJSON}, path)
}

// Why a question has no answer.
var (
	ErrNoStream = errors.New("the sidecar's agent opens no stream")
	ErrLate     = fmt.Errorf("the sidecar did not answer within %v; try again", AnswerWithin)
)

// ReportEverySeconds is how often agents report what is counted of requests where nobody says otherwise.
const ReportEverySeconds = 10

// What either side bears with.
const (
	// AnswerWithin is how long an answer may take, from the question to its last byte.
	AnswerWithin = 10 * time.Second
	// LargestAnswer is its size, in bytes.
	LargestAnswer = 64 << 20
	// ChunkSize is that of a part of it at most, in bytes.
	ChunkSize = 256 << 10
	// LargestMessage is that of one message of the control plane: names are whole lists.
	LargestMessage = 32 << 20
	// MostSenders and MostInbounds are how many the Connections of a sidecar name.
	MostSenders, MostInbounds = 32, 64
	// MostCertificates are those of a chain, LargestChain is what it has in bytes with its proof.
	MostCertificates, LargestChain = 8, 32 << 10
)
