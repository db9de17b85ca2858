package main

import (
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
)

// TestDocsShowMeasuredNumbers: every table of docs/pate-or-dpsgd.md is what the committed
// results give, and no number with a decimal point stands in the text around that is in no
// table.
func TestDocsShowMeasuredNumbers(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	text, err := os.ReadFile(filepath.Join(docs, "pate-or-dpsgd.md"))
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(docs, "results", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	tables := []string{tasksHeader}
	for _, file := range files {
		r := readResult(t, file)
		tables[0] += tasksRow(r)
		tables = append(tables, sweepTable(r))
		require.Contains(t, string(text), "`results/"+filepath.Base(file)+"`", "where the numbers are")
	}
	tables = append(tables, poolsTable(t, filepath.Join(docs, "results", "pools"), string(text)))
	require.NoError(t, tablesAgree(string(text), tables))
	for _, wrong := range []string{
		strings.Replace(string(text), tables[1], strings.Replace(tables[1], "±", "± 1", 1), 1),
		string(text) + "\n| more | rows |\n",
		string(text) + "\nDP-SGD reached 99.99 % there.\n",
		strings.Replace(string(text), tables[0], "", 1),
	} {
		require.Error(t, tablesAgree(wrong, tables), "the check can fail")
	}
}

func readResult(t *testing.T, file string) *experiments.Result {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
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

// tablesAgree reports how a page differs from the tables that it must have, and only those.
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

// tasksRow is the line of a task: its size, and how far methods get that protect nothing.
func tasksRow(r *experiments.Result) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %s | %s | %s | %s |\n", taskName(r), r.Private, r.Pool, r.Test, r.Classes, r.Teachers,
		percentOf(r.Diagnostics.TeacherAccuracy), accuracyOf(r, experiments.Plurality, 0), accuracyOf(r, experiments.NonPrivate, 0), accuracyOf(r, experiments.BoostedTrees, 0))
}

func taskName(r *experiments.Result) string {
	return strings.TrimSuffix(filepath.Base(r.Data), ".csv")
}

// sweepTable has a line for each epsilon. Its last columns compare DP-SGD with the better
// of the two votes of teachers, and with votes at the nearest questions.
func sweepTable(r *experiments.Result) string {
	var b strings.Builder
	b.WriteString("| ε | GNMax % | Confident-GNMax % | nearest questions % | DP-SGD % | answered, right % | true labels % | DP-SGD less the better GNMax, points | less nearest questions |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, e := range r.EpsilonTargets {
		vote := rowOf(r, experiments.GNMax, e)
		if other := rowOf(r, experiments.ConfidentGNMax, e); other.Accuracy > vote.Accuracy {
			vote = other
		}
		fmt.Fprintf(&b, "| %g | %s | %s | %s | %s | %d, %s | %s | %s | %s |\n", e, accuracyOf(r, experiments.GNMax, e), accuracyOf(r, experiments.ConfidentGNMax, e),
			accuracyOf(r, experiments.ReverseKNN, e), accuracyOf(r, experiments.DPSGD, e), vote.Answered, percentOf(vote.LabelAccuracy),
			accuracyOf(r, experiments.TrueLabels, e), ahead(r, vote.Method, e), ahead(r, experiments.ReverseKNN, e))
	}
	return b.String()
}

// poolsTable has a line for each result of a task with a pool of rows, of marginals or of
// declared ranges alone.
func poolsTable(t *testing.T, folder, page string) string {
	methods := []string{experiments.GNMax, experiments.ConfidentGNMax, experiments.SampledKNN, experiments.ReverseKNN, experiments.DPSGD}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	require.NoError(t, err)
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

// ahead is how far DP-SGD is ahead of a vote, bold where that is beyond chance.
func ahead(r *experiments.Result, vote string, epsilon float64) string {
	for _, d := range r.Differences {
		if d.TargetEpsilon != epsilon || d.A != vote || d.B != experiments.DPSGD {
			continue
		}
		cell := fmt.Sprintf("%+.1f (%+.1f to %+.1f)", -100*d.Mean, -100*d.High, -100*d.Low)
		if d.Better != "" {
			cell = "**" + cell + "**"
		}
		return strings.ReplaceAll(cell, "-", "−")
	}
	return ""
}
