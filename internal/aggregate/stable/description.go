package stable

import (
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/stability"
)

func Descriptions() []aggregate.Description {
	all := []aggregate.Description{
		{
			Name: MStab, Short: "plurality, if many votes must move to change it",
			Cost: "epsilon = 1/scale, or rho = 1/(2 sigma^2), and a failure delta",
			Parameters: []aggregate.Parameter{
				noise("sigma", "Gaussian noise on the distance", "scale"),
				noise("scale", "Laplace noise on the distance", "sigma"),
				threshold(),
			},
			Laws: []aggregate.NamedLaw{mstabPage()},
		},
		{
			Name: SVT, Short: "as m-stab, with one-sided noise; only declined queries are charged",
			Cost: "epsilon = 1/b1 + 2*failures/b2, and a failure delta",
			Parameters: []aggregate.Parameter{
				noise("b1", "noise of the threshold", ""),
				noise("b2", "noise of each query", ""),
				threshold(),
				failures(),
			},
			Laws: []aggregate.NamedLaw{{
				Name: SVT, Short: "Release stable pluralities, stop after some refusals", Noise: "discrete",
			}},
		},
		{
			Name: MSvec, Short: "as stable-svt, with a new threshold after a refusal",
			Cost: "epsilon = 2/lambda for each refusal, and a failure delta",
			Parameters: []aggregate.Parameter{
				noise("lambda", "noise of the threshold; each query has twice this noise", ""),
				threshold(),
				failures(),
			},
			Laws: []aggregate.NamedLaw{{
				Name: MSvec, Short: "As stable-svt, with a new threshold after a refusal", Noise: "discrete",
			}},
		},
	}
	for i := range all {
		all[i] = common(all[i])
	}
	return all
}

func common(d aggregate.Description) aggregate.Description {
	d.Declines, d.Distances, d.Fails = true, true, true
	d.New = func(s aggregate.Setting) (aggregate.Mechanism, error) {
		m, err := New(ConfigOf(s))
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	d.Fit = func(s aggregate.Setting, delta float64, least aggregate.LeastNoise) (aggregate.Setting, error) {
		t := Task{Mechanism: s.Mechanism, Queries: s.Queries, Failures: int(s.Values["failures"]), Delta: delta}
		cfg, err := Fit(t, least)
		if err != nil {
			return s, err
		}
		fitted := cfg.Setting()
		fitted.Queries, fitted.Teachers = s.Queries, s.Teachers
		return fitted, nil
	}
	return d
}

const inVotes = "moved votes"

func noise(name, doc, instead string) aggregate.Parameter {
	return aggregate.Parameter{Name: name, Doc: doc, Unit: inVotes, Kind: "noise", Min: 0x1p-10, Max: 0x1p40, Instead: instead}
}

func threshold() aggregate.Parameter {
	return aggregate.Parameter{Name: "threshold", Doc: "threshold for the distance to another winner", Unit: inVotes, Kind: "threshold",
		Min: -0x1p50, Max: 0x1p50, Whole: true, WithIt: true}
}

func failures() aggregate.Parameter {
	return aggregate.Parameter{Name: "failures", Doc: "maximum number of declined queries, all of which are charged", Kind: "cap",
		Min: 1, Max: 0x1p30, Whole: true,
		Default: func(queries int) float64 { return max(1, float64(queries/20)) }, DefaultDoc: "5 % of the queries"}
}

func ConfigOf(s aggregate.Setting) Config {
	cfg := Config{
		Mechanism: s.Mechanism, Sigma: s.Values["sigma"], Scale: s.Values["scale"], Lambda: s.Values["lambda"],
		B1: s.Values["b1"], B2: s.Values["b2"],
		Threshold: int64(s.Values["threshold"]), Failures: int(s.Values["failures"]),
	}
	if s.Mechanism == MStab {
		cfg.Queries = s.Queries
	}
	return cfg
}

// Setting returns cfg as a setting. Queries is 0 unless the mechanism is MStab.
func (cfg Config) Setting() aggregate.Setting {
	s := aggregate.Setting{Mechanism: cfg.Mechanism, Queries: cfg.Queries}.With("threshold", float64(cfg.Threshold))
	for name, v := range map[string]float64{
		"sigma": cfg.Sigma, "scale": cfg.Scale, "lambda": cfg.Lambda, "b1": cfg.B1, "b2": cfg.B2, "failures": float64(cfg.Failures),
	} {
		if v != 0 {
			s = s.With(name, v)
		}
	}
	return s
}

func mstabPage() aggregate.NamedLaw {
	return aggregate.NamedLaw{
		Name: MStab, Short: "Release the plurality if many votes must move to change it", Noise: "continuous",
		Parameters: []aggregate.Parameter{
			{Name: "epsilon", Doc: "epsilon of one query: the noise has scale 1/epsilon", Unit: inVotes},
			{Name: "threshold", Doc: "threshold for the distance to another winner", Unit: inVotes},
		},
		Law: func(s aggregate.Setting, h aggregate.Histogram) (aggregate.Law, error) {
			m := stability.ContinuousLaplace{Epsilon: s.Values["epsilon"], Threshold: s.Values["threshold"]}
			if err := accountant.Validate(m.Event()); err != nil {
				return aggregate.Law{}, fmt.Errorf("stable: %w", err)
			}
			return lawOf(h, func(distance int64) (released, refused float64) { return m.Law(float64(distance)) })
		},
	}
}
