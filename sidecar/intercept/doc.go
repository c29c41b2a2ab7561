// Package intercept redirects the traffic of a network namespace to its sidecar: the
// rules, and the way in which they get into the kernel and out of it again.
//
// A Config says what is redirected (spec/kubernetes.md 5.1). Render turns it into the
// text that iptables-restore or nft reads (5.2) and is a pure function: no text of a
// user gets into a rule, for all that a Config holds are numbers, addresses and words of
// its own. Install and Uninstall are the shell around it: they read what is there, check
// everything before they change anything, and put back what was if a step fails.
//
// It refuses to touch what is not its own: each of its rules carries Comment, and a
// chain of its names with other rules in it is left to its owner.
package intercept

// Comment marks each rule. The number is the version of the rules: what carries another
// number was installed by another weft, and is ours too.
const Comment = "weft/1"

// The ports of the sidecar that nothing is ever redirected from: its answers to probes
// of the workload, and its own readiness (spec/kubernetes.md 4.3).
const (
	ProbePort     = 9001
	ReadinessPort = 9902
)
