package votes

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/npy"
)

// maxOff is the tolerance for rounding in a sum of probabilities, which should be 1.
const maxOff = 0.05

var shareDomain = domain{shares: true}

func share(v float64) int {
	switch {
	case v != v:
		return badNaN
	case v < 0:
		return badRange
	case v == 0: // also for -0
		return 0
	}
	return int(math.Float64bits(v))
}

type shares struct {
	in      *input
	source  *Source // one row for each teacher and query
	shape   []int   // shape of the votes: (queries), or (queries, teachers) in the order of the array
	fortran bool    // rows are in Fortran order
	teacher int     // index of the teacher, if the file holds one teacher
}

// voteByShares replaces class probabilities by votes for the lowest class with the largest probability.
func voteByShares(ctx context.Context, in *input, teacher int, perTeacher bool, into *store, opt Options) (*input, error) {
	// Each vote depends on one teacher and one query, so one unit still changes one vote per query.
	if strconv.IntSize < 64 {
		return nil, in.refuse("holds probabilities", "they are read on 64-bit processors only", "save votes")
	}
	p, err := findShares(ctx, in, teacher, perTeacher, opt)
	if err != nil {
		return nil, err
	}
	out, err := into.add(ctx, in, "class probabilities", func(w *bufio.Writer) error { return p.write(ctx, w) })
	if err == nil {
		out.kind = p.source.Kind() + ", class probabilities"
	}
	return out, err
}

func findShares(ctx context.Context, in *input, teacher int, perTeacher bool, opt Options) (*shares, error) {
	var r reader
	defer r.close()
	isNPY, err := sniff(&r, in)
	if err != nil {
		return nil, err
	}
	p := &shares{in: in, teacher: teacher,
		source: &Source{opt: opt, files: []*input{in}, classes: opt.Classes, tile: tileCells / 8, dom: shareDomain}}
	var head npy.Header
	var cur cursor
	if isNPY {
		if head, cur, err = npyLayout(&r, in); err != nil {
			return nil, err
		}
	}
	switch {
	case !perTeacher && len(head.Shape) != 3:
		return nil, in.refuse("has the probabilities of one teacher, or no probabilities",
			"a single file must be an array of 3 dimensions: queries, teachers, classes",
			"give a file for each teacher, or save one array, "+
				saved(in.name, "", "np.stack([t.predict_proba(rows) for t in teachers], axis=1)"))
	case len(head.Shape) == 3:
		if perTeacher {
			return nil, in.refuse("holds an array of 3 dimensions",
				"if several files are given, each has the probabilities of one teacher, with a column for each class",
				"give this array alone")
		}
		return p, p.cube(head, cur)
	}
	text := opt
	text.ClassNames, text.Classes = nil, 0 // class names do not apply to cells of numbers
	if p.source.shape, err = matrixLayout(ctx, &r, in, text); err != nil {
		return nil, err
	}
	if !isNPY && !opt.Transpose {
		if err := headerOrder(&r, in, p.source.shape.cursors[0], opt); err != nil {
			return nil, err
		}
	}
	p.shape = []int{p.source.shape.rows}
	return p, p.checkClasses(p.source.shape.cols)
}

func (p *shares) cube(head npy.Header, cur cursor) error {
	a, b, classes := head.Shape[0], head.Shape[1], head.Shape[2]
	if err := p.checkClasses(classes); err != nil {
		return err
	}
	p.shape, p.fortran = []int{a, b}, head.Fortran
	// The product does not overflow, because the file has at least 2ab elements.
	s := layout{rows: a * b, cols: classes, cursors: []cursor{cur}}
	if head.Fortran {
		s.columns, s.cursors = true, make([]cursor, classes)
		for class := range s.cursors {
			s.cursors[class] = cur
			s.cursors[class].offset += int64(class) * int64(a*b) * int64(cur.npy.Size)
		}
	}
	p.source.shape = s
	return nil
}

func (p *shares) checkClasses(n int) error {
	if n == p.source.classes {
		return nil
	}
	return p.in.refuse(fmt.Sprintf("has probabilities of %d classes, but there are %d classes", n, p.source.classes),
		"each column is a class; in an array, the last dimension is the class",
		"give the right number of classes; give --index-column if column 1 names the rows, or --transpose if each row is a class")
}

func headerOrder(r *reader, in *input, first cursor, opt Options) error {
	if first.csv.form.headers == 0 {
		return nil
	}
	line, err := r.at(in, 0, int(min(first.offset, bufferBytes)))
	if err != nil {
		return err
	}
	line = bytes.TrimPrefix(line, []byte(byteOrderMark))
	var columns []string
	for p := 0; p < len(line); {
		end, _ := cellEnd(line, p, first.csv.form.sep)
		columns = append(columns, string(trimCell(line[p:end])))
		p = end + 1
	}
	return opt.checkOrder(in, columns)
}

func (o Options) checkOrder(in *input, columns []string) error {
	class := make(map[string]int, o.Classes)
	for i, name := range o.classNames(o.Classes) {
		class[name] = i
	}
	for i, name := range columns {
		if k, named := class[name]; named && k != i {
			return in.refuse(fmt.Sprintf("has the name %q for column %d, but this is class %d of %d", name, i+1, k+1, o.Classes),
				"the columns of probabilities must be in the order of the classes",
				"reorder the columns or --class-names; give --first-class 1 if the classes are numbered from 1")
		}
	}
	return nil
}

func (p *shares) write(ctx context.Context, w *bufio.Writer) error {
	wide := p.source.classes > math.MaxInt8
	typ := "|i1"
	if wide {
		typ = "<i2"
	}
	if err := npy.WriteHeader(w, npy.Header{Type: typ, Fortran: p.fortran, Shape: p.shape}); err != nil {
		return err
	}
	classes := p.source.classes
	return eachBlock(ctx, p.source, 0, p.source.shape.rows, func(first int, cells []int64, _ int) error {
		for i := 0; i < len(cells); i += classes {
			vote, wrong := largest(cells[i : i+classes])
			if wrong != "" {
				return p.error(first+i/classes, wrong)
			}
			if err := w.WriteByte(byte(vote)); err != nil {
				return err
			}
			if wide {
				if err := w.WriteByte(byte(vote >> 8)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func largest(cells []int64) (class int, wrong string) {
	sum := 0.0
	for k, v := range cells {
		switch {
		case v == badNaN:
			return 0, "a probability is NaN or missing"
		case v == badRange:
			return 0, "a probability is negative or too large"
		case v < 0:
			return 0, "a probability is not a number"
		case v > cells[class]:
			class = k
		}
		sum += math.Float64frombits(uint64(v))
	}
	if !(math.Abs(sum-1) <= maxOff) {
		return 0, fmt.Sprintf("the sum differs from 1 by more than %g", maxOff)
	}
	return class, ""
}

func (p *shares) error(row int, wrong string) *fault.Error {
	query, teacher := row, p.teacher
	if len(p.shape) == 2 {
		a, b := p.shape[0], p.shape[1]
		query, teacher = row/b, row%b
		if p.fortran {
			query, teacher = row%a, row/a
		}
		if p.source.opt.Transpose {
			query, teacher = teacher, query
		}
	}
	return p.in.refuse(fmt.Sprintf("the probabilities of teacher %d on query %d (both from 0): %s", teacher, query,
		wrong), "each probability must be from 0 to 1, and the probabilities of a teacher must add up to 1"+ownerNotice,
		"save the result of predict_proba or softmax; if votes are missing, save votes instead, with -1 for a missing vote")
}
