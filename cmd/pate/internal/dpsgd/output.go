package dpsgd

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/dpsgd/typical"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/table"
)

func printDPSGD(g *shell.Globals, r *recipe.Result) error {
	figures := r.Typical()
	if figures != nil { // Bayesian figures are private, even if the model is not
		shown := *r
		shown.Releasable, r = false, &shown
	}
	format := g.ParsedFormat()
	if r.Releasable && (format == table.JSON || format == table.CSV) { // like in files: running times were not charged
		r = r.WithoutTimes()
	}
	var names []string
	for _, row := range r.Rows {
		names = append(names, row.Name)
	}
	records, people, below := dpsgdRecords(r), dpsgdTable(r), "\n"+dpsgdFootnotes(r)
	figures.AddRecordsTo(&records)
	if format == table.Text {
		below += figures.Section(names)
	} else {
		figures.AddTo(&people)
	}
	return g.PrintRun(r, records, people, dpsgdHeading(r), below)
}

func dpsgdHeading(r *recipe.Result) string {
	row := r.Rows[0]
	return fmt.Sprintf("%s: %d classes; %d private, %d test rows\n%s on %s: %d columns, %d parameters\nprivacy of one %s, %s, δ = %s\n\n",
		table.Printable(r.Data), r.Classes, r.Private, r.Test, row.Model, row.Features, row.Dimensions, row.Parameters,
		table.Printable(r.Unit), r.Relation, number.Exact(r.Delta))
}

func dpsgdTable(r *recipe.Result) table.Table {
	t := table.Table{Header: []string{"ε", "test %", "±", "sd", "noise", "steps", "q", "clip", "rate", "s"}}
	optional := func(x float64, format string) string {
		if x == 0 {
			return ""
		}
		return fmt.Sprintf(format, x)
	}
	for _, row := range r.Rows {
		epsilon, sd := "none", ""
		if row.Epsilon != nil {
			epsilon = shell.FormatUp(*row.Epsilon, false)
		}
		if row.SD != nil {
			sd = strconv.FormatFloat(100**row.SD, 'f', 2, 64)
		}
		right, within := "", ""
		if r.Test > 0 {
			right, within = strconv.FormatFloat(100*row.Accuracy, 'f', 2, 64), optional(100*row.StandardError, "%.2f")
		}
		t.Rows = append(t.Rows, []string{
			epsilon, right, within, sd, optional(row.Noise, "×%.4g"), strconv.Itoa(row.Steps),
			fmt.Sprintf("%.3g", row.Probability), optional(row.ClipNorm, "%.3g"), fmt.Sprintf("%.3g", row.LearningRate),
			optional(row.Seconds, "%.0f"),
		})
	}
	return t
}

func dpsgdRecords(r *recipe.Result) table.Table {
	t := table.Table{Header: []string{"model", "features", "epsilon", "epsilon_lower", "delta", "accuracy", "standard_error", "sd", "steps",
		"sampling_probability", "noise_multiplier", "clip_norm", "learning_rate", "dimensions", "parameters", "auroc", "auroc_sd",
		"seconds", "releasable"}}
	optional := func(x *float64) string {
		if x == nil {
			return ""
		}
		return number.Exact(*x)
	}
	positive := func(x float64) string {
		if x == 0 {
			return ""
		}
		return number.Exact(x)
	}
	for _, row := range r.Rows {
		t.Rows = append(t.Rows, []string{
			row.Model, row.Features, optional(row.Epsilon), optional(row.EpsilonLow), number.Exact(r.Delta), number.Exact(row.Accuracy),
			number.Exact(row.StandardError), optional(row.SD),
			strconv.Itoa(row.Steps), number.Exact(row.Probability), positive(row.Noise), positive(row.ClipNorm),
			number.Exact(row.LearningRate), strconv.Itoa(row.Dimensions), strconv.Itoa(row.Parameters), optional(row.AUROC),
			optional(row.AUROCSD), positive(row.Seconds), strconv.FormatBool(row.Releasable),
		})
	}
	return t
}

