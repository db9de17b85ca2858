package controls

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/internal/testkit"
)

// lossOf is the exact finding about a control.
func lossOf(t *testing.T, name string) audit.Finding {
	targets := testkit.Must(Find(Broken(), name))
	target := targets[slices.IndexFunc(targets, func(t Target) bool { return t.Method == ByLaw })]
	f := testkit.Must(target.audit(context.Background(), effort{delta: 1e-5}))
	return f
}

type variant struct {
	Name         string  `json:"name"`
	Claimed      float64 `json:"claimed_eps"`
	MaxLogRatio  []any   `json:"max_log_ratio"`
	NoisyWindows []struct {
		Bottoms  int     `json:"bottoms"`
		LogRatio float64 `json:"log_ratio"`
	} `json:"events"`
}

var variantOf = map[string]string{
	"no query noise":                                     "svt-no-query-noise",
	"no cutoff on positive answers":                      "svt-no-cutoff",
	"query noise not scaled with c":                      "svt-noise-not-scaled",
	"threshold not refreshed, charged as one epoch, c=4": "svt-charged-once",
	"noise scale eps instead of 1/eps (seed formula sqrt(..)*eps), eps=0.25 claimed": "svt-scale-times-epsilon",
	"noisy value released after a top, reusing the comparison noise":                 "svt-noisy-value",
}

func readVariants(t *testing.T) []variant {
	var file struct {
		Variants []variant `json:"variants"`
	}
	testkit.ReadJSON(t, "testdata/broken_variants.json", &file)
	return file.Variants
}

// TestLossesOfBrokenVariants: the largest log-ratios are those computed elsewhere.
func TestLossesOfBrokenVariants(t *testing.T) {
	found := 0
	for _, v := range readVariants(t) {
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
