package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
)

// Heading describes the task of a comparison, for a terminal of 80 columns.
func Heading(r *experiments.Result) string {
	var b strings.Builder
	pool := "public unlabelled"
	if r.PoolOf != "" {
		pool = "drawn"
	}
	fmt.Fprintf(&b, "%s: %d classes; %d private, %d %s, %d test rows\n",
		table.Printable(r.Data), r.Classes, r.Private, r.Pool, pool, r.Test)
	fmt.Fprintf(&b, "%d teachers: %s on %s\nprivacy of one %s, %s, δ = %s\n\n",
		r.Teachers, r.Learner, r.Features, table.Printable(r.Unit), r.Relation, number.Exact(r.Delta))
	return b.String()
}

// Warning states whether the result may be published, and if not, why.
func Warning(r *experiments.Result) string {
	switch {
	case r.Seeded:
		return "Seeded run: not releasable, whoever knows the seed can remove the noise."
	case r.Typical() != nil:
		return "Not releasable as shown: ε_µ is a function of private gradients that nobody was charged for."
	case r.Withheld != "":
		return "Not releasable: " + r.Withheld + "."
	case !r.Releasable:
		return "Not releasable as a whole: rows without an ε were not charged."
	default:
		return "Releasable."
	}
}

// Footnotes explains the table.
func Footnotes(r *experiments.Result) string {
	var b strings.Builder
	b.WriteString("\nε is an upper bound that does not depend on the data; rows with none protect\nnothing and " +
		"show where accuracy is lost. labels: answered of asked; right: of\nthose. noise: σ per vote count " +
		"(threshold test first), × clipping norm.\n±: standard error for the number of test rows.\n")
	if slices.ContainsFunc(r.Rows, func(row experiments.Row) bool { return row.AUROC != nil }) {
		b.WriteString("AUROC, in %: of two test rows of different classes, how often the scores put\nthe right one first.\n")
	}
	if r.Seeds > 1 {
		fmt.Fprintf(&b, "Means over %d independent runs; ε is that of one run.\n", r.Seeds)
	}
	if r.EpsilonAll > 0 {
		fmt.Fprintf(&b, "Publishing all of it (every method with an ε, every seed) costs ε = %s.\n", claim(r.EpsilonAll))
	}
	b.WriteString(PoolWords(r) + Verdicts(r))
	said := map[string]bool{}
	for _, row := range r.Rows {
		if line := fmt.Sprintf("%s: %s.\n", row.Method, table.Printable(row.Note)); row.Note != "" && !said[line] {
			said[line] = true
			b.WriteString(line)
		}
	}
	b.WriteString(Warning(r) + "\n")
	return b.String()
}

// PoolWords describes the source of a pool and its cost; it is empty for public rows.
func PoolWords(r *experiments.Result) string {
	switch r.PoolOf {
	case experiments.PoolNone:
		return "No row is public: questions are points of the declared ranges, and cost nothing.\n"
	case experiments.PoolMarginals:
		words := "No row is public: questions are drawn from noisy marginals of the private rows,\nwhich every " +
			"method that asks pays for in its own budget:\n"
		for _, row := range r.Rows {
			if len(row.Charged) > 1 && row.Asked > 0 {
				first := row.Charged[0]
				words += fmt.Sprintf("%s at ε %s: %.0f %% on %d × %s.\n",
					row.Method, number.Exact(target(r, row)), 100*first.Share, first.Count, first.Event)
			}
		}
		return words
	}
	return ""
}

// Verdicts states which private methods differ beyond chance at each target.
func Verdicts(r *experiments.Result) string {
	var b strings.Builder
	for _, d := range r.Differences {
		if d.Better == d.B { // from the better method's side
			d.A, d.B, d.Mean, d.Low, d.High = d.B, d.A, -d.Mean, -d.High, -d.Low
		}
		if len(r.EpsilonTargets) > 1 {
			fmt.Fprintf(&b, "at ε %s ", number.Exact(d.TargetEpsilon))
		}
		word := "is better than"
		if d.Better == "" {
			word = "cannot be told from"
		}
		fmt.Fprintf(&b, "%s %s %s: %+.1f points, %+.1f to %+.1f.\n", d.A, word, d.B, 100*d.Mean, 100*d.Low, 100*d.High)
	}
	return b.String()
}

// Decision describes, in two sentences, the private methods that were best beyond chance, and the best within
// chance, at each target; it is empty for fewer than two methods.
func Decision(r *experiments.Result) string {
	var won, tied []string // sets of methods
	at := map[string][]string{}
	for _, e := range targets(r) {
		leaders := leadersAt(r, e)
		if len(leaders) == 0 {
			continue
		}
		set, said := strings.Join(leaders, ", "), &tied
		if len(leaders) == 1 {
			said = &won
		}
		if at[set] == nil {
			*said = append(*said, set)
		}
		at[set] = append(at[set], number.Exact(e))
	}
	if len(won)+len(tied) == 0 {
		return ""
	}
	say := func(sets []string) string {
		for i, set := range sets {
			sets[i] = set + " at ε " + strings.Join(at[set], ", ")
		}
		return strings.Join(sets, "; ")
	}
	first, second := "No method was best beyond chance.", "No other method was within chance of it."
	if len(won) > 0 {
		first = "Best beyond chance: " + say(won) + "."
	}
	if len(tied) > 0 {
		second = "Best, and not to be told apart: " + say(tied) + "."
	}
	return first + " " + second
}

// targets returns the targets of the private methods.
func targets(r *experiments.Result) []float64 {
	if len(r.EpsilonTargets) > 0 {
		return r.EpsilonTargets
	}
	return []float64{r.EpsilonTarget}
}

func targetList(r *experiments.Result) string {
	var names []string
	for _, e := range targets(r) {
		names = append(names, number.Exact(e))
	}
	return strings.Join(names, ", ")
}

// leadersAt returns the most accurate private method at a target, and all methods within chance.
func leadersAt(r *experiments.Result, epsilon float64) []string {
	best := -1
	for i, row := range r.Rows {
		if row.Epsilon != nil && target(r, row) == epsilon && (best < 0 || row.Accuracy > r.Rows[best].Accuracy) {
			best = i
		}
	}
	var leaders []string
	for _, d := range r.Differences {
		if d.TargetEpsilon != epsilon || (d.A != r.Rows[best].Method && d.B != r.Rows[best].Method) {
			continue
		}
		if len(leaders) == 0 {
			leaders = append(leaders, r.Rows[best].Method)
		}
		if other := d.A; d.Better == "" {
			if other == r.Rows[best].Method {
				other = d.B
			}
			leaders = append(leaders, other)
		}
	}
	slices.Sort(leaders)
	return leaders
}
