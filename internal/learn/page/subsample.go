package page

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/learn"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/stability"
)

func subsample(c *Chapter) {
	c.draw = drawSubsample
	c.trace = func(r *reader) (string, map[string]string) {
		a := r.number("share") / 100
		return "subsample-aggregate", map[string]string{
			"shares": fmt.Sprintf("%v,%v", a, math.Round((1-a)*100)/100), "records": fmt.Sprint(subsampleRecords), "blocks": r.text("blocks"),
			"repetitions": map[bool]string{true: "2", false: "1"}[r.text("split") == "twice"],
		}
	}
	c.exercise("moves", 0.001, func() float64 { return movesOf(stability.AnyTies, 14, 6) })
	c.exercise("twice", 0.001, func() float64 { return math.Floor(movesOf(stability.AnyTies, 28, 12) / 2) })
}

const subsampleRecords = 240

type item struct {
	id int
	b  bool
}

type dealt struct {
	items []item
	b     bool
}

func voteOf(part []item) bool {
	n := 0
	for _, x := range part {
		if x.b {
			n++
		}
	}
	return 2*n > len(part)
}

func deal(data []item, split string, blocks int, key rng.Key) (out []dealt, overlap int) {
	if split == "sorted" {
		data = slices.SortedStableFunc(slices.Values(data), func(x, y item) int { return rank(x) - rank(y) })
		for i := range blocks {
			part := data[i*len(data)/blocks : (i+1)*len(data)/blocks]
			out = append(out, dealt{part, voteOf(part)})
		}
		return out, blocks
	}
	s := learn.Must(stability.Repeated(len(data), blocks, map[bool]int{true: 2, false: 1}[split == "twice"], key))
	m := stabilityTest(1)
	session := learn.Must(stability.Start[bool](m, learn.Must(learn.Paid(m.Event(), accountant.ReplaceOne)), key))
	var mu sync.Mutex
	learn.Must(stability.SubsampleAggregate(context.Background(), session, 0, data, s, func(_ context.Context, part []item) (bool, bool) {
		mu.Lock()
		defer mu.Unlock()
		out = append(out, dealt{slices.Clone(part), voteOf(part)})
		return voteOf(part), true
	}))
	slices.SortFunc(out, func(x, y dealt) int {
		return slices.CompareFunc(x.items, y.items, func(a, b item) int { return a.id - b.id })
	})
	return out, s.Overlap()
}

func rank(x item) int {
	if x.id < 0 {
		return subsampleRecords
	}
	return x.id
}

func drawSubsample(r *reader) (v View) {
	blocks, record, split := r.whole("blocks"), r.whole("record"), r.text("split")
	key := rng.SeedKey(uint64(r.whole("seed"))).Derive("learn subsample")
	s := key.Derive("data").Stream()
	data := make([]item, subsampleRecords)
	for i := range data {
		data[i] = item{i, s.Uint64N(100) >= uint64(r.whole("share"))}
	}
	here, overlap := deal(data, split, blocks, key)
	changed := slices.Clone(data)
	changed[record].b = !changed[record].b
	if split == "sorted" {
		changed[record].id = -1 // a replaced record is last
	}
	there, _ := deal(changed, split, blocks, key)
	touched, votes := 0, make([]int, 2)
	marks := make([]bool, len(here))
	for i := range here {
		marks[i] = !slices.Equal(here[i].items, there[i].items)
		if marks[i] {
			touched++
		}
		votes[map[bool]int{false: 0, true: 1}[here[i].b]]++
	}
	distance := int64(movesOf(stability.AnyTies, votes...)) / int64(overlap)
	released, _ := stabilityTest(1).Law(distance)
	bar := newPlot(axis{label: "", low: 0, high: 2}, axis{label: "blocks", low: 0, high: nice(float64(max(votes[0], votes[1])))})
	for i, n := range votes {
		y := bar.py(float64(n))
		bar.rect([]string{"k0", "k1"}[i], bar.px(float64(i)+0.3), y, bar.px(0.4)-bar.px(0), bar.bottom-y)
		bar.text("value", "middle", bar.px(float64(i)+0.5), y-6, fmt.Sprintf("%s: %d", string(rune('A'+i)), n))
	}
	v.Panels = []Panel{
		drawBlocks(here, there, marks, record, touched),
		bar.panel("votes", "The blocks vote", fmt.Sprintf("A has %d votes, B %d.", votes[0], votes[1]), nil),
		drawBar("shipped", stabilityTest(1), distance), drawBlockSizes(r.number("share")/100, float64(blocks)),
	}
	v.Panels[0].Wide = true
	v.number("blocks that change", float64(touched))
	v.number("votes that one record can move", float64(overlap))
	v.number("distance", float64(distance))
	v.number("probability of an answer", math.Exp(released))
	v.say("Replacing record %d changes %d of %d blocks. The answer stays the same if any %d records are replaced.",
		record, touched, len(here), distance)
	v.say("At ε = 1 and δ = %s the winner is released with probability %s. PATE uses models in place of this statistic, and a noisy vote.",
		short(Delta), percent(math.Exp(released)))
	v.Command = fmt.Sprintf("pate learn explain subsample-aggregate --records %d --blocks %d --seed %s", subsampleRecords, blocks, r.text("seed"))
	v.Verdict = Verdict{Holds: split != "sorted", Words: fmt.Sprintf("One record changes %d of %d blocks, as claimed.", touched, len(here))}
	if split == "sorted" {
		v.Verdict.Words = fmt.Sprintf("One record changed %d blocks, but the claim is one block. All later records moved to another place.", touched)
	}
	return v
}

