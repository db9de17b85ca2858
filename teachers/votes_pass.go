package teachers

import (
	"context"
	"fmt"
)

// cell is how a vote or a count is held: labels in one byte, as int8, or in two,
// counts in four.
type cell interface{ byte | int16 | int32 }

// What a cell that holds no vote becomes.
const (
	badRange  = -2 - iota // a whole number outside the range
	badNaN                // not a number, as floats have it
	badNumber             // a fraction or infinite
	badText               // not a number, as text has it
)

// domain is the whole numbers low <= v < limit that a cell may hold.
type domain struct{ low, limit int }

// votesLayout is where the cells are.
type votesLayout struct {
	rows, cols int
	// One lane holds all rows one after the other; or there is a lane for each
	// column.
	lanes   []lane
	columns bool
}

// lane is cells one after the other in a file, and how far one has come.
type lane struct {
	in     *votesInput
	offset int64
	npy    *npyType // nil: CSV
	csv    csvLane
}

// tileCells is how many cells of columns are held at a time, at most four bytes
// each.
const tileCells = 1 << 24

// domain is what cells of s may hold.
func (s *VoteSource) domain() domain {
	if s.opt.Counts {
		return domain{0, MaxTeachers + 1}
	}
	return domain{Abstention, s.classes}
}

// eachRow visits the rows from <= row < to in order and fails at a cell that is
// no vote. The row is overwritten by the next.
func eachRow[C cell](ctx context.Context, s *VoteSource, from, to int, visit func(row int, cells []C) error) error {
	dom := s.domain()
	return eachBlock(ctx, s, from, to, func(first int, cells []C, bad int) error {
		cols := s.shape.cols
		for i := 0; i*cols < len(cells); i++ {
			row := cells[i*cols : (i+1)*cols]
			if bad > 0 {
				for col, v := range row {
					if v := signed(v); v < dom.low {
						return s.badCell(first+i, col, v)
					}
				}
			}
			if err := visit(first+i, row); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachBlock visits blocks of rows in order, row by row, with the number of
// cells that are no votes; those hold a code below the domain. Whoever is done
// before the end may return any error.
func eachBlock[C cell](ctx context.Context, s *VoteSource, from, to int, visit func(first int, cells []C, bad int) error) error {
	if from == to || s.shape.cols == 0 {
		return nil
	}
	var d desk
	defer d.close()
	var err error
	if s.shape.columns {
		err = eachTile(ctx, &d, s, from, to, visit)
	} else {
		err = eachRun(ctx, &d, s, from, to, visit)
	}
	if err != nil {
		return err
	}
	for _, in := range s.files {
		if err := d.recheck(in); err != nil {
			return err
		}
	}
	return nil
}

// eachRun reads rows that stand one after the other.
func eachRun[C cell](ctx context.Context, d *desk, s *VoteSource, from, to int, visit func(first int, cells []C, bad int) error) error {
	cols, dom, from0 := s.shape.cols, s.domain(), s.shape.lanes[0]
	ln := &from0
	rows := min(to-from, max(1, (1<<16)/cols))
	cells := make([]C, rows*cols)
	if err := skip[C](d, ln, from*cols, dom, cells); err != nil {
		return err
	}
	for first := from; first < to; first += rows {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("teachers: reading votes: %w", err)
		}
		part := cells[:min(rows, to-first)*cols]
		bad, err := fill(d, ln, part, dom)
		if err != nil {
			return err
		}
		if err := visit(first, part, bad); err != nil {
			return err
		}
	}
	return nil
}

// eachTile reads columns: from each some cells, then the rows these make.
func eachTile[C cell](ctx context.Context, d *desk, s *VoteSource, from, to int, visit func(first int, cells []C, bad int) error) error {
	cols, dom := s.shape.cols, s.domain()
	lanes := append([]lane(nil), s.shape.lanes...)
	high := min(to-from, max(1, s.tile/cols))
	tile := make([]C, high*cols)
	rows := min(high, max(1, (1<<14)/cols)) // small enough for the nearest cache
	cells := make([]C, rows*cols)
	for top := from; top < to; top += high {
		high := min(high, to-top)
		bad := 0
		for col := range lanes {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("teachers: reading votes: %w", err)
			}
			ln, part := &lanes[col], tile[col*high:(col+1)*high]
			if top == from {
				if err := skip(d, ln, from, dom, part); err != nil {
					return err
				}
			}
			n, err := fill(d, ln, part, dom)
			if err != nil {
				return err
			}
			bad += n
		}
		for first := 0; first < high; first += rows {
			n := min(rows, high-first)
			for col := range cols {
				for i, v := range tile[col*high+first : col*high+first+n] {
					cells[i*cols+col] = v
				}
			}
			if err := visit(top+first, cells[:n*cols], bad); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill reads the next cells of a lane.
func fill[C cell](d *desk, ln *lane, dst []C, dom domain) (bad int, err error) {
	if ln.npy != nil {
		return fillNPY(d, ln, dst, dom)
	}
	return fillCSV(d, ln, dst, dom)
}

// skip passes over cells of a lane; scratch is room to read them into.
func skip[C cell](d *desk, ln *lane, n int, dom domain, scratch []C) error {
	if ln.npy != nil {
		ln.offset += int64(n) * int64(ln.npy.size)
		return nil
	}
	for n > 0 {
		part := scratch[:min(n, len(scratch))]
		if _, err := fill(d, ln, part, dom); err != nil {
			return err
		}
		n -= len(part)
	}
	return nil
}

// badCell is the error for a cell that is no vote.
func (s *VoteSource) badCell(row, col, code int) error {
	e := &VotesError{File: s.files[0].name, What: s.place(row, col) + " holds " + badWord(code, s.opt.Counts), Fix: "fix the vote"}
	if s.shape.columns && len(s.files) > 1 {
		e.File = s.files[col].name
	}
	if s.opt.Counts {
		e.Why = fmt.Sprintf("counts are whole numbers from 0 to %d", MaxTeachers)
	} else {
		e.Why = fmt.Sprintf("classes are 0 to %d, and -1 is a missing vote", s.classes-1)
	}
	return e
}

func badWord(code int, counts bool) string {
	switch code {
	case badNaN:
		return "NaN"
	case badNumber:
		return "a number that is not whole"
	case badText:
		return "no number"
	}
	if counts {
		return "a count outside the range"
	}
	return "a vote outside the classes"
}

// place says where in its file a cell stands, in the words of the format.
func (s *VoteSource) place(row, col int) string {
	ln := s.shape.lanes[0]
	x, y := row, col // of the file: line and column
	switch {
	case s.shape.columns && len(s.files) > 1:
		ln, y = s.shape.lanes[col], 0
		if ln.npy == nil && ln.csv.form.width > 1 {
			x, y = 0, row
		}
	case s.opt.Transpose:
		x, y = col, row
	}
	switch {
	case ln.npy == nil:
		return fmt.Sprintf("row %d, column %d", x+1+ln.csv.form.headers, y+1)
	case len(s.files) > 1:
		return fmt.Sprintf("element [%d]", x)
	}
	return fmt.Sprintf("element [%d, %d]", x, y)
}
