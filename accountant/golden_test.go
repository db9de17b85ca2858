package accountant

import (
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

type sampledRecord struct {
	Q, Sigma, Order float64
	Ref             float64 `json:"rdp_ref"`
	Reverse         float64 `json:"rdp_reverse"`
}

func TestSampledGaussianGolden(t *testing.T) {
	file := testkit.Golden[struct{ Records, Reverse []sampledRecord }](t, "testdata/rdp_gaussian_subsampled.json")
	w := &relative{t: t, tol: 1e-12}
	for _, r := range file.Records {
		got := sampledGaussianCurve(r.Q, r.Sigma)(r.Order)
		if r.Q == 1 {
			got = linearCurve(0.5 / (r.Sigma * r.Sigma))(r.Order)
		}
		w.check(map[bool]string{true: "integer orders", false: "orders between"}[r.Order == math.Trunc(r.Order)], got, r.Ref, r)
	}
	for _, r := range file.Reverse {
		assert.LessOrEqual(t, r.Reverse, sampledGaussianCurve(r.Q, r.Sigma)(r.Order)*(1+slack), "%+v", r)
	}
}

func TestMechanismCurvesGolden(t *testing.T) {
	type record struct {
		Eps, A, Sigma, Order float64
		Noise                float64 `json:"noise_parameter"`
		Buckets              float64 `json:"num_buckets"`
		PureEps              float64 `json:"pure_eps"`
		Sensitivity          float64
		RDP                  float64
		Exact                float64 `json:"rdp_exact"`
		ZCDP                 float64 `json:"zcdp_bound"`
		BoundedRange         float64 `json:"rdp_bounded_range_exact"`
	}
	type section struct{ Records []record }
	file := testkit.Golden[struct {
		Laplace     section
		Pure        section `json:"pure_dp_binary_randomized_response"`
		KAry        section `json:"kary_randomized_response"`
		DLaplace    section `json:"discrete_laplace"`
		DGaussian   section `json:"discrete_gaussian"`
		Exponential section `json:"exponential_mechanism_bounded_range"`
	}](t, "testdata/mechanism_rdp.json")
	check := func(name string, records []record, tol float64, got func(record) curve, want func(record) float64) {
		t.Run(name, func(t *testing.T) {
			require.NotEmpty(t, records)
			w := &relative{t: t, tol: tol}
			for _, r := range records {
				if r.Order != 1 { // the limit; curves start above 1
					w.check(name, got(r)(r.Order), want(r), r)
				}
			}
		})
	}
	rdp := func(r record) float64 { return r.RDP }
	check("laplace", file.Laplace.Records, 1e-12, func(r record) curve { return curveOf(Laplace{1 / r.Eps}) }, rdp)
	check("pure", file.Pure.Records, 1e-12, func(r record) curve { return curveOf(PureDP{r.Eps}) }, rdp)
	check("discrete laplace", file.DLaplace.Records, 1e-12, func(r record) curve {
		return curveOf(DiscreteLaplace{1 / r.A, int64(r.Sensitivity)})
	}, rdp)
	check("discrete gaussian", file.DGaussian.Records, 1e-12, func(r record) curve {
		return curveOf(DiscreteGaussian{r.Sigma, r.Sensitivity})
	}, func(r record) float64 { return r.ZCDP })
	check("exponential", file.Exponential.Records, 1e-12, func(r record) curve { return curveOf(ExponentialMechanism{r.Eps}) },
		func(r record) float64 { return r.BoundedRange })
	for _, r := range file.DGaussian.Records { // the exact value is never above the bound
		if r.Order > 1 {
			assert.LessOrEqual(t, r.Exact, curveOf(DiscreteGaussian{r.Sigma, r.Sensitivity})(r.Order)*(1+slack), "%+v", r)
		}
	}
	for _, r := range file.KAry.Records { // k-ary is covered by the binary curve at the same pure epsilon
		if r.Order > 1 {
			assert.LessOrEqual(t, r.RDP, curveOf(RandomizedResponse{r.PureEps})(r.Order)*(1+slack), "%+v", r)
		}
	}
}

func TestGaussianGolden(t *testing.T) {
	type record struct{ Eps, Delta, Sigma float64 }
	file := testkit.Golden[struct {
		Sigma []record `json:"sigma_for_eps_delta"`
		Eps   []record `json:"eps_for_sigma_delta"`
		Delta []record `json:"delta_for_sigma_eps"`
	}](t, "testdata/gaussian_analytic.json")
	w := &relative{t: t, tol: 1e-10}
	for _, r := range file.Sigma {
		w.check("sigma", testkit.Must(GaussianNoise(r.Eps, r.Delta)), r.Sigma, r)
	}
	for _, r := range file.Eps {
		w.check("epsilon", testkit.Must(GaussianEpsilon(r.Sigma, r.Delta)), r.Eps, r)
	}
	for _, r := range file.Delta {
		w.check("delta", testkit.Must(GaussianDelta(r.Sigma, r.Eps)), r.Delta, r)
	}
}

func TestConversionGolden(t *testing.T) {
	file := testkit.Golden[struct {
		Orders  []float64 `json:"default_orders"`
		Records []struct {
			ID              string
			Q, Sigma, Delta float64
			Steps           int64
			Improved        float64 `json:"rdp_exact_default_orders_eps_improved"`
			Classic         float64 `json:"rdp_exact_default_orders_eps_classic"`
			Order           float64 `json:"rdp_exact_default_orders_order"`
			Continuous      float64 `json:"rdp_continuous_eps_improved"`
			ContinuousC     float64 `json:"rdp_continuous_eps_classic"`
			Moments         float64 `json:"moments_accountant_lambda_le_32_eps"`
		}
	}](t, "testdata/rdp_to_eps.json")
	var lambda32 []float64
	for a := 2.0; a <= 33; a++ {
		lambda32 = append(lambda32, a)
	}
	w, free := &relative{t: t, tol: 1e-11}, &relative{t: t, tol: 1e-9}
	for _, r := range file.Records {
		run := sgd(r.Q, r.Sigma, r.Steps)
		b := epsilonOf(t, RDPConfig{Orders: file.Orders}, r.Delta, run)
		w.check("improved", b.Upper, r.Improved, r)
		assert.Equal(t, r.Order, b.Order, r.ID)
		w.check("classic", epsilonOf(t, RDPConfig{Orders: file.Orders, Conversion: Classic}, r.Delta, run).Upper, r.Classic, r)
		w.check("moments", epsilonOf(t, RDPConfig{Orders: lambda32, Conversion: Classic}, r.Delta, run).Upper, r.Moments, r)
		for c, want := range map[Conversion]float64{Improved: r.Continuous, Classic: r.ContinuousC} {
			free.check(c.String()+" refined", epsilonOf(t, RDPConfig{Conversion: c}, r.Delta, run).Upper, want, r)
		}
	}
}

func TestCompositionConversionGolden(t *testing.T) {
	file := testkit.Golden[struct {
		ZCDP []struct {
			Rho, Delta float64
			Improved   float64 `json:"eps_improved"`
			Classic    float64 `json:"classic_closed_form"`
		} `json:"zcdp_to_approx"`
		PATE []struct {
			Asked         int64
			MaxAnswered   int64 `json:"max_answered"`
			Sigma1        *float64
			Sigma2, Delta float64
			Eps, Alpha    float64
		} `json:"pate_fixed_schedule"`
	}](t, "testdata/composition_conversion.json")
	for _, r := range file.ZCDP {
		got := epsilonOf(t, RDPConfig{}, r.Delta, ZCDP{r.Rho}).Upper
		assert.LessOrEqual(t, relErr(got, r.Improved), 1e-9, "%+v: %v", r, got)
		got = epsilonOf(t, RDPConfig{Conversion: Classic}, r.Delta, ZCDP{r.Rho}).Upper
		assert.LessOrEqual(t, relErr(got, r.Classic), 1e-9, "%+v: %v", r, got)
	}
	orders := append(DefaultOrders()[3:155], 80, 96, 128, 192, 256, 384, 512, 1024)
	for _, r := range file.PATE {
		events := []Event{Repeated{GNMax{Sigma: r.Sigma2}, r.MaxAnswered}}
		if r.Sigma1 != nil {
			events = append(events, Repeated{Threshold{Sigma: *r.Sigma1}, r.Asked})
		}
		b := epsilonOf(t, RDPConfig{Orders: orders}, r.Delta, events...)
		assert.LessOrEqual(t, relErr(b.Upper, r.Eps), 1e-9, "%+v", r)
		assert.InDelta(t, r.Alpha, b.Order, 1e-9)
		// a vote moves under either relation
		assert.Equal(t, b, epsilonOf(t, RDPConfig{Orders: orders, Relation: ReplaceOne}, r.Delta, events...))
	}
}

var everyTarget = flag.Bool("targets", false,
	"TestCalibrationGolden calibrates noise by PLD for every target of the reference, not for one of each run")

// What is calibrated is the reference's: to a few millionths by Rényi divergences, and up to the width of
// our interval by loss distributions.
func TestCalibrationGolden(t *testing.T) {
	t.Parallel()
	file := testkit.Golden[struct {
		Sigma []struct {
			Q, Delta float64
			Steps    int64
			Target   float64 `json:"target_eps"`
			RDP      float64 `json:"sigma_rdp_improved"`
			PLD      float64 `json:"sigma_pld"`
		}
		Steps []struct {
			Q, Sigma, Delta float64
			Target          float64 `json:"target_eps"`
			RDP             int64   `json:"max_steps_rdp"`
			PLD             int64   `json:"max_steps_pld"`
		}
		Rate []struct {
			Sigma, Delta float64
			Steps        int64
			Target       float64 `json:"target_eps"`
			RDP          float64 `json:"max_q_rdp"`
			PLD          float64 `json:"max_q_pld"`
		} `json:"sampling_rate"`
	}](t, "testdata/calibration.json")
	grid := testkit.Golden[struct {
		Orders []float64 `json:"default_orders"`
	}](t, "testdata/rdp_to_eps.json")
	fixed, exact := RDPConfig{Relation: AddRemove, Orders: grid.Orders}, PLDConfig{Relation: AddRemove}
	meets := func(b Bound, err error, target Target) {
		t.Helper()
		require.NoError(t, err)
		assert.LessOrEqual(t, b.Upper, target.Epsilon)
	}
	targets := map[string]int{}
	for _, r := range file.Sigma {
		target := Target{r.Target, r.Delta}
		event := func(noise float64) (Event, error) { return sgd(r.Q, noise, r.Steps), nil }
		noise, b, err := CalibrateNoise(t.Context(), fixed.NewAccount, target, event)
		meets(b, err, target)
		assert.LessOrEqual(t, relErr(noise, r.RDP), 2e-6, "%+v: %v", r, noise)
		assert.Equal(t, b, epsilonOf(t, fixed, r.Delta, sgd(r.Q, noise, r.Steps)), "recomputed")
		run := fmt.Sprint(r.Q, r.Steps)
		if targets[run]++; targets[run] > 1 && !*everyTarget {
			continue
		}
		noise, b, err = CalibrateNoise(t.Context(), exact.NewAccount, target, event)
		meets(b, err, target)
		assert.GreaterOrEqual(t, noise, r.PLD*(1-2e-6), "%+v", r)
		assert.LessOrEqual(t, noise, r.PLD*(1+2e-3), "%+v", r)
	}
	for _, r := range file.Steps {
		target := Target{r.Target, r.Delta}
		event := func(n int64) (Event, error) { return sgd(r.Q, r.Sigma, n), nil }
		steps, b, err := CalibrateCount(t.Context(), fixed.NewAccount, target, event)
		meets(b, err, target)
		assert.Equal(t, r.RDP, steps, "%+v", r)
		steps, b, err = CalibrateCount(t.Context(), exact.NewAccount, target, event)
		meets(b, err, target)
		assert.LessOrEqual(t, steps, r.PLD)
		assert.GreaterOrEqual(t, float64(steps), 0.998*float64(r.PLD))
	}
	for _, r := range file.Rate {
		target := Target{r.Target, r.Delta}
		event := func(q float64) (Event, error) { return sgd(q, r.Sigma, r.Steps), nil }
		q, b, err := CalibrateProbability(t.Context(), fixed.NewAccount, target, event)
		meets(b, err, target)
		assert.LessOrEqual(t, relErr(q, r.RDP), 2e-6, "%+v: %v", r, q)
		q, b, err = CalibrateProbability(t.Context(), exact.NewAccount, target, event)
		meets(b, err, target)
		assert.LessOrEqual(t, q, r.PLD*(1+2e-6))
		assert.GreaterOrEqual(t, q, r.PLD*(1-2e-3))
	}
}
