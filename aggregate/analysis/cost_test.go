package analysis

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFlipBoundOfGNMax(t *testing.T) {
	eachGolden(t, "pate/gnmax_q.json", func(t *testing.T, data []byte) {
		file := decode[struct {
			Cases []struct {
				Counts      []int
				Sigma       float64
				LogQ        float64 `json:"logq"`
				CapActive   bool    `json:"cap_active"`
				TrueLogFlip number  `json:"true_log_flip"`
			}
		}](t, data)
		require.NotEmpty(t, file.Cases)
		for _, c := range file.Cases {
			got := newTally(c.Counts).logFlipGaussian(c.Sigma)
			relative(t, c.LogQ, got, 1e-13, "%v sigma %v", c.Counts, c.Sigma)
			if c.CapActive {
				require.Equal(t, math.Log1p(-1/float64(len(c.Counts))), got)
			}
			if exact := float64(c.TrueLogFlip); !math.IsNaN(exact) {
				require.LessOrEqual(t, exact, got+1e-10+1e-13*math.Abs(got))
			}
		}
	})
}

func TestCostOfGNMax(t *testing.T) {
	eachGolden(t, "pate/gnmax_rdp.json", func(t *testing.T, data []byte) {
		file := decode[struct {
			Orders []float64
			Cases  []struct {
				LogQ          number `json:"logq"`
				Sigma         float64
				RDP           []float64
				DataDependent []bool `json:"data_dependent"`
			}
		}](t, data)
		require.NotEmpty(t, file.Cases)
		for _, c := range file.Cases {
			for i, a := range file.Orders {
				relative(t, c.RDP[i], gnmaxRDP(float64(c.LogQ), c.Sigma, a), 1e-11, "logq %v sigma %v order %v", c.LogQ, c.Sigma, a)
				bound, ok := flipBound(float64(c.LogQ), c.Sigma, a)
				require.Equal(t, c.DataDependent[i], ok && bound < a/c.Sigma/c.Sigma)
			}
		}
	})
}

func TestCostOfLNMax(t *testing.T) {
	eachGolden(t, "pate/lnmax_moments.json", func(t *testing.T, data []byte) {
		file := decode[struct {
			Moments []float64
			Cases   []struct {
				Kind              string
				Counts            []int
				Q, Gamma          float64
				LogQ              *float64 `json:"logq"`
				LogMGF            []number `json:"log_mgf"`
				LogMGF2017        []number `json:"log_mgf_2017"`
				InDomain          *bool    `json:"in_domain"`
				Ref2017BelowValid bool     `json:"ref2017_below_valid"`
			}
		}](t, data)
		require.NotEmpty(t, file.Cases)
		broken := 0
		for _, c := range file.Cases {
			logQ := math.Log(c.Q)
			if c.Kind == "histogram" {
				logQ = newTally(c.Counts).logFlipLaplace(1 / c.Gamma)
				if c.LogQ != nil {
					relative(t, *c.LogQ, logQ, 1e-12, "%v", c.Counts)
				}
			}
			for i, l := range file.Moments {
				relative(t, float64(c.LogMGF[i]), l*lnmaxRDP(logQ, 1/c.Gamma, l+1), 1e-12, "%s %v q %v gamma %v moment %v", c.Kind, c.Counts, math.Exp(logQ), c.Gamma, l)
			}
			_, ok := lnmaxFlipBound(logQ, 1/c.Gamma, 2)
			if c.InDomain != nil {
				require.Equal(t, *c.InDomain, ok, "q %v gamma %v", c.Q, c.Gamma)
			}
			if c.Ref2017BelowValid {
				broken++
				require.False(t, ok, "the guard q < 1/2 is wrong only outside the theorem's domain")
			}
		}
		t.Logf("the guard q < 1/2 gives too small a moment in %d of %d cases", broken, len(file.Cases))
	})
}

func TestCostOfTheThreshold(t *testing.T) {
	eachGolden(t, "pate/confident_gnmax.json", func(t *testing.T, data []byte) {
		file := decode[struct {
			Orders []float64
			Cases  []struct {
				MaxCount       float64 `json:"max_count"`
				Rounded        float64
				T, Sigma1      float64
				LogAnswered    float64   `json:"log_pr_answered"`
				LogRefused     float64   `json:"log_pr_refused"`
				RDP            []float64 `json:"rdp"`
				ExactBernoulli []float64 `json:"rdp_exact_bernoulli"`
			}
		}](t, data)
		require.NotEmpty(t, file.Cases)
		for _, c := range file.Cases {
			require.Equal(t, c.Rounded, math.RoundToEven(c.MaxCount))
			pass, fail := thresholdLaw(c.Rounded, c.T, c.Sigma1)
			require.InDelta(t, 0, c.LogAnswered-pass, 1e-250+1e-12*math.Abs(pass))
			require.InDelta(t, 0, c.LogRefused-fail, 1e-250+1e-12*math.Abs(fail))
			for i, a := range file.Orders {
				relative(t, c.RDP[i], thresholdRDP(pass, fail, c.Sigma1, a), 1e-12, "%v %v %v order %v", c.Rounded, c.T, c.Sigma1, a)
				exact := 0.0
				for _, step := range []float64{-1, 1} {
					p, f := thresholdLaw(c.Rounded+step, c.T, c.Sigma1)
					exact = math.Max(exact, renyi(outcomes(nil, []float64{pass, fail}, []float64{p, f}), a))
				}
				relative(t, c.ExactBernoulli[i], exact, 1e-9, "exact %v %v %v order %v", c.Rounded, c.T, c.Sigma1, a)
			}
		}
	})
}
