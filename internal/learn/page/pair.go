package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

type pair struct {
	outcomes    []string
	here, there []float64
	epsilon     float64
	delta       float64 // 0 for a pure claim
}

func (p pair) loss(i int) float64 {
	if p.here[i] == p.there[i] { // also if both are -Inf
		return 0
	}
	return p.here[i] - p.there[i]
}

// spent returns the least epsilon for which the two output distributions are (epsilon,
// delta)-indistinguishable.
func (p pair) spent() float64 {
	// In one direction it is the maximum of ln((P[S] - delta)/P'[S]) over sets S of outputs. The maximal S
	// contains the outputs with the largest losses.
	reverse := p
	reverse.here, reverse.there = p.there, p.here
	return max(0, p.excess(), reverse.excess())
}

func (p pair) excess() float64 {
	worst, a, b := math.Inf(-1), 0.0, 0.0
	for _, i := range p.byLoss() {
		a, b = a+math.Exp(p.here[i]), b+math.Exp(p.there[i])
		switch {
		case p.delta == 0 && !math.IsInf(p.here[i], -1): // single outcomes avoid rounding errors of sums
			worst = max(worst, p.here[i]-p.there[i])
		case a > p.delta*(1+1e-9):
			worst = max(worst, math.Log((a-p.delta)/b))
		}
	}
	return worst
}

func (p pair) byLoss() []int {
	order := make([]int, len(p.here))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p.loss(j), p.loss(i)) })
	return order
}

func (p pair) breaks() bool { return p.spent() > p.epsilon*(1+1e-9)+1e-12 }

func (p pair) excused(i int) bool {
	return math.Abs(p.loss(i)) > p.epsilon && !p.breaks()
}

func (p pair) tradeoff() (wrong, missed []float64) {
	wrong, missed = []float64{0}, []float64{1}
	a, b := 0.0, 0.0
	for _, i := range p.byLoss() {
		a, b = a+math.Exp(p.here[i]), b+math.Exp(p.there[i])
		wrong, missed = append(wrong, min(1, b)), append(missed, max(0, 1-a))
	}
	return wrong, missed
}

func (p pair) panels(allowed func(wrong float64) float64) []Panel {
	return []Panel{p.drawLaws(), p.drawLosses(), p.drawLossLaw(), p.drawTradeoff(allowed)}
}

func (p pair) drawLaws() Panel {
	c := newCanvas(plotHeight)
	n := float64(len(p.outcomes))
	left, right, top, bottom := 40.0, panelWidth-8.0, 34.0, plotHeight-26.0
	for _, t := range []float64{0, 0.25, 0.5, 0.75, 1} {
		y := bottom - (bottom-top)*t
		c.line("grid", left, y, right, y)
		c.text("tick", "end", left-5, y+4, percentTick(t))
	}
	table := &Table{Head: []string{"outcome", "P", "P′", "ln(P/P′)"}}
	step := (right - left) / n
	width := min(46, step*0.38)
	for i, name := range p.outcomes {
		x := left + step*(float64(i)+0.5)
		a, b := math.Exp(p.here[i]), math.Exp(p.there[i])
		c.rect("here", x-width, bottom-(bottom-top)*a, width, (bottom-top)*a)
		c.rect("there", x+1, bottom-(bottom-top)*b, width, (bottom-top)*b)
		if n <= 4 {
			c.text("value", "end", x-3, bottom-(bottom-top)*a-4, percent(a)) // numbers do not overlap, even for narrow bars
			c.text("value", "start", x+4, bottom-(bottom-top)*b-4, percent(b))
		}
		c.text("tick", "middle", x, bottom+17, name)
		table.Rows = append(table.Rows, []string{name, short(a), short(b), short(p.loss(i))})
	}
	c.rect("here", left, 4, 14, 12)
	c.text("name", "start", left+20, 15, "on this data set")
	c.rect("there", left+150, 4, 14, 12)
	c.text("name", "start", left+170, 15, "one record changed")
	alt := fmt.Sprintf("probability of each outcome; the largest change is from %s to %s, for %s.", p.largestChange()...)
	return c.panel("laws", "Both exact distributions", alt, table)
}

func percentTick(t float64) string { return fmt.Sprintf("%.0f %%", 100*t) }

func (p pair) largestChange() []any {
	best, at := -1.0, 0
	for i := range p.outcomes {
		if d := math.Abs(math.Exp(p.here[i]) - math.Exp(p.there[i])); d > best {
			best, at = d, i
		}
	}
	return []any{percent(math.Exp(p.here[at])), percent(math.Exp(p.there[at])), p.outcomes[at]}
}

func (p pair) reach() float64 {
	most := p.epsilon
	for i := range p.outcomes {
		if l := math.Abs(p.loss(i)); !math.IsInf(l, 0) {
			most = max(most, min(l, 3*p.epsilon))
		}
	}
	if p.breaks() {
		most = max(most, 2*p.epsilon)
	}
	return nice(most * 1.08)
}

