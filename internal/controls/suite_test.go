package controls

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/museum"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

func testOptions() Options { return Options{Key: rng.SeedKey(1), Alpha: 1e-4} }

func quick(t Target) int {
	if testkit.Race {
		return 100
	}
	switch t.Name {
	case "smooth-median":
		return 200 // slow
	case "propose-test-release", "subsample-aggregate":
		return 1000
	}
	return 4000
}

// TestNothingShippedIsRefuted: by law, by few runs and by canaries. The false-alarm rate is 1e-4 per
// target; the seed is fixed. The laws of small worlds come close to the claims, so that a little more would
// be noticed.
func TestNothingShippedIsRefuted(t *testing.T) {
	byLaw := map[string]float64{}
	for _, target := range Default() {
		if testkit.Race && target.Method == ByCanaries {
			continue
		}
		opt := testOptions()
		opt.Runs = quick(target)
		f := testkit.Must(Run(context.Background(), []Target{target}, opt))[0].Finding
		assert.False(t, f.Refuted(), "%s by %s: %+v", target.Name, target.Method, f)
		assert.Empty(t, target.Mistake)
		if target.Method == ByLaw {
			byLaw[target.Name] = f.Epsilon / f.Claim.Epsilon
		}
	}
	for name, least := range map[string]float64{
		"gnmax": 0.85, "confident": 0.7, "interactive": 0.75,
		"lnmax": 0.88, "exponential": 0.98, "permute-and-flip": 0.99,
		"m-stab": 0.999, "m-stab-gaussian": 0.99, "m-stab-one-shot": 0.999,
		"above-threshold": 0.999, "sparse-vector": 0.999, "sparse-vector-one-sided": 0.999,
		"stable-svt": 0.99, "m-svec": 0.97, "silos": 0.999, "silos-shared": 0.95, "quota": 0.999,
	} {
		assert.Greater(t, byLaw[name], least, name)
	}
}

func TestEveryMechanismIsAudited(t *testing.T) {
	for _, name := range mechanisms.Names(nil) {
		for _, method := range []Method{ByLaw, ByRuns} {
			require.True(t, slices.ContainsFunc(Default(), func(target Target) bool { return target.Name == name && target.Method == method }),
				"%s has no audit by %s: give its description two neighbours", name, method)
		}
	}
}

// TestEveryMistakeIsRefuted: the positive controls. Each is refuted with the number of runs it has by
// default; the seed is fixed.
func TestEveryMistakeIsRefuted(t *testing.T) {
	var targets []Target
	for _, target := range Broken() {
		if !testkit.Race || target.Runs <= 4000 && target.Method != ByCanaries {
			targets = append(targets, target)
		}
	}
	for _, r := range testkit.Must(Run(context.Background(), targets, testOptions())) {
		assert.True(t, r.Finding.Refuted(), "%s by %s: %+v", r.Target.Name, r.Target.Method, r.Finding)
		assert.NotEmpty(t, r.Target.Mistake)
	}
}

// TestRightlyDoneTheControlsPass: what the controls do is refuted for their mistake and not for something
// else in how they are run.
func TestRightlyDoneTheControlsPass(t *testing.T) {
	if testkit.Race {
		t.Skip("long")
	}
	right := []Target{
		runs("gap", "", 100_000, stated(1, 0.01), gapRelease(1), gapRelease(0)), // floor((lead-1)/2) of leads 3 and 1
		runs("votes", "", 100_000, stated(1, 0), halfNoiseOf([]int{8, 2}), halfNoiseOf([]int{9, 1})),
		byLaw("edge", "", pure(accountant.ExponentialMechanism{Epsilon: 2}), onePair(treeEdge(12, 12), treeEdge(13, 12))),
		byLaw("tables", "", profile(accountant.Repeated{Event: accountant.DiscreteGaussian{Sigma: 1, Sensitivity: 1}, Count: 2}, accountant.AddRemove),
			onePair(noisy([]int64{1, 1}, []int64{0, 0}))),
		byLaw("public words", "", oneVote, onePair(wordsAndVote([]string{"a rash", "a rash"}, 1), wordsAndVote([]string{"a rash", "a rash"}, 0))),
		byLaw("votes charged", "", profile(accountant.Repeated{Event: accountant.DiscreteGaussian{Sigma: 1, Sensitivity: 1}, Count: siloVotes + 1},
			accountant.AddRemove), withoutEach(apart, siloVotes+1, false)),
		canaries("dpsgd-again", canaryConfig(), unchanged, canaryConfig().NoiseMultiplier),
	}
	for _, r := range testkit.Must(Run(context.Background(), right, testOptions())) {
		require.False(t, r.Finding.Refuted(), "%+v", r)
		if r.Target.Name != "gap" { // released less often than delta allows
			require.Positive(t, r.Finding.Epsilon, "the audit sees something: %+v", r)
		}
	}
}

