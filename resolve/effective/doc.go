// Package effective is the result of resolution: everything that applies to one dataplane, as the
// stages of package resolve make it and xds, sim and inspect read it. Its values are immutable and
// shared; nothing here knows how they came about.
package effective
