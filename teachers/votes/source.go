package votes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"log/slog"
	"math"
	"slices"
	"strconv"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/fault"
)

// Header states whether the first line of a CSV file names its columns.
type Header string

const (
	// headerAuto takes the first line for a header if its cells are words, of which some may be empty. It
	// refuses a line with both words and numbers, and a long one of 0, 1, 2, ...
	headerAuto Header = ""
	HeaderYes  Header = "yes"
	HeaderNo   Header = "no"
)

// Options describe a file of votes. Nothing here is guessed from votes.
type Options struct {
	// Classes is the public number of classes, 2 to [MaxClasses]. With Counts it may be 0: then it is the
	// number of columns.
	Classes int
	// ClassNames, if not nil, are the public names of the classes, in their order. Votes are then these
	// words, or numbers of classes unless one of the names is a number itself. Classes must be 0 or agree.
	ClassNames []string
	// FirstClass is the number of class 0 in the file: 1 if it counts classes from 1. -1 is a missing vote
	// nevertheless.
	FirstClass int
	// Counts: the file holds vote counts, queries x classes, in place of labels, queries x teachers.
	Counts bool
	// Probabilities: the file holds class probabilities in place of votes, an array of queries x teachers x
	// classes, or one file per teacher, queries x classes. A teacher votes for the class with the largest,
	// the lowest of equals.
	Probabilities bool
	// Teachers is their public number where the file does not show it, with Counts: no row may add up to
	// more. 0: not stated, at most [MaxTeachers]. With labels it must be 0 or agree with the file.
	Teachers int
	// Transpose: the file is teachers x queries (with Counts classes x queries).
	Transpose bool
	// Header is for CSV files.
	Header Header
	// IndexColumn: column 1 of a CSV file names the rows, as pandas writes it, and is left out.
	IndexColumn bool
	// Spool is what the path [Stdin] stands for; without it Stdin is the name of a file.
	Spool *Spool
	// From, To choose the queries From <= q < To. To 0: up to the last.
	From, To int
}

// Source reads votes in files, as often as asked, in bounded memory. [Open] makes one. It keeps no file
// open between calls, does not change and is safe for concurrent use. fmt and slog print the shape alone.
type Source struct {
	opt      Options
	files    []*input
	shape    layout
	teachers int // 0: not stated
	classes  int
	from, to int
	dom      domain // what a cell may hold
	tile     int    // cells of columns held at a time
	hash     [32]byte
}

// Ballot is the votes on one query. Query counts from the start of the file, whichever part was chosen.
type Ballot struct {
	Query     int
	Histogram aggregate.Histogram
}

// Open opens a matrix of votes, CSV, NPY or Parquet, or one file per teacher.
//
// One path is a matrix. Several paths, or a glob pattern that names no existing file, are one file per
// teacher: vectors of equal length, in the order of their names, sorted bytewise.
//
// CSV is numbers or class names separated by commas, semicolons or tabs, a line each query; an empty cell
// or -1 is an abstention. NPY is of version 1 to 3 and holds booleans, integers, floats (whole ones) or
// strings of either byte order, in C or Fortran order; NaN is refused. Parquet has a column for each
// teacher; Parquet and files that are compressed, by gzip or Zstandard, are unpacked into a temporary file
// without a name, up to 4 GiB, which goes with the source. A refused file is a [*fault.Error], with a line
// of Python that mends the file if there is one.
//
// Open reads all of the files once, whichever range is chosen: an opened source holds valid votes only, and
// its Hash is known. Memory is bounded, whatever the number of queries and whatever headers claim: below
// 100 MB, and some 100 bytes for each teacher. Pages of Parquet may take another 512 MiB.
func Open(ctx context.Context, paths []string, opt Options) (*Source, error) {
	files, perTeacher, err := findInputs(paths, opt.Spool)
	if err != nil {
		return nil, err
	}
	return open(ctx, files, perTeacher, opt)
}

