package analysis

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

// profile is the published one where its conditions hold, up to a distance.
func (l *localCost) profile(t tally, distance int) []float64 {
	out := make([]float64, distance+1)
	if l.published() == nil {
		l.publishedProfile(out, t, 1)
	} else {
		l.cellProfile(out, t, 1)
	}
	return out
}

type smoothCase struct {
	Kind            string
	Votes           []int
	Teachers        int `json:"num_teachers"`
	Sigma           float64
	T, Sigma1       float64
	Order           float64
	LogQ0           float64 `json:"logq0"`
	LogQ1           float64 `json:"logq1"`
	C5              bool    `json:"condition_c5"`
	C6              bool    `json:"condition_c6"`
	Jump            bool    `json:"beta_jump_at_q0"`
	Usable          bool
	LocalSens       []float64 `json:"local_sens"`
	SmoothSens      []float64 `json:"smooth_sens"`
	BruteLocalSens  []float64 `json:"brute_local_sens"`
	BruteSmoothSens []float64 `json:"brute_smooth_sens"`
	Beta            float64
	SigmaSS         float64 `json:"sigma_ss"`
	RDP             float64
}

func TestSmoothSensitivityAgainstReference(t *testing.T) {
	file := golden[struct {
		Betas []float64
		Cases []smoothCase
	}](t, "pate/smooth_sens.json")
	require.NotEmpty(t, file.Cases)
	used := map[string]int{}
	for _, c := range file.Cases {
		var profile []float64
		switch c.Kind {
		case "gnss_rdp":
			relative(t, c.RDP, printedGNSS(c.Beta, c.SigmaSS, c.Order), 1e-12, "%+v", c)
			used[c.Kind]++
			continue
		case "threshold":
			profile = make([]float64, c.Teachers+1)
			thresholdProfile(profile, slices.Max(c.Votes), c.Teachers, c.T, c.Sigma1, c.Order)
			within := 0.0
			for d, want := range c.LocalSens {
				within = math.Max(within, want)
				relative(t, within, profile[d], 1e-8, "%s %v distance %d", c.Kind, c.Votes, d)
			}
		default:
			l := testkit.Must(newLocalCost(c.Sigma, c.Order, len(c.Votes)))
			if c.Jump && l.published() == nil {
				// The reference looks for q0 below a bound of its own and calls it a
				// jump when q0 is above; the cost itself is continuous there.
				require.Greater(t, l.logQ0, c.LogQ0)
				profile = l.profile(newTally(c.Votes), c.Teachers)
				coversBruteForce(t, profile, c.Votes, l)
				used["no jump after all"]++
				continue
			}
			if !c.Usable {
				var condition *ConditionError
				require.True(t, errors.As(l.published(), &condition), "%s %v sigma %v order %v must be refused", c.Kind, c.Votes, c.Sigma, c.Order)
				used["unpublished: "+condition.Condition]++
				if c.Teachers <= 30 {
					profile = l.profile(newTally(c.Votes), c.Teachers)
					coversBruteForce(t, profile, c.Votes, l)
				}
				continue
			}
			require.NoError(t, l.published())
			relative(t, c.LogQ0, l.logQ0, 1e-8, "q0 of sigma %v order %v", c.Sigma, c.Order)
			relative(t, c.LogQ1, l.logQ1, 1e-8, "q1 of sigma %v order %v", c.Sigma, c.Order)
			profile = l.profile(newTally(c.Votes), c.Teachers)
			for d, want := range c.LocalSens {
				// The reference loses digits where it subtracts costs of different size.
				require.InDelta(t, want, profile[d], 1e-8*want+1e-15*l.worst(), "%s %v sigma %v order %v distance %d", c.Kind, c.Votes, c.Sigma, c.Order, d)
			}
		}
		used[c.Kind]++
		within := 0.0
		for d, brute := range c.BruteLocalSens {
			within = math.Max(within, profile[d])
			require.GreaterOrEqual(t, within*(1+1e-9)+1e-300, brute, "%+v", c)
		}
		for i, beta := range file.Betas {
			got := discounted(profile, beta)
			relative(t, c.SmoothSens[i], got, 1e-8, "%s %v beta %v", c.Kind, c.Votes, beta)
			if c.BruteSmoothSens != nil {
				require.GreaterOrEqual(t, got*(1+1e-9), c.BruteSmoothSens[i])
			}
		}
	}
	t.Log(used)
}