func TestTheSameKeyGivesTheSameFindings(t *testing.T) {
	targets := testkit.Must(Find(Default(), "gnmax", "above-threshold"))
	require.Len(t, targets, 4, "each by law and by runs")
	opt := testOptions()
	opt.Runs = 500
	var findings [2][]Result
	for i := range findings {
		opt.Workers = i + 1
		findings[i] = testkit.Must(Run(context.Background(), targets, opt))
	}
	for i := range targets {
		require.Equal(t, findings[0][i].Finding, findings[1][i].Finding)
	}
	opt.Key = rng.SeedKey(2)
	require.NotEqual(t, findings[0][1].Finding, testkit.Must(Run(context.Background(), targets, opt))[1].Finding)
}

// TestFalseAlarmsAreShared: every target that is audited by chance has its part of Alpha.
func TestFalseAlarmsAreShared(t *testing.T) {
	targets := testkit.Must(Find(Default(), "gnmax", "lnmax", "exponential"))
	opt := testOptions()
	opt.Runs = 100
	results := testkit.Must(Run(context.Background(), targets, opt))
	total := 0.0
	for _, r := range results {
		total += r.Finding.Alpha
		require.Equal(t, r.Target.Method == ByLaw, r.Finding.Alpha == 0)
	}
	require.InEpsilon(t, opt.Alpha, total, 1e-12)
}

func TestProgressEndsAtTheTotal(t *testing.T) {
	targets := testkit.Must(Find(Default(), "gnmax", "lnmax"))
	opt := testOptions()
	opt.Runs, opt.Workers = 2000, 1
	last, total := 0, 0
	opt.Progress = func(done, of int) {
		require.GreaterOrEqual(t, done, last)
		last, total = done, of
	}
	_ = testkit.Must(Run(context.Background(), targets, opt))
	require.Positive(t, total)
	require.Equal(t, total, last)
}

func TestRunRefuses(t *testing.T) {
	require.ErrorContains(t, testkit.Err(Find(Default(), "gnmax", "no-such")), "no-such")
	opt := testOptions()
	opt.Runs = 1
	require.ErrorContains(t, testkit.Err(Run(context.Background(), Default(), opt)), "Runs")
	require.ErrorContains(t, testkit.Err(Run(context.Background(), Default(), Options{Alpha: 1e-4})), "Key")
	require.ErrorIs(t, testkit.Err(Run(testkit.Ended(), Default(), testOptions())), context.Canceled)
	targets := testkit.Must(Find(Default(), "gnmax"))
	opt = testOptions()
	opt.Alpha = math.NaN()
	_, err := Run(context.Background(), targets, opt)
	require.Error(t, err)
	require.False(t, errors.Is(err, context.Canceled), "the cause, not that the others were stopped")
}

func TestNamesAreOfOneKind(t *testing.T) {
	shipped := Names(Default())
	for _, name := range Names(Broken()) {
		require.NotContains(t, shipped, name)
	}
}

// small is a short training on a twentieth of MNIST, with momentum and a falling rate as the recipe has,
// and an epsilon of 2.3 at the delta of canaries.
func small() trained {
	t := mnist()
	t.share, t.canaries, t.guesses, t.epsilon, t.delta = 0.05, 3000, 300, 1.6, 1e-5
	t.train = func(recipe.Shape) dpsgd.Config {
		return dpsgd.Config{SamplingProbability: 0.5, ClipNorm: 1, Steps: 20, LearningRate: 0.5,
			Schedule:  dpsgd.Schedule{Shape: dpsgd.Linear, Final: 0.1},
			Optimizer: optim.Config{Momentum: 0.9}}
	}
	return t
}