func dpsgdCurve(r *recipe.Result) table.Table {
	t := table.Table{Header: []string{"row", "step", "epsilon", "accuracy", "releasable"}}
	for _, row := range r.Rows {
		for _, p := range row.Curve {
			epsilon := ""
			if row.Epsilon != nil {
				epsilon = number.Exact(p.Epsilon)
			}
			t.Rows = append(t.Rows, []string{row.Name, strconv.Itoa(p.Step), epsilon, number.Exact(p.Accuracy), strconv.FormatBool(row.Releasable)})
		}
	}
	return t
}

func dpsgdFootnotes(r *recipe.Result) string {
	var b strings.Builder
	private, statistics := false, 0
	for _, row := range r.Rows {
		private = private || row.Epsilon != nil
		statistics += len(row.Statistics)
	}
	if private {
		b.WriteString("ε is a certified upper bound of the whole training. noise: × clip norm.\n")
	}
	b.WriteString("±: standard error of the accuracy, for the number of test rows.\n")
	for _, row := range r.Rows {
		switch {
		case row.Bands > 0:
			fmt.Fprintf(&b, "Batches are drawn by %s, in %d turns; noise is correlated over %d steps.\n", row.Sampling, row.Bands, row.Bands)
		case row.Sampling != "":
			fmt.Fprintf(&b, "Batches are drawn by %s, %d to an epoch; of random size.\n", row.Sampling, row.EpochSteps)
		default:
			continue
		}
		break
	}
	if statistics > 0 {
		b.WriteString("It includes what the features learn from private rows.\n")
	}
	if r.Seeds > 1 {
		fmt.Fprintf(&b, "Means over %d independent models; ε is that of one.\n", r.Seeds)
	}
	if private && r.Seeds*len(r.Rows) > 1 {
		fmt.Fprintf(&b, "Publishing all of it, every model of every seed, costs ε = %s.\n", shell.FormatUp(r.EpsilonAll, false))
	}
	if l := r.Ledger; l != nil {
		fmt.Fprintf(&b, "All that the ledger charges, this model and others, costs at most ε = %s.\n", shell.FormatUp(l.Claim, false))
	}
	if r.Note != "" {
		b.WriteString(r.Note + ".\n")
	}
	switch {
	case r.Seeded:
		b.WriteString("Seeded run: not releasable, whoever knows the seed can remove the noise.\n")
	case r.Typical() != nil:
		b.WriteString("Not releasable as shown: ε_µ is a function of private gradients that nobody was charged for.\n")
	case r.Withheld != "":
		b.WriteString("Not releasable: " + r.Withheld + ".\n")
	case !r.Releasable:
		b.WriteString("Not releasable: without privacy nothing is protected.\n")
	default:
		b.WriteString("Releasable.\n")
	}
	return b.String()
}

// writeDPSGD writes results and accounts to dir. Running times and unreleasable results go to dir/private.
func writeDPSGD(dir string, r *recipe.Result) error {
	folder, times := results.Folder(dir), make([]float64, len(r.Rows))
	for i, row := range r.Rows {
		times[i] = row.Seconds
	}
	if err := errors.Join(folder.KeepTimes(r.Seconds, times), r.Typical().Write(dir)); err != nil {
		return err
	}
	r = r.WithoutTimes()
	for _, row := range r.Rows {
		if row.Account == nil {
			continue
		}
		if err := folder.WriteAccount(row.Name, r.Seeded, row.Account); err != nil {
			return err
		}
	}
	for name, t := range map[string]table.Table{"results.csv": dpsgdRecords(r), "curve.csv": dpsgdCurve(r)} {
		if err := folder.Write(r.Releasable, name, func(w io.Writer) error { return t.Write(w, table.CSV) }); err != nil {
			return err
		}
	}
	return folder.WriteJSON(r.Releasable, resultsFile, r)
}

const resultsFile = "results.json"

func readDPSGD(dir string) (*recipe.Result, error) {
	folder := results.Folder(dir)
	var r recipe.Result
	if err := folder.ReadJSON(resultsFile, recipe.Schema, &r); err != nil {
		return nil, err
	}
	all, times, err := folder.Times(len(r.Rows))
	if err != nil {
		return nil, err
	}
	r.Seconds = all
	for i := range r.Rows {
		r.Rows[i].Seconds = times[i]
	}
	figures, err := typical.Read(dir, len(r.Rows))
	for i := range figures {
		r.Rows[i].OfTypical = figures[i]
	}
	return &r, err
}
