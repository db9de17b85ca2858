package report

import (
	"cmp"
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
	if len(r.Silos) > 0 {
		fmt.Fprintf(&b, "%d silos: %s\n", len(r.Silos), table.Printable(strings.Join(r.Silos, ", ")))
	}
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

// Footnotes explains the columns of the table. Each line is a paragraph.
func Footnotes(r *experiments.Result) string {
	var b strings.Builder
	b.WriteString("\nε is an upper bound that does not depend on the data; rows with none protect nothing and show where accuracy is lost. " +
		"In %: test: accuracy on the test rows; const: of always naming their most frequent class; bal.: mean recall of the classes; " +
		"right: of the labels. labels: answered/asked, if fewer. noise: σ per vote count (threshold test first), × clipping norm. ")
	if r.Seeds > 1 {
		b.WriteString("sd: over runs. ")
	}
	if r.Seconds > 0 {
		b.WriteString("s: seconds. ")
	}
	if slices.ContainsFunc(r.Rows, func(row experiments.Row) bool { return row.AUROC != nil }) {
		b.WriteString("AUROC: of two test rows of different classes, how often the scores put the right one first. ")
	}
	worst := 0.0
	for _, row := range r.Rows {
		if !row.OneClass() {
			worst = max(worst, row.StandardError)
		}
	}
	fmt.Fprintf(&b, "%d test rows", r.Test)
	if r.TestOf > 0 {
		fmt.Fprintf(&b, ", a fixed random part of %d", r.TestOf)
	}
	fmt.Fprintf(&b, ": the standard error of test is at most %s.\n", percent(worst))
	if r.Seeds > 1 {
		fmt.Fprintf(&b, "Means over %d independent runs; ε is that of one run.\n", r.Seeds)
	}
	if r.EpsilonAll > 0 {
		fmt.Fprintf(&b, "Publishing all of it (every method with an ε, every seed) costs ε = %s.\n", claim(r.EpsilonAll))
	}
	b.WriteString(PoolWords(r) + Verdicts(r) + notes(r) + Warning(r) + "\n")
	return b.String()
}

func notes(r *experiments.Result) string {
	type key struct{ method, note string }
	var order []key
	at, several := map[key][]string{}, map[string]int{}
	for _, row := range r.Rows {
		k := key{row.Method, table.Printable(row.Note)}
		if row.Note == "" {
			continue
		}
		if at[k] == nil {
			order = append(order, k)
			several[row.Method]++
		}
		at[k] = append(at[k], number.Exact(target(r, row)))
	}
	text := ""
	for _, k := range order {
		if several[k.method] > 1 {
			k.method += " at ε " + strings.Join(at[k], ", ")
		}
		text += fmt.Sprintf("%s: %s.\n", k.method, k.note)
	}
	return text
}

// PoolWords describes the source and cost of artificial questions, or returns "" for public rows.
func PoolWords(r *experiments.Result) string {
	switch r.PoolOf {
	case experiments.PoolNone:
		return "No row is public: questions are points of the declared ranges, and cost nothing.\n"
	case experiments.PoolMarginals, experiments.PoolTree:
		words, parts := "No row is public: questions are drawn from noisy marginals of the private rows,\nwhich every "+
			"method that asks pays for in its own budget:\n", 1
		if r.PoolOf == experiments.PoolTree {
			words, parts = "No row is public: questions are drawn along a tree of noisy pairs of columns,\nwhich every "+
				"method that asks pays for in its own budget:\n", 3
		}
		for _, row := range r.Rows {
			if len(row.Charged) > parts && row.Asked > 0 {
				words += fmt.Sprintf("%s at ε %s:", row.Method, number.Exact(target(r, row)))
				for i, part := range row.Charged[:parts] {
					words += fmt.Sprintf("%s %.0f %% on %d × %s", strings.Repeat(",", min(i, 1)), 100*part.Share, part.Count, part.Event)
				}
				words += ".\n"
			}
		}
		return words
	}
	return ""
}

// Verdicts lists, for each target, the groups of private methods that do not differ significantly.
func Verdicts(r *experiments.Result) string {
	text := ""
	for _, e := range targets(r) {
		groups, pairs := groupsAt(r, e)
		if pairs == 0 {
			continue
		}
		if len(r.EpsilonTargets) > 1 {
			text += "At ε " + number.Exact(e) + ": "
		}
		if len(groups) == 0 {
			text += "All methods differ beyond chance.\n"
			continue
		}
		text += "Cannot be told apart: " + strings.Join(groups, "; ") + ".\n"
	}
	if text != "" {
		text += Test + "\n"
	}
	return text
}

const Test = "Pairs that share no group differ in accuracy or balanced accuracy, by paired tests on the same test rows at 95 % for each " +
	"pair (accuracy: McNemar, exact; over runs: Student's t)."

func groupsAt(r *experiments.Result, epsilon float64) (groups []string, pairs int) {
	type pair [2]string
	alike := map[pair]bool{} // false after the pair has its group
	near := map[pair]bool{}
	for _, d := range r.Differences {
		if d.TargetEpsilon == epsilon {
			pairs++
			for _, p := range []pair{{d.A, d.B}, {d.B, d.A}} {
				alike[p], near[p] = !d.Differs(), !d.Differs()
			}
		}
	}
	rows := slices.DeleteFunc(slices.Clone(r.Rows), func(row experiments.Row) bool { return row.Epsilon == nil || target(r, row) != epsilon })
	slices.SortStableFunc(rows, func(a, b experiments.Row) int { return cmp.Compare(b.Accuracy, a.Accuracy) })
	for i, a := range rows {
		for _, b := range rows[i+1:] {
			if !alike[pair{a.Method, b.Method}] {
				continue
			}
			group := []string{a.Method, b.Method}
			for _, c := range rows {
				if !slices.ContainsFunc(group, func(m string) bool { return !near[pair{m, c.Method}] }) {
					group = append(group, c.Method)
				}
			}
			for _, m := range group {
				for _, other := range group {
					alike[pair{m, other}] = false
				}
			}
			groups = append(groups, strings.Join(group, ", "))
		}
	}
	return groups, pairs
}

// Decision lists, for each target, the best private method and all methods without a significant difference
// from it. With fewer than two methods, the result is empty.
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

// leadersAt returns the best of several private methods at a target epsilon, and all methods not
// significantly different from the best. A method that always predicts one class ranks behind all others.
func leadersAt(r *experiments.Result, epsilon float64) []string {
	best := -1
	for i, row := range r.Rows {
		if row.Epsilon == nil || target(r, row) != epsilon {
			continue
		}
		if best < 0 || (r.Rows[best].OneClass() && !row.OneClass()) ||
			(row.OneClass() == r.Rows[best].OneClass() && row.Accuracy > r.Rows[best].Accuracy) {
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
		if other := d.A; !d.Differs() {
			if other == r.Rows[best].Method {
				other = d.B
			}
			leaders = append(leaders, other)
		}
	}
	slices.Sort(leaders)
	return leaders
}