func open(ctx context.Context, files []*input, perTeacher bool, opt Options) (*Source, error) {
	s, err := newSource(ctx, files, perTeacher, opt)
	if err != nil {
		return nil, err
	}
	s.hash, err = s.read(ctx, nil)
	return s, s.explained(ctx, err)
}

// newSource finds files, shape and range, and reads no votes.
func newSource(ctx context.Context, files []*input, perTeacher bool, opt Options) (*Source, error) {
	if opt.ClassNames != nil {
		if err := CheckClassNames(opt.ClassNames); err != nil {
			return nil, err
		}
		if opt.Classes != 0 && opt.Classes != len(opt.ClassNames) {
			return nil, fmt.Errorf("votes: %d class names and %d classes", len(opt.ClassNames), opt.Classes)
		}
		opt.Classes = len(opt.ClassNames)
	}
	if !opt.Counts || opt.Classes != 0 {
		if err := checkShape(0, 1, opt.Classes); err != nil {
			return nil, err
		}
	}
	switch {
	case opt.Teachers < 0 || opt.Teachers > MaxTeachers:
		return nil, fmt.Errorf("votes: Options.Teachers is %d, want 0 to %d", opt.Teachers, MaxTeachers)
	case opt.From < 0 || opt.To < 0 || opt.To != 0 && opt.To <= opt.From:
		return nil, fmt.Errorf("votes: queries %d:%d: want From below To, both at least 0", opt.From, opt.To)
	case opt.FirstClass < 0 || opt.FirstClass > MaxClasses:
		return nil, fmt.Errorf("votes: Options.FirstClass is %d, want 0 to %d", opt.FirstClass, MaxClasses)
	case opt.Counts && opt.Probabilities:
		return nil, errors.New("votes: counts are no probabilities")
	case opt.Counts && perTeacher:
		return nil, errors.New("votes: counts are one file, not one per teacher; pate votes counts --join makes one of several")
	case opt.Header != headerAuto && opt.Header != HeaderYes && opt.Header != HeaderNo:
		return nil, fmt.Errorf("votes: header %q is none of %q, %q, %q", opt.Header, headerAuto, HeaderYes, HeaderNo)
	}
	files, err := unpackInputs(ctx, files, perTeacher, opt)
	if err != nil {
		return nil, err
	}
	s := &Source{opt: opt, files: files, classes: opt.Classes, tile: tileCells, from: opt.From, to: opt.To}
	if s.shape, err = findLayout(ctx, files, perTeacher, opt); err != nil {
		return nil, err
	}
	rows, cols := s.shape.rows, s.shape.cols
	switch {
	case opt.Counts:
		s.teachers, s.dom = opt.Teachers, domain{low: 0, limit: MaxTeachers + 1}
		s.classes = cmp.Or(s.classes, cols)
	case opt.Probabilities: // votes were made from them
		s.teachers, s.dom = cols, domain{low: Abstention, limit: s.classes}
	default:
		s.teachers, s.dom = cols, opt.labelDomain(s.classes)
	}
	s.to = cmp.Or(s.to, rows)
	refuse := func(what, why, fix string) (*Source, error) {
		return nil, &fault.Error{File: files[0].name, What: what, Why: why, Fix: fix}
	}
	switch {
	case opt.Counts && s.classes != cols:
		return refuse(fmt.Sprintf("has %d counts for each query, there are %d classes", cols, s.classes),
			"each row is a query, each column a class", "give the right number of classes, or say that the file is transposed")
	case opt.Counts && (s.classes < 2 || s.classes > MaxClasses):
		return refuse(fmt.Sprintf("has %d classes", s.classes), fmt.Sprintf("2 to %d are possible", MaxClasses), "")
	case !opt.Counts && (cols < 1 || cols > MaxTeachers):
		return refuse(fmt.Sprintf("has %d teachers", cols), fmt.Sprintf("1 to %d are possible", MaxTeachers),
			"say that the file is transposed, if it is")
	case !opt.Counts && opt.Teachers != 0 && opt.Teachers != cols:
		return refuse(fmt.Sprintf("has %d teachers, %d were expected", cols, opt.Teachers), "", "")
	case rows > math.MaxInt/(2*max(cols, 1)):
		return refuse(fmt.Sprintf("claims %d queries", rows), "", "")
	case s.to > rows || s.from > s.to:
		return refuse(fmt.Sprintf("has %d queries, %d:%d were asked for", rows, s.from, s.to),
			"queries count from 0, and the end is not included", fmt.Sprintf("choose from 0:%d", rows))
	}
	return s, nil
}

