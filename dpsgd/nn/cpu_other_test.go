//go:build !unix

package nn_test

import "time"

// processorTime returns the time of the clock.
func processorTime() time.Duration { return time.Since(time.Time{}) }
