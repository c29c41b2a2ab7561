// Package config is how a control plane runs: its flags, what is refused of them, and what follows from
// them. Every refusal names the flag that would allow what is refused.
package config
