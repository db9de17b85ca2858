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

// Header states whether the first line of a CSV file is a header.
type Header string

const (
	// headerAuto treats the first line as a header if the line has text or empty cells, but no numbers.
	headerAuto Header = ""
	HeaderYes  Header = "yes"
	HeaderNo   Header = "no"
)

// Options describes a file of votes. No option is guessed from the votes.
type Options struct {
	// Classes is the public number of classes, 2 to [MaxClasses]. With Counts, 0 means the number of columns.
	Classes int
	// ClassNames, if not nil, holds the public class names in order. Votes are then class names, or class
	// numbers if no class name is a number. Classes must be 0 or the number of names.
	ClassNames []string
	// FirstClass is the number of class 0 in the file, usually 0 or 1. A vote of -1 is always an abstention.
	FirstClass int
	// Counts means that the file holds vote counts (queries x classes) instead of labels.
	Counts bool
	// Probabilities means that files hold class probabilities in place of labels. One file holds an array of
	// queries x teachers x classes, or each teacher has a file of queries x classes. A teacher votes for the
	// lowest class with the largest probability.
	Probabilities bool
	// Teachers is the public number of teachers, at most [MaxTeachers], or 0 if it is not declared. If
	// Teachers is declared, a row of counts with a larger sum is an error. Without Counts, Teachers must be 0
	// or the files' number of teachers.
	Teachers int
	// Transpose means that the rows of the file are teachers. With Counts, or Probabilities in one file per
	// teacher, the rows are classes.
	Transpose bool
	Header    Header
	// IndexColumn skips column 1 of a CSV file. Pandas, for example, writes a row index there.
	IndexColumn bool
	// Spool holds the votes for the path [Stdin]. If Spool is nil, Stdin is a file name.
	Spool *Spool
	// From and To select the queries From <= q < To. A To of 0 means the end of the file.
	From, To int
}

// Source reads votes from files repeatedly, in bounded memory. A Source does not change and keeps no file
// open between calls. Concurrent use is safe. The packages fmt and slog print only the shape.
type Source struct {
	opt      Options
	files    []*input
	shape    layout
	teachers int // 0 if not stated
	classes  int
	from, to int
	dom      domain // valid values of cells
	tile     int    // cells in memory when a file is read by columns
	hash     [32]byte
}

// Ballot holds the votes on one query. The index Query counts from the start of the file.
type Ballot struct {
	Query     int
	Histogram aggregate.Histogram
}

// Open opens votes in CSV, NPY or Parquet: one matrix, or one file per teacher.
//
// A single path that exists is a matrix. Several paths, or the matches of a glob pattern, hold one vector per
// teacher. The vectors have equal lengths and are sorted bytewise by file name.
//
// CSV has one line per query. Numbers or class names are separated by commas, semicolons or tabs. An empty
// cell or -1 is an abstention. An NPY file has version 1 to 3, C or Fortran order, and either byte order. An
// NPY file holds booleans, integers, whole floats or strings. NaN is refused. Parquet has one column per
// teacher. Parquet files, and files compressed by gzip or Zstandard, are unpacked into a temporary file of at
// most 4 GiB. The temporary file is removed after the last use of the Source. It has no name if the system
// supports unnamed files. For a refused file, the error is a [*fault.Error]. If possible, the error contains
// a line of Python that converts the file.
//
// Open reads all files once, to check the votes and compute the Hash. Open uses at most 100 MB of memory plus
// about 100 bytes per teacher. Pages of Parquet may take another 512 MiB.
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
		return nil, errors.New("votes: Counts and Probabilities exclude each other")
	case opt.Counts && perTeacher:
		return nil, errors.New("votes: counts need a single file; pate votes counts --join makes one file of several")
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
	case opt.Probabilities: // probabilities have been converted to votes
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
		return refuse(fmt.Sprintf("has %d counts for each query, but there are %d classes", cols, s.classes),
			"each row is a query and each column is a class", "give the right number of classes, or give --transpose")
	case opt.Counts && (s.classes < 2 || s.classes > MaxClasses):
		return refuse(fmt.Sprintf("has %d classes", s.classes), fmt.Sprintf("the number must be from 2 to %d", MaxClasses), "")
	case !opt.Counts && (cols < 1 || cols > MaxTeachers):
		return refuse(fmt.Sprintf("has %d teachers", cols), fmt.Sprintf("the number must be from 1 to %d", MaxTeachers),
			"if the file is transposed, give --transpose")
	case !opt.Counts && opt.Teachers != 0 && opt.Teachers != cols:
		return refuse(fmt.Sprintf("has %d teachers, but %d were expected", cols, opt.Teachers), "", "")
	case rows > math.MaxInt/(2*max(cols, 1)):
		return refuse(fmt.Sprintf("claims %d queries", rows), "", "")
	case s.to > rows || s.from > s.to:
		return refuse(fmt.Sprintf("has %d queries, but queries %d:%d were requested", rows, s.from, s.to),
			"queries are numbered from 0, and a range excludes its end", fmt.Sprintf("choose a range within 0:%d", rows))
	}
	return s, nil
}

