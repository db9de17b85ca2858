package controls

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/svt"
)

func sparseTargets() []Target {
	one := svt.SparseVectorConfig{Noise: svt.DiscreteLaplace, Epsilon: 1, Answers: 1, Sensitivity: 1}
	three := svt.SparseVectorConfig{Noise: svt.DiscreteLaplace, Epsilon: 1, Answers: 3, Sensitivity: 1}
	oneSided := svt.SparseVectorConfig{Noise: svt.Geometric, Epsilon: 1, Answers: 1, Sensitivity: 1}
	stable := must(svt.NewStableSVT(svt.StableSVTConfig{B1: 2, B2: 8, Threshold: 13, Failures: 2}))
	msvec := must(svt.NewMSvec(svt.MSvecConfig{Lambda: 4, Threshold: 150, Failures: 2}))
	return slices.Concat(
		sparse("above-threshold", one, []int64{0, 0, 0, 0, 0, 1}),
		sparse("sparse-vector", three, []int64{0, 0, 0, 0, 1, 1, 1}),
		sparse("sparse-vector-one-sided", oneSided, []int64{0, 0, 0, 0, 0, 1}),
		stableSparse("stable-svt", stable, 13), stableSparse("m-svec", msvec, 150),
	)
}

func sparse(name string, cfg svt.SparseVectorConfig, values []int64) []Target {
	// ByLaw compares all pairs of inputs with four queries of value 0 or 1 (any two such inputs are
	// neighbours), and one long worst case. ByRuns compares v with 1 - v for each v in values, so that every
	// query changes by 1.

	const queries, long = 4, 20
	m := must(svt.NewSparseVector(cfg))
	law := byLaw(name, fmt.Sprintf("any %d queries of 0 and 1; %d of 0, then 1s", queries, long), pure(m.Event()),
		func(yield func(p, q []float64) bool) {
			for code := range 1 << (2 * queries) {
				var a, b []float64
				for i := range queries {
					a, b = append(a, float64(code>>i&1)), append(b, float64(code>>(queries+i)&1))
				}
				if !yield(transcripts(m.Law(), a), transcripts(m.Law(), b)) {
					return
				}
			}
			a := append(make([]float64, long), slices.Repeat([]float64{1}, cfg.Answers)...)
			b := append(slices.Repeat([]float64{1}, long), make([]float64, cfg.Answers)...)
			yield(transcripts(m.Law(), a), transcripts(m.Law(), b))
		})
	mirrored := make([]int64, len(values))
	for i, v := range values {
		mirrored[i] = 1 - v
	}
	ask := func(values []int64) side[string] {
		return each(accountant.ReplaceOne, m.Event(), func(r *ledger.Reservation, key rng.Key) (string, error) {
			s, err := m.Start(r, key)
			if err != nil {
				return "", err
			}
			var transcript strings.Builder
			for i := 0; i < len(values) && s.Left() > 0; i++ {
				above, err := s.Ask(uint64(i), values[i])
				if err != nil {
					return "", err
				}
				transcript.WriteByte(bit(above))
			}
			return transcript.String(), nil
		})
	}
	return []Target{law, runs(name, fmt.Sprintf("%v and %v", values, mirrored), 50_000, pure(m.Event()), ask(values), ask(mirrored))}
}

func transcripts(law svt.Law, values []float64) []float64 {
	var logs []float64
	for _, o := range must(law.Outcomes(values)) {
		logs = append(logs, math.Log(o.Prob))
	}
	return logs
}

func bit(b bool) byte {
	if b {
		return '1'
	}
	return '0'
}

type stableQuery struct {
	d, e   int64
	differ bool
}

func stableSparse(name string, m svt.StableMechanism, threshold int64) []Target {
	// ByLaw compares all runs of three queries near the threshold, and long runs in which all distances
	// except two change in the same direction. ByRuns uses distances at which refusals are neither certain
	// nor rare.
	kinds := []stableQuery{
		{0, 0, true}, {0, 1, false},
		{threshold, threshold + 1, false}, {threshold + 1, threshold, false},
		{threshold + 8, threshold + 9, false}, {threshold + 9, threshold + 8, false},
	}
	const long = 24
	on := fmt.Sprintf("3 queries of %d kinds; %d, then 1 the other way, twice", len(kinds), long)
	law := byLaw(name, on, pure(m.Event()), func(yield func(p, q []float64) bool) {
		for code := range len(kinds) * len(kinds) * len(kinds) {
			x, y, z := code/len(kinds)/len(kinds), code/len(kinds)%len(kinds), code%len(kinds)
			if !yield(stableLaws(m.Law(), []stableQuery{kinds[x], kinds[y], kinds[z]})) {
				return
			}
		}
		for beyond := int64(-4); beyond <= 20; beyond += 8 {
			d := max(0, threshold+beyond)
			stretch := append(slices.Repeat([]stableQuery{{d + 1, d, false}}, long), stableQuery{d, d + 1, false})
			if !yield(stableLaws(m.Law(), slices.Repeat(stretch, 2))) {
				return
			}
		}
	})
	ask := func(distances []int64) side[string] {
		return each(accountant.ReplaceOne, m.Event(), func(r *ledger.Reservation, key rng.Key) (string, error) {
			s, err := svt.Start[string](m, r, key)
			if err != nil {
				return "", err
			}
			var transcript strings.Builder
			for i := 0; i < len(distances) && s.Left() > 0; i++ {
				a, err := s.Ask(uint64(i), "a", distances[i])
				if err != nil {
					return "", err
				}
				transcript.WriteString(a.Value)
				transcript.WriteByte(bit(a.Released))
			}
			return transcript.String(), nil
		})
	}
	one := []int64{threshold + 5, threshold + 5, threshold + 4, threshold + 4}
	two := []int64{threshold + 4, threshold + 4, threshold + 5, threshold + 5}
	return []Target{law, runs(name, fmt.Sprintf("distances %v and %v", one, two), 50_000, pure(m.Event()), ask(one), ask(two))}
}

func stableLaws(law svt.Law, queries []stableQuery) (p, q []float64) {
	var one, two []float64
	for _, s := range queries {
		one, two = append(one, -float64(s.d)), append(two, -float64(s.e))
	}
	first, second := must(law.Outcomes(one)), must(law.Outcomes(two))
	for i := range first {
		distinct := false
		for j, refused := range first[i].Above {
			distinct = distinct || !refused && queries[j].differ
		}
		a, b := math.Log(first[i].Prob), math.Log(second[i].Prob)
		if distinct {
			p, q = append(p, a, math.Inf(-1)), append(q, math.Inf(-1), b)
		} else {
			p, q = append(p, a), append(q, b)
		}
	}
	return p, q
}
