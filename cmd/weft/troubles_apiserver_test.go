package main

import (
	"strings"
)

// says is what each command for troubles says of the small shop, where all is well but that
// nobody runs its sidecars.
var says = map[string]string{
	"check": "", "inject explain shop/frontend": "NamespaceEnabled", "problems": "",
	"status": "MeshRetry/default/shop/orders", "explain dataplane frontend-1.shop": "MeshRetry/shop/orders",
}

// troubles runs the commands of the page for when something does not work.
func (s *story) troubles() {
	s.Helper()
	lines := commands(s.T, "When something does not work")
	if len(lines) != len(says) {
		s.Errorf("%d commands: %q", len(lines), lines)
	}
	for _, line := range lines {
		command, inPod := strings.CutPrefix(line, "kubectl exec -n weft-system deploy/weft-control-plane -- weft ")
		if !inPod {
			command = strings.TrimPrefix(line, "weft ")
		}
		want, known := says[command]
		if !known {
			s.Errorf("nobody plays %q", line)
			continue
		}
		args := strings.Fields(command)
		if inPod {
			args = append(args, "--server", "http://"+s.api, "--token-file", s.token)
		} else {
			args = append(args, "--kubeconfig", s.kubeconfig)
		}
		if out := s.weft(args...); !strings.Contains(out, want) {
			s.Errorf("weft %s says nothing of %q:\n%s", command, want, out)
		}
	}
}
