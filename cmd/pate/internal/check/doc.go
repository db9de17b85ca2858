// Package check is the command `pate check`: whether a votes file makes sense, and whether silos are disjoint.
package check