func (p pair) drawLosses() Panel {
	c := newCanvas(plotHeight)
	reach := p.reach()
	left, right, top, bottom := 74.0, panelWidth-14.0, 26.0, plotHeight-40.0
	px := func(x float64) float64 { return left + (right-left)*(min(max(x/reach, -1), 1)+1)/2 }
	c.rect("inside", px(-p.epsilon), top, px(p.epsilon)-px(-p.epsilon), bottom-top)
	c.line("bound", px(-p.epsilon), top-6, px(-p.epsilon), bottom)
	c.line("bound", px(p.epsilon), top-6, px(p.epsilon), bottom)
	c.text("name", "middle", px(-p.epsilon), top-10, "−ε")
	c.text("name", "middle", px(p.epsilon), top-10, "ε = "+up(p.epsilon))
	c.line("axis", px(0), top, px(0), bottom)
	step := (bottom - top) / float64(len(p.outcomes))
	height := min(26, step*0.7)
	beyond := 0
	for i, name := range p.outcomes {
		y := top + step*(float64(i)+0.5)
		loss := p.loss(i)
		class := "gain"
		switch {
		case math.Abs(loss) <= p.epsilon*(1+1e-9):
		case p.excused(i):
			class = "excused"
		default:
			class = "beyond"
			beyond++
		}
		c.rect(class, px(0), y-height/2, px(loss)-px(0), height)
		c.text("tick", "end", left-8, y+4, name)
		words := short(loss)
		if class == "excused" {
			words += " δ"
		}
		switch {
		case px(loss) > right-70:
			c.text("value on", "end", px(loss)-5, y+4, words)
		case px(loss) < left+70:
			c.text("value on", "start", px(loss)+5, y+4, words)
		case loss >= 0:
			c.text("value", "start", px(loss)+5, y+4, words)
		default:
			c.text("value", "end", px(loss)-5, y+4, words)
		}
	}
	for _, t := range (axis{label: "loss", low: -reach, high: reach}).ticks() {
		c.text("tick", "middle", px(t), bottom+16, tickText(t, axis{}))
	}
	c.text("label", "end", right, c.h-6, "loss ln(P/P′) of each outcome")
	alt := fmt.Sprintf("%d of %d outcomes refute a claim of ±%s.", beyond, len(p.outcomes), up(p.epsilon))
	if beyond == 0 {
		alt = fmt.Sprintf("no set of outcomes refutes the claim of ±%s.", up(p.epsilon))
	}
	return c.panel("losses", "Log-ratio against ±ε", alt, nil)
}

func (p pair) drawLossLaw() Panel {
	reach := p.reach()
	plot := newPlot(axis{label: "privacy loss", low: -reach, high: reach}, axis{label: "probability, log scale", low: 1e-8, high: 1, log: true})
	plot.rect("outside", plot.px(p.epsilon), plot.top, plot.right-plot.px(p.epsilon), plot.bottom-plot.top)
	plot.line("bound", plot.px(p.epsilon), plot.top, plot.px(p.epsilon), plot.bottom)
	plot.text("name", "end", plot.px(p.epsilon)-4, plot.top+12, "ε")
	if p.delta > 0 {
		plot.line("bound thin", plot.left, plot.py(p.delta), plot.right, plot.py(p.delta))
		plot.text("name", "start", plot.left+4, plot.py(p.delta)-4, "δ")
	}
	mass := 0.0
	for i, name := range p.outcomes {
		chance, loss := math.Exp(p.here[i]), p.loss(i)
		if chance <= 0 {
			continue
		}
		if loss > p.epsilon {
			mass += chance
		}
		x := plot.px(min(max(loss, -reach), reach))
		plot.line("stem", x, plot.bottom, x, plot.py(chance))
		plot.circle("here", x, plot.py(chance), 5)
		if len(p.outcomes) <= 4 {
			plot.text("name", "middle", x, plot.py(chance)-9, name)
		}
	}
	alt := fmt.Sprintf("the probability of a loss beyond ε is %s; δ is %s.", short(mass), short(p.delta))
	return plot.panel("lossLaw", "Privacy-loss distribution", alt, nil)
}

func (p pair) drawTradeoff(allowed func(wrong float64) float64) Panel {
	plot := newPlot(axis{label: "false alarms", low: 0, high: 1}, axis{label: "missed", low: 0, high: 1})
	plot.curve("guess", []float64{0, 1}, []float64{1, 0})
	var xs, ys []float64
	for i := range 41 {
		x := float64(i) / 40
		xs, ys = append(xs, x), append(ys, allowed(x))
	}
	plot.area("outside", xs, make([]float64, len(xs)), ys)
	plot.curve("bound", xs, ys)
	wrong, missed := p.tradeoff()
	plot.curve("herecurve", wrong, missed)
	plot.key("guess", 210, 0, "guessing")
	plot.key("herecurve", 210, 1, "best test here")
	plot.key("bound", 210, 2, "bound by the charge")
	best := 0.0
	for i := range wrong {
		best = max(best, 1-wrong[i]-missed[i])
	}
	alt := fmt.Sprintf("the best test for the changed record has an advantage of %s over guessing.", percent(best))
	return plot.panel("tradeoff", "Trade-off of every attacker", alt, nil)
}

func byClaim(epsilon, delta float64) func(float64) float64 {
	return func(wrong float64) float64 {
		return max(0, 1-delta-math.Exp(epsilon)*wrong, math.Exp(-epsilon)*(1-delta-wrong))
	}
}
