package attach

import (
	"fmt"
	"maps"
)

// NameList is the names that a control plane has told on one stream, whole and by changes.
type NameList struct {
	version string
	names   map[string]*Name
}

// Tell takes a list, or the changes since the one before, and answers the names by name, which
// nobody changes afterwards. It is an error if that was another one: then the whole list is
// needed.
func (l *NameList) Tell(n *Names) (map[string]*Name, error) {
	names := map[string]*Name{}
	if since := n.GetSince(); since != "" {
		if since != l.version {
			return nil, fmt.Errorf("the control plane tells changes of names since %.64q, and told %.64q", since, l.version)
		}
		names = maps.Clone(l.names)
	}
	for _, name := range n.GetGone() {
		delete(names, name)
	}
	for _, x := range n.GetNames() {
		names[x.GetName()] = x
	}
	l.version, l.names = n.GetVersion(), names
	return names, nil
}
