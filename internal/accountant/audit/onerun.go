package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/pate-go/pate/internal/mathx"
)

// Guesses is the outcome of an audit with one run. For each canary record, a fair coin decided whether the
// data contain the record. Right counts the correct guesses among Made guesses. The guesses must depend only
// on the release. Canaries and Made must be fixed before the run.
type Guesses struct {
	Canaries, Made, Right int
}

func (g Guesses) validate() error {
	if g.Right < 0 || g.Right > g.Made || g.Made > g.Canaries || g.Canaries < 1 || g.Canaries > 1<<24 {
		return fmt.Errorf("audit: %d right of %d guesses about %d canaries", g.Right, g.Made, g.Canaries)
	}
	return nil
}

// PValue bounds the probability of at least Right correct guesses (Steinke, Nasr, Jagielski 2023). It assumes
// that claim is true for add/remove of one record. Let B ~ Bin(Made, e^epsilon/(1 + e^epsilon)). The bound is
//
//	P[B >= Right] + 2 * Canaries * delta * max over 1 <= i <= Right of P[Right > B >= Right - i]/i
//
// The canary records may be dependent.
func (g Guesses) PValue(claim Claim) float64 {
	if g.Right == 0 {
		return 1
	}
	v, r := float64(g.Right), float64(g.Made)
	q := 1 / (1 + math.Exp(-claim.Epsilon))
	p := mathext.RegIncBeta(v, r-v+1, q)
	if claim.Delta == 0 {
		return p
	}
	// log P[B = k], for k from v-1 down to 0.
	lg := func(x float64) float64 { l, _ := math.Lgamma(x); return l }
	odds := claim.Epsilon // log(q/(1-q))
	k := v - 1
	log := lg(r+1) - lg(k+1) - lg(r-k+1) + k*math.Log(q) - (r-k)*(odds+math.Log1p(math.Exp(-odds)))
	sum, worst := 0.0, 0.0
	for i := 1.0; i <= v; i++ {
		sum += math.Exp(log)
		worst = math.Max(worst, sum/i)
		log += math.Log(k) - math.Log(r-k+1) - odds
		k--
	}
	return math.Min(1, p+2*float64(g.Canaries)*claim.Delta*worst)
}

// OneRun returns the largest epsilon that the guesses refute at claim.Delta, with false alarm probability
// alpha.
func OneRun(g Guesses, claim Claim, alpha float64) (Finding, error) {
	if err := cmp.Or(g.validate(), claim.validate(), validateAlpha(alpha)); err != nil {
		return Finding{}, err
	}
	f := Finding{
		Claim: claim, Alpha: alpha, Runs: g.Made,
		Evidence: fmt.Sprintf("%d of %d guesses right, about %d canaries", g.Right, g.Made, g.Canaries),
	}
	holds := func(epsilon float64) bool { return g.PValue(Claim{epsilon, claim.Delta}) > alpha }
	if holds(0) {
		return f, nil
	}
	high := 1.0
	for !holds(high) && high < 64 {
		high *= 2
	}
	f.Epsilon = math.Nextafter(mathx.Bisect(holds, 0, high), 0)
	return f, nil
}

// Guess makes guesses from scores, which should be large for records in the data. Half of the guesses are
// "in", for the largest scores. The other half are "out", for the smallest scores. The argument `in` serves
// only to count the correct guesses.
func Guess(scores []float64, in []bool, guesses int) (Guesses, error) {
	g := Guesses{Canaries: len(scores), Made: guesses}
	if len(in) != len(scores) || guesses%2 != 0 {
		return Guesses{}, fmt.Errorf("audit: %d scores, %d coins and %d guesses, which must be even", len(scores), len(in), guesses)
	}
	if err := g.validate(); err != nil {
		return Guesses{}, err
	}
	order := make([]int, len(scores))
	for i, s := range scores {
		if math.IsNaN(s) {
			return Guesses{}, fmt.Errorf("audit: score %d is NaN", i)
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[i], scores[j]) })
	for k := range guesses / 2 {
		if !in[order[k]] {
			g.Right++
		}
		if in[order[len(order)-1-k]] {
			g.Right++
		}
	}
	return g, nil
}
