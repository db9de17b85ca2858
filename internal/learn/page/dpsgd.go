package page

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/internal/learn"
	"github.com/pate-go/pate/rng"
)

func gradients(c *Chapter) {
	c.draw = drawGradients
	c.trace = func(r *reader) (string, map[string]string) {
		return "dpsgd", r.only("clip", "noise", "probability", "rate")
	}
	c.exercise("factor", 0.02, func() float64 { return 2 / 7.1 })
	c.exercise("longer", 0.01, func() float64 { return charged(accountant.Repeated{Event: sampledStep(0.01, 4), Count: 40000}) })
}

const plainRecords = 60

func plainData(s *rng.Stream, records int) dpsgd.Data {
	d := dpsgd.Data{X: blas32.General{Rows: records, Cols: 2, Stride: 2}}
	near := func() float64 { // sums of sixteenths are equal on all machines
		return (float64(s.Uint64N(17)+s.Uint64N(17)+s.Uint64N(17)) - 24) / 16
	}
	for i := range records {
		class := i % 2
		x, y := near()+1.6*float64(class)-0.8, near()+1.2*float64(class)-0.6
		if i >= records-2 {
			x, y = 3.2*float64(1-2*class), 2.5*float64(1-2*class)
		}
		d.X.Data = append(d.X.Data, float32(x), float32(y))
		d.Y = append(d.Y, class)
	}
	return d
}

func decision(parameters []float64) (w0, w1, b float64) {
	return parameters[2] - parameters[0], parameters[3] - parameters[1], parameters[5] - parameters[4]
}

func drawGradients(r *reader) (v View) {
	steps := r.whole("step")
	cfg := dpsgd.Config{
		SamplingProbability: r.number("probability"), NoiseMultiplier: r.number("noise"), ClipNorm: r.number("clip"),
		Steps: steps, LearningRate: r.number("rate"), Workers: 1,
	}
	key := rng.SeedKey(uint64(r.whole("seed"))).Derive("learn dpsgd")
	data := plainData(key.Derive("data").Stream(), plainRecords)
	run := learn.Must(learn.Watch(learn.Must(nn.NewSoftmax(2, 2)), data, cfg, key))
	last := run[len(run)-1]
	right, clipped := 0, 0
	w0, w1, b := decision(last.After)
	for i, class := range data.Y {
		if (w0*float64(data.X.Data[2*i])+w1*float64(data.X.Data[2*i+1])+b > 0) == (class == 1) {
			right++
		}
	}
	for i := range last.Rows {
		if norm(last.Gradients[i]) > cfg.ClipNorm {
			clipped++
		}
	}
	cost, step := charged(cfg.Event()), sampledStep(cfg.SamplingProbability, cfg.NoiseMultiplier)
	v.Panels = []Panel{drawPlane(data, last, right), drawArrows(last, cfg), drawSteps(step, steps)}
	v.claim(fmt.Sprintf("charge of %d steps", steps), cost)
	v.number("records in the sample", float64(len(last.Rows)))
	v.number("clipped", float64(clipped))
	v.number("accuracy on the training rows", float64(right)/plainRecords)
	v.say("Step %d: %d of %d records are in the sample, %d gradients are cut to norm %s, and the noise has deviation %s in every coordinate. "+
		"%s of the training rows are on the correct side of the line.",
		steps, len(last.Rows), plainRecords, clipped, r.text("clip"), short(cfg.NoiseMultiplier*cfg.ClipNorm), percent(float64(right)/plainRecords))
	v.say("%d steps are charged ε = %s at δ = %s. The charge does not depend on the data.", steps, up(cost), short(Delta))
	v.Command = accountCommand(repeatedJSON(step, steps), "rdp")
	v.Verdict = Verdict{Holds: true,
		Words: fmt.Sprintf("No record changes the sum by more than %s. The model after any step may be released.", r.text("clip"))}
	return v
}

func norm(g []float64) float64 {
	sum := 0.0
	for _, x := range g {
		sum += x * x
	}
	return math.Sqrt(sum)
}