// Kind describes the format that votes were read from: "Parquet", or "gzip of CSV with a header".
func (s *Source) Kind() string {
	cur := s.shape.cursors[0]
	if cur.in.kind != "" {
		return cur.in.kind
	}
	text := ""
	for _, how := range cur.in.packed {
		if how == packedParquet {
			return text + string(how)
		}
		if how != packedIndexed {
			text += string(how) + " of "
		}
	}
	if cur.npy != nil {
		return fmt.Sprintf("%sNPY of type %c%d", text, cur.npy.Kind, cur.npy.Size)
	}
	text += "CSV" + map[byte]string{';': " with semicolons", '\t': " with tabs"}[cur.csv.form.sep]
	if cur.csv.form.headers > 0 {
		text += " with a header"
	}
	if s.opt.IndexColumn {
		text += ", its column 1 left out"
	}
	return text
}

// Part returns the source of the queries from <= q < to alone, counted from the start of the file.
func (s *Source) Part(from, to int) (*Source, error) {
	if from < 0 || from >= to || to > s.shape.rows {
		return nil, fmt.Errorf("votes: queries %d:%d of %d", from, to, s.shape.rows)
	}
	part := *s
	part.from, part.to = from, to
	return &part, nil
}

// Queries returns how many queries were chosen, and Total how many the file has.
func (s *Source) Queries() int { return s.to - s.from }
func (s *Source) Total() int   { return s.shape.rows }

// Range returns the queries chosen: from <= q < to, counted from the start of the file.
func (s *Source) Range() (from, to int) { return s.from, s.to }

// Teachers returns their number, 0 if the votes are counts and it was not stated.
func (s *Source) Teachers() int { return s.teachers }
func (s *Source) Classes() int  { return s.classes }

// ClassNames returns the public names under which classes are released: Options.ClassNames, the numbers
// that the file has for them if it does not count from 0, and else nil.
func (s *Source) ClassNames() []string {
	if s.opt.ClassNames == nil && s.opt.FirstClass == 0 {
		return nil
	}
	return s.opt.classNames(s.classes)
}

// classNames returns the names of so many classes in the file.
func (o Options) classNames(classes int) []string {
	names := slices.Clone(o.ClassNames)
	for class := len(names); class < classes; class++ {
		names = append(names, strconv.Itoa(o.FirstClass+class))
	}
	return names
}

// Counts reports whether the file holds counts, which show no vote of a single teacher.
func (s *Source) Counts() bool { return s.opt.Counts }

// Hash identifies all the votes of the file, whichever part was chosen and whatever the format: for labels
// it is [Matrix.Hash], a fingerprint of secrets without a key.
func (s *Source) Hash() [32]byte { return s.hash }

// String returns the shape only; so do Format, whatever the verb, and LogValue.
func (s *Source) String() string {
	return fmt.Sprintf("votes on %d of %d queries, %d classes (redacted)", s.Queries(), s.Total(), s.classes)
}

func (s *Source) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }
func (s *Source) LogValue() slog.Value       { return slog.StringValue(s.String()) }

// Histograms reads the chosen queries in ascending order. It ends after an error, which it yields with a
// zero Ballot: ctx is done, reading failed, or a file changed since it was opened. Ballots yielded before
// an error must not be used.
func (s *Source) Histograms(ctx context.Context) iter.Seq2[Ballot, error] {
	return func(yield func(Ballot, error) bool) {
		ballot := Ballot{Query: s.from}
		for counts, err := range s.eachCount(ctx) {
			if err == nil {
				ballot.Histogram, err = aggregate.NewHistogram(counts)
			}
			if err != nil {
				yield(Ballot{}, err)
				return
			}
			if !yield(ballot, nil) {
				return
			}
			ballot.Query++
		}
	}
}