// TestCanariesAmongImages: the model as shipped is not refuted, with a quarter of the noise it is. The
// false-alarm rate is 1e-4; the seed is fixed.
func TestCanariesAmongImages(t *testing.T) {
	if testkit.Race {
		t.Skip("one computation of a minute under the race detector; the trainer's own tests run there")
	}
	shipped, broken := small(), small()
	broken.noise = 0.25
	results := testkit.Must(Run(context.Background(), []Target{shipped.target(), broken.target()}, testOptions()))
	require.False(t, results[0].Finding.Refuted(), "%+v", results[0].Finding)
	require.Positive(t, results[0].Finding.Epsilon, "the auditor is blind: %+v", results[0].Finding)
	require.True(t, results[1].Finding.Refuted(), "%+v", results[1].Finding)
}

// lossOf is the exact finding about a control.
func lossOf(t *testing.T, name string) audit.Finding {
	targets := testkit.Must(Find(Broken(), name))
	target := targets[slices.IndexFunc(targets, func(t Target) bool { return t.Method == ByLaw })]
	return testkit.Must(target.audit(context.Background(), effort{delta: 1e-5}))
}

var variantOf = map[string]string{
	"no query noise":                                     "svt-no-query-noise",
	"no cutoff on positive answers":                      "svt-no-cutoff",
	"query noise not scaled with c":                      "svt-noise-not-scaled",
	"threshold not refreshed, charged as one epoch, c=4": "svt-charged-once",
	"noise scale eps instead of 1/eps (seed formula sqrt(..)*eps), eps=0.25 claimed": "svt-scale-times-epsilon",
	"noisy value released after a top, reusing the comparison noise":                 "svt-noisy-value",
}

func TestLossesOfBrokenVariants(t *testing.T) {
	var file struct {
		Variants []struct {
			Name         string
			Claimed      float64 `json:"claimed_eps"`
			MaxLogRatio  []any   `json:"max_log_ratio"`
			NoisyWindows []struct {
				Bottoms  int
				LogRatio float64 `json:"log_ratio"`
			} `json:"events"`
		}
	}
	testkit.ReadJSON(t, "testdata/broken_variants.json", &file)
	found := 0
	for _, v := range file.Variants {
		name, ok := variantOf[v.Name]
		if !ok {
			require.Contains(t, v.Name, "correct")
			continue
		}
		found++
		f := lossOf(t, name)
		require.InDelta(t, v.Claimed, f.Claim.Epsilon, 0)
		if name == "svt-noisy-value" {
			for _, e := range v.NoisyWindows {
				if e.Bottoms == 16 {
					require.InEpsilon(t, e.LogRatio, f.Epsilon, 1e-7)
				}
			}
			continue
		}
		worst := 0.0
		for _, r := range v.MaxLogRatio {
			ratio, finite := r.(float64)
			if !finite {
				ratio = math.Inf(1)
			}
			worst = max(worst, ratio)
		}
		require.True(t, worst == f.Epsilon || math.Abs(f.Epsilon/worst-1) < 1e-7, "%s: %g, not %g", name, f.Epsilon, worst)
	}
	require.Equal(t, len(variantOf), found)
}

// TestKnownDefects: the claims of the controls are what those accountants answered, and the truth that laws
// show is no more than the right answer, and not much less.
func TestKnownDefects(t *testing.T) {
	var file struct {
		Records []struct {
			Name      string  `json:"name"`
			Observed  float64 `json:"observed"`
			Reference any     `json:"reference"`
		} `json:"records"`
	}
	testkit.ReadJSON(t, "testdata/known_defects.json", &file)
	controls := map[string]struct {
		name  string
		least float64 // share of the right answer that the law shows
	}{
		"exp_mech_count_10":              {"account-selections-ignored", 0.6},
		"rr_count_10_REPLACE_ONE":        {"account-count-ignored", 0.999},
		"replace_one_gaussian_sigma_1.0": {"account-replaced-gaussian", 0.999},
		"replace_one_laplace_1.0":        {"account-replaced-laplace", 0.999},
	}
	require.Len(t, file.Records, len(controls))
	for _, r := range file.Records {
		right, ok := r.Reference.(float64)
		if !ok {
			right = r.Reference.(map[string]any)["pld_same_event"].(float64)
		}
		c := controls[r.Name]
		f := lossOf(t, c.name)
		require.InDelta(t, r.Observed, f.Claim.Epsilon, 0, r.Name)
		require.True(t, f.Refuted(), "%s: %+v", r.Name, f)
		require.LessOrEqual(t, f.Epsilon, right*(1+1e-9), r.Name)
		require.Greater(t, f.Epsilon, c.least*right, r.Name)
	}
}

