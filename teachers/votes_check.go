package teachers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// VotesReport is what [CheckVotes] found. It tells of votes, so it is as private
// as they are.
type VotesReport struct {
	Queries, Teachers, Classes int      // Teachers is 0 for counts that do not state it
	Counts                     bool     // the file holds counts
	Names                      []string // of the files, where there is one for each teacher
	Hash                       [32]byte // [VoteSource.Hash]; zero if a vote is invalid

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
	FirstInvalid error // a [*VotesError]; nil if all votes are valid

	Silent     []int   // teachers who never vote
	Constant   []int   // teachers who vote, on two queries or more, for one class only
	Duplicates [][]int // groups of teachers with equal votes who are neither silent nor constant
	// ChanceDuplicates is how many pairs of equal teachers to expect if teachers
	// answered independently, each query as the ensemble did: above a few
	// thousandths, equal teachers prove nothing.
	ChanceDuplicates float64
}

// maxChance is the largest ChanceDuplicates at which duplicates are a fault.
const maxChance = 1e-3

// CheckVotes reads all of the files, as [OpenVotes] would, and reports what it
// finds, invalid votes among it. An error says that they cannot be read at all.
// Memory grows by some 50 bytes for each teacher.
func CheckVotes(ctx context.Context, paths []string, opt VotesOptions) (*VotesReport, error) {
	files, perTeacher, err := findVotes(paths)
	if err != nil {
		return nil, err
	}
	return checkVotes(ctx, files, perTeacher, opt)
}

