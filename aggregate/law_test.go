package aggregate

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func gnmax(t require.TestingT, sigma float64) *GNMax {
	m, err := NewGNMax(GNMaxConfig{Sigma: sigma, Queries: 1})
	require.NoError(t, err)
	return m
}

func confident(t require.TestingT, threshold, sigma1, sigma2 float64) *ConfidentGNMax {
	m, err := NewConfidentGNMax(ConfidentGNMaxConfig{Threshold: threshold, Sigma1: sigma1, Sigma2: sigma2, Queries: 1, Answers: 1})
	require.NoError(t, err)
	return m
}

func histogram(t require.TestingT, counts ...int) Histogram {
	h, err := NewHistogram(counts)
	require.NoError(t, err)
	return h
}

func readReference(t *testing.T, name string, v any) {
	data, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, v))
}

// close to 1e-9 relative or 1e-13 absolute, as the reference files ask.
func requireProbs(t *testing.T, want, gotLogs []float64, name string) {
	t.Helper()
	require.Len(t, gotLogs, len(want), name)
	for i, w := range want {
		g := math.Exp(gotLogs[i])
		require.LessOrEqual(t, math.Abs(g-w), max(1e-9*w, 1e-13), "%s class %d: %v, reference %v", name, i, g, w)
	}
}

func TestLawsReference(t *testing.T) {
	var ref struct {
		Entries []struct {
			Counts  []int     `json:"counts"`
			Scale   float64   `json:"scale"`
			GNMax   []float64 `json:"gnmax_sigma_eq_scale"`
			Log     []float64 `json:"gnmax_log"`
			Lowest  []float64 `json:"discrete_gaussian_sigma_eq_scale_lowest_index_ties"`
			Uniform []float64 `json:"discrete_gaussian_sigma_eq_scale_uniform_ties"`
		} `json:"entries"`
	}
	readReference(t, "noisy_argmax_probabilities.json", &ref)
	require.NotEmpty(t, ref.Entries)
	for _, e := range ref.Entries {
		t.Run(fmt.Sprint(e.Counts, e.Scale), func(t *testing.T) {
			m, h := gnmax(t, e.Scale), histogram(t, e.Counts...)
			law, err := m.ContinuousLaw(h)
			require.NoError(t, err)
			requireProbs(t, e.GNMax, law.LogLabels, "continuous")
			for i, want := range e.Log {
				require.InDelta(t, want, law.LogLabels[i], 1e-9*(1+math.Abs(want)/100), "log of class %d", i)
			}
			law, err = m.Law(h)
			require.NoError(t, err)
			requireProbs(t, e.Lowest, law.LogLabels, "lowest index")
			require.Equal(t, math.Inf(-1), law.LogDeclined)
			law, err = m.LawWithTies(h, UniformTies)
			require.NoError(t, err)
			requireProbs(t, e.Uniform, law.LogLabels, "uniform ties")
		})
	}
}

func TestConfidentLawReference(t *testing.T) {
	var ref struct {
		Entries []struct {
			Counts    []int     `json:"counts"`
			Threshold float64   `json:"threshold"`
			Sigma1    float64   `json:"sigma1"`
			Sigma2    float64   `json:"sigma2"`
			Answered  float64   `json:"p_answered"`
			Classes   []float64 `json:"p_class_and_answered"`
		} `json:"entries"`
	}
	readReference(t, "confident_gnmax.json", &ref)
	require.NotEmpty(t, ref.Entries)
	for _, e := range ref.Entries {
		m := confident(t, e.Threshold, e.Sigma1, e.Sigma2)
		law, err := m.ContinuousLaw(histogram(t, e.Counts...))
		require.NoError(t, err)
		requireProbs(t, e.Classes, law.LogLabels, fmt.Sprint(e.Counts))
		requireProbs(t, []float64{1 - e.Answered}, []float64{law.LogDeclined}, "declined")
	}
}

// Two classes have a closed form far into the tail: Phi(-gap/(sqrt 2 sigma)).
func TestContinuousLawFarTail(t *testing.T) {
	for _, c := range []struct {
		gap  int
		want float64 // log Phi(-gap/sqrt 2), 60-digit arithmetic
	}{
		{0, -0.693147180559945309}, {10, -27.8940367260973797}, {30, -228.975772334366331}, {51, -654.754958038097944}, {52, -680.524346943754176},
	} {
		law, err := gnmax(t, 1).ContinuousLaw(histogram(t, c.gap, 0))
		require.NoError(t, err)
		require.InDelta(t, c.want, law.LogLabels[1], 1e-9, "gap %d", c.gap)
	}
}

// For a wide sigma the lattice is fine: integer noise is continuous noise with
// ties, and uniform ties put the mass of ties where continuous noise has it.
func TestDiscreteLawApproachesContinuous(t *testing.T) {
	m, h := gnmax(t, 300), histogram(t, 1000, 700, 700, 0)
	discrete, err := m.LawWithTies(h, UniformTies)
	require.NoError(t, err)
	continuous, err := m.ContinuousLaw(h)
	require.NoError(t, err)
	for i := range continuous.LogLabels {
		require.InDelta(t, continuous.LogLabels[i], discrete.LogLabels[i], 1e-5)
	}
}

func total(l Law) float64 {
	sum := math.Exp(l.LogDeclined)
	for _, x := range l.LogLabels {
		sum += math.Exp(x)
	}
	return sum
}

func TestLawsSumToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(0, 60), 2, 6).Draw(t, "counts")
		h := histogram(t, counts...)
		sigma := math.Exp2(rapid.Float64Range(-10, 5).Draw(t, "log2 sigma"))
		g := gnmax(t, sigma)
		c := confident(t, rapid.Float64Range(-10, 80).Draw(t, "threshold"), 2*sigma, sigma)
		laws := []func(Histogram) (Law, error){g.Law, c.Law}
		laws = append(laws, func(h Histogram) (Law, error) { return g.LawWithTies(h, UniformTies) })
		if sigma > 0.1 {
			laws = append(laws, g.ContinuousLaw, c.ContinuousLaw)
		}
		for _, law := range laws {
			l, err := law(h)
			require.NoError(t, err)
			require.InDelta(t, 1, total(l), 1e-11)
		}
	})
}

// A single vote between each of many classes: the peak is narrow, sigma/sqrt K.
func TestLawManyClasses(t *testing.T) {
	counts := make([]int, 300)
	counts[7] = 1
	for _, law := range []func(Histogram) (Law, error){gnmax(t, 1).ContinuousLaw, gnmax(t, 1).Law} {
		l, err := law(histogram(t, counts...))
		require.NoError(t, err)
		require.InDelta(t, 1, total(l), 1e-11)
	}
}

func TestLawRefusesWhatIsTooWide(t *testing.T) {
	h := histogram(t, 1<<40, 0)
	for _, m := range []interface {
		Law(Histogram) (Law, error)
		ContinuousLaw(Histogram) (Law, error)
	}{gnmax(t, 1), confident(t, 1, 1, 1)} {
		_, err := m.Law(h)
		require.Error(t, err)
		_, err = m.ContinuousLaw(h)
		require.Error(t, err)
		_, err = m.Law(Histogram{})
		require.Error(t, err)
	}
	_, err := confident(t, 1, 1e9, 1).Law(histogram(t, 1, 0))
	require.Error(t, err)
	_, err = gnmax(t, 1e9).Law(histogram(t, 1, 0))
	require.Error(t, err)
}