// Kind describes the format of the file, such as "Parquet" or "gzip of CSV with a header".
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
		text += ", without column 1"
	}
	return text
}

// Part returns a source of the queries q with from <= q < to. Indices count from the start of the file.
func (s *Source) Part(from, to int) (*Source, error) {
	if from < 0 || from >= to || to > s.shape.rows {
		return nil, fmt.Errorf("votes: queries %d:%d of %d", from, to, s.shape.rows)
	}
	part := *s
	part.from, part.to = from, to
	return &part, nil
}

// Queries returns the number of selected queries. Total returns the number of queries in the file.
func (s *Source) Queries() int { return s.to - s.from }
func (s *Source) Total() int   { return s.shape.rows }

// Range returns the bounds of the selected queries: from <= query < to. The first query of the file is query
// 0.
func (s *Source) Range() (from, to int) { return s.from, s.to }

// Teachers returns the number of teachers, or 0 if the number is not stated.
func (s *Source) Teachers() int { return s.teachers }
func (s *Source) Classes() int  { return s.classes }

// ClassNames returns Options.ClassNames or, by default, the class numbers in the votes file, from
// Options.FirstClass upwards. If ClassNames is nil and FirstClass is 0, the result is nil.
func (s *Source) ClassNames() []string {
	if s.opt.ClassNames == nil && s.opt.FirstClass == 0 {
		return nil
	}
	return s.opt.classNames(s.classes)
}

func (o Options) classNames(classes int) []string {
	names := slices.Clone(o.ClassNames)
	for class := len(names); class < classes; class++ {
		names = append(names, strconv.Itoa(o.FirstClass+class))
	}
	return names
}

// Counts reports whether the file holds counts, which hide the votes of single teachers.
func (s *Source) Counts() bool { return s.opt.Counts }

// Hash returns a hash of all votes in the file, selected or not. The file format does not affect the hash.
// For labels the hash equals [Matrix.Hash]. Do not publish the hash: a small file can be guessed from it.
func (s *Source) Hash() [32]byte { return s.hash }

func (s *Source) String() string {
	return fmt.Sprintf("votes on %d of %d queries, %d classes (redacted)", s.Queries(), s.Total(), s.classes)
}

func (s *Source) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }
func (s *Source) LogValue() slog.Value       { return slog.StringValue(s.String()) }

// Histograms yields the chosen queries in ascending order. If ctx ends, or a file has changed or cannot be
// read, the last pair is a zero Ballot and an error. After an error, earlier Ballots must not be used.
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

// Load reads the votes on the queries of s into memory. A vote takes one byte, or two with more than 127
// classes.
func (s *Source) Load(ctx context.Context) (*Matrix, error) {
	if s.opt.Counts {
		return nil, errors.New("votes: counts do not contain the votes of single teachers")
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

func checkSum[N int | int32](file string, teachers, query int, row []N) error {
	limit, sum := cmp.Or(teachers, MaxTeachers), 0
	for _, n := range row {
		sum += int(n)
	}
	if sum > limit {
		return &fault.Error{File: file,
			What: fmt.Sprintf("the counts of query %d (from 0) add up to more than the %d teachers", query, limit),
			Why:  "each teacher votes at most once on each query", Fix: "give the right number of teachers"}
	}
	return nil
}
