package page

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/internal/learn"
	"github.com/pate-go/pate/rng"
)

func comparing(c *Chapter) {
	c.draw = drawComparing
	c.trace = func(*reader) (string, map[string]string) { return "moments", nil }
	c.exercise("advantage", 0.01, func() float64 { return (math.E - 1) / (math.E + 1) })
	c.exercise("tpr", 0.02, func() float64 { return 100 * math.Exp(2) * 0.01 })
}

type task struct {
	private, public, test dpsgd.Data
	teachers, labels      int
}

func point(s *rng.Stream, data string, class int) (x, y float64) {
	near := func(width float64) float64 {
		return width * (float64(s.Uint64N(257)+s.Uint64N(257)+s.Uint64N(257)) - 384) / 256
	}
	if data == "few" {
		return near(0.9) + 1.3*float64(class) - 0.65, near(0.9) + float64(class) - 0.5
	}
	a := math.Pi * float64(s.Uint64N(1000)) / 1000
	if class == 0 {
		return math.Cos(a) - 0.5 + near(0.15), math.Sin(a) - 0.25 + near(0.15)
	}
	return 0.5 - math.Cos(a) + near(0.15), 0.25 - math.Sin(a) + near(0.15)
}

func sample(s *rng.Stream, data string, n int) dpsgd.Data {
	d := dpsgd.Data{X: blas32.General{Rows: n, Cols: 2, Stride: 2}}
	for i := range n {
		x, y := point(s, data, i%2)
		d.X.Data = append(d.X.Data, float32(x), float32(y))
		d.Y = append(d.Y, i%2)
	}
	return d
}

func taskOf(data string, key rng.Key) task {
	s := key.Derive("task " + data).Stream()
	n, teachers := 160, 16
	if data == "moons" {
		n, teachers = 2400, 120
	}
	return task{private: sample(s, data, n), public: sample(s, data, 24), test: sample(s, data, 200), teachers: teachers, labels: 24}
}

func nearest(data dpsgd.Data, rows []int, x []float32) int {
	best, class := math.Inf(1), 0
	for _, i := range rows {
		d := 0.0
		for j, v := range x {
			e := float64(v - data.X.Data[i*data.X.Stride+j])
			d += e * e
		}
		if d < best {
			best, class = d, data.Y[i]
		}
	}
	return class
}

func row(d dpsgd.Data, i int) []float32 { return d.X.Data[i*d.X.Stride : i*d.X.Stride+d.X.Cols] }

func (t task) pateRight(epsilon float64, votes []aggregate.Histogram, key rng.Key) float64 {
	sigma := noiseFor(epsilon, func(sigma float64) accountant.Event {
		return accountant.Repeated{Event: accountant.GNMax{Sigma: sigma, Discrete: true}, Count: int64(t.labels)}
	})
	m := learn.Must(aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: sigma, Queries: t.labels}))
	right, repeats := 0, 3
	for k := range repeats {
		session := learn.Must(m.Start(learn.Must(learn.Paid(m.Event(), accountant.AddRemove)), key.Derive("pate", uint64(k))))
		student := dpsgd.Data{X: t.public.X}
		rows := make([]int, t.public.X.Rows)
		for i, a := range learn.Must(session.AskBatch(0, votes)) {
			student.Y, rows[i] = append(student.Y, a.Label), i
		}
		for i, class := range t.test.Y {
			if nearest(student, rows, row(t.test, i)) == class {
				right++
			}
		}
	}
	return float64(right) / float64(repeats*len(t.test.Y))
}

func (t task) votes() (out []aggregate.Histogram) {
	for i := range t.public.X.Rows {
		counts := make([]int, 2)
		for teacher := range t.teachers {
			var rows []int
			for r := 2 * teacher; r+1 < t.private.X.Rows; r += 2 * t.teachers {
				rows = append(rows, r, r+1) // classes alternate
			}
			counts[nearest(t.private, rows, row(t.public, i))]++
		}
		out = append(out, learn.Must(aggregate.NewHistogram(counts)))
	}
	return out
}

func (t task) gradientRight(epsilon float64, key rng.Key) float64 {
	cfg := sgdFor(epsilon, 30, 0.2)
	right, repeats := 0, 2
	for k := range repeats {
		w := trained(t.private, cfg, key.Derive("sgd", uint64(k)))
		for i, class := range t.test.Y {
			if (scoreOf(w, row(t.test, i)) > 0) == (class == 1) {
				right++
			}
		}
	}
	return float64(right) / float64(repeats*len(t.test.Y))
}

func sgdFor(epsilon float64, steps int, q float64) dpsgd.Config {
	noise := noiseFor(epsilon, func(noise float64) accountant.Event {
		return accountant.Repeated{Event: sampledStep(q, noise), Count: int64(steps)}
	})
	return dpsgd.Config{SamplingProbability: q, NoiseMultiplier: noise, ClipNorm: 1, Steps: steps, LearningRate: 1, Workers: 1}
}

