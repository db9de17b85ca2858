package aggregate

// answerPages keeps the answers of a session by the number of the query. Numbers
// that follow each other, as in a file, take about five bytes each.
type answerPages struct {
	pages  map[uint64]*page
	number uint64 // of the page used last
	last   *page
	n      int
}

// page holds answers as codes, 0 for none.
type page [1 << pageBits]int32

const pageBits = 6

// codeReused marks an answer that the student gave. Labels are far below it.
const codeReused = 1 << 30

func (g *answerPages) page(query uint64) *page {
	if number := query >> pageBits; number != g.number || g.last == nil {
		g.number, g.last = number, g.pages[number]
	}
	return g.last
}

// answer returns the answer given to a query, if there is one.
func (g *answerPages) answer(query uint64) (Answer, bool) {
	p := g.page(query)
	if p == nil {
		return Answer{}, false
	}
	code := p[query%uint64(len(p))]
	a := Answer{Label: int(code&^codeReused) - 2, Reused: code&codeReused != 0}
	a.Answered = a.Label != NoLabel
	return a, code != 0
}

// add stores the answer to a query that has none.
func (g *answerPages) add(query uint64, a Answer) {
	p := g.page(query)
	if p == nil {
		if g.pages == nil {
			g.pages = map[uint64]*page{}
		}
		p = new(page)
		g.pages[g.number], g.last = p, p
	}
	code := int32(a.Label + 2)
	if a.Reused {
		code |= codeReused
	}
	p[query%uint64(len(p))] = code
	g.n++
}
