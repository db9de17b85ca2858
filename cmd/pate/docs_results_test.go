package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/experiments/report"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/internal/testkit"
)

// TestDocsShowMeasuredNumbers compares the tables of docs/comparing.md with the committed results: those about tasks,
// sweeps and pools exactly. A number with a decimal point in the text of these sections must stand in one of the tables.
func TestDocsShowMeasuredNumbers(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	page := testkit.Must(os.ReadFile(filepath.Join(docs, "comparing.md")))
	text, _, found := strings.Cut(string(page), "\n## One private model\n")
	require.True(t, found)
	files := testkit.Must(filepath.Glob(filepath.Join(docs, "results", "*.json")))
	require.NotEmpty(t, files)
	tables := []string{tasksHeader, sweepHeader}
	for _, file := range files {
		r := readResult(t, file)
		tables[0] += tasksRow(r)
		tables[1] += sweepRows(r)
		require.Contains(t, text, "`results/"+filepath.Base(file)+"`", "where the numbers are")
	}
	tables = append(tables, poolsTable(t, filepath.Join(docs, "results", "pools"), text), silosTable(t, filepath.Join(docs, "results", "silos"), text))
	require.NoError(t, tablesAgree(text, tables))
	for _, wrong := range []string{
		strings.Replace(text, "| DP-SGD % |", "| DP-SGD |", 1),
		text + "\n| more | rows |\n",
		text + "\nDP-SGD reached 99.99 % there.\n",
		strings.Replace(text, tables[0], "", 1),
	} {
		require.Error(t, tablesAgree(wrong, tables), "the check can fail")
	}
}

// TestDocsShowTheRuleOfNearestQuestions compares the paragraph on votes and questions with its result.
func TestDocsShowTheRuleOfNearestQuestions(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	page := strings.Join(strings.Fields(string(testkit.Must(os.ReadFile(filepath.Join(docs, "comparing.md"))))), " ")
	var r struct {
		Tables []struct {
			Table string
			Cells []struct{ Best, Accuracy float64 }
		}
	}
	require.NoError(t, json.Unmarshal(testkit.Must(os.ReadFile(filepath.Join(docs, "results", "nearest", "rule.json"))), &r))
	var tables []string
	var behind, above, cells float64
	for _, table := range r.Tables {
		text := table.Table
		for _, c := range table.Cells {
			gap := c.Best - c.Accuracy
			cells++
			if behind += gap; gap > 1.5 {
				above++
			}
			text += strings.Replace(fmt.Sprintf(" %.1f", gap), "-0.0", "0.0", 1)
		}
		tables = append(tables, text)
	}
	require.Contains(t, page, fmt.Sprintf("at ε 1, 2 and 4: %s. The mean is %.1f; %v of %v exceed 1.5 ", strings.Join(tables, "; "), behind/cells, above, cells))
}

func readResult(t *testing.T, file string) *experiments.Result {
	text := testkit.Must(os.ReadFile(file))
	var r experiments.Result
	require.NoError(t, json.Unmarshal(text, &r), file)
	require.Equal(t, experiments.Schema, r.Schema)
	require.Zero(t, r.Seconds, "running times are of one machine")
	return &r
}

var (
	decimal = regexp.MustCompile(`\d+\.\d+`)
	fenced  = regexp.MustCompile("(?s)```.*?```|`[^`]*`")
)

func tablesAgree(page string, tables []string) error {
	var known []string
	for _, table := range tables {
		if !strings.Contains(page, "\n\n"+table+"\n") {
			return fmt.Errorf("the page does not have this table:\n%s", table)
		}
		known = append(known, decimal.FindAllString(table, -1)...)
		page = strings.Replace(page, table, "", 1)
	}
	page = fenced.ReplaceAllString(page, "")
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "|") {
			return fmt.Errorf("no result has this line: %s", line)
		}
		for _, number := range decimal.FindAllString(line, -1) {
			if !slices.Contains(known, number) {
				return fmt.Errorf("%s is in no table: %s", number, line)
			}
		}
	}
	return nil
}

const tasksHeader = "| data | private | pool | test | classes | teachers | one teacher % | vote without noise % | DP-SGD's model without noise % | boosted trees % |\n" +
	"|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"