func drawBlocks(here, there []dealt, marks []bool, record, touched int) Panel {
	perRow := 10
	if len(here) > 60 {
		perRow = 20
	}
	rows := (len(here) + perRow - 1) / perRow
	cell := (panelWidth*2 - 16.0) / float64(perRow)
	height := 44.0
	c := &canvas{w: panelWidth * 2, h: float64(rows)*(height+6) + 8}
	for i, b := range here {
		x, y := 8+cell*float64(i%perRow), 4+(height+6)*float64(i/perRow)
		class := "box"
		if marks[i] {
			class = "box changed"
		}
		c.rect(class, x+2, y, cell-5, height)
		columns := int(max(4, math.Floor((cell-30)/7)))
		for k, it := range b.items {
			px, py := x+8+7*float64(k%columns), y+9+7*float64(k/columns)
			if py > y+height-3 {
				break
			}
			c.circle(map[bool]string{false: "k0", true: "k1"}[it.b], px, py, 2.9, "data-set", fmt.Sprintf("record=%d", max(0, it.id)))
			if it.id == record {
				c.circle("ring", px, py, 4.6)
			}
		}
		c.text("big", "end", x+cell-8, y+height-9, map[bool]string{false: "A", true: "B"}[there[i].b])
	}
	return c.panel("blocks", "Records in blocks; click a record to replace it",
		fmt.Sprintf("replacing record %d changes %d of %d blocks.", record, touched, len(here)), nil)
}

func drawBlockSizes(share, now float64) Panel {
	p := newPlot(axis{label: "blocks", low: 0, high: 60}, axis{label: "expected distance", low: 0, high: 30})
	var xs, ys []float64
	for blocks := 5.0; blocks <= 60; blocks += 5 {
		size := math.Floor(subsampleRecords / blocks)
		right := 0.0
		for k := 0.0; k <= size; k++ {
			if 2*k >= size {
				a, _ := math.Lgamma(size + 1)
				b, _ := math.Lgamma(k + 1)
				c, _ := math.Lgamma(size - k + 1)
				right += math.Exp(a - b - c + k*math.Log(share) + (size-k)*math.Log1p(-share))
			}
		}
		xs, ys = append(xs, blocks), append(ys, max(0, (blocks*(2*right-1)-1)/2))
	}
	p.curve("curve", xs, ys)
	p.line("now", p.px(now), p.top, p.px(now), p.bottom)
	return p.panel("sizes", "More blocks, with fewer records each",
		"the expected distance grows with the number of blocks, more slowly for smaller blocks.", nil)
}
