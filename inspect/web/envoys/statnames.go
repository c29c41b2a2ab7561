package envoys

import (
	"bytes"
	"net/http"

	"github.com/weftmesh/weft/xds/naming"
)

// statNames passes an answer of /clusters on with the clusters named as Envoy's statistics name them: Kuma's GUI takes the names from the statistics and looks for lines that begin so.
type statNames struct {
	http.ResponseWriter
	name []byte // what has come of the name of a line that did not end yet
	past bool   // the name of the line is over
}

// longestClusterName bounds what is kept of a name; a longer one is passed on as it is.
const longestClusterName = 4096

// Write passes a part on.
func (s *statNames) Write(part []byte) (int, error) {
	out := make([]byte, 0, len(part)+len(s.name))
	for _, b := range part {
		if s.past {
			out = append(out, b)
			s.past = b != '\n'
			continue
		}
		s.name = append(s.name, b)
		switch n := nameEnd(s.name); {
		case n >= 0:
			out = append(append(out, naming.Stat(string(s.name[:n]))...), s.name[n:]...)
			s.name, s.past = s.name[:0], true
		case b == '\n', len(s.name) > longestClusterName:
			out = append(out, s.name...)
			s.name, s.past = s.name[:0], b != '\n'
		}
	}
	if _, err := s.ResponseWriter.Write(out); err != nil {
		return 0, err
	}
	return len(part), nil
}

// rest passes on what a last line without an end begins with.
func (s *statNames) rest() {
	_, _ = s.ResponseWriter.Write(s.name)
	s.name = nil
}

// Unwrap is for http.ResponseController.
func (s *statNames) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// nameEnd is where a name ends that "::" follows, which an address of IPv6 in brackets has inside too; -1
// where the text does not end with them.
func nameEnd(text []byte) int {
	name, ok := bytes.CutSuffix(text, []byte("::"))
	if !ok || bytes.LastIndexByte(name, '[') > bytes.LastIndexByte(name, ']') {
		return -1
	}
	return len(name)
}
