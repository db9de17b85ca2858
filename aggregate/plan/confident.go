package plan

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
)

func (c cases) confidentSettings(ctx context.Context, goal Goal, most int) ([]aggregate.Setting, error) {
	// The Rényi divergence of Gaussian noise at order a is a times a number, rho. So with Q queries and A
	// answers the budget is
	//
	//	Q/(2 sigma1^2) + A/sigma2^2 = rho.
	//
	// The search is a grid over the threshold, Q and the fraction of rho for tests. A is the expected number
	// of answers plus -1 to 3 standard deviations. The result is the best setting, and the best setting at
	// each of the thresholds of 20, 40, ... % of the votes.
	single, err := calibrated(ctx, GNMax, 1, goal)
	if errors.Is(err, accountant.ErrNoBracket) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sigma := single.Values["sigma"]
	rho := 1 / (sigma * sigma)
	if sigma <= 0x1p-10 { // the budget is absurdly large
		return nil, nil
	}
	// A threshold test is useless with more noise than GNMax needs to answer all queries.
	accuracy, err := c.newAccuracyTable(ctx, sigma, sigma*math.Sqrt(float64(most)))
	if err != nil || accuracy == nil {
		return nil, err
	}
	const rows = 50 // thresholds; each tenth row is a fifth of the votes
	best := make([]candidate, rows+1)
	pass := make([]float64, len(c.groups))
	for _, q := range ladder(most) {
		for _, share := range []float64{0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8} {
			sigma1 := math.Sqrt(float64(q) / (2 * share * rho))
			if sigma1 > maxPlannedNoise || sigma1 < 0x1p-10 {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			for row := 1; row <= rows; row++ {
				s := confidentSetting{threshold: math.Ceil(float64(c.teachers*row) / rows), sigma1: sigma1, queries: q}
				passed := 0.0
				for g, group := range c.groups {
					pass[g] = passing(group.largest, s.threshold, sigma1)
					passed += pass[g] * group.queries
				}
				p := passed / float64(len(c.counts))
				for _, margin := range []float64{-1, 0, 1, 2, 3} {
					s.answers = min(q, max(1, int(math.Ceil(float64(q)*p+margin*math.Sqrt(float64(q)*p*(1-p))))))
					s.sigma2 = math.Sqrt(float64(s.answers) / ((1 - share) * rho))
					right := accuracy.right(s.sigma2, pass)
					if right < goal.MinAccuracy*passed || passed == 0 {
						continue
					}
					if correct := untilCap(q, p, s.answers) * right / passed; correct > best[row].correct {
						best[row] = candidate{s, correct}
					}
				}
			}
		}
	}
	return pick(best, rows/5), nil
}

type confidentSetting struct {
	threshold, sigma1, sigma2 float64
	queries, answers          int
}

func (s confidentSetting) setting() aggregate.Setting {
	return aggregate.Setting{Mechanism: Confident, Queries: s.queries, Values: map[string]float64{
		"threshold": s.threshold, "sigma1": s.sigma1, "sigma2": s.sigma2, "answers": float64(s.answers)}}
}

type candidate struct {
	setting confidentSetting
	correct float64
}

func pick(best []candidate, every int) []aggregate.Setting {
	top := 0
	for row := range best {
		if best[row].correct > best[top].correct {
			top = row
		}
	}
	var picked []confidentSetting
	var out []aggregate.Setting
	for row, b := range best {
		if b.correct > 0 && (row == top || row%every == 0) && !slices.Contains(picked, b.setting) { // with few votes, rows can have equal thresholds
			picked, out = append(picked, b.setting), append(out, b.setting.setting())
		}
	}
	return out
}

func passing(largest int64, threshold, sigma1 float64) float64 {
	return math.Erfc((threshold-0.5-float64(largest))/sigma1/math.Sqrt2) / 2
}

type accuracyTable struct {
	sigmas  []float64
	byGroup [][]float64 // by sigma, then by group as in cases.groups
}

type largestGroup struct {
	largest int64
	queries float64
}

const sigmaRatio = 1.06

func (c cases) newAccuracyTable(ctx context.Context, from, to float64) (*accuracyTable, error) {
	t := &accuracyTable{}
	index := make(map[int64]int)
	for g, group := range c.groups {
		index[group.largest] = g
	}
	for sigma := from; sigma <= min(to*sigmaRatio, maxPlannedNoise); sigma *= sigmaRatio {
		answer := aggregate.Setting{Mechanism: GNMax, Queries: 1}.With("sigma", sigma) // the answer after a passed test
		_, right, err := c.chances(ctx, answer, false)
		if err != nil {
			return nil, err
		}
		row := make([]float64, len(c.groups))
		for i, p := range right {
			row[index[c.largest[i]]] += p
		}
		t.sigmas, t.byGroup = append(t.sigmas, sigma), append(t.byGroup, row)
	}
	if len(t.sigmas) < 2 {
		return nil, nil
	}
	return t, nil
}

func byLargest(largest []int64) []largestGroup {
	var groups []largestGroup
	sorted := slices.Sorted(slices.Values(largest))
	for i, n := range sorted {
		if i == 0 || n != sorted[i-1] {
			groups = append(groups, largestGroup{largest: n})
		}
		groups[len(groups)-1].queries++
	}
	return groups
}

func (t *accuracyTable) right(sigma float64, pass []float64) float64 {
	at := math.Log(sigma/t.sigmas[0]) / math.Log(sigmaRatio)
	if at < 0 || at > float64(len(t.sigmas)-1) {
		return 0
	}
	i := min(int(at), len(t.sigmas)-2)
	weight := at - float64(i)
	right := 0.0
	for g, p := range pass {
		right += p * (t.byGroup[i][g]*(1-weight) + t.byGroup[i+1][g]*weight)
	}
	return right
}
