package page

import (
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/internal/learn"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/svt"
)

func sparseVector(c *Chapter) {
	c.draw = drawSparse
	c.trace = func(r *reader) (string, map[string]string) {
		return "sparse-vector", r.only("values", "threshold", "epsilon", "answers")
	}
	c.exercise("share", 0.02, func() float64 { return 100 * svt.ThresholdShare(1, false) })
	c.exercise("free", 0.001, func() float64 { return 1 })
}

func drawSparse(r *reader) View {
	if variant := r.text("variant"); variant != "shipped" {
		return drawAttack(variant)
	}
	var values []int64
	for _, x := range r.numbers("values", 1, 10, -1000, 1000) {
		values = append(values, int64(x))
	}
	threshold, answers := r.whole("threshold"), r.whole("answers")
	law := valid(svt.NewSparseVector(svt.SparseVectorConfig{
		Noise: svt.DiscreteLaplace, Epsilon: r.number("epsilon"), Answers: answers, Sensitivity: 1, Threshold: int64(threshold)})).Law()
	key := rng.SeedKey(uint64(r.whole("seed"))).Derive("learn a stream")
	run := learn.Compare(law, values[:min(r.whole("asked"), len(values))], func(n svt.Noise, question int) int64 {
		stream := key.Derive("threshold", 0)
		if question >= 0 {
			stream = key.Derive("question", uint64(question))
		}
		return valid(rng.NewDiscreteLaplace(n.Scale)).Sample(stream.Stream())
	})
	return drawStream(r, run, values, threshold, answers)
}

func drawStream(r *reader, s learn.Compared, values []int64, threshold, answers int) (v View) {
	noisy := float64(threshold) + float64(s.Rho)
	low, high := min(0, noisy), noisy
	for i, x := range values {
		high, low = max(high, float64(x)), min(low, float64(x))
		if i < len(s.Nu) {
			high, low = max(high, float64(x+s.Nu[i])), min(low, float64(x+s.Nu[i]))
		}
	}
	high = high*1.1 + 1
	p := newPlot(axis{label: "query", low: 0.4, high: float64(len(values)) + 0.6}, axis{label: "value", low: low, high: high})
	for i, x := range values {
		at := float64(i + 1)
		if i >= len(s.Nu) {
			p.rect("no pale", p.px(at)-9, p.py(float64(x)), 18, p.py(0)-p.py(float64(x)))
			continue
		}
		sum := float64(int64(x) + s.Nu[i])
		class := map[bool]string{true: "yes", false: "no"}[s.Above[i]]
		p.rect(class+" pale", p.px(at)-9, p.py(float64(x)), 18, p.py(0)-p.py(float64(x)))
		p.line("stem", p.px(at), p.py(float64(x)), p.px(at), p.py(sum))
		p.circle(class, p.px(at), p.py(sum), 5.5)
		p.text("value", "middle", p.px(at), p.py(max(sum, float64(x)))-9, map[bool]string{true: "above", false: ""}[s.Above[i]])
	}
	p.line("bound thin", p.left, p.py(float64(threshold)), p.right, p.py(float64(threshold)))
	p.line("now", p.left, p.py(noisy), p.right, p.py(noisy))
	p.text("name", "end", p.right, p.py(noisy)-5, fmt.Sprintf("noisy threshold %.0f", noisy))
	v.Panels = []Panel{
		p.panel("stream", "A stream over a noisy threshold",
			fmt.Sprintf("%d queries, %d of at most %d above.", len(s.Nu), s.Found, answers), nil),
		drawBudget(s, answers, r.number("epsilon")),
		drawFree(s.Law),
	}
	v.number("queries", float64(len(s.Nu)))
	v.number("above", float64(s.Found))
	v.number("noisy threshold", noisy)
	v.claim("charge of the run", r.number("epsilon"))
	v.say("%d queries were compared, and %d of at most %d were above. The whole run is charged ε = %s, for any number of queries below.",
		len(s.Nu), s.Found, answers, up(r.number("epsilon")))
	v.Command = fmt.Sprintf("pate learn explain sparse-vector --values %s --threshold %d --epsilon %s --answers %d",
		list(values), threshold, r.text("epsilon"), answers)
	v.Verdict = Verdict{Holds: true, Words: "Only answers above use up the budget. Queries below are free."}
	return v
}