func trained(data dpsgd.Data, cfg dpsgd.Config, key rng.Key) []float32 {
	model := learn.Must(nn.NewSoftmax(data.X.Cols, 2))
	learn.Must(dpsgd.Train(context.Background(), model, data, cfg, learn.Must(learn.Paid(cfg.Event(), accountant.AddRemove)), key))
	return model.Parameters()
}

func scoreOf(w, x []float32) float64 {
	n := len(x)
	s := float64(w[2*n+1] - w[2*n])
	for j, v := range x {
		s += float64(v) * float64(w[n+j]-w[j])
	}
	return s
}

func noiseFor(epsilon float64, event func(noise float64) accountant.Event) float64 {
	low, high := 0.3, 400.0
	for high/low > 1.01 {
		if mid := math.Sqrt(low * high); charged(event(mid)) > epsilon {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

func attacked(cfg dpsgd.Config, runs int, key rng.Key) (with, without []float64) {
	base := sample(key.Derive("attacked").Stream(), "few", 16)
	canary := []float32{-2.5, -2.5} // a record of class 1, far on the other side
	joined := dpsgd.Data{
		X: blas32.General{Rows: 17, Cols: 2, Stride: 2, Data: append(slices.Clone(base.X.Data), canary...)}, Y: append(slices.Clone(base.Y), 1)}
	cfg.Records = 16
	for i := range runs {
		score := func(k uint64, data dpsgd.Data) float64 {
			return scoreOf(trained(data, cfg, key.Derive("run", uint64(i), k)), canary)
		}
		with, without = append(with, score(0, joined)), append(without, score(1, base))
	}
	return with, without
}

func curveOf(with, without []float64) (wrong, found []float64) {
	all := append(slices.Clone(with), without...)
	slices.Sort(all)
	slices.Reverse(all)
	wrong, found = []float64{0}, []float64{0}
	share := func(xs []float64, least float64) float64 {
		above := slices.DeleteFunc(slices.Clone(xs), func(x float64) bool { return x < least })
		return float64(len(above)) / float64(len(xs))
	}
	for _, x := range all {
		wrong, found = append(wrong, share(without, x)), append(found, share(with, x))
	}
	return wrong, found
}

func drawComparing(r *reader) (v View) {
	data, epsilon, runs := r.text("data"), r.number("epsilon"), r.whole("runs")
	key := rng.SeedKey(uint64(r.whole("seed"))).Derive("learn comparing")
	t := taskOf(data, key)
	votes := t.votes()
	es := []float64{0.5, 1, 2, 4, 8}
	var pate, sgd []float64
	for _, e := range es {
		pate, sgd = append(pate, 100*t.pateRight(e, votes, key)), append(sgd, 100*t.gradientRight(e, key))
	}
	p := newPlot(axis{label: "ε at δ = 1e-5", low: 0.5, high: 8, log: true}, axis{label: "right, percent", low: 40, high: 100})
	p.curve("curve", es, pate)
	p.curve("curve b", es, sgd)
	for i, e := range es {
		p.circle("k0", p.px(e), p.py(pate[i]), 4.5)
		p.rect("k1", p.px(e)-4, p.py(sgd[i])-4, 8, 8)
		p.text("tick", "middle", p.px(e), p.bottom+17, short(e))
	}
	p.key("curve", p.right-170, -3, fmt.Sprintf("PATE, %d teachers", t.teachers))
	p.key("curve b", p.right-170, -2, "DP-SGD, a line")

	cfg := sgdFor(epsilon, 10, 1)
	with, without := attacked(cfg, runs, key)
	roc, bound, against := drawAttackOn(cfg, with, without)
	v.Panels = []Panel{p.panel("race", "Accuracy of both methods", fmt.Sprintf("PATE is right on %s to %s percent, DP-SGD on %s to %s.",
		short(slices.Min(pate)), short(slices.Max(pate)), short(slices.Min(sgd)), short(slices.Max(sgd))), nil), drawTask(t), roc}
	for i, e := range es {
		v.number("accuracy of PATE in percent at ε = "+short(e), pate[i])
		v.number("accuracy of DP-SGD in percent at ε = "+short(e), sgd[i])
	}
	v.claim("ε of the attacked training", charged(cfg.Event()))
	v.number("members found at most, at 10 % false alarms, percent", 100*bound)
	better := "DP-SGD"
	if pate[2] > sgd[2] {
		better = "PATE"
	}
	v.say("On these data, %s is more accurate at ε = 2: %s percent against %s percent.",
		better, short(max(pate[2], sgd[2])), short(min(pate[2], sgd[2])))
	v.say("An attacker with 10 %% false alarms finds at most %s of the members. The rates are estimated from %d trainings with the record "+
		"and as many without it. With 95 %% confidence, all true rates are within %s, as the band shows. The attack proves only the lower edge. %s",
		percent(bound), runs, short(scatterOf(runs)), against)
	v.Command = accountCommand(eventJSON(cfg.Event()), "rdp")
	v.Verdict = Verdict{Holds: true, Words: better + " is more accurate here at ε = 2. Switch the data and compare again."}
	return v
}

// scatterOf bounds the errors of an attack's true and false positive rates, with 95 percent confidence. Each
// rate is measured on `runs` trainings.
func scatterOf(runs int) float64 {
	// For each rate, the inequality of Dvoretzky, Kiefer and Wolfowitz (constant of Massart 1990) fails with
	// probability at most 2.5 percent.
	return math.Sqrt(math.Log(2/0.025) / (2 * float64(runs)))
}

func against(wrong, found []float64, most func(wrong float64) float64, scatter float64) string {
	// Comparing points suffices, because the maximum is a concave function of the false positive rate.
	for i := range wrong {
		if found[i]-scatter > most(min(wrong[i]+scatter, 1)) {
			return "Even this lower bound is above the dashed curve. If the certified bound is true, this happens in at most one run of twenty. " +
				"Try another seed."
		}
	}
	return "The lower bound stays below the dashed curve. The thin line is only an estimate and may cross the dashed curve."
}

func (p *plot) band(wrong, found []float64, scatter float64) {
	clip := func(x float64) float64 { return min(max(x, 0), 1) }
	var xs, ys []float64
	for i := range wrong {
		xs, ys = append(xs, p.px(clip(wrong[i]-scatter))), append(ys, p.py(clip(found[i]+scatter)))
	}
	xs, ys = append(xs, p.px(1)), append(ys, p.py(1)) // every curve ends in these corners
	wrongs, founds := []float64{1}, []float64{1}
	for i := len(wrong) - 1; i >= 0; i-- {
		wrongs, founds = append(wrongs, clip(wrong[i]+scatter)), append(founds, clip(found[i]-scatter))
		xs, ys = append(xs, p.px(wrongs[len(wrongs)-1])), append(ys, p.py(founds[len(founds)-1]))
	}
	xs, ys = append(xs, p.px(0)), append(ys, p.py(0))
	p.path("band", xs, ys)
	p.curve("herecurve", append(wrongs, 0), append(founds, 0))
}

func drawTask(t task) Panel {
	p := newPlot(axis{label: "x₁", low: -2.4, high: 2.4}, axis{label: "x₂", low: -2, high: 2})
	for i, class := range t.private.Y[:min(400, len(t.private.Y))] {
		x := row(t.private, i)
		if class == 0 {
			p.circle("k0 pale", p.px(float64(x[0])), p.py(float64(x[1])), 3)
		} else {
			p.rect("k1 pale", p.px(float64(x[0]))-2.5, p.py(float64(x[1]))-2.5, 5, 5)
		}
	}
	for i := range t.public.Y {
		x := row(t.public, i)
		p.circle("ring", p.px(float64(x[0])), p.py(float64(x[1])), 5)
	}
	return p.panel("task", "Private data; rings are public",
		fmt.Sprintf("%d private records of two classes and %d public points without labels.", t.private.X.Rows, t.public.X.Rows), nil)
}

func drawAttackOn(cfg dpsgd.Config, with, without []float64) (Panel, float64, string) {
	risk := learn.Must(pldOf(cfg.Event(), 1).Risk(context.Background()))
	p := newPlot(axis{label: "false alarms", low: 0, high: 1}, axis{label: "members found", low: 0, high: 1})
	// The whole training is one Gaussian release. So the maximum is the trade-off curve of two normal
	// distributions with means Mu apart. Each threshold of the best test gives a point.
	mu := risk.GDP().Mu
	normal := func(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }
	most := func(wrong float64) float64 { return normal(mu + math.Sqrt2*math.Erfinv(2*wrong-1)) }
	xs, ys, ones := []float64{0}, []float64{0}, []float64{1}
	for t := 4.0; t >= -4; t -= 0.25 {
		xs, ys, ones = append(xs, normal(-t)), append(ys, normal(mu-t)), append(ones, 1)
	}
	xs, ys, ones = append(xs, 1), append(ys, 1), append(ones, 1)
	p.area("outside", xs, ys, ones)
	p.curve("bound", xs, ys)
	p.curve("guess", []float64{0, 1}, []float64{0, 1})
	wrong, found := curveOf(with, without)
	p.band(wrong, found, scatterOf(len(with)))
	p.curve("estimate", wrong, found)
	p.key("bound", p.right-160, -4, "most, certified")
	p.key("estimate", p.right-160, -3, "the attack, estimated")
	p.key("herecurve", p.right-160, -2, "lower bound, 95 %")
	p.key("guess", p.right-160, -1, "guessing")
	at10 := learn.Must(risk.TPR(0.1)).Upper
	alt := fmt.Sprintf("with 10 %% false alarms, the attack finds at most %s of the members, certified.", percent(at10))
	return p.panel("attack", "A membership attack under its bound", alt, nil), at10, against(wrong, found, most, scatterOf(len(with)))
}
