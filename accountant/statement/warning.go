package statement

import (
	"fmt"
	"math"
)

// Absurd is the epsilon above which a guarantee is true and says next to nothing: at 20,
// odds of 1 to 1 may become 485 million to 1.
const Absurd = 20

// Warning returns what to say of a claim that protects next to nothing, and "" of others.
func Warning(epsilon float64) string {
	if !(epsilon > Absurd) {
		return ""
	}
	if math.IsInf(epsilon, 1) {
		return "no epsilon is known: nothing is promised"
	}
	return fmt.Sprintf("epsilon %s is above %d and protects next to nothing: odds of 1 to 1 may become 10^%.6g to 1; a usual budget is at most 10",
		most(epsilon), Absurd, math.Floor(epsilon/math.Ln10))
}