// TestShuffledBatches: the law of the largest batch shows at least what one event of it does.
func TestShuffledBatches(t *testing.T) {
	var file struct {
		Records []struct {
			Sigma   float64 `json:"sigma"`
			Steps   int     `json:"steps_per_epoch"`
			Epochs  int     `json:"epochs"`
			Delta   float64 `json:"delta"`
			Shuffle float64 `json:"eps_shuffle_LOWER_bound"`
		} `json:"records"`
	}
	testkit.ReadJSON(t, "testdata/shuffle_gap.json", &file)
	checked := 0
	for _, r := range file.Records {
		if r.Epochs != 1 {
			continue
		}
		law := func(shift float64) []float64 { return largestBatch(r.Steps, r.Sigma, shift) }
		f := testkit.Must(byLaw("", "", stated(0, r.Delta), onePair(law(2), law(1))).audit(context.Background(), effort{}))
		require.Greater(t, f.Epsilon, 0.98*r.Shuffle, "%+v", r)
		checked++
	}
	require.Greater(t, checked, 2)
}

// TestMuseum: at least 25 published mistakes are refuted, by law and by runs where both are possible, and the
// audit finds what the exercises state. The false-alarm rate is 1e-4; the seed is fixed.
func TestMuseum(t *testing.T) {
	exhibits := map[string]museum.Exhibit{}
	for _, e := range museum.Exhibits() {
		exhibits[e.Name] = e
	}
	require.GreaterOrEqual(t, len(exhibits), 25)
	opt := testOptions()
	if testkit.Race {
		opt.Runs = 2000
	}
	refuted := map[string]bool{}
	for _, r := range testkit.Must(Run(context.Background(), Museum(), opt)) {
		name, e := r.Target.Name, exhibits[r.Target.Name]
		if !testkit.Race || r.Target.Method == ByLaw {
			assert.True(t, r.Finding.Refuted(), "%s by %s: %+v", name, r.Target.Method, r.Finding)
		}
		refuted[name] = true
		assert.Equal(t, e.Did, r.Target.Mistake, name)
		assert.NotEmpty(t, r.Target.Source, name)
		if r.Target.Method == ByLaw && e.FoundEpsilon > 0 {
			assert.InEpsilon(t, e.FoundEpsilon, r.Finding.Epsilon, 0.005, name)
			assert.InEpsilon(t, e.Epsilon, r.Finding.Claim.Epsilon, 1e-3, name)
			assert.InDelta(t, e.Delta, r.Finding.Claim.Delta, 0, name)
		}
	}
	require.Len(t, refuted, len(exhibits))
	for _, name := range Names(slices.Concat(Default(), Trained())) {
		require.NotContains(t, exhibits, name)
	}
}

// TestDeltasOfTheMuseum: the deltas of exhibits whose mechanism is in this package, by law or in 200,000 runs.
func TestDeltasOfTheMuseum(t *testing.T) {
	p, q := transcripts(brokenLaws()[0].law, []float64{0, 1}), transcripts(brokenLaws()[0].law, []float64{1, 0})
	delta := 0.0
	for i := range p {
		delta += max(0, math.Exp(p[i])-math.Exp(1+q[i]))
	}
	require.InDelta(t, foundDelta("svt-no-query-noise"), delta, 0.001)
	target := floatingPoint()
	f := testkit.Must(target.audit(context.Background(), effort{key: rng.SeedKey(1), alpha: 1e-4, runs: 200_000, progress: func(int) {}}))
	var hits, of int
	_, err := fmt.Sscanf(f.Evidence, "an event of %d of %d runs", &hits, &of)
	require.NoError(t, err, f.Evidence)
	require.InDelta(t, foundDelta("laplace-floating-point"), float64(hits)/float64(of), 0.01)
}

func foundDelta(name string) float64 {
	all := museum.Exhibits()
	return all[slices.IndexFunc(all, func(e museum.Exhibit) bool { return e.Name == name })].FoundDelta
}
