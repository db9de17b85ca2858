package release

import "github.com/pate-go/pate/internal/fault"

// Error says why nothing is released, for a person. It never tells a vote or a record.
type Error = fault.Error[origin]

type origin struct{}

// Package returns the name that errors of this package begin with.
func (origin) Package() string { return "release" }
