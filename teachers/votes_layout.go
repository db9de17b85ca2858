package teachers

import (
	"bytes"
	"context"
	"fmt"
	"math"
)

// layVotes finds where the cells are, and reads headers and the ends of lines
// only.
func layVotes(ctx context.Context, files []*votesInput, perTeacher bool, opt VotesOptions) (votesLayout, error) {
	var d desk
	defer d.close()
	if !perTeacher {
		return layFile(ctx, &d, files[0], opt)
	}
	whole := votesLayout{cols: len(files), columns: true, lanes: make([]lane, 0, len(files))}
	for i, in := range files {
		rows, ln, err := layVector(ctx, &d, in, opt)
		if err != nil {
			return whole, err
		}
		if i == 0 {
			whole.rows = rows
		}
		if rows != whole.rows {
			return whole, &VotesError{File: in.name, What: fmt.Sprintf("has %d labels, %s has %d", rows, files[0].name, whole.rows),
				Why: "each file is the votes of one teacher on the same queries; a missing vote is -1 or an empty line", Fix: "fix the file, or narrow the pattern"}
		}
		whole.lanes = append(whole.lanes, ln)
	}
	return whole, nil
}

// layFile lays out a matrix.
func layFile(ctx context.Context, d *desk, in *votesInput, opt VotesOptions) (votesLayout, error) {
	isNPY, err := sniff(d, in)
	if err != nil {
		return votesLayout{}, err
	}
	if isNPY {
		head, ln, err := layNPY(d, in)
		if err != nil {
			return votesLayout{}, err
		}
		if len(head.shape) != 2 {
			return votesLayout{}, &VotesError{File: in.name, What: fmt.Sprintf("holds an array of %d dimensions", len(head.shape)),
				Why: "votes are a matrix, queries x teachers; vectors are one file for each teacher, several paths or a pattern", Fix: "save a matrix"}
		}
		lines, width := head.shape[0], head.shape[1]
		if head.fortran {
			lines, width = width, lines
		}
		return layLines(lines, width, opt.Transpose != head.fortran, ln, func(i int) lane {
			at := ln
			at.offset += int64(i) * int64(width) * int64(ln.npy.size)
			return at
		}, in)
	}
	text, err := layCSV(ctx, d, in, opt, opt.Transpose)
	if err != nil {
		return votesLayout{}, err
	}
	ln := text.lane(in, 0)
	return layLines(text.rows, text.width, opt.Transpose, ln, func(i int) lane { return text.lane(in, i) }, in)
}

// layLines makes each line of a file a query or, if columns, a lane.
func layLines(lines, width int, columns bool, first lane, line func(i int) lane, in *votesInput) (votesLayout, error) {
	if !columns {
		return votesLayout{rows: lines, cols: width, lanes: []lane{first}}, nil
	}
	if lines > MaxTeachers {
		return votesLayout{}, &VotesError{File: in.name, What: fmt.Sprintf("has %d teachers", lines), Why: fmt.Sprintf("1 to %d are possible", MaxTeachers),
			Fix: "do not say that the file is transposed"}
	}
	out := votesLayout{rows: width, cols: lines, columns: true, lanes: make([]lane, lines)}
	for i := range out.lanes {
		out.lanes[i] = line(i)
	}
	return out, nil
}

// layVector lays out the file of one teacher.
func layVector(ctx context.Context, d *desk, in *votesInput, opt VotesOptions) (rows int, ln lane, err error) {
	isNPY, err := sniff(d, in)
	if err != nil {
		return 0, lane{}, err
	}
	var lines, width int
	if isNPY {
		var head npyHeader
		if head, ln, err = layNPY(d, in); err != nil {
			return 0, lane{}, err
		}
		switch {
		case len(head.shape) == 1:
			return head.shape[0], ln, nil
		case len(head.shape) != 2:
			return 0, lane{}, notVector(in, fmt.Sprintf("holds an array of %d dimensions", len(head.shape)))
		}
		lines, width = head.shape[0], head.shape[1]
	} else {
		text, err := layCSV(ctx, d, in, opt, false)
		if err != nil {
			return 0, lane{}, err
		}
		lines, width, ln = text.rows, text.width, text.lane(in, 0)
	}
	if opt.Transpose {
		lines, width = width, lines
	}
	if width != 1 {
		return 0, lane{}, notVector(in, fmt.Sprintf("has %d columns", width))
	}
	return lines, ln, nil
}

func notVector(in *votesInput, what string) error {
	return &VotesError{File: in.name, What: what, Why: "of several files each is the votes of one teacher, one column", Fix: "give one matrix alone, or say that it is transposed"}
}

// layNPY reads the header and checks it against the size of the file.
func layNPY(d *desk, in *votesInput) (npyHeader, lane, error) {
	raw, err := d.at(in, 0, len(npyMagic)+2+4+maxNPYHeader)
	if err != nil {
		return npyHeader{}, lane{}, err
	}
	head, used, err := readNPYHeader(raw)
	if err != nil {
		return head, lane{}, &VotesError{File: in.name, What: "has a damaged or foreign NPY header", Why: err.Error(), Fix: "save the array with numpy.save"}
	}
	t, ok := npyTypeOf(head.typ)
	if !ok {
		return head, lane{}, &VotesError{File: in.name, What: fmt.Sprintf("holds NPY type %.20q", head.typ), Why: "votes are booleans, integers of 1 to 8 bytes or floats of 2 to 8", Fix: "convert with array.astype('int8') or 'int16'"}
	}
	cells, fits := 1, true
	for _, n := range head.shape {
		if n != 0 && cells > math.MaxInt/8/n {
			fits = false
			break
		}
		cells *= n
	}
	if want := int64(used) + int64(cells)*int64(t.size); !fits || want != in.size {
		return head, lane{}, &VotesError{File: in.name, What: fmt.Sprintf("is not as long as its header says: %d bytes for shape %v", in.size, head.shape), Why: "the file was cut off or overwritten", Fix: "save it again"}
	}
	return head, lane{in: in, offset: int64(used), npy: &t}, nil
}

// sniff tells NPY from text, by content alone, and refuses what is neither.
func sniff(d *desk, in *votesInput) (isNPY bool, err error) {
	head, err := d.at(in, 0, 4096)
	if err != nil {
		return false, err
	}
	if bytes.HasPrefix(head, []byte(npyMagic)) {
		return true, nil
	}
	e := &VotesError{File: in.name, Why: "votes are CSV or NPY"}
	switch {
	case len(head) == 0:
		e.What, e.Fix = "is empty", "check that the right file is given"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		e.What, e.Fix = "is a zip archive", "save one array with numpy.save, not numpy.savez"
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		e.What, e.Fix = "is compressed", "unpack it with gunzip"
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		e.What, e.Fix = "is UTF-16", "save it as UTF-8"
	case bytes.IndexByte(head, 0) >= 0:
		e.What, e.Fix = "is neither text nor NPY", "save the array with numpy.save, or as CSV"
	default:
		return false, nil
	}
	return false, e
}
