package votes

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/npy"
)

func findLayout(ctx context.Context, files []*input, perTeacher bool, opt Options) (layout, error) {
	var r reader
	defer r.close()
	if !perTeacher {
		return matrixLayout(ctx, &r, files[0], opt)
	}
	whole := layout{cols: len(files), columns: true, cursors: make([]cursor, 0, len(files))}
	for i, in := range files {
		rows, cur, err := vectorLayout(ctx, &r, in, opt)
		if err != nil {
			return whole, err
		}
		if i == 0 {
			whole.rows = rows
		}
		if rows != whole.rows {
			return whole, in.refuse(fmt.Sprintf("has %d votes, but %s has %d", rows, files[0].name, whole.rows),
				"each file has the votes of one teacher on the same queries; a missing vote is -1 or an empty line",
				"fix the file, or give a narrower pattern")
		}
		whole.cursors = append(whole.cursors, cur)
	}
	return whole, nil
}

func fileLayout(ctx context.Context, r *reader, in *input, opt Options, offsets bool) (head npy.Header, line func(i int) cursor, err error) {
	isNPY, err := sniff(r, in)
	if err != nil {
		return head, nil, err
	}
	if !isNPY {
		text, err := csvLayout(ctx, r, in, opt, offsets)
		return npy.Header{Shape: []int{text.rows, text.width}}, func(i int) cursor { return text.cursor(in, i) }, err
	}
	head, first, err := npyLayout(r, in)
	return head, func(i int) cursor {
		at := first
		if i > 0 {
			width := head.Shape[1]
			if head.Fortran {
				width = head.Shape[0]
			}
			at.offset += int64(i) * int64(width) * int64(at.npy.Size)
		}
		return at
	}, err
}

func matrixLayout(ctx context.Context, r *reader, in *input, opt Options) (layout, error) {
	head, line, err := fileLayout(ctx, r, in, opt, opt.Transpose)
	if err != nil {
		return layout{}, err
	}
	if len(head.Shape) != 2 {
		return layout{}, in.refuse(fmt.Sprintf("holds an array of %d dimensions", len(head.Shape)),
			"votes are a matrix of queries x teachers; for vectors give one file for each teacher, as several paths or a pattern",
			matrixLine(in.name, head.Shape, opt.Classes))
	}
	lines, width := head.Shape[0], head.Shape[1]
	if head.Fortran {
		lines, width = width, lines
	}
	if opt.Transpose == head.Fortran {
		return layout{rows: lines, cols: width, cursors: []cursor{line(0)}}, nil
	}
	if lines > MaxTeachers {
		return layout{}, in.refuse(fmt.Sprintf("has %d teachers", lines),
			fmt.Sprintf("the number must be from 1 to %d", MaxTeachers), "omit --transpose")
	}
	out := layout{rows: width, cols: lines, columns: true, cursors: make([]cursor, lines)}
	for i := range out.cursors {
		out.cursors[i] = line(i)
	}
	return out, nil
}

func vectorLayout(ctx context.Context, r *reader, in *input, opt Options) (rows int, cur cursor, err error) {
	head, line, err := fileLayout(ctx, r, in, opt, false)
	switch {
	case err != nil:
		return 0, cursor{}, err
	case len(head.Shape) == 1:
		return head.Shape[0], line(0), nil
	case len(head.Shape) != 2:
		return 0, cursor{}, notVector(in, fmt.Sprintf("holds an array of %d dimensions", len(head.Shape)))
	}
	lines, width := head.Shape[0], head.Shape[1]
	if opt.Transpose {
		lines, width = width, lines
	}
	if width != 1 {
		e := notVector(in, fmt.Sprintf("has %d columns", width))
		if width == opt.Classes {
			e.Fix = "if these are the class probabilities of one teacher, give --probabilities"
		}
		if width == opt.Classes && line(0).npy != nil {
			e.Fix += "; or, in each of the files, " + saved(in.name, "", "np.load(%q).argmax(axis=1)")
		}
		return 0, cursor{}, e
	}
	return lines, line(0), nil
}

