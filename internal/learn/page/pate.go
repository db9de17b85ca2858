package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/learn"
	"github.com/pate-go/pate/rng"
)

func pateItself(c *Chapter) {
	c.draw = drawPATE
	c.trace = func(r *reader) (string, map[string]string) {
		n := r.number("teachers")
		top := math.Round(n * r.number("accuracy") / 100)
		return "confident", map[string]string{
			"counts": fmt.Sprintf("%.0f,%.0f", top, n-top), "threshold": short(n * r.number("threshold") / 100),
			"sigma1": r.text("test"), "sigma2": r.text("noise"), "queries": fmt.Sprint(pateQuestions), "answers": fmt.Sprint(pateQuestions),
		}
	}
	c.exercise("rho", 0.005, func() float64 { return 500.0 / (40 * 40) })
	c.exercise("labels", 0.01, func() float64 { return charged(accountant.Repeated{Event: accountant.GNMax{Sigma: 40}, Count: 500}) })
}

const (
	pateQuestions = 60
	pateClasses   = 5
)

func pateVotes(s *rng.Stream, teachers int, accuracy float64) (counts []int, truth int) {
	counts = make([]int, pateClasses)
	truth = int(s.Uint64N(pateClasses))
	ease := accuracy + (float64(s.Uint64N(1000))/1000-0.6)*0.7
	rival := (truth + 1 + int(s.Uint64N(pateClasses-1))) % pateClasses
	for range teachers {
		u := float64(s.Uint64N(1<<20)) / (1 << 20)
		switch {
		case u < ease:
			counts[truth]++
		case u < ease+(1-ease)*0.7:
			counts[rival]++
		default:
			counts[s.Uint64N(pateClasses)]++
		}
	}
	return counts, truth
}

func drawPATE(r *reader) (v View) {
	teachers, asked := r.whole("teachers"), r.whole("asked")
	threshold := math.Round(r.number("threshold") / 100 * float64(teachers))
	m := learn.Must(aggregate.NewConfidentGNMax(aggregate.ConfidentGNMaxConfig{
		Threshold: threshold, Sigma1: r.number("test"), Sigma2: r.number("noise"), Queries: pateQuestions, Answers: pateQuestions}))
	key := rng.SeedKey(uint64(r.whole("seed"))).Derive("learn pate")
	session := learn.Must(m.Start(learn.Must(learn.Paid(m.Event(), accountant.AddRemove)), key))
	p := newPlot(axis{label: "query", low: 0, high: pateQuestions}, axis{label: "largest count", low: 0, high: nice(float64(teachers))})
	s := key.Derive("votes").Stream()
	answered, right := 0, 0
	xs, all, only := []float64{0}, []float64{0}, []float64{0}
	for i := range asked {
		counts, truth := pateVotes(s, teachers, r.number("accuracy")/100)
		answer := learn.Must(session.Ask(uint64(i), learn.Must(aggregate.NewHistogram(counts))))
		class := "no"
		if answer.Answered {
			answered++
			class = "wrong"
			if answer.Label == truth {
				class = "yes"
				right++
			}
		}
		x, largest := float64(i), float64(slices.Max(counts))
		p.rect(class, p.px(x)+1, p.py(largest), p.px(x+1)-p.px(x)-1.5, p.bottom-p.py(largest))
		if (i+1)%10 == 0 || i+1 == asked {
			bill := []accountant.Event{accountant.Repeated{
				Event: accountant.Threshold{Sigma: r.number("test"), Discrete: true}, Count: int64(i + 1)}}
			paidOnly := 0.0
			if answered > 0 {
				answers := accountant.Repeated{Event: accountant.GNMax{Sigma: r.number("noise"), Discrete: true}, Count: int64(answered)}
				bill, paidOnly = append(bill, answers), charged(answers)
			}
			xs, all, only = append(xs, float64(i+1)), append(all, charged(bill...)), append(only, paidOnly)
		}
	}
	p.line("bound", p.left, p.py(threshold), p.right, p.py(threshold))
	p.text("name", "end", p.right, p.py(threshold)-5, "threshold")
	for i, k := range [][2]string{{"yes", "right"}, {"wrong", "wrong"}, {"no", "declined"}} {
		x := p.left + []float64{106, 166, 230}[i]
		p.rect(k[0], x, p.top-14, 10, 10)
		p.text("small", "start", x+14, p.top-5, k[1])
	}
	cost, spent, answersAlone := charged(m.Event()), all[len(all)-1], only[len(only)-1]
	e := newPlot(axis{label: "queries so far", low: 0, high: pateQuestions}, axis{label: "ε at δ = 1e-5", low: 0, high: nice(max(cost, spent))})
	e.curve("curve", xs, all)
	e.curve("curve d", xs, only)
	e.line("bound", e.left, e.py(cost), e.right, e.py(cost))
	e.text("name", "end", e.right, e.py(cost)-5, "charged before the first vote is read")
	e.key("curve", e.left+8, 2, "tests and answers")
	e.key("curve d", e.left+8, 3, "answers alone: too little")
	v.Panels = []Panel{
		p.panel("questions", "Queries to the teachers", fmt.Sprintf("%d queries, %d answered, %d of them correctly.", asked, answered, right), nil),
		e.panel("bill", "Privacy cost", fmt.Sprintf("the run is charged %s; the answers alone would cost %s.", up(cost), up(answersAlone)), nil),
		drawFlow(teachers, asked, answered, right),
	}
	v.number("answered", float64(answered))
	v.number("right", float64(right))
	v.claim("charge of the run", cost)
	v.claim("spent so far", spent)
	v.claim("answers alone", answersAlone)
	v.say("%d of %d queries were answered, %d of them correctly. The run of %d queries is charged ε = %s at δ = %s before the first vote is read.",
		answered, asked, right, pateQuestions, up(cost), short(Delta))
	v.say("A student is trained on the released labels. Predictions of the student have no further privacy cost.")
	v.Command = fmt.Sprintf("pate learn law confident --counts %d,%d --threshold %s --sigma1 %s --sigma2 %s",
		teachers*3/4, teachers-teachers*3/4, short(threshold), r.text("test"), r.text("noise"))
	v.Verdict = Verdict{Holds: true, Words: fmt.Sprintf("Declined queries are charged, too: ε = %s, not %s.", up(spent), up(answersAlone))}
	return v
}

