package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/pate-go/pate/dataset"
)

// dataFlags say which data a command reads, and how.
type dataFlags struct {
	data        string
	label, unit string
	header      string
	separator   string
	classes     int
	classNames  string
	otherLabels string
	kind        string
	split       string
	quick       bool
}

// add registers the flags of commands that learn from the data.
func (f *dataFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.data, "data", "mnist", strings.Join(dataset.Names(), ", ")+", DIR or FILE.csv (pate help data)")
	flags.StringVar(&f.label, "label", "", "label column of FILE.csv: a name, or a number from 1")
	flags.StringVar(&f.unit, "unit", "", "column of FILE.csv that says whose record a row is (default: every row is its own)")
	f.addReading(flags)
	flags.StringVar(&f.kind, "kind", "", "what the images of DIR are: "+strings.Join(dataset.Kinds(), " or ")+" (default pictures); decides how they are learned")
	flags.StringVar(&f.split, "split", string(dataset.Literature), "literature, or development: splits the training part only, for choosing hyper-parameters")
	flags.BoolVar(&f.quick, "quick", false, "a tenth of the private records, for a first look")
}

// addReading registers the flags about the text of a file and its classes.
func (f *dataFlags) addReading(flags *pflag.FlagSet) {
	flags.StringVar(&f.header, "header", "auto", "whether FILE.csv has a header line: yes|no|auto, which needs a column given by name")
	flags.StringVar(&f.separator, "separator", "", "what separates cells of FILE.csv: one character, or tab (default: a comma, or what the header shows)")
	flags.IntVar(&f.classes, "classes", 0, "of FILE.csv or DIR: there are N classes, 0 to N-1")
	flags.StringVar(&f.classNames, "class-names", "", "of FILE.csv or DIR: all classes, with commas (default: the labels of public rows)")
	flags.StringVar(&f.otherLabels, "other-labels", "", "what becomes of rows whose label is no class: drop, or NAME of a class (default: they are refused)")
}

// names are the flags of add, in the order in which a command is repeated.
func (f *dataFlags) names() []string {
	return []string{"data", "label", "unit", "header", "separator", "classes", "class-names", "other-labels", "kind", "split", "quick"}
}

// options are how the data are to be read.
func (f *dataFlags) options() (dataset.Options, error) {
	o := dataset.Options{CSV: dataset.CSVOptions{Label: f.label, Unit: f.unit}, Kind: dataset.Kind(f.kind)}
	switch f.header {
	case "auto":
	case "yes", "no":
		o.CSV.Header = dataset.Header(f.header)
	default:
		return o, usageError("data", fmt.Errorf("--header %q: must be auto, yes or no", f.header))
	}
	if f.kind != "" && !slices.Contains(dataset.Kinds(), f.kind) {
		return o, usageError("data", fmt.Errorf("--kind %q: must be %s", f.kind, strings.Join(dataset.Kinds(), " or ")))
	}
	var err error
	if o.CSV.Comma, err = f.comma(); err != nil {
		return o, usageError("data", err)
	}
	if o.Rule, err = f.rule(); err != nil {
		return o, usageError("data", err)
	}
	return o, nil
}

func (f *dataFlags) comma() (rune, error) {
	if f.separator == "" {
		return 0, nil
	}
	if f.separator == "tab" {
		return '\t', nil
	}
	r, size := utf8.DecodeRuneInString(f.separator)
	if size != len(f.separator) || strings.ContainsRune("\"\r\n", r) || r == utf8.RuneError {
		return 0, fmt.Errorf("--separator %q: must be one character, or the word tab", f.separator)
	}
	return r, nil
}

// rule is which classes there are.
func (f *dataFlags) rule() (dataset.ClassRule, error) {
	rule := dataset.ClassRule{Other: f.otherLabels}
	if f.classNames != "" {
		names, err := csv.NewReader(strings.NewReader(f.classNames)).Read()
		if err != nil {
			return rule, fmt.Errorf("--class-names: %w", err)
		}
		for _, name := range names {
			rule.Names = append(rule.Names, strings.TrimSpace(name))
		}
	}
	switch {
	case f.classes < 0:
		return rule, fmt.Errorf("--classes %d: must be positive", f.classes)
	case f.classes > 0 && rule.Names == nil && f.classes <= 1<<16:
		rule.Names = dataset.Numbers(f.classes)
	case f.classes > 0 && f.classes != len(rule.Names):
		return rule, errors.New("--classes, --class-names: name as many as there are, or leave one out")
	}
	if err := rule.Validate(); err != nil {
		return rule, fmt.Errorf("--classes, --class-names: %w", err)
	}
	return rule, nil
}

// task opens and splits the data a user named.
func (f *dataFlags) task() (dataset.Task, error) {
	opt, err := f.options()
	if err != nil {
		return dataset.Task{}, err
	}
	return f.taskOf(opt)
}

func (f *dataFlags) taskOf(opt dataset.Options) (dataset.Task, error) {
	switch p := dataset.Protocol(f.split); p {
	case dataset.Literature, dataset.Development:
	default:
		return dataset.Task{}, usageError("data", fmt.Errorf("--split %q: must be %s or %s", f.split, dataset.Literature, dataset.Development))
	}
	data, err := dataset.Open(f.data, opt)
	if err != nil {
		return dataset.Task{}, told(err, "data")
	}
	task, err := data.Task(dataset.Protocol(f.split))
	if err != nil {
		return dataset.Task{}, told(err, "data")
	}
	if f.quick {
		if task.Private, err = task.Private.Sample(0.1); err != nil {
			return dataset.Task{}, told(err, "data")
		}
	}
	return task, nil
}

// where names the data for an identity: a known set, or the path from the root.
func (f *dataFlags) where() (string, error) {
	if slices.Contains(dataset.Names(), f.data) {
		return f.data, nil
	}
	path, err := filepath.Abs(f.data)
	if err != nil {
		return "", fmt.Errorf("where is %s: %w", f.data, err)
	}
	return path, nil
}

// identity names the data and how they are read, so that different flags never give the
// same text. Runs of the first version joined four words with bars; that form is kept
// where no word has a bar and no later flag is given, so that such runs go on.
func (f *dataFlags) identity() (string, error) {
	path, err := f.where()
	if err != nil {
		return "", err
	}
	first := []string{path, f.label, f.unit, f.header}
	all := append(slices.Clone(first), f.separator, fmt.Sprint(f.classes), f.classNames, f.otherLabels, f.kind)
	barred := slices.ContainsFunc(first, func(word string) bool { return strings.Contains(word, "|") })
	if !barred && f.separator == "" && f.classes == 0 && f.classNames == "" && f.otherLabels == "" && f.kind == "" {
		return strings.Join(first, "|"), nil
	}
	text, err := json.Marshal(all)
	return string(text), err
}
