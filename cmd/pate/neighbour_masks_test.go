package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mask is one thing that may differ between two neighbours, and why it may.
type mask struct {
	name, why string
	of, in    string         // expressions of the names of commands and files, "" of all
	keys      []string       // of JSON, and columns of CSV; x* are those that begin with x
	text      *regexp.Regexp // what is hidden of any text
	long      bool           // but not how long it is
	follows   bool           // it is what was charged, or a function of it and of public rows
	seldom    bool           // it moves in few runs, so that whether it is needed is not tested
}

// hexadecimal are hashes and ids.
var hexadecimal = regexp.MustCompile(`\b[0-9a-f]{32,}\b|"(check|salt_id)":\s*"[0-9a-f]+"|part-\d-of-\d-[0-9a-f]{16}`)

// masks are all of them.
func masks() []mask {
	return []mask{
		{name: "ids and hashes", text: hexadecimal,
			why: "ids are drawn at random, and hashes are keyed by a secret of the run, as the test compares; those of released files are not hidden"},
		{name: "labels", of: `^publish|^compare|^label|^predict`, in: `labels-|labels\.csv|labelled\.csv|predict`, keys: []string{"label", "probability"}, follows: true,
			why: "labels were charged, and so was the model that answers about public rows"},
		{name: "labels of other forms", of: `^label, (JSON|NPY)`, in: `labels\.(jsonl|npy)$`, text: regexp.MustCompile(`"label":\w+|(?s)\n\x00.*`), follows: true,
			why: "the same"},
		{name: "number of labels", of: `^compare p|^compare, tree|^label|^student`, keys: []string{"answered", "declined", "not_asked", "label_accuracy"}, follows: true,
			why: "they are counted in the released labels; their accuracy is that on public rows"},
		{name: "pilot", of: `^label, a plan by a pilot`, in: `std|l\.jsonl`, follows: true,
			keys: []string{"released", "share", "least_share", "asked", "epsilon", "noise", "mechanism", "threshold", "sigma*", "scale", "answers", "expected", "left_rho"},
			text: regexp.MustCompile(`(?m)^(pilot:|plan for|the plan spends|at the lower bound).*$|\{"line":[56],.*`),
			why:  "the number was charged, and the plan is a function of it and of public numbers"},
		{name: "queries", of: `^compare`, in: `labels-`, keys: []string{"query", "asked *"}, follows: true,
			why: "which public rows a comparison asks about is drawn by the secret key of the run, and of a drawn pool from charged counts"},
		{name: "answered", of: `^compare pate/confident`, in: `labels-`, text: regexp.MustCompile(`\[# #\].*`), follows: true, seldom: true,
			why: "which queries were answered was charged, and so was their number"},
		{name: "labels of drawn questions", of: `^publish tree`, in: `stdout|labelled\.csv|student\.model|report\.html`, keys: []string{"labels"},
			text: regexp.MustCompile(`\[# #\].*|"released":\d+|<tr><th>labels released.*?</tr>|labels: \d+ of`), follows: true,
			why: "a question without a large noisy count has no label"},
		{name: "noisy votes", of: `^compare pknn|^compare, marginals|^publish nearest|^label, silos|tree$`, in: `labels-pknn|labels\.csv`, keys: []string{"votes *"}, follows: true,
			why: "noise was added to all counts of reverse neighbours, and all are charged"},
		{name: "accuracy", of: `^dpsgd|^tune|^compare|^predict`, keys: []string{"accuracy", "recall", "standard_error", "sd", "auroc", "auroc_sd", "runs", "balanced_accuracy", "one_class_runs"}, follows: true,
			why: "it is that of a charged model on public rows"},
		{name: "accuracy in statements", of: `^publish nearest, all`, keys: []string{"utility"}, text: regexp.MustCompile(`[0-9.]+ % of \d+|<tr><th>right on public rows.*?</tr>|"utility":\[.*?\]`), follows: true, seldom: true,
			why: "the same, of a student"},
		{name: "accuracy in pages", of: `^compare`, in: `report\.html$`, text: regexp.MustCompile(`(<th>note</th>|<td>(names one class only[^<]*)?</td>)?</tr>|style="[^"]*"|<(td|b)>[0-9./ ±]*<|cell( worst)?">[0-9.]*<|(?s)<svg.*?</svg>`), follows: true,
			why: "pages have what is in results.json"},
		{name: "pictures", of: `^compare`, in: `\.svg$`, text: regexp.MustCompile(`(?s).+`), follows: true,
			why: "accuracies are drawn in them"},
		{name: "model", of: `^dpsgd|^tune|^compare|^predict`, in: `\.model$`, text: regexp.MustCompile(`(?s)pate dpsgd/nn 1\n.*`), long: true, follows: true,
			why: "parameters come out of charged sums; the card before them is compared"},
		{name: "linear model", of: `^publish`, in: `\.model$`, text: regexp.MustCompile(`(?s)"linear":.*`), follows: true,
			why: "the same"},
		{name: "student", of: `^publish|^compare`, in: `stdout|results|report\.html$`, keys: []string{"kind", "held_back", "student"}, text: regexp.MustCompile(`<tr><th>student</th>.*</tr>|[0-9.]+ +[0-9.]+ +5000\n|(?s)student: .*?\n\n`), follows: true,
			why: "a student is a function of released labels and public rows"},
		{name: "warning of a student", of: `^publish`, in: `stderr`, text: regexp.MustCompile(`(pate: warning: (the student predicted|\d+ of \d+ released labels).*\n)?out/public: may be published`), follows: true, seldom: true,
			why: "the same; few labels of a small table are learned now and then"},
		{name: "file of a student", of: `^publish`, in: `student\.(model|json)$`, text: regexp.MustCompile(`(?s)"kind":\[.*?\]|"held_back":\{.*?\}|"members":\[.*`), follows: true,
			why: "the same"},
		{name: "choice", of: `^tune`, keys: []string{"chosen", "score"}, follows: true,
			why: "the choice of a setting is charged with the model"},
		{name: "noisy counts", of: `marginals|tree$`, in: `marginals`, keys: []string{"noisy count"}, follows: true,
			why: "the counts of columns are charged"},
		{name: "tables of pairs", of: `tree$`, in: `tree`, text: regexp.MustCompile(`(?s).+`), follows: true,
			why: "edges and tables are charged, and groups follow from the counts of columns"},
		{name: "pairs", of: `^publish tree`, keys: []string{"pairs"}, text: regexp.MustCompile(`(?m)^paired: .*$|<tr><th>paired columns.*?</tr>`), follows: true,
			why: "the edges are charged"},
		{name: "drawn pool", of: `^publish (marginals|tree)`, in: `pool\.csv|queries\.csv|labelled\.csv|table\.csv|student`, keys: []string{"length", "width", "colour", "row", "kind"}, text: regexp.MustCompile(`"encoder":\[.*?\]`), follows: true,
			why: "the pool is drawn from charged counts by the public numbers of its rows"},
		{name: "sanitised cost", of: `^analyze`, in: `cost|stdout`, keys: []string{"epsilon", "cost"}, follows: true, seldom: true,
			why: "noise was added to it, and that is charged"},
	}
}

