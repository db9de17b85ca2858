package votes

import (
	"context"
	"errors"
	"math"
	"slices"
)

// Report is what [Check] found. It tells of votes, so it is as private as they are.
type Report struct {
	Queries, Teachers, Classes int      // Teachers is 0 for counts that do not state it
	Counts                     bool     // the file holds counts
	Kind                       string   // [Source.Kind]
	Names                      []string // of the files, where there is one for each teacher
	ClassNames                 []string // [Source.ClassNames]
	Hash                       [32]byte // [Source.Hash]; zero if a vote is invalid

	ClassVotes   []int64 // votes for each class
	Pluralities  []int64 // queries on which each class leads, the lowest of equals
	Abstentions  int64   // votes missing; for counts without Teachers, below the largest row
	LeastVotes   int     // on one query
	MostVotes    int     // on one query
	OutOfRange   int64   // whole numbers that are no class, or no count
	NaN          int64
	NotWhole     int64 // fractions and infinities
	NotNumber    int64 // text
	TooMany      int64 // rows of counts that add up to more than there are teachers
	FirstInvalid error // a [*fault.Error]; nil if all votes are valid

	Silent     []int   // teachers who never vote
	Constant   []int   // teachers who vote, on two queries or more, for one class only
	Duplicates [][]int // groups of teachers with equal votes who are neither silent nor constant
	// ChanceDuplicates is how many pairs of equal teachers to expect if teachers answered independently,
	// each query as the ensemble did: above a few thousandths, equal teachers prove nothing.
	ChanceDuplicates float64
}

// MaxChance is the largest ChanceDuplicates at which duplicates are a fault.
const MaxChance = 1e-3

// Check reads all of the files, as [Open] would, and reports what it finds, invalid votes among it. An
// error says that they cannot be read at all. Memory grows by some 50 bytes for each teacher.
func Check(ctx context.Context, paths []string, opt Options) (*Report, error) {
	files, perTeacher, err := findInputs(paths, opt.Spool)
	if err != nil {
		return nil, err
	}
	return check(ctx, files, perTeacher, opt)
}

func check(ctx context.Context, files []*input, perTeacher bool, opt Options) (*Report, error) {
	if opt.From != 0 || opt.To != 0 {
		return nil, errors.New("votes: a check covers all queries")
	}
	s, err := newSource(ctx, files, perTeacher, opt)
	if err != nil {
		return nil, err
	}
	return s.check(ctx, perTeacher)
}

// Check checks votes that were opened, as the function [Check] does. It covers all queries of the file.
func (s *Source) Check(ctx context.Context) (*Report, error) {
	return s.check(ctx, len(s.files) > 1)
}

// OpenChecked opens votes as [Open] does, and checks them as [Check] does, in one pass: all queries,
// whatever part is chosen. A report that comes without an error has no FirstInvalid.
func OpenChecked(ctx context.Context, paths []string, opt Options) (*Source, *Report, error) {
	files, perTeacher, err := findInputs(paths, opt.Spool)
	if err != nil {
		return nil, nil, err
	}
	s, err := newSource(ctx, files, perTeacher, opt)
	if err != nil {
		return nil, nil, err
	}
	report, err := s.check(ctx, perTeacher)
	if err == nil {
		err = report.FirstInvalid
	}
	if err != nil {
		return nil, nil, err
	}
	s.hash = report.Hash
	return s, report, nil
}

func (s *Source) check(ctx context.Context, perTeacher bool) (*Report, error) {
	opt := s.opt
	c := &checker{source: s, Report: Report{
		Queries: s.Total(), Teachers: s.teachers, Classes: s.classes, Counts: opt.Counts, Kind: s.Kind(), ClassNames: s.ClassNames(),
		ClassVotes: make([]int64, s.classes), Pluralities: make([]int64, s.classes), LeastVotes: math.MaxInt,
	}}
	if perTeacher {
		for _, in := range s.files {
			c.Names = append(c.Names, in.name)
		}
	}
	c.voters = make([]teacherVotes, s.teachers)
	c.counts = make([]int, s.classes)
	h := hashBeside(s.newHash())
	defer h.close()
	var buf []byte
	var err error
	switch {
	case opt.Counts:
		c.voters = nil
		err = eachBlock(ctx, s, 0, c.Queries, func(first int, cells []int32, _ int) error {
			buf = appendCells(buf[:0], cells)
			h.begin(buf)
			c.countBlock(first, cells)
			h.finish()
			return nil
		})
	case s.narrow():
		err = eachBlock(ctx, s, 0, c.Queries, func(first int, cells []byte, bad int) error {
			h.begin(cells)
			if bad > 0 {
				labelBlock(c, first, cells)
			} else {
				c.validBlock(cells)
			}
			h.finish()
			return nil
		})
	default:
		err = eachBlock(ctx, s, 0, c.Queries, func(first int, cells []int16, _ int) error {
			buf = appendCells(buf[:0], cells)
			h.begin(buf)
			labelBlock(c, first, cells)
			h.finish()
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	if c.FirstInvalid == nil {
		h.hash.Sum(c.Hash[:0])
	} else if c.FirstInvalid = s.explained(ctx, c.FirstInvalid); ctx.Err() != nil {
		return nil, c.FirstInvalid
	}
	c.finish()
	return &c.Report, nil
}

func (c *checker) countBlock(first int, cells []int32) {
	for i := 0; i*c.Classes < len(cells); i++ {
		row := cells[i*c.Classes : (i+1)*c.Classes]
		votes := 0
		for class, n := range row {
			if n < 0 {
				c.invalid(first+i, class, int(n))
				n = 0
			}
			c.counts[class] = int(n)
			votes += int(n)
		}
		if err := c.source.checkSum(first+i, row); err != nil && !slices.ContainsFunc(row, func(n int32) bool { return n < 0 }) {
			c.TooMany++
			c.blame(err)
		}
		c.Abstentions += int64(max(0, c.Teachers-votes))
		c.sum += int64(votes)
		c.row(votes)
	}
}

// row takes in c.counts, the votes on one query.
func (c *checker) row(votes int) {
	for class, n := range c.counts {
		c.ClassVotes[class] += int64(n)
	}
	best, _ := topTwo(c.counts)
	c.Pluralities[best]++
	c.LeastVotes, c.MostVotes = min(c.LeastVotes, votes), max(c.MostVotes, votes)
}

func (c *checker) invalid(row, col, code int) {
	switch code {
	case badNaN:
		c.NaN++
	case badNumber, badShare:
		c.NotWhole++
	case badText:
		c.NotNumber++
	default:
		c.OutOfRange++
	}
	if c.FirstInvalid == nil {
		c.blame(cellError{c.source.badCell(row, col, code)})
	}
}

func (c *checker) blame(err error) {
	if c.FirstInvalid == nil {
		c.FirstInvalid = err
	}
}

// ownerNotice ends what is said of single votes: where one is, and what it is not.
const ownerNotice = "; this message tells of private votes and is for their owner alone"