func drawFlow(teachers, asked, answered, right int) Panel {
	c := newCanvas(plotHeight)
	boxes := []struct{ title, sub string }{
		{"private records", "in disjoint parts"}, {fmt.Sprintf("%d teachers", teachers), "one for each part"},
		{fmt.Sprintf("noisy vote, %d queries", asked), "charged to the ledger"},
		{fmt.Sprintf("%d labels", answered), fmt.Sprintf("%d right; public from here on", right)}, {"student", "no further privacy cost"},
	}
	for i, b := range boxes {
		y := 6 + 53*float64(i)
		class := "inside"
		if i >= 3 {
			class = "column"
		}
		c.rect(class, 90, y, 240, 40, "rx", "8")
		c.text("boxed", "middle", 210, y+17, b.title)
		c.text("small", "middle", 210, y+32, b.sub)
		if i > 0 {
			c.line("stem", 210, y-13, 210, y)
		}
	}
	return c.panel("flow", "Where private data are used",
		"records, teachers, a noisy vote, labels, a student; only the vote touches private data and is charged.", nil)
}

func drawTeachers(counts []int, from, to int) Panel {
	c := newCanvas(plotHeight)
	left, right, top, bottom := 8.0, panelWidth-8.0, 26.0, plotHeight-30.0
	step := (right - left) / float64(len(counts))
	most := 0
	for _, n := range counts {
		most = max(most, n+1)
	}
	pitch := dotPitch(most, step*0.86, bottom-top)
	perRow := max(1, int(step*0.86/pitch))
	for class, n := range counts {
		x0 := left + step*float64(class)
		c.rect("column", x0+2, top-4, step-4, bottom-top+8, "data-drop", strconv.Itoa(class))
		dots := n
		if class == to {
			dots++
		}
		width := float64(min(perRow, dots)) * pitch
		for i := range dots {
			x := x0 + step/2 - width/2 + pitch*(float64(i%perRow)+0.5)
			y := bottom - pitch*(float64(i/perRow)+0.5)
			kind := "dot"
			switch {
			case class == to && i == n:
				kind = "dot arrived"
			case class == from && i == n-1:
				kind = "dot left"
			}
			c.circle(kind, x, y, pitch*0.42, "data-class", strconv.Itoa(class))
		}
		c.text("tick", "middle", x0+step/2, bottom+20, fmt.Sprint("class ", class)[6*min(1, len(counts)/6):])
		words := strconv.Itoa(n)
		switch class {
		case from:
			words += " − 1"
		case to:
			words += " + 1"
		}
		c.text("value", "middle", x0+step/2, top-10, words)
	}
	alt := fmt.Sprintf("votes %s; one vote moves from class %d to class %d.", list(counts), from, to)
	return c.panel("teachers", "Teachers and their votes", alt, nil)
}

func dotPitch(dots int, width, height float64) float64 {
	for pitch := 16.0; pitch > 2; pitch -= 0.5 {
		if rows := math.Ceil(float64(dots) / max(1, math.Floor(width/pitch))); rows*pitch <= height {
			return pitch
		}
	}
	return 2
}
