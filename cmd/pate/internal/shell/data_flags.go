package shell

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/filekind"
	"github.com/pate-go/pate/internal/namedsets"
)

// DataFlags name the data of a command and how they are read.
type DataFlags struct {
	Data        string
	Label, Unit string
	Header      string
	Separator   string
	Classes     int
	ClassNames  string
	OtherLabels string
	Kind        string
	Split       string
	Quick       bool

	// Labels and Units are files beside NPY or idx rows.
	Labels, Units string
	Columns       ColumnFlags
}

// Add registers the flags of commands that learn from the data.
func (f *DataFlags) Add(flags *pflag.FlagSet) {
	f.Columns.Add(flags)
	f.AddReading(flags)
	Declare(flags, "data", To{"data": &f.Data, "label": &f.Label, "unit": &f.Unit, "labels": &f.Labels, "units": &f.Units,
		"kind": &f.Kind, "split": &f.Split, "quick": &f.Quick})
}

// AddReading registers the flags about the text of a file and its classes.
func (f *DataFlags) AddReading(flags *pflag.FlagSet) {
	Declare(flags, "reading", To{"header": &f.Header, "separator": &f.Separator, "classes": &f.Classes, "class-names": &f.ClassNames,
		"other-labels": &f.OtherLabels})
}

// Complete declares the values of the flags of Add that a command has of its own.
func (f *DataFlags) Complete(cmd *cobra.Command) { Declare(cmd.Flags(), "data", nil) }

// Names returns the flags of add, in the order in which a command is repeated.
func (f *DataFlags) Names() []string {
	return []string{"data", "label", "unit", "header", "separator", "classes", "class-names", "other-labels", "kind", "split", "quick",
		"labels", "units", "drop", "keep", "image-size"}
}

// Options returns how the data are to be read.
func (f *DataFlags) Options() (dataset.Options, error) {
	o := dataset.Options{CSV: dataset.CSVOptions{Label: f.Label, Unit: f.Unit, AskLabel: true}, Kind: dataset.Kind(f.Kind),
		Labels: f.Labels, Units: f.Units}
	if f.Header != "auto" {
		o.CSV.Header = dataset.Header(f.Header)
	}
	var err, wrong, badRule error
	o.CSV.Drop, o.Keep, o.ImageSize, err = f.Columns.parse()
	o.CSV.Comma, wrong = f.comma()
	o.Rule, badRule = f.rule()
	return o, cmp.Or(err, Refuse("data", wrong, badRule))
}

func (f *DataFlags) comma() (rune, error) {
	switch f.Separator {
	case "":
		return 0, nil
	case "tab":
		return '\t', nil
	}
	r, size := utf8.DecodeRuneInString(f.Separator)
	if size != len(f.Separator) || strings.ContainsRune("\"\r\n", r) || r == utf8.RuneError {
		return 0, fmt.Errorf("--separator %q: must be one character, or the word tab", f.Separator)
	}
	return r, nil
}

// rule returns which classes there are.
func (f *DataFlags) rule() (dataset.ClassRule, error) {
	rule := dataset.ClassRule{Other: f.OtherLabels}
	if f.ClassNames != "" {
		var err error
		if rule.Names, err = namesIn(f.ClassNames); err != nil {
			return rule, fmt.Errorf("--class-names: %w", err)
		}
	}
	switch {
	case f.Classes < 0:
		return rule, fmt.Errorf("--classes %d: must be positive", f.Classes)
	case f.Classes > 0 && rule.Names == nil && f.Classes <= 1<<16:
		rule.Names = dataset.Numbers(f.Classes)
	case f.Classes > 0 && f.Classes != len(rule.Names):
		return rule, errors.New("--classes, --class-names: name as many as there are, or leave one out")
	}
	if err := rule.Validate(); err != nil {
		return rule, fmt.Errorf("--classes, --class-names: %w", err)
	}
	return rule, nil
}

// namesIn splits a list as a CSV row, so that names with commas can be quoted.
func namesIn(text string) ([]string, error) {
	names, err := csv.NewReader(strings.NewReader(text)).Read()
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names, err
}

// Task opens and splits the data a user named.
func (f *DataFlags) Task() (dataset.Task, error) {
	opt, err := f.Options()
	if err != nil {
		return dataset.Task{}, err
	}
	return f.TaskOf(opt)
}

func (f *DataFlags) TaskOf(opt dataset.Options) (dataset.Task, error) {
	data, err := namedsets.Open(f.Data, opt)
	if err != nil {
		return dataset.Task{}, cmp.Or(f.wrongKind(), FaultError(err, "data"))
	}
	task, err := data.Task(dataset.Protocol(f.Split))
	if err == nil && f.Quick {
		task.Private, err = task.Private.Sample(0.1)
	}
	if err != nil {
		return dataset.Task{}, FaultError(err, "data")
	}
	return task, nil
}

// wrongKind names the kind of --data, if data are not read from such files.
func (f *DataFlags) wrongKind() error {
	if _, err := os.Stat(f.Data); errors.Is(err, fs.ErrNotExist) && !slices.Contains(namedsets.Names(), f.Data) {
		if near := didYouMean(f.Data, namedsets.Names()); near != "" {
			return InputError(fmt.Errorf("%s: is no data set, folder or file%s", f.Data, near),
				"known data sets are "+strings.Join(namedsets.Names(), ", "),
				"give one of them, a folder or a file", "data")
		}
	}
	return WrongKind(f.Data, "a table or images", "data", filekind.NPY, filekind.Parquet, filekind.Gzip, filekind.Zstandard, filekind.IDX,
		filekind.UTF16, filekind.Empty, filekind.Folder)
}

// Where names the data for an identity: a known set, or the path from the root.
func (f *DataFlags) Where() (string, error) {
	if slices.Contains(namedsets.Names(), f.Data) {
		return f.Data, nil
	}
	path, err := filepath.Abs(f.Data)
	if err != nil {
		return "", fmt.Errorf("where is %s: %w", f.Data, err)
	}
	return path, nil
}

// Identity names the data and how they are read, so that different flags never give the
// same text. Runs of the first version joined four words with bars; that form is kept
// Where no word has a bar and no later flag is given, so that such runs go on.
func (f *DataFlags) Identity() (string, error) {
	path, err := f.Where()
	if err != nil {
		return "", err
	}
	first := []string{path, f.Label, f.Unit, f.Header}
	all := append(slices.Clone(first), f.Separator, fmt.Sprint(f.Classes), f.ClassNames, f.OtherLabels, f.Kind)
	later := []string{f.Labels, f.Units, f.Columns.drop, f.Columns.keep, f.Columns.size}
	barred := slices.ContainsFunc(first, func(word string) bool { return strings.Contains(word, "|") })
	switch {
	case strings.Join(later, "") != "":
		all = append(all, later...)
	case !barred && f.Separator == "" && f.Classes == 0 && f.ClassNames == "" && f.OtherLabels == "" && f.Kind == "":
		return strings.Join(first, "|"), nil
	}
	text, err := json.Marshal(all)
	return string(text), err
}
