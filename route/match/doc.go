// Package match is the algebra of what a rule asks of requests: a Condition compares
// one Subject by one Op, Conditions hold together, and a Match is one alternative of a rule.
//
// It decides which conditions imply others, which exclude each other, which no request can
// meet, and writes them as text, as JSON and as the regular expressions of Envoy. It knows
// no route, no dialect and no policy.
package match