// hidden returns a text with what masks hide of it.
func hidden(name, text string, masks []mask) string {
	var keys []string
	masks = slices.DeleteFunc(slices.Clone(masks), func(m mask) bool { return !regexp.MustCompile(m.in).MatchString(name) })
	for _, m := range masks {
		keys = append(keys, m.keys...)
	}
	mode, body := "", text
	if first, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(first, "-rw") {
		mode, body = first+"\n", rest
	}
	switch {
	case filepath.Ext(name) == ".json" || strings.HasSuffix(name, "stdout"):
		body = withoutKeys(body, keys)
	case filepath.Ext(name) == ".csv":
		body = withoutColumns(body, keys)
	}
	for _, m := range masks {
		if m.text != nil {
			body = m.text.ReplaceAllStringFunc(body, func(found string) string {
				if m.long {
					return fmt.Sprint("#", len(found))
				}
				return "#"
			})
		}
	}
	return mode + body
}

// withoutKeys returns JSON without the values of keys.
func withoutKeys(text string, keys []string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for key, e := range v {
				if among(keys, key) {
					delete(v, key) // what is 0 may be left out
				}
				walk(e)
			}
		}
	}
	walk(v)
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", " ")
	if encoder.Encode(v) != nil {
		return text
	}
	return out.String()
}

// withoutColumns returns CSV without the values of columns.
func withoutColumns(text string, columns []string) string {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 {
		return text
	}
	for j, column := range rows[0] {
		if among(columns, column) {
			for _, row := range rows[1:] {
				row[j] = "#"
			}
		}
	}
	return fmt.Sprint(rows)
}

// among reports whether a name is one of names, or begins with what stands before an asterisk.
func among(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		prefix, open := strings.CutSuffix(n, "*")
		return n == name || open && strings.HasPrefix(name, prefix)
	})
}