func TestSmoothSensitivityAgainstBruteForce(t *testing.T) {
	file := golden[struct {
		Entries []struct {
			Counts      []int
			Sigma       float64
			Alpha, Cost float64
			Profile     []float64          `json:"max_local_sensitivity_within_distance"`
			Smooth      map[string]float64 `json:"smooth_sensitivity"`
		}
		GNSS []struct {
			Beta    float64
			SigmaSS float64 `json:"sigma_ss"`
			Alpha   float64
			RDP     float64
		}
	}](t, "mechanisms/smooth_sensitivity.json")
	require.NotEmpty(t, file.Entries)
	for _, c := range file.Entries {
		h := newTally(c.Counts)
		relative(t, c.Cost, gnmaxRDP(h.logFlipGaussian(c.Sigma), c.Sigma, c.Alpha), 1e-9, "cost of %v", c.Counts)
		l := testkit.Must(newLocalCost(c.Sigma, c.Alpha, len(c.Counts)))
		profile := l.profile(h, len(c.Profile)-1)
		within := 0.0
		for d, brute := range c.Profile {
			within = math.Max(within, profile[d])
			require.GreaterOrEqual(t, within*(1+1e-9), brute, "%v sigma %v order %v distance %d", c.Counts, c.Sigma, c.Alpha, d)
		}
		above := 0.0
		for text, brute := range c.Smooth {
			smooth := discounted(profile, testkit.Must(strconv.ParseFloat(text, 64)))
			require.GreaterOrEqual(t, smooth*(1+1e-9), brute)
			above = math.Max(above, smooth/brute)
		}
		t.Logf("%v sigma %v order %v: at most %.3f times the smooth sensitivity; published conditions: %v", c.Counts, c.Sigma, c.Alpha, above, l.published())
	}
	for _, c := range file.GNSS {
		relative(t, c.RDP, printedGNSS(c.Beta, c.SigmaSS, c.Alpha), 1e-9, "%+v", c)
	}
}

// coversBruteForce compares a profile with all histograms of as many votes.
func coversBruteForce(t *testing.T, profile []float64, votes []int, l *localCost) {
	t.Helper()
	brute := bruteForce(votes, l.sigma, l.order)
	within := 0.0
	for d := range brute {
		within = math.Max(within, profile[d])
		require.GreaterOrEqual(t, within*(1+1e-9)+1e-300, brute[d], "%v sigma %v order %v distance %d", votes, l.sigma, l.order, d)
	}
}

// bruteForce is the largest change of the cost by one moved vote at any histogram
// exactly d moved votes away, by enumeration.
func bruteForce(votes []int, sigma, order float64) []float64 {
	n := 0
	for _, v := range votes {
		n += v
	}
	costs := map[string]float64{}
	cost := func(h []int) float64 {
		key := newTally(h).key()
		if _, ok := costs[key]; !ok {
			costs[key] = gnmaxRDP(newTally(h).logFlipGaussian(sigma), sigma, order)
		}
		return costs[key]
	}
	worst := make([]float64, n+1)
	var walk func(h []int, class, left int)
	walk = func(h []int, class, left int) {
		if class < len(h)-1 {
			for v := range left + 1 {
				h[class] = v
				walk(h, class+1, left-v)
			}
			return
		}
		h[class] = left
		distance := 0
		for i := range h {
			distance += max(0, h[i]-votes[i])
		}
		own, most := cost(h), 0.0
		for a := range h {
			for b := range h {
				if a != b && h[a] > 0 {
					h[a]--
					h[b]++
					most = math.Max(most, math.Abs(cost(h)-own))
					h[a]++
					h[b]--
				}
			}
		}
		worst[distance] = math.Max(worst[distance], most)
	}
	walk(make([]int, len(votes)), 0, n)
	return worst
}

// Without sorting, the profile follows the wrong classes and misses the worst histograms.
func TestUnsortedCountsAreCaught(t *testing.T) {
	counts := []int{3, 18, 9}
	l := testkit.Must(newLocalCost(4, 2, 3))
	profile, broken := l.profile(newTally(counts), 30), l.profile(counts, 30)
	coversBruteForce(t, profile, counts, l)
	brute := bruteForce(counts, 4, 2)
	smooth, wrong, truth := discounted(profile, 0.2), discounted(broken, 0.2), discounted(brute, 0.2)
	t.Logf("smooth sensitivity %.4g, by enumeration %.4g, on unsorted counts %.4g", smooth, truth, wrong)
	require.GreaterOrEqual(t, smooth, truth)
	require.Less(t, wrong, truth)
}