func checkVotes(ctx context.Context, files []*votesInput, perTeacher bool, opt VotesOptions) (*VotesReport, error) {
	if opt.From != 0 || opt.To != 0 {
		return nil, errors.New("teachers: a check covers all queries")
	}
	s, err := shapeVotes(ctx, files, perTeacher, opt)
	if err != nil {
		return nil, err
	}
	c := &checker{source: s, VotesReport: VotesReport{
		Queries: s.Total(), Teachers: s.teachers, Classes: s.classes, Counts: opt.Counts,
		ClassVotes: make([]int64, s.classes), Pluralities: make([]int64, s.classes), LeastVotes: math.MaxInt,
	}}
	if perTeacher {
		for _, in := range files {
			c.Names = append(c.Names, in.name)
		}
	}
	c.voters = make([]voter, s.teachers)
	c.counts = make([]int, s.classes)
	h := s.newHash()
	var buf []byte
	switch {
	case opt.Counts:
		c.voters = nil
		err = eachBlock(ctx, s, 0, c.Queries, func(first int, cells []int32, _ int) error {
			buf = appendCells(buf[:0], cells)
			h.Write(buf)
			c.countBlock(first, cells)
			return nil
		})
	case s.narrow():
		err = eachBlock(ctx, s, 0, c.Queries, func(first int, cells []byte, _ int) error {
			h.Write(cells)
			labelBlock(c, first, cells)
			return nil
		})
	default:
		err = eachBlock(ctx, s, 0, c.Queries, func(first int, cells []int16, _ int) error {
			buf = appendCells(buf[:0], cells)
			h.Write(buf)
			labelBlock(c, first, cells)
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	if c.FirstInvalid == nil {
		h.Sum(c.Hash[:0])
	}
	c.finish()
	return &c.VotesReport, nil
}

// checker gathers a report.
type checker struct {
	VotesReport
	source    *VoteSource
	voters    []voter
	counts    []int
	logChance float64 // that two teachers agree on all queries
	sum       int64   // of all counts
}

// voter is what is kept of one teacher: a hash of the votes, the first vote, how
// many there were and whether they differ.
type voter struct {
	hash   uint64
	first  int16
	differ bool
	votes  int64
}

// mix takes one more vote into a hash of 64 bits.
func mix(hash uint64, vote int) uint64 {
	hash = (hash ^ uint64(vote+8)) * 0x9e3779b97f4a7c15
	return hash ^ hash>>29
}

func labelBlock[C cell](c *checker, first int, cells []C) {
	for i := 0; i*c.Teachers < len(cells); i++ {
		row := cells[i*c.Teachers : (i+1)*c.Teachers]
		clear(c.counts)
		votes, missing := 0, 0
		for t, v := range row {
			vote := signed(v)
			who := &c.voters[t]
			who.hash = mix(who.hash, vote)
			switch {
			case vote >= 0:
				if who.votes == 0 {
					who.first = int16(vote)
				}
				who.differ = who.differ || who.first != int16(vote)
				who.votes++
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

// logAgree is the logarithm of the chance that two of the teachers of one query
// answered alike.
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
				n = 0
			}
			c.counts[class] = int(n)
			votes += int(n)
		}
		if err := c.source.checkSum(first+i, row); err != nil && !slices.ContainsFunc(row, func(n int32) bool { return n < 0 }) {
			c.TooMany++
			c.blame(err)
		}
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
	case badNumber:
		c.NotWhole++
	case badText:
		c.NotNumber++
	default:
		c.OutOfRange++
	}
	if c.FirstInvalid == nil {
		c.blame(c.source.badCell(row, col, code))
	}
}

func (c *checker) blame(err error) {
	if c.FirstInvalid == nil {
		c.FirstInvalid = err
	}
}

// finish draws the conclusions about teachers.
func (c *checker) finish() {
	if c.Queries == 0 {
		c.LeastVotes = 0
	}
	if c.Counts {
		teachers := c.Teachers
		if teachers == 0 {
			teachers = c.MostVotes
		}
		c.Abstentions = max(0, int64(c.Queries)*int64(teachers)-c.sum)
		return
	}
	equal := make(map[voter][]int)
	for t, who := range c.voters {
		switch {
		case who.votes == 0:
			c.Silent = append(c.Silent, t)
		case !who.differ && who.votes > 1:
			c.Constant = append(c.Constant, t)
		default:
			equal[who] = append(equal[who], t)
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

// Level says how a finding is to be taken.
type Level string

const (
	LevelOK   Level = "ok"
	LevelNote Level = "note" // worth knowing, no fault
	LevelFail Level = "fail" // the costs that package aggregate claims may not hold, or votes are invalid
)

// Finding is the result of one check, in words.
type Finding struct {
	Check  string `json:"check"` // "range", "duplicates", ...
	Level  Level  `json:"level"`
	Detail string `json:"detail"`
}

// Findings says the report in words, one finding for each check.
func (r *VotesReport) Findings() []Finding {
	out := []Finding{
		r.shape(),
		r.balance(),
		r.fault("range", r.OutOfRange, "outside the classes"),
		r.fault("numbers", r.NaN+r.NotWhole+r.NotNumber, "NaN, not whole or no number"),
	}
	missing := Finding{"abstentions", LevelOK, "none"}
	if r.Abstentions > 0 {
		missing.Level = LevelNote
		missing.Detail = fmt.Sprintf("%d votes missing; %d to %d votes on a query", r.Abstentions, r.LeastVotes, r.MostVotes)
	}
	out = append(out, missing)
	if r.Counts {
		out = append(out, r.fault("sums", r.TooMany, "rows add up to more than the teachers"))
		return append(out, Finding{"teachers", LevelNote, "counts do not show who voted: constant and equal teachers cannot be found"})
	}
	out = append(out,
		r.who("silent", r.Silent, "never vote"),
		r.who("constant", r.Constant, "vote for one class only, as teachers without data do"))
	return append(out, r.duplicates())
}

func (r *VotesReport) shape() Finding {
	switch {
	case r.Counts:
		return Finding{"shape", LevelOK, fmt.Sprintf("counts, %d queries, %d classes", r.Queries, r.Classes)}
	case r.Teachers > r.Queries:
		return Finding{"shape", LevelNote, fmt.Sprintf("%d queries, %d teachers, %d classes: more teachers than queries; is the file transposed?", r.Queries, r.Teachers, r.Classes)}
	}
	return Finding{"shape", LevelOK, fmt.Sprintf("%d queries, %d teachers, %d classes", r.Queries, r.Teachers, r.Classes)}
}

// balance says how the votes divide among the classes.
func (r *VotesReport) balance() Finding {
	var all int64
	for _, n := range r.ClassVotes {
		all += n
	}
	f := Finding{"balance", LevelOK, "no votes"}
	if all == 0 {
		return f
	}
	never := 0
	shares := make([]float64, len(r.ClassVotes))
	words := make([]string, len(shares))
	for class, n := range r.ClassVotes {
		if n == 0 {
			never++
		}
		shares[class] = 100 * float64(n) / float64(all)
		words[class] = fmt.Sprintf("%.1f", shares[class])
	}
	if len(words) > 2*maxListed {
		words = []string{fmt.Sprintf("%.2g to %.2g for each of %d classes", slices.Min(shares), slices.Max(shares), len(shares))}
	}
	f.Detail = "percent of the votes by class: " + strings.Join(words, ", ")
	if never > 0 {
		f.Level = LevelNote
		f.Detail += fmt.Sprintf("; %d classes get none", never)
	}
	return f
}

// Failed says whether any finding is a failure.
func Failed(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Level == LevelFail })
}

func (r *VotesReport) fault(check string, n int64, what string) Finding {
	if n == 0 {
		return Finding{check, LevelOK, "none " + what}
	}
	detail := fmt.Sprintf("%d %s", n, what)
	var first *VotesError
	if errors.As(r.FirstInvalid, &first) {
		detail += "; the first invalid: " + first.What
	}
	return Finding{check, LevelFail, detail}
}

func (r *VotesReport) who(check string, teachers []int, what string) Finding {
	if len(teachers) == 0 {
		return Finding{check, LevelOK, "none " + what}
	}
	return Finding{check, LevelNote, fmt.Sprintf("%d %s: %s", len(teachers), what, r.list(teachers))}
}

func (r *VotesReport) duplicates() Finding {
	if len(r.Duplicates) == 0 {
		return Finding{"duplicates", LevelOK, "no two teachers vote alike everywhere"}
	}
	var groups []string
	for _, g := range r.Duplicates {
		if len(groups) == maxListed {
			groups = append(groups, "...")
			break
		}
		groups = append(groups, r.list(g))
	}
	detail := "equal votes everywhere: " + strings.Join(groups, "; ")
	if r.ChanceDuplicates > maxChance {
		return Finding{"duplicates", LevelNote, detail + fmt.Sprintf(" (so few queries divide the teachers that chance makes %.2g such pairs)", r.ChanceDuplicates)}
	}
	return Finding{"duplicates", LevelFail, detail + " (one model voting twice moves two votes)"}
}

// maxListed is how many teachers, or groups, a finding names.
const maxListed = 8

// list names teachers, by number from 0 or by file.
func (r *VotesReport) list(teachers []int) string {
	var names []string
	for i, t := range teachers {
		switch {
		case i == maxListed:
			return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", len(teachers)-i)
		case r.Names != nil:
			names = append(names, r.Names[t])
		default:
			names = append(names, fmt.Sprint(t))
		}
	}
	return strings.Join(names, ", ")
}