var errStopped = errors.New("stopped")

// eachCount reads the counts of the chosen queries in ascending order. The next overwrites them.
func (s *Source) eachCount(ctx context.Context) iter.Seq2[[]int, error] {
	return func(yield func([]int, error) bool) {
		counts := make([]int, s.classes)
		next := func() error {
			if !yield(counts, nil) {
				return errStopped
			}
			return nil
		}
		var t tally
		var err error
		switch {
		case s.opt.Counts:
			err = eachRow(ctx, s, s.from, s.to, func(_ int, row []int32) error {
				for class, n := range row {
					counts[class] = int(n)
				}
				return next()
			})
		case s.narrow():
			err = eachRow(ctx, s, s.from, s.to, func(_ int, row []byte) error {
				t.count(counts, row)
				return next()
			})
		default:
			err = eachRow(ctx, s, s.from, s.to, func(_ int, row []int16) error {
				countWide(counts, row)
				return next()
			})
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// Load reads the chosen queries of labels into memory, one byte a vote, two beyond 127 classes.
func (s *Source) Load(ctx context.Context) (*Matrix, error) {
	if s.opt.Counts {
		return nil, errors.New("votes: counts do not tell the votes of teachers")
	}
	v := newMatrix(s.Queries(), s.teachers, s.classes)
	var err error
	if s.narrow() {
		err = copyRows(ctx, s, v.narrow)
	} else {
		err = copyRows(ctx, s, v.wide)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

func copyRows[C cell](ctx context.Context, s *Source, to []C) error {
	return eachRow(ctx, s, s.from, s.to, func(query int, row []C) error {
		copy(to[(query-s.from)*s.teachers:], row)
		return nil
	})
}

func (s *Source) narrow() bool { return !s.opt.Counts && s.classes <= math.MaxInt8 }

// read reads all the votes and returns their hash. Without a checker it refuses invalid ones.
func (s *Source) read(ctx context.Context, c *checker) (hash [32]byte, err error) {
	h := newHash("pate votes 1\x00", s.shape.rows, s.teachers, s.classes)
	switch {
	case s.opt.Counts:
		h = newHash("pate counts 1\x00", s.shape.rows, s.classes)
		err = readCells[int32](ctx, s, c, h)
	case s.narrow():
		err = readCells[byte](ctx, s, c, h)
	default:
		err = readCells[int16](ctx, s, c, h)
	}
	h.Sum(hash[:0])
	return hash, err
}

func readCells[C cell](ctx context.Context, s *Source, c *checker, h hash.Hash) error {
	var buf []byte
	return eachBlock(ctx, s, 0, s.shape.rows, func(first int, cells []C, bad int) error {
		buf = appendCells(buf[:0], cells)
		h.Write(buf)
		counts, are := any(cells).([]int32)
		switch {
		case c == nil && are:
			return rowsOf(s, first, counts, bad, func(query int, row []int32) error {
				return checkSum(s.files[0].name, s.teachers, query, row)
			})
		case c == nil && bad > 0:
			return rowsOf(s, first, cells, bad, func(int, []C) error { return nil })
		case are:
			c.countBlock(first, counts)
		case c != nil:
			labelBlock(c, first, cells)
		}
		return nil
	})
}

// checkSum refuses more votes than there are teachers.
func checkSum[N int | int32](file string, teachers, query int, row []N) error {
	limit, sum := cmp.Or(teachers, MaxTeachers), 0
	for _, n := range row {
		sum += int(n)
	}
	if sum > limit {
		return &fault.Error{File: file,
			What: fmt.Sprintf("the counts of query %d (from 0) add up to more than the %d teachers", query, limit),
			Why:  "each teacher votes once on each query", Fix: "state the right number of teachers"}
	}
	return nil
}
