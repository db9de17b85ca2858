package votes

import (
	"context"
	"fmt"
	"slices"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/npy"
)

// cell is the type of a vote (int16, or int8 kept as byte), a count (int32) or a probability (int64).
type cell interface{ byte | int16 | int32 | int64 }

const (
	badRange  = -2 - iota // a whole number out of range
	badNaN                // NaN
	badNumber             // a fraction or infinite
	badText               // neither a number nor a class name
	badShare              // a fraction between 0 and 1
)

type layout struct {
	rows, cols int
	cursors    []cursor
	columns    bool
}

type cursor struct {
	in     *input
	offset int64
	npy    *npy.Type // type of the elements; nil for CSV
	csv    csvPosition
}

// tileCells bounds the cells in memory while a file is read column by column.
const tileCells = 1 << 24

func eachRow[C cell](ctx context.Context, s *Source, from, to int, visit func(row int, cells []C) error) error {
	return eachBlock(ctx, s, from, to, func(first int, cells []C, bad int) error { return rowsOf(s, first, cells, bad, visit) })
}

func rowsOf[C cell](s *Source, first int, cells []C, bad int, visit func(row int, cells []C) error) error {
	for ; len(cells) > 0; first, cells = first+1, cells[s.shape.cols:] {
		row := cells[:s.shape.cols]
		for col := 0; col < len(row) && bad > 0; col++ {
			if v := signed(row[col]); v < s.dom.low {
				return cellError{s.badCell(first, col, v)}
			}
		}
		if err := visit(first, row); err != nil {
			return err
		}
	}
	return nil
}

// eachBlock calls visit for blocks of rows in order. If bad is 0, all cells of the block are valid.
func eachBlock[C cell](ctx context.Context, s *Source, from, to int, visit func(first int, cells []C, bad int) error) error {
	if from == to || s.shape.cols == 0 {
		return nil
	}
	var r reader
	defer r.close()
	var err error
	if s.shape.columns {
		err = eachTile(ctx, &r, s, from, to, visit)
	} else {
		err = eachRun(ctx, &r, s, from, to, visit)
	}
	if err != nil {
		return err
	}
	for _, in := range s.files {
		if err := r.recheck(in); err != nil {
			return err
		}
	}
	return nil
}

const runCells = 1 << 18

type run[C cell] struct {
	first int
	cells []C
	bad   int
	err   error
}

func eachRun[C cell](ctx context.Context, r *reader, s *Source, from, to int, visit func(first int, cells []C, bad int) error) error {
	cols, dom, cur := s.shape.cols, s.dom, s.shape.cursors[0]
	rows := min(to-from, max(1, runCells/cols))
	ctx, stop := context.WithCancel(ctx)
	ahead, room := make(chan run[C], 1), make(chan []C, 2)
	room <- make([]C, rows*cols)
	room <- make([]C, rows*cols)
	go func() {
		defer close(ahead)
		cells := <-room
		if err := skip(r, &cur, from*cols, dom, cells); err != nil {
			ahead <- run[C]{err: err}
			return
		}
		room <- cells
		for first := from; first < to; first += rows {
			next := run[C]{first: first, cells: (<-room)[:min(rows, to-first)*cols]}
			if next.err = ctx.Err(); next.err == nil {
				next.bad, next.err = fill(r, &cur, next.cells, dom)
			}
			if ahead <- next; next.err != nil {
				return
			}
		}
	}()
	defer func() { // wait for the end of the reader
		stop()
		for next := range ahead {
			room <- next.cells
		}
	}()
	for next := range ahead {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("votes: reading: %w", err)
		}
		if next.err != nil {
			return next.err
		}
		if err := visit(next.first, next.cells, next.bad); err != nil {
			return err
		}
		room <- next.cells[:cap(next.cells)]
	}
	return nil
}

func eachTile[C cell](ctx context.Context, r *reader, s *Source, from, to int, visit func(first int, cells []C, bad int) error) error {
	cols, dom := s.shape.cols, s.dom
	cursors := slices.Clone(s.shape.cursors)
	high := min(to-from, max(1, s.tile/cols))
	tile := make([]C, high*cols)
	rows := min(high, max(1, (1<<14)/cols)) // fits into the level-1 cache
	cells := make([]C, rows*cols)
	for top := from; top < to; top += high {
		high := min(high, to-top)
		bad := 0
		for col := range cursors {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("votes: reading: %w", err)
			}
			cur, part := &cursors[col], tile[col*high:(col+1)*high]
			if top == from {
				if err := skip(r, cur, from, dom, part); err != nil {
					return err
				}
			}
			n, err := fill(r, cur, part, dom)
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

func fill[C cell](r *reader, cur *cursor, dst []C, dom domain) (bad int, err error) {
	if cur.npy != nil {
		return fillNPY(r, cur, dst, dom)
	}
	return fillCSV(r, cur, dst, dom)
}

func skip[C cell](r *reader, cur *cursor, n int, dom domain, scratch []C) error {
	if cur.npy != nil {
		cur.offset += int64(n) * int64(cur.npy.Size)
		return nil
	}
	for n > 0 {
		part := scratch[:min(n, len(scratch))]
		if _, err := fill(r, cur, part, dom); err != nil {
			return err
		}
		n -= len(part)
	}
	return nil
}

func (s *Source) badCell(row, col, code int) *fault.Error {
	what, word := "a vote outside the classes", "no number"
	why := fmt.Sprintf("a vote is a class from %d to %d; a missing vote is -1", s.opt.FirstClass, s.opt.FirstClass+s.classes-1)
	if s.opt.ClassNames != nil {
		word = "a word that is not a class name"
		why = fmt.Sprintf("a vote is one of the %d class names; a missing vote is -1 or empty", s.classes)
	}
	if s.opt.Counts {
		what, why = "a count outside the range", fmt.Sprintf("a count is a whole number from 0 to %d", MaxTeachers)
	}
	switch code {
	case badNaN:
		what = "NaN"
	case badNumber, badShare:
		what = "a number that is not whole"
	case badText:
		what = word
	}
	file := s.files[0]
	if s.shape.columns && len(s.files) > 1 {
		file = s.files[col]
	}
	return file.refuse(s.place(row, col)+" holds "+what, why, "fix the vote")
}

func (s *Source) place(row, col int) string {
	cur := s.shape.cursors[0]
	x, y := row, col // line and column of the file
	switch {
	case s.shape.columns && len(s.files) > 1:
		cur, y = s.shape.cursors[col], 0
		if cur.npy == nil && cur.csv.form.width > 1 {
			x, y = 0, row
		}
	case s.opt.Transpose:
		x, y = col, row
	}
	switch {
	case cur.in.table():
		return fmt.Sprintf("row %d, column %d", x+1, y+1)
	case cur.npy == nil:
		return fmt.Sprintf("row %d, column %d", x+1+cur.csv.form.headers, y+1)
	case len(s.files) > 1:
		return fmt.Sprintf("element [%d]", x)
	}
	return fmt.Sprintf("element [%d, %d]", x, y)
}
