// Package derive keeps collections of values that are derived from others, and
// knows what a change concerns because every derivation's reads are taken down.
//
// There are three verbs. Source adds a collection whose values come from outside,
// Index a way to find values by what they say, Derive a collection with a value
// for each key of another one, or for each bucket of an index. A derivation reads
// earlier collections by key, by bucket or whole, through a Reader.
//
// A Graph is immutable. Update makes the next one from changes of the sources,
// and promises:
//
//   - It equals a Graph built from nothing with the same sources, failures
//     included.
//   - A derivation runs at most once, and only if one of its reads would now give
//     another pointer or another set of keys, or if its key is new.
//   - A value keeps its pointer if and only if it is equal to the one before; in
//     an interned collection, to any that was there before or is there now.
//   - The keys that it names as changed are exactly those with another pointer.
//   - Two graphs derived from one share what is equal and nothing mutable.
//
// What an update need not make is made when somebody asks a Graph: an OnDemand collection has a value for
// each key of others, Followed brings up to date what was found earlier, Once keeps what is found at one
// Graph. All of that goes by the same reads, and is the same as if it were found anew.
//
// A panic becomes the value Failed, and stops nobody else. Derivations, indexes,
// equality and hashes must be pure functions: what they look at besides their
// arguments would be seen by no update. There is no clock, no reflection and no order
// of a map that reaches a result, and no lock but for what questions found out.
package derive
