package tune

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/dpsgd/tuned"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/table"
)

// printResult writes the result to stdout.
func printResult(g *shell.Globals, r *tuned.Result) error {
	heading := fmt.Sprintf("%s: %d private records; %s\nprivacy of one %s, %s, δ = %s\n\n", table.Printable(r.Data), r.Private, scoredOn(r.Score),
		table.Printable(r.Unit), r.Relation, number.Exact(r.Delta))
	return g.PrintRun(r, records(r), shown(r), heading, g.Below(footnotes(r)))
}

func scoredOn(s tuned.ScoreJSON) string {
	if s.On == "private" {
		return fmt.Sprintf("%s %% of them choose, σ %s", number.Digits(100*s.Share, 3), number.Exact(s.Sigma))
	}
	return fmt.Sprintf("%d public rows choose", s.Rows)
}

// shown returns the result for people.
func shown(r *tuned.Result) table.Table {
	t := table.Table{Header: []string{"ε", "test %", "±", "noise", "untuned", "setting", "model", "rate", "clip"}}
	cells := []string{shell.FormatUp(r.Epsilon, false), "", "", fmt.Sprintf("×%.4g", r.Noise), fmt.Sprintf("×%.4g", r.OneNoise), "none", "", "", ""}
	if c := r.Chosen; c != nil {
		cells[1], cells[2] = strconv.FormatFloat(100*c.Accuracy, 'f', 2, 64), strconv.FormatFloat(100*c.StandardError, 'f', 2, 64)
		cells[5], cells[6] = fmt.Sprintf("%d of %d", c.Index, r.Settings), c.Model
		cells[7], cells[8] = fmt.Sprintf("%.3g", *c.LearningRate), fmt.Sprintf("%.3g", *c.Clip)
	}
	t.Rows = [][]string{cells}
	return t
}

// records returns the result for programs.
func records(r *tuned.Result) table.Table {
	t := table.Table{Header: []string{"epsilon", "delta", "law", "expected_runs", "settings", "noise_multiplier",
		"untuned_noise_multiplier", "untuned_epsilon",
		"setting", "score", "accuracy", "standard_error", "features", "model", "optimizer", "learning_rate", "clip", "momentum",
		"weight_decay", "ema", "releasable"}}
	x := number.Exact
	cells := []string{x(r.Epsilon), x(r.Delta), r.Law.Name, x(r.Law.Expected), strconv.Itoa(r.Settings), x(r.Noise), x(r.OneNoise), x(r.OneEpsilon)}
	if c := r.Chosen; c != nil {
		cells = append(cells, strconv.Itoa(c.Index), x(c.Score), x(c.Accuracy), x(c.StandardError), c.Features, c.Model, c.Optimizer,
			x(*c.LearningRate), x(*c.Clip), x(*c.Momentum), x(*c.WeightDecay), x(*c.EMA))
	} else {
		cells = append(cells, make([]string, 12)...)
	}
	t.Rows = [][]string{append(cells, strconv.FormatBool(r.Releasable))}
	return t
}

// footnotes explains the numbers.
func footnotes(r *tuned.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "ε is a certified upper bound for the model, its setting and its score together. %s runs were expected, by the %s law; "+
		"how many there were is not released. ",
		number.Digits(r.Law.Expected, 4), r.Law.Name)
	fmt.Fprintf(&b, "The noise is %s times that of one model at the same ε (untuned); one model with this noise costs ε = %s, and the "+
		"choice the rest. ",
		number.Digits(r.Noise/r.OneNoise, 3), shell.FormatUp(r.OneEpsilon, false))
	if r.Chosen != nil {
		b.WriteString("Test rows chose nothing. ")
	}
	switch {
	case r.Seeded:
		b.WriteString("Seeded run: not releasable, whoever knows the seed can remove the noise.")
	case r.Withheld != "":
		b.WriteString("Not releasable: " + r.Withheld + ".")
	default:
		b.WriteString("Releasable, but not when the search began and ended.")
	}
	return b.String()
}

// resultsFile is where writeResult puts what readResult finds.
const resultsFile = "results.json"

// writeResult puts results.json and what `pate account` reads into dir.
func writeResult(dir string, r *tuned.Result) error {
	folder := results.Folder(dir)
	if err := folder.WriteAccount("tuned", r.Seeded, &r.Account); err != nil {
		return err
	}
	return folder.WriteJSON(r.Releasable, resultsFile, r)
}

// readResult returns what writeResult put into dir.
func readResult(dir string) (*tuned.Result, error) {
	var r tuned.Result
	if err := results.Folder(dir).ReadJSON(resultsFile, tuned.Schema, &r); err != nil {
		return nil, err
	}
	return &r, nil
}
