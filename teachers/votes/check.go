package votes

import (
	"context"
	"errors"
	"math"
	"slices"
)

// Report is the result of [Check]. It is as private as the votes.
type Report struct {
	Queries, Teachers, Classes int      // Teachers is 0 for counts if it was not stated
	Counts                     bool     // the file holds counts
	Kind                       string   // [Source.Kind]
	Names                      []string // file names, if each teacher has a file
	ClassNames                 []string // [Source.ClassNames]
	Hash                       [32]byte // [Source.Hash], or zero if a vote is invalid

	ClassVotes   []int64 // votes for each class
	Pluralities  []int64 // queries on which each class has the most votes; a tie counts for the lowest class
	Abstentions  int64   // missing votes; for counts without Teachers, missing from the largest number of votes on a query
	LeastVotes   int     // least number of votes on a query
	MostVotes    int     // largest number of votes on a query
	OutOfRange   int64   // whole numbers that are no class or count
	NaN          int64
	NotWhole     int64 // fractions and infinities
	NotNumber    int64 // text
	TooMany      int64 // rows of counts whose sum exceeds the number of teachers
	FirstInvalid error // a [*fault.Error], or nil if all votes are valid

	Silent     []int   // teachers who never vote
	Constant   []int   // teachers who voted on at least two queries, always for the same class
	Duplicates [][]int // groups of teachers with equal votes, without silent and constant teachers
	// ChanceDuplicates is the expected number of pairs of independent teachers with equal votes. Above
	// MaxChance, equal votes are no sign of a fault.
	ChanceDuplicates float64
}

// MaxChance is a limit for [Report].ChanceDuplicates. Up to this limit, equal votes count as a fault.
const MaxChance = 1e-3

type checker struct {
	Report
	source    *Source
	voters    []teacherVotes
	counts    []int
	logChance float64 // log probability that two teachers agree on all queries
	sum       int64   // sum of all counts
}

type teacherVotes struct {
	hash   uint64
	first  int16
	differ bool
	votes  int64
}

// Check opens the files like [Open] and reads all queries. It reports invalid votes and unusual teachers.
// If a file cannot be read, Check returns an error. It uses about 50 bytes of memory per teacher.
func Check(ctx context.Context, paths []string, opt Options) (*Report, error) {
	files, perTeacher, err := findInputs(paths, opt.Spool)
	switch {
	case err != nil:
		return nil, err
	case opt.From != 0 || opt.To != 0:
		return nil, errors.New("votes: a check covers all queries")
	}
	s, err := newSource(ctx, files, perTeacher, opt)
	if err != nil {
		return nil, err
	}
	return s.check(ctx, perTeacher)
}

// Check checks all queries of the source, like the function [Check].
func (s *Source) Check(ctx context.Context) (*Report, error) { return s.check(ctx, len(s.files) > 1) }

// OpenChecked does the work of [Open] and [Check] in one pass. Invalid votes are an error.
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
	c := &checker{source: s, counts: make([]int, s.classes), voters: make([]teacherVotes, s.teachers), Report: Report{
		Queries: s.Total(), Teachers: s.teachers, Classes: s.classes, Counts: s.opt.Counts, Kind: s.Kind(),
		ClassNames: s.ClassNames(), ClassVotes: make([]int64, s.classes), Pluralities: make([]int64, s.classes),
		LeastVotes: math.MaxInt,
	}}
	if perTeacher {
		for _, in := range s.files {
			c.Names = append(c.Names, in.name)
		}
	}
	hash, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.FirstInvalid == nil {
		c.Hash = hash
	} else if c.FirstInvalid = s.explained(ctx, c.FirstInvalid); ctx.Err() != nil {
		return nil, c.FirstInvalid
	}
	c.finish()
	return &c.Report, nil
}

func labelBlock[C cell](c *checker, first int, cells []C) {
	_, narrow := any(cells).([]byte)
	for i := 0; i*c.Teachers < len(cells); i++ {
		clear(c.counts)
		votes, missing := 0, 0
		for t, v := range cells[i*c.Teachers : (i+1)*c.Teachers] {
			vote, seen := int(v), &c.voters[t]
			if narrow {
				vote = int(int8(v))
			}
			seen.hash = (seen.hash ^ uint64(vote+8)) * 0x9e3779b97f4a7c15
			seen.hash ^= seen.hash >> 29
			switch {
			case vote >= 0:
				if seen.votes == 0 {
					seen.first = int16(vote)
				}
				seen.differ = seen.differ || seen.first != int16(vote)
				seen.votes++
				c.counts[vote]++
				votes++
			case vote == Abstention:
				missing++
			default:
				c.invalid(first+i, t, vote)
			}
		}
		c.Abstentions += int64(missing)
		c.row(votes)
		c.logChance += logAgree(c.counts, missing)
	}
}

func logAgree(counts []int, missing int) float64 {
	n, alike := float64(missing), float64(missing)*float64(missing-1)
	for _, k := range counts {
		n += float64(k)
		alike += float64(k) * float64(k-1)
	}
	if n < 2 {
		return 0
	}
	return math.Log(alike / (n * (n - 1)))
}

func (c *checker) countBlock(first int, cells []int32) {
	for i := 0; i*c.Classes < len(cells); i++ {
		row := cells[i*c.Classes : (i+1)*c.Classes]
		votes := 0
		for class, n := range row {
			if n < 0 {
				c.invalid(first+i, class, int(n))
			}
			c.counts[class] = int(max(n, 0))
			votes += c.counts[class]
		}
		if err := checkSum(c.source.files[0].name, c.Teachers, first+i, row); err != nil && slices.Min(row) >= 0 {
			c.TooMany++
			if c.FirstInvalid == nil {
				c.FirstInvalid = err
			}
		}
		c.Abstentions += int64(max(0, c.Teachers-votes))
		c.sum += int64(votes)
		c.row(votes)
	}
}

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
		c.FirstInvalid = cellError{c.source.badCell(row, col, code)}
	}
}

func (c *checker) finish() {
	if c.Queries == 0 {
		c.LeastVotes = 0
	}
	if c.Counts {
		if c.Teachers == 0 {
			c.Abstentions = int64(c.Queries)*int64(c.MostVotes) - c.sum
		}
		return
	}
	equal := make(map[teacherVotes][]int)
	for t, seen := range c.voters {
		switch {
		case seen.votes == 0:
			c.Silent = append(c.Silent, t)
		case !seen.differ && seen.votes > 1:
			c.Constant = append(c.Constant, t)
		default:
			equal[seen] = append(equal[seen], t)
		}
	}
	for _, group := range equal {
		if len(group) > 1 {
			c.Duplicates = append(c.Duplicates, group)
		}
	}
	slices.SortFunc(c.Duplicates, func(a, b []int) int { return a[0] - b[0] })
	n := float64(c.Teachers)
	c.ChanceDuplicates = n * (n - 1) / 2 * math.Exp(c.logChance)
}