func tasksRow(r *experiments.Result) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %s | %s | %s | %s |\n", taskName(r), r.Private, r.Pool, r.Test, r.Classes, r.Teachers,
		percentOf(r.Diagnostics.TeacherAccuracy), accuracyOf(r, experiments.Plurality, 0), accuracyOf(r, experiments.NonPrivate, 0), accuracyOf(r, experiments.BoostedTrees, 0))
}

func taskName(r *experiments.Result) string {
	return strings.TrimSuffix(filepath.Base(r.Data), ".csv")
}

const sweepHeader = "| data | ε | GNMax % | Confident-GNMax % | nearest questions % | DP-SGD % | labels, right % | DP-SGD less the better GNMax, points |\n" +
	"|---|---:|---:|---:|---:|---:|---:|---:|\n"

// sweepRows has a line for each epsilon of a task. Of votes at the nearest questions and DP-SGD the better one is bold where
// that is beyond chance. The last column compares DP-SGD with the better vote of teachers.
func sweepRows(r *experiments.Result) string {
	var b strings.Builder
	for _, e := range r.EpsilonTargets {
		vote := rowOf(r, experiments.GNMax, e)
		if other := rowOf(r, experiments.ConfidentGNMax, e); other.Accuracy > vote.Accuracy {
			vote = other
		}
		better := differenceOf(r, experiments.ReverseKNN, e).Better
		fmt.Fprintf(&b, "| %s | %g |", taskName(r), e)
		for _, method := range []string{experiments.GNMax, experiments.ConfidentGNMax, experiments.ReverseKNN, experiments.DPSGD} {
			cell := percentOf(rowOf(r, method, e).Accuracy)
			if method == better {
				cell = "**" + cell + "**"
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		fmt.Fprintf(&b, " %d, %s | %s |\n", vote.Answered, percentOf(vote.LabelAccuracy), ahead(differenceOf(r, vote.Method, e)))
	}
	return b.String()
}

// poolsTable has a line for each result of a task with a pool of rows, of marginals or of
// declared ranges alone.
func poolsTable(t *testing.T, folder, page string) string {
	methods := []string{experiments.GNMax, experiments.ConfidentGNMax, experiments.SampledKNN, experiments.ReverseKNN, experiments.DPSGD}
	files := testkit.Must(filepath.Glob(filepath.Join(folder, "*.json")))
	require.NotEmpty(t, files)
	var b strings.Builder
	b.WriteString("| data | pool | rows | GNMax % | Confident-GNMax % | near ones of a sample % | nearest questions % | DP-SGD % | most frequent class % | standard error, points |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	slices.Reverse(files) // rows first
	for _, file := range files {
		r := readResult(t, file)
		require.Contains(t, page, "`results/pools/"+filepath.Base(file)+"`", "where the numbers are")
		fmt.Fprintf(&b, "| %s | %s | %d |", taskName(r), cmp.Or(r.PoolOf, "rows"), r.Pool)
		for _, m := range methods {
			fmt.Fprintf(&b, " %s |", accuracyOf(r, m, r.EpsilonTarget))
		}
		fmt.Fprintf(&b, " %s | %s |\n", accuracyOf(r, experiments.Majority, 0), percentOf(rowOf(r, experiments.ReverseKNN, r.EpsilonTarget).StandardError))
	}
	return b.String()
}

// silosTable has a line for each epsilon of a task in silos. Votes over silos have the accuracy of votes in one place.
func silosTable(t *testing.T, folder, page string) string {
	files := testkit.Must(filepath.Glob(filepath.Join(folder, "*.json")))
	require.NotEmpty(t, files)
	var b strings.Builder
	b.WriteString("| data | ε | one silo % | teachers by silo % | nearest over silos % | nearest in one place % | DP-SGD in one place % |\n|---|---:|---:|---:|---:|---:|---:|\n")
	for _, file := range files {
		r := readResult(t, file)
		require.Contains(t, page, "`results/silos/"+filepath.Base(file)+"`", "where the numbers are")
		for _, e := range r.EpsilonTargets {
			fmt.Fprintf(&b, "| %s | %g |", taskName(r), e)
			for _, m := range []string{"pknn/one-silo", experiments.GNMax, "pknn/silos", experiments.ReverseKNN, experiments.DPSGD} {
				fmt.Fprintf(&b, " %s |", accuracyOf(r, m, e))
			}
			b.WriteString("\n")
			require.Equal(t, rowOf(r, experiments.ReverseKNN, e).Runs, rowOf(r, "pknn/silos", e).Runs)
		}
	}
	return b.String()
}

func rowOf(r *experiments.Result, method string, epsilon float64) experiments.Row {
	for _, row := range r.Rows {
		if row.Method == method && row.TargetEpsilon == epsilon {
			return row
		}
	}
	return experiments.Row{}
}

func percentOf(x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", 100*x)
}

// accuracyOf is an accuracy with the standard deviation of its runs, if there are several.
func accuracyOf(r *experiments.Result, method string, epsilon float64) string {
	row := rowOf(r, method, epsilon)
	if row.SD == nil {
		return percentOf(row.Accuracy)
	}
	return fmt.Sprintf("%.1f ± %.1f", 100*row.Accuracy, 100**row.SD)
}

func differenceOf(r *experiments.Result, vote string, epsilon float64) experiments.Difference {
	for _, d := range r.Differences {
		if d.TargetEpsilon == epsilon && d.A == vote && d.B == experiments.DPSGD {
			return d
		}
	}
	return experiments.Difference{}
}

func ahead(d experiments.Difference) string {
	cell := fmt.Sprintf("%+.1f (%+.1f to %+.1f)", -100*d.Mean, -100*d.High, -100*d.Low)
	if d.Better != "" {
		cell = "**" + cell + "**"
	}
	return strings.ReplaceAll(cell, "-", "−")
}

// TestReadmeShowsMeasuredNumbers compares the table of README with what `pate compare` prints of the committed results,
// but for the seconds, and the line on Fashion-MNIST of docs/comparing.md likewise.
func TestReadmeShowsMeasuredNumbers(t *testing.T) {
	root := filepath.Join("..", "..")
	page := testkit.Must(os.ReadFile(filepath.Join(root, "README.md")))
	printed := func(name string) [][]string {
		var b bytes.Buffer
		require.NoError(t, report.Table(readResult(t, filepath.Join(root, "docs", "results", "readme", name))).Write(&b, table.Text))
		return fieldsOfLines(b.String())
	}
	_, shown, found := strings.Cut(string(page), "\nmethod ")
	require.True(t, found)
	shown, _, _ = strings.Cut("method "+shown, "\n```")
	require.True(t, sameButSeconds(printed("mnist.json"), fieldsOfLines(shown)))
	require.False(t, sameButSeconds(printed("mnist.json"), fieldsOfLines(strings.Replace(shown, "97.28", "97.29", 1))), "the check can fail")
	require.Contains(t, string(page), "Paired tests find no difference among the first three methods. All other pairs differ")
	require.True(t, strings.HasPrefix(report.Verdicts(readResult(t, filepath.Join(root, "docs", "results", "readme", "mnist.json"))),
		"Cannot be told apart: pate/gnmax, pate/confident-gnmax, pknn/sampled.\n"))

	page = testkit.Must(os.ReadFile(filepath.Join(root, "docs", "comparing.md")))
	_, line, found := strings.Cut(string(page), "\nFashion-MNIST, one seed")
	require.True(t, found)
	line, _, _ = strings.Cut(line, "\n")
	percents := map[string]string{}
	for _, row := range printed("fashion.json") {
		percents[row[0]] = row[min(2, len(row)-1)]
	}
	for method, words := range map[string]string{"pknn/reverse": "nearest questions %s %%", "pate/gnmax": "%s %% (GNMax)", "pate/confident-gnmax": "%s %% (Confident)"} {
		require.Contains(t, line, strings.NewReplacer("%s", strings.TrimSuffix(percents[method], "0"), "%%", "%").Replace(words))
	}
}

func fieldsOfLines(text string) (lines [][]string) {
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

// sameButSeconds reports whether each printed line begins the line that is shown, which may
// have one more field.
func sameButSeconds(printed, shown [][]string) bool {
	return slices.EqualFunc(printed, shown, func(p, s []string) bool {
		return len(s) >= len(p) && len(s) <= len(p)+1 && slices.Equal(p, s[:len(p)])
	})
}
