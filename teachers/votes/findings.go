package votes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pate-go/pate/fault"
)

type Level string

const (
	LevelOK   Level = "ok"
	LevelNote Level = "note" // information without a fault
	LevelFail Level = "fail" // votes are invalid, or the costs from package aggregate may be wrong
)

type Finding struct {
	Check  string `json:"check"` // "range", "duplicates", ...
	Level  Level  `json:"level"`
	Detail string `json:"detail"`
}

func (r *Report) Findings() []Finding {
	out := []Finding{
		r.shape(),
		r.balance(),
		r.fault("range", r.OutOfRange, "outside the classes"),
		r.fault("numbers", r.NaN+r.NotWhole+r.NotNumber, "NaN, not whole, or not a number"),
	}
	missing := Finding{"abstentions", LevelOK, "none"}
	if r.Abstentions > 0 {
		missing.Level = LevelNote
		missing.Detail = fmt.Sprintf("missing votes: %d; a query has %d to %d votes", r.Abstentions, r.LeastVotes, r.MostVotes)
	}
	if r.Counts {
		return append(out, missing, r.fault("sums", r.TooMany, "rows add up to more than the number of teachers"),
			Finding{"teachers", LevelNote, "counts do not show who voted: constant and equal teachers cannot be found"})
	}
	return append(out, missing, r.named("silent", r.Silent, "never vote"),
		r.named("constant", r.Constant, "vote for one class only, as teachers without data do"), r.duplicates())
}

func (r *Report) shape() Finding {
	is := fmt.Sprintf("%d queries, %d teachers, %d classes", r.Queries, r.Teachers, r.Classes)
	switch {
	case r.Counts:
		is = fmt.Sprintf("counts, %d queries, %d classes", r.Queries, r.Classes)
	case r.Teachers > r.Queries:
		return Finding{"shape", LevelNote, is + ": more teachers than queries; is the file transposed?"}
	}
	return Finding{"shape", LevelOK, is + "; read as " + r.Kind}
}

func (r *Report) balance() Finding {
	var all int64
	for _, n := range r.ClassVotes {
		all += n
	}
	if all == 0 {
		return Finding{"balance", LevelNote, "no votes"}
	}
	f := Finding{"balance", LevelOK, ""}
	never := 0
	shares := make([]float64, len(r.ClassVotes))
	words := make([]string, len(shares))
	for class, n := range r.ClassVotes {
		if n == 0 {
			never++
		}
		shares[class] = 100 * float64(n) / float64(all)
		words[class] = fmt.Sprintf("%.1f", shares[class])
		if r.ClassNames != nil {
			words[class] = r.ClassNames[class] + " " + words[class]
		}
	}
	if len(words) > 2*maxListed {
		words = []string{fmt.Sprintf("%.2g to %.2g for each of %d classes", slices.Min(shares), slices.Max(shares), len(shares))}
	}
	f.Detail = "percent of the votes by class: " + strings.Join(words, ", ")
	if never > 0 {
		f.Level = LevelNote
		f.Detail += fmt.Sprintf("; classes without votes: %d", never)
	}
	switch {
	case r.ClassNames != nil || r.Counts:
	case r.Classes == 2 && r.ClassVotes[0] == 0 && r.Abstentions > 0:
		f.Level = LevelFail
		f.Detail += "; all votes are 1 or missing: if the classes are -1 and 1, give --class-names=-1,1"
	case never == 1 && r.ClassVotes[0] == 0 && r.Classes > 2:
		f.Detail += fmt.Sprintf("; no teacher votes for class 0: if the classes are numbered from 1, give --classes %d --first-class 1",
			r.Classes-1)
	}
	return f
}

func Failed(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Level == LevelFail })
}

func (r *Report) fault(check string, n int64, what string) Finding {
	if n == 0 {
		return Finding{check, LevelOK, "none " + what}
	}
	detail := fmt.Sprintf("%d %s", n, what)
	var first *fault.Error
	if errors.As(r.FirstInvalid, &first) {
		detail += "; the first invalid vote: " + first.What
	}
	return Finding{check, LevelFail, detail}
}

func (r *Report) named(check string, teachers []int, what string) Finding {
	if len(teachers) == 0 {
		return Finding{check, LevelOK, "none " + what}
	}
	return Finding{check, LevelNote, fmt.Sprintf("these %s: %s", what, r.list(teachers))}
}

func (r *Report) duplicates() Finding {
	if left := r.Teachers - len(r.Silent) - len(r.Constant); left < 2 {
		return Finding{"duplicates", LevelNote,
			fmt.Sprintf("nothing was compared, because %d of %d teachers vote for more than one class and two are needed", left, r.Teachers)}
	}
	if len(r.Duplicates) == 0 {
		return Finding{"duplicates", LevelOK, "no two teachers vote identically on every query"}
	}
	var groups []string
	for _, g := range r.Duplicates[:min(len(r.Duplicates), maxListed)] {
		groups = append(groups, "["+r.list(g)+"]")
	}
	if len(r.Duplicates) > maxListed {
		groups = append(groups, "...")
	}
	detail := "groups of teachers vote identically on every query: " + strings.Join(groups, ", ")
	if r.ChanceDuplicates > MaxChance {
		return Finding{"duplicates", LevelNote,
			detail + fmt.Sprintf("; independent teachers would give %.2g identical pairs on average", r.ChanceDuplicates)}
	}
	return Finding{"duplicates", LevelFail, detail + " (a model that votes twice changes two votes)"}
}

const maxListed = 8

func (r *Report) list(teachers []int) string {
	var names []string
	for _, t := range teachers[:min(len(teachers), maxListed)] {
		if r.Names != nil {
			names = append(names, r.Names[t])
		} else {
			names = append(names, fmt.Sprint(t))
		}
	}
	text := strings.Join(names, ", ")
	if more := len(teachers) - maxListed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