func drawPlane(data dpsgd.Data, s learn.TrainingStep, right int) Panel {
	p := newPlot(axis{label: "x₁", low: -4, high: 4}, axis{label: "x₂", low: -3, high: 3})
	sampled := make(map[int]bool)
	for _, row := range s.Rows {
		sampled[row] = true
	}
	for i, class := range data.Y {
		x, y := p.px(float64(data.X.Data[2*i])), p.py(float64(data.X.Data[2*i+1]))
		kind := []string{"k0", "k1"}[class]
		if !sampled[i] {
			kind += " pale"
		}
		if class == 0 {
			p.circle(kind, x, y, 4.5)
		} else {
			p.rect(kind, x-4, y-4, 8, 8)
		}
	}
	for i, parameters := range [][]float64{s.Before, s.After} {
		w0, w1, b := decision(parameters)
		n := math.Hypot(w0, w1)
		if n == 0 {
			continue
		}
		// Draw the line through its point nearest to the origin, clipped to the picture.
		cx, cy := -b*w0/n/n, -b*w1/n/n
		x1, y1, x2, y2, inside := cut(cx, cy, -w1/n, w0/n, p.x.low, p.y.low, p.x.high, p.y.high)
		if inside {
			p.line([]string{"guess", "now"}[i], p.px(x1), p.py(y1), p.px(x2), p.py(y2))
		}
	}
	return p.panel("plane", "Data and decision line",
		fmt.Sprintf("two classes and the line of the model; %d of %d training rows are on the correct side.", right, len(data.Y)), nil)
}

func cut(x, y, dx, dy, low1, low2, high1, high2 float64) (x1, y1, x2, y2 float64, inside bool) {
	from, to := -1e3, 1e3
	for _, side := range [][3]float64{{dx, low1 - x, high1 - x}, {dy, low2 - y, high2 - y}} {
		if math.Abs(side[0]) < 1e-12 {
			if side[1] > 0 || side[2] < 0 {
				return 0, 0, 0, 0, false
			}
			continue
		}
		a, b := side[1]/side[0], side[2]/side[0]
		from, to = max(from, min(a, b)), min(to, max(a, b))
	}
	return x + from*dx, y + from*dy, x + to*dx, y + to*dy, from < to
}

func drawArrows(s learn.TrainingStep, cfg dpsgd.Config) Panel {
	reach := cfg.ClipNorm
	for _, g := range s.Gradients {
		reach = max(reach, min(3*cfg.ClipNorm, math.Hypot(g[2], g[3])))
	}
	reach *= 1.15
	p := newPlot(axis{label: "change of w₁", low: -reach * 1.4, high: reach * 1.4}, axis{label: "change of w₂", low: -reach, high: reach})
	x0, y0 := p.px(0), p.py(0)
	var ring [2][]float64
	for i := range 49 {
		a := 2 * math.Pi * float64(i) / 48
		ring[0] = append(ring[0], p.px(cfg.ClipNorm*math.Cos(a)/math.Sqrt2))
		ring[1] = append(ring[1], p.py(cfg.ClipNorm*math.Sin(a)/math.Sqrt2))
	}
	p.path("bound", ring[0], ring[1])
	var sum [2]float64
	for i := range s.Rows {
		g, c := s.Gradients[i], s.Clipped[i]
		if norm(g) > cfg.ClipNorm {
			p.line("arrow cut", x0, y0, p.px(-g[2]), p.py(-g[3]))
		}
		p.line("arrow", x0, y0, p.px(-c[2]), p.py(-c[3]))
		sum[0], sum[1] = sum[0]-c[2], sum[1]-c[3]
	}
	n := cfg.SamplingProbability * plainRecords
	move := func(i int) float64 { return (s.After[i] - s.Before[i]) / cfg.LearningRate * n }
	noisy := [2]float64{move(2), move(3)}
	scale := reach * 0.9 / max(reach*0.9, math.Hypot(sum[0], sum[1]), math.Hypot(noisy[0], noisy[1]))
	p.line("arrow sum", x0, y0, p.px(sum[0]*scale), p.py(sum[1]*scale))
	p.line("arrow noise", p.px(sum[0]*scale), p.py(sum[1]*scale), p.px(noisy[0]*scale), p.py(noisy[1]*scale))
	p.key("arrow", p.right-112, 0, "clipped")
	p.key("arrow sum", p.right-112, 1, "their sum")
	p.key("arrow noise", p.right-112, 2, "noise")
	return p.panel("arrows", "Gradients, clipped, summed, noised",
		fmt.Sprintf("%d gradients, the longest cut to %s; the sum and its noise are drawn to one scale.", len(s.Rows), short(cfg.ClipNorm)), nil)
}

func drawSteps(step accountant.Event, now int) Panel {
	var xs, ys []float64
	for _, k := range []int64{1, 2, 4, 7, 12, 20, 30, 40} {
		xs, ys = append(xs, float64(k)), append(ys, charged(accountant.Repeated{Event: step, Count: k}))
	}
	last := ys[len(ys)-1]
	p := newPlot(axis{label: "steps", low: 0, high: 40}, axis{label: "ε at δ = 1e-5", low: 0, high: nice(last)})
	p.curve("curve", xs, ys)
	p.line("now", p.px(float64(now)), p.top, p.px(float64(now)), p.bottom)
	return p.panel("bill", "Privacy cost of the steps", fmt.Sprintf("epsilon grows to %s at 40 steps.", up(last)), nil)
}