// Where both are known, bounding the change cell by cell costs a few percent.
func TestCellsAgreeWithThePublishedProfile(t *testing.T) {
	for _, c := range []struct {
		votes        []int
		sigma, order float64
	}{
		{[]int{250, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 40, 17}, {[]int{150, 60, 40, 0, 0, 0, 0, 0, 0, 0}, 40, 17},
		{[]int{100, 90, 20, 20, 20, 0, 0, 0, 0, 0}, 40, 5}, {[]int{30, 0, 0}, 6, 2}, {[]int{16, 14}, 6, 2},
	} {
		l := testkit.Must(newLocalCost(c.sigma, c.order, len(c.votes)))
		require.NoError(t, l.published())
		published, cells := make([]float64, 60), make([]float64, 60)
		l.publishedProfile(published, newTally(c.votes), 1)
		l.cellProfile(cells, newTally(c.votes), 1)
		within, most := 0.0, 0.0
		for d := range cells {
			within = math.Max(within, published[d])
			require.LessOrEqual(t, cells[d], within*1.1+1e-13*l.worst(), "%v distance %d", c.votes, d)
			require.GreaterOrEqual(t, cells[d]*(1+1e-9)+1e-300, within, "%v distance %d", c.votes, d)
			if within > 0 {
				most = math.Max(most, cells[d]/within)
			}
		}
		t.Logf("%v: at most %.3f times the published profile", c.votes, most)
	}
}

// Both bounds cover neighbours in which a teacher who abstained votes, or one who voted abstains.
func TestAbstentionsAreWithinReach(t *testing.T) {
	for _, order := range []float64{2, 4} {
		l := testkit.Must(newLocalCost(3, order, 2))
		require.Equal(t, order == 2, l.published() == nil, "one setting of each kind")
		abstentionsAreWithinReach(t, l)
	}
}

func abstentionsAreWithinReach(t *testing.T, l *localCost) {
	const teachers = 14
	cost := func(a, b int) float64 {
		return gnmaxRDP(newTally([]int{a, b}).logFlipGaussian(l.sigma), l.sigma, l.order)
	}
	// Change at (a, b) by one teacher: votes of the third kind are abstentions.
	change := func(a, b int) float64 {
		most := 0.0
		for _, to := range [][2]int{{a - 1, b + 1}, {a + 1, b - 1}, {a - 1, b}, {a, b - 1}, {a + 1, b}, {a, b + 1}} {
			if to[0] >= 0 && to[1] >= 0 && to[0]+to[1] <= teachers {
				most = math.Max(most, math.Abs(cost(to[0], to[1])-cost(a, b)))
			}
		}
		return most
	}
	for _, start := range [][2]int{{8, 0}, {5, 5}, {9, 2}, {14, 0}, {0, 0}} {
		profile := l.profile(newTally(start[:]), teachers)
		for d := 1; d < len(profile); d++ {
			profile[d] = math.Max(profile[d], profile[d-1])
		}
		for a := 0; a <= teachers; a++ {
			for b := 0; a+b <= teachers; b++ {
				rest, from := teachers-a-b, teachers-start[0]-start[1]
				distance := max(0, a-start[0]) + max(0, b-start[1]) + max(0, rest-from)
				require.GreaterOrEqual(t, profile[distance]*(1+1e-9), change(a, b), "%v to (%d, %d)", start, a, b)
			}
		}
	}
}

// Where the published procedure takes beta from, the printed cost is a fifth of what the accountant charges,
// which the accountant's tests compare with quadrature. For a small beta it is larger.
func TestThePublishedCostOfAReleaseIsTooSmall(t *testing.T) {
	const a, beta, sigma = 17, 0.48 / 17, 7.703
	cost := testkit.Must(releaseCost(accountant.GNSS{Beta: beta, Sigma: sigma}, a))
	t.Logf("printed %.4f, charged %.4f", printedGNSS(beta, sigma, a), cost)
	require.Greater(t, cost, 4*printedGNSS(beta, sigma, a))
	cost = testkit.Must(releaseCost(accountant.GNSS{Beta: beta / 2, Sigma: sigma}, a))
	require.Less(t, cost, printedGNSS(beta/2, sigma, a))
	cost = testkit.Must(releaseCost(accountant.GNSS{Beta: 0.05, Sigma: 1}, 11))
	require.True(t, math.IsInf(cost, 1))
	require.Error(t, testkit.Err(releaseCost(accountant.GNSS{}, 2)))
}
