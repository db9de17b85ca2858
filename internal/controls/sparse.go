package controls

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/svt"
)

// sparseTargets returns the sparse vector mechanisms.
func sparseTargets() []Target {
	one := svt.SparseVectorConfig{Noise: svt.DiscreteLaplace, Epsilon: 1, Answers: 1, Sensitivity: 1}
	three := svt.SparseVectorConfig{Noise: svt.DiscreteLaplace, Epsilon: 1, Answers: 3, Sensitivity: 1}
	oneSided := svt.SparseVectorConfig{Noise: svt.Geometric, Epsilon: 1, Answers: 1, Sensitivity: 1}
	stable := func() (svt.StableMechanism, error) {
		return svt.NewStableSVT(svt.StableSVTConfig{B1: 2, B2: 8, Threshold: 13, Failures: 2})
	}
	msvec := func() (svt.StableMechanism, error) {
		return svt.NewMSvec(svt.MSvecConfig{Lambda: 4, Threshold: 150, Failures: 2})
	}
	return []Target{
		sparseByLaw("above-threshold", one), sparseByRuns("above-threshold", one, []int64{0, 0, 0, 0, 0, 1}),
		sparseByLaw("sparse-vector", three), sparseByRuns("sparse-vector", three, []int64{0, 0, 0, 0, 1, 1, 1}),
		sparseByLaw("sparse-vector-one-sided", oneSided), sparseByRuns("sparse-vector-one-sided", oneSided, []int64{0, 0, 0, 0, 0, 1}),
		stableSparseByLaw("stable-svt", stable, 13), stableSparseByRuns("stable-svt", stable, 13),
		stableSparseByLaw("m-svec", msvec, 150), stableSparseByRuns("m-svec", msvec, 150),
	}
}

func pureEvent(event func() (accountant.Event, error)) claimer {
	return func(float64) (audit.Claim, error) {
		e, err := event()
		if err != nil {
			return audit.Claim{}, err
		}
		return pureClaim(e, accountant.ReplaceOne)
	}
}

// mirrored turns queries of a few values 0 and 1 around: all that can change does, the threshold against
// the query that is above.
func mirrored(values []int64) []int64 {
	out := make([]int64, len(values))
	for i, v := range values {
		out[i] = 1 - v
	}
	return out
}

// sparseByLaw looks at all sequences of four queries with values 0 and 1 against all those, any two of
// which are neighbours, and at one long worst case.
func sparseByLaw(name string, cfg svt.SparseVectorConfig) Target {
	const queries, long = 4, 20
	on := fmt.Sprintf("any %d queries of 0 and 1; %d of 0, then 1s", queries, long)
	return Target{Name: name, Method: ByLaw, On: on,
		audit: func(context.Context, effort) (audit.Finding, error) {
			m, err := svt.NewSparseVector(cfg)
			if err != nil {
				return audit.Finding{}, err
			}
			claim, err := pureClaim(m.Event(), accountant.ReplaceOne)
			if err != nil {
				return audit.Finding{}, err
			}
			var failed error
			f, err := audit.Exact(claim, lawAccuracy, func(yield func(p, q []float64) bool) {
				pair := func(a, b []float64) bool {
					p, err := transcripts(m.Law(), a)
					if err != nil {
						failed = err
						return false
					}
					q, err := transcripts(m.Law(), b)
					failed = err
					return err == nil && yield(p, q)
				}
				for code := range 1 << (2 * queries) {
					var a, b []float64
					for i := range queries {
						a, b = append(a, float64(code>>i&1)), append(b, float64(code>>(queries+i)&1))
					}
					if !pair(a, b) {
						return
					}
				}
				var a, b []float64
				for range long {
					a, b = append(a, 0), append(b, 1)
				}
				for range cfg.Answers {
					a, b = append(a, 1), append(b, 0)
				}
				pair(a, b)
			})
			if failed != nil {
				err = failed
			}
			return f, err
		}}
}

// transcripts returns the law of all transcripts, in one order for as many values.
func transcripts(law svt.Law, values []float64) ([]float64, error) {
	outcomes, err := law.Outcomes(values)
	if err != nil {
		return nil, err
	}
	logs := make([]float64, len(outcomes))
	for i, o := range outcomes {
		logs[i] = math.Log(o.Prob)
	}
	return logs, nil
}