func drawBudget(s learn.Compared, answers int, epsilon float64) Panel {
	share := svt.ThresholdShare(answers, false)
	p := newPlot(axis{label: "query", low: 0, high: float64(max(2, len(s.Above)))}, axis{label: "ε left", low: 0, high: nice(epsilon)})
	left := epsilon * (1 - share)
	xs, ys := []float64{0}, []float64{left}
	for i, above := range s.Above {
		xs, ys = append(xs, float64(i+1)), append(ys, left)
		if above {
			left = max(0, left-epsilon*(1-share)/float64(answers))
			xs, ys = append(xs, float64(i+1)), append(ys, left)
		}
	}
	p.curve("curve", xs, ys)
	return p.panel("budget", "Only answers above reduce the budget",
		fmt.Sprintf("the noise of the threshold uses %s of epsilon; %s is left.", percent(share), short(left)), nil)
}

func drawFree(law svt.Law) Panel {
	law.Threshold = 0
	bound := 1 / law.ThresholdNoise.Scale
	p := newPlot(axis{label: "queries below", low: 1, high: 100, log: true}, axis{label: "total loss", low: 0, high: nice(bound * 1.3)})
	var xs, ys []float64
	for _, k := range []int{1, 2, 5, 10, 20, 50, 100} {
		_, a, err := law.FirstAbove(slices.Repeat([]float64{-10}, k))
		_, b, err2 := law.FirstAbove(slices.Repeat([]float64{-9}, k))
		if err == nil && err2 == nil && b > 0 {
			xs, ys = append(xs, float64(k)), append(ys, math.Log(a/b))
		}
	}
	p.line("bound", p.left, p.py(bound), p.right, p.py(bound))
	p.text("name", "start", p.left+6, p.py(bound)-5, "ε₁, the part for the threshold")
	p.curve("curve", xs, ys)
	return p.panel("free", "Many answers below cost as much as one",
		"the total loss of a hundred queries below stays under the part for the threshold.", nil)
}

type refutation struct {
	transcript []bool
	p, q, loss float64 // probabilities on both inputs, and loss
}

func refute(b learn.Broken) refutation {
	here, there := learn.Must(b.Law.Outcomes(b.Here)), learn.Must(b.Law.Outcomes(b.There))
	worst := refutation{loss: -1}
	for i, o := range here { // Outcomes has a fixed order of transcripts
		if o.Prob < 1e-9 {
			continue
		}
		l := math.Log(o.Prob / there[i].Prob)
		if l > worst.loss || math.IsInf(l, 1) && math.IsInf(worst.loss, 1) && o.Prob > worst.p {
			worst = refutation{o.Above, o.Prob, there[i].Prob, l}
		}
	}
	return worst
}

func drawAttack(variant string) (v View) {
	a := learn.BrokenVariants(2)[variant]
	worst := refute(a)
	c := newPlot(axis{label: "query", low: 0.4, high: float64(len(a.Here)) + 0.6}, axis{label: "value − threshold", low: -1.6, high: 1.6})
	for i := range a.Here {
		x := c.px(float64(i + 1))
		c.circle("here", x-7, c.py(a.Here[i]), 6)
		c.circle("there", x+7, c.py(a.There[i]), 5)
		if i < len(worst.transcript) {
			c.text("value", "middle", x, c.bottom-4, map[bool]string{true: "▲", false: "▽"}[worst.transcript[i]])
		}
	}
	c.line("bound thin", c.left, c.py(0), c.right, c.py(0))
	two := pair{
		outcomes: []string{"this transcript", "any other"}, epsilon: a.Claimed,
		here: []float64{math.Log(worst.p), math.Log1p(-worst.p)}, there: []float64{math.Log(worst.q), math.Log1p(-worst.q)},
	}
	panels := two.panels(byClaim(a.Claimed, 0))
	v.Panels = []Panel{c.panel("attack", "Two neighbouring streams, and a transcript",
		fmt.Sprintf("%d queries whose values differ by at most 1; triangles show the transcript, upwards for above.", len(a.Here)), nil),
		panels[0], panels[1], panels[3]}
	v.claim("claimed", a.Claimed)
	v.claim("privacy loss found", worst.loss)
	v.number("P[transcript]", worst.p)
	v.number("P′[transcript]", worst.q)
	v.say("The transcript has probability %s on one stream and %s on the neighbour. The privacy loss is %s, but the claim is ε = %s.",
		short(worst.p), short(worst.q), up(worst.loss), up(a.Claimed))
	v.Command = "pate learn explain sparse-vector"
	v.Verdict = judge(two, true, "find streams that refute it")
	return v
}