func matrixLine(name string, shape []int, classes int) string {
	axis := -1
	if len(shape) == 3 {
		for i, n := range shape {
			if n == classes { // the last axis of this length is taken as the class probabilities
				axis = i
			}
		}
	}
	switch {
	case len(shape) == 1:
		return "save all teachers as one matrix, " + stackLine(name)
	case axis < 0:
		return "save the class that each teacher chose, " + stackLine(name)
	}
	a, b := shape[(axis+1)%3], shape[(axis+2)%3]
	if axis == 1 {
		a, b = b, a
	}
	line, text := fmt.Sprintf("np.load(%q).argmax(axis=%d)", name, axis), "of %d queries by %d teachers"
	if a <= b { // the first remaining axis is taken as the teachers
		line, text = line+".T", "by %d teachers of %d queries"
	}
	text = "for probabilities " + fmt.Sprintf(text, a, b) + ", " + saved(name, "", line) +
		"; for the other order give --transpose"
	if axis == 2 {
		return "give --probabilities, and also --transpose if teachers come before queries; or " + text
	}
	return text
}

func notVector(in *input, what string) *fault.Error {
	return in.refuse(what, "if several files are given, each has the votes of one teacher in one column",
		"give one matrix alone, or give --transpose")
}

func npyLayout(r *reader, in *input) (npy.Header, cursor, error) {
	raw, err := r.at(in, 0, npy.MaxHeader)
	if err != nil {
		return npy.Header{}, cursor{}, err
	}
	head, used, err := npy.ReadHeader(raw)
	if err != nil {
		if bytes.Contains(raw, []byte("'descr': [")) {
			return head, cursor{}, in.refuse("has records with named columns",
				"votes are a matrix of numbers or names", saved(in.name, "", "np.array(np.load(%q).tolist())"))
		}
		return head, cursor{}, in.refuse("has an NPY header that is damaged or unknown", err.Error(), "save the array with numpy.save")
	}
	t, ok := npy.TypeOf(head.Type)
	if !ok {
		t, ok = npy.TextOf(head.Type)
	}
	if !ok && strings.HasPrefix(head.Type, "|O") {
		return head, cursor{}, in.refuse("holds Python objects",
			"reading Python objects runs code from the file, which is safe only for whoever wrote the file; "+
				"votes are numbers or strings", "for a file of your own, "+
				saved(in.name, "v = np.load(%q, allow_pickle=True); ", `np.where(v == None, "", v).astype(str)`))
	}
	if !ok {
		return head, cursor{}, in.refuse(fmt.Sprintf("holds NPY type %.20q", head.Type),
			fmt.Sprintf("votes are booleans, integers of 1 to 8 bytes, floats of 2 to 8 bytes, or strings of at most %d characters", npy.MaxText),
			"save class numbers or class names, "+stackLine(in.name))
	}
	cells, fits := 1, true
	for _, n := range head.Shape {
		if n != 0 && cells > math.MaxInt/8/n {
			fits = false
			break
		}
		cells *= n
	}
	if want := int64(used) + int64(cells)*int64(t.Size); !fits || want != in.size {
		return head, cursor{}, in.refuse(fmt.Sprintf("has %d bytes, which does not match the shape %v in its header",
			in.size, head.Shape), "the file was cut off or overwritten", "save the file again")
	}
	return head, cursor{in: in, offset: int64(used), npy: &t}, nil
}

func sniff(r *reader, in *input) (isNPY bool, err error) {
	head, err := r.at(in, 0, 4096)
	if err != nil {
		return false, err
	}
	if bytes.HasPrefix(head, []byte(npy.Magic)) {
		return true, nil
	}
	e := in.refuse("", "votes are CSV, NPY or Parquet", "")
	switch {
	case len(head) == 0:
		e.What, e.Fix = "is empty", "check that this is the right file"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		e.What = "is a zip archive, as numpy.savez and Excel write them"
		e.Fix = "save one array with numpy.save; for a numpy.savez file, " + saved(in.name, "", "next(iter(np.load(%q).values()))")
	case bytes.HasPrefix(head, []byte("ARROW1")), bytes.HasPrefix(head, []byte("FEA1")):
		e.What = "is an Arrow or Feather file"
		e.Fix = inPython(fmt.Sprintf("pd.read_feather(%q).to_parquet(%q, index=False)", in.name, beside(in.name, ".parquet")))
	case bytes.HasPrefix(head, []byte("\x80")) && bytes.IndexByte(head, 0) >= 0:
		e.What = "is a Python pickle"
		e.Fix = "for a file of your own, " + saved(in.name, "import pickle; ", `np.array(pickle.load(open(%q, "rb")))`)
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		e.What, e.Fix = "is UTF-16", "save the file as UTF-8"
	case bytes.IndexByte(head, 0) >= 0:
		e.What, e.Fix = "is neither text nor NPY", "save the array with numpy.save, or as CSV"
	default:
		return false, nil
	}
	return false, e
}
