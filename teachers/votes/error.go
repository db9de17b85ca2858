package votes

import "github.com/pate-go/pate/internal/fault"

// Error says that votes are missing or not as they should be. It never quotes a
// vote.
type Error = fault.Error[origin]

type origin struct{}

func (origin) Package() string { return "votes" }

// ownerNotice ends what is said of single votes: where one is, and what it is not.
const ownerNotice = "; this message tells of private votes and is for their owner alone"