func sparseByRuns(name string, cfg svt.SparseVectorConfig, values []int64) Target {
	ask := func(values []int64) side[string] {
		return func(key rng.Key, n int) (audit.Run[string], error) {
			m, err := svt.NewSparseVector(cfg)
			if err != nil {
				return nil, err
			}
			return each(m.Event(), func(r *ledger.Reservation, key rng.Key) (string, error) {
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
			})(key, n)
		}
	}
	claim := pureEvent(func() (accountant.Event, error) {
		m, err := svt.NewSparseVector(cfg)
		if err != nil {
			return nil, err
		}
		return m.Event(), nil
	})
	return runs(name, fmt.Sprintf("%v and %v", values, mirrored(values)), 50_000, claim, ask(values), ask(mirrored(values)))
}

func bit(b bool) byte {
	if b {
		return '1'
	}
	return '0'
}

// stableQuery is a query at distance d on one input and e on the other; differ: the answers differ, and so
// both distances are 0.
type stableQuery struct {
	d, e   int64
	differ bool
}

// stableSparseByLaw looks at all runs of three queries around the threshold, and at long ones in which
// every distance changes the same way but those of two queries.
func stableSparseByLaw(name string, mechanism func() (svt.StableMechanism, error), threshold int64) Target {
	kinds := []stableQuery{
		{0, 0, true}, {0, 1, false},
		{threshold, threshold + 1, false}, {threshold + 1, threshold, false},
		{threshold + 8, threshold + 9, false}, {threshold + 9, threshold + 8, false},
	}
	const long = 24
	return Target{Name: name, Method: ByLaw, On: fmt.Sprintf("3 queries of %d kinds; %d, then 1 the other way, twice", len(kinds), long),
		audit: func(context.Context, effort) (audit.Finding, error) {
			m, err := mechanism()
			if err != nil {
				return audit.Finding{}, err
			}
			claim, err := pureClaim(m.Event(), accountant.ReplaceOne)
			if err != nil {
				return audit.Finding{}, err
			}
			var failed error
			f, err := audit.Exact(claim, lawAccuracy, func(yield func(p, q []float64) bool) {
				pair := func(queries ...stableQuery) bool {
					p, q, err := stableLaws(m.Law(), queries)
					failed = err
					return err == nil && yield(p, q)
				}
				for _, x := range kinds {
					for _, y := range kinds {
						for _, z := range kinds {
							if !pair(x, y, z) {
								return
							}
						}
					}
				}
				for beyond := int64(-4); beyond <= 20; beyond += 8 {
					d := max(0, threshold+beyond)
					stretch := append(slices.Repeat([]stableQuery{{d + 1, d, false}}, long), stableQuery{d, d + 1, false})
					if !pair(slices.Repeat(stretch, 2)...) {
						return
					}
				}
			})
			if failed != nil {
				err = failed
			}
			return f, err
		}}
}

// stableLaws returns the laws of a run on two inputs. A release where the answers differ is possible on one
// of them only.
func stableLaws(law svt.Law, queries []stableQuery) (p, q []float64, err error) {
	var one, two []float64
	for _, s := range queries {
		one, two = append(one, -float64(s.d)), append(two, -float64(s.e))
	}
	first, err := law.Outcomes(one)
	if err != nil {
		return nil, nil, err
	}
	second, err := law.Outcomes(two)
	if err != nil {
		return nil, nil, err
	}
	for i := range first {
		tells := false
		for j, refused := range first[i].Above {
			tells = tells || !refused && queries[j].differ
		}
		a, b := math.Log(first[i].Prob), math.Log(second[i].Prob)
		if tells {
			p, q = append(p, a, math.Inf(-1)), append(q, math.Inf(-1), b)
		} else {
			p, q = append(p, a), append(q, b)
		}
	}
	return p, q, nil
}

// stableSparseByRuns asks about stable answers near the threshold, which is where refusals are neither
// certain nor rare.
func stableSparseByRuns(name string, mechanism func() (svt.StableMechanism, error), threshold int64) Target {
	one := []int64{threshold + 5, threshold + 5, threshold + 4, threshold + 4}
	two := []int64{threshold + 4, threshold + 4, threshold + 5, threshold + 5}
	ask := func(distances []int64) side[string] {
		return func(key rng.Key, n int) (audit.Run[string], error) {
			m, err := mechanism()
			if err != nil {
				return nil, err
			}
			return each(m.Event(), func(r *ledger.Reservation, key rng.Key) (string, error) {
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
			})(key, n)
		}
	}
	claim := pureEvent(func() (accountant.Event, error) {
		m, err := mechanism()
		if err != nil {
			return nil, err
		}
		return m.Event(), nil
	})
	return runs(name, fmt.Sprintf("distances %v and %v", one, two), 50_000, claim, ask(one), ask(two))
}
