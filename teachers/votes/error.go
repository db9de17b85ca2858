package votes

import "github.com/pate-go/pate/internal/fault"

// Error says that votes are missing or not as they should be. It never quotes a
// vote.
type Error = fault.Error[origin]

type origin struct{}

func (origin) Package() string { return "votes" }
