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
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/filekind"
	"github.com/pate-go/pate/internal/namedsets"
	"github.com/pate-go/pate/internal/unpack"
)

// DataFlags are the flags for a command's data and the data format.
type DataFlags struct {
	Data, Label, Unit, Header, Separator, ClassNames, OtherLabels, Kind, Split string

	Classes       int
	Quick         bool
	Labels, Units string // files for NPY or idx rows
	Columns       ColumnFlags

	KeepBytes bool                            // not a flag; see [namedsets.Open]
	accept    func(units int, all bool) error // set by DeltaGate
}

func (f *DataFlags) Add(flags *pflag.FlagSet) {
	f.Columns.Add(flags)
	f.AddReading(flags)
	Declare(flags, "data", To{"data": &f.Data, "label": &f.Label, "unit": &f.Unit, "labels": &f.Labels, "units": &f.Units,
		"kind": &f.Kind, "split": &f.Split, "quick": &f.Quick})
}

func (f *DataFlags) AddReading(flags *pflag.FlagSet) {
	Declare(flags, "reading", To{"header": &f.Header, "separator": &f.Separator, "classes": &f.Classes, "class-names": &f.ClassNames,
		"other-labels": &f.OtherLabels})
}

// Names returns the flags of Add in the order in which messages print them.
func (f *DataFlags) Names() []string {
	return []string{"data", "label", "unit", "header", "separator", "classes", "class-names", "other-labels", "kind", "split", "quick",
		"labels", "units", "drop", "keep", "missing", "image-size", "text", "embeddings"}
}

func (f *DataFlags) Options() (dataset.Options, error) {
	o := dataset.Options{CSV: dataset.CSVOptions{Label: f.Label, Unit: f.Unit, AskLabel: true, Accept: f.accept}, Kind: dataset.Kind(f.Kind),
		Labels: f.Labels, Units: f.Units, Embeddings: f.Columns.Embeddings}
	if f.Unit == noUnit {
		o.CSV.Unit, o.CSV.RowUnits = "", true
	}
	if f.Header != "auto" {
		o.CSV.Header = dataset.Header(f.Header)
	}
	var err, wrong, badRule error
	err = f.Columns.parse(&o)
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

func (f *DataFlags) rule() (dataset.ClassRule, error) {
	rule := dataset.ClassRule{Other: f.OtherLabels}
	if f.ClassNames != "" {
		var err error
		if rule.Names, err = Names(f.ClassNames); err != nil {
			return rule, fmt.Errorf("--class-names: %w", err)
		}
	}
	switch {
	case f.Classes < 0:
		return rule, fmt.Errorf("--classes %d: must be positive", f.Classes)
	case f.Classes > 0 && rule.Names == nil && f.Classes <= 1<<16:
		rule.Names = dataset.Numbers(f.Classes)
	case f.Classes > 0 && f.Classes != len(rule.Names):
		return rule, errors.New("--class-names and --classes must agree on the number of classes: correct or omit --classes")
	}
	if err := rule.Validate(); err != nil {
		return rule, fmt.Errorf("--classes or --class-names: %w", err)
	}
	return rule, nil
}

// Names parses comma-separated names.
func Names(text string) ([]string, error) {
	names, err := csv.NewReader(strings.NewReader(text)).Read()
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names, err
}

// WarnUnits prints a warning if texts or embeddings have no --unit. Each row is then a privacy unit.
func (f *DataFlags) WarnUnits(g *Globals) {
	if f.Unit == "" && f.Columns.text+f.Columns.Embeddings != "" {
		g.Warn("each row is its own unit: of an author with several texts epsilon protects only one at a time; " +
			"name the column of authors with --unit, or give --unit none if every author has one text")
	}
}

// DeltaGate checks --delta, given the number `size` of units (see [CheckDelta]). If size is 0, a table
// with too many units is refused when f reads it. With --quick or --ledger, or without --delta, DeltaGate
// does nothing.
func (f *DataFlags) DeltaGate(g *Globals, cmd *cobra.Command, noun string, size int) error {
	ledger := cmd.Flag("ledger") // a ledger has its own delta, and a quick run has a tenth of the units
	if !cmd.Flags().Changed("delta") || f.Quick || ledger != nil && ledger.Changed {
		return nil
	}
	f.accept = func(units int, all bool) error {
		err := CheckDelta(g.Delta, cmp.Or(size, units), noun)
		var refused *CommandError
		if all || !errors.As(err, &refused) {
			return err
		}
		if f.Split == string(dataset.Development) || f.OtherLabels == dataset.DropOther { // has fewer private units
			return nil
		}
		refused.What = fmt.Errorf("delta %g must be below 1/n, and n, the number of %s, is at least 1/delta", g.Delta, noun)
		refused.Fix = "omit --delta: its default follows from n"
		return refused
	}
	return CheckDelta(g.Delta, size, noun)
}

func (f *DataFlags) Task(g *Globals) (dataset.Task, error) {
	f.WarnUnits(g)
	opt, err := f.Options()
	if err != nil {
		return dataset.Task{}, err
	}
	return f.TaskOf(opt)
}

func (f *DataFlags) TaskOf(opt dataset.Options) (dataset.Task, error) {
	defer CollectAt(30)() // most of the memory is one matrix
	data, err := namedsets.Open(f.Data, opt, f.KeepBytes)
	var task dataset.Task
	if err == nil {
		task, err = data.Task(dataset.Protocol(f.Split))
	}
	if err == nil && f.Quick {
		task.Private, err = task.Private.Sample(0.1)
	}
	var refused *CommandError // by DeltaGate
	switch {
	case errors.As(err, &refused):
		return dataset.Task{}, refused
	case err != nil:
		return dataset.Task{}, cmp.Or(f.wrongKind(), FaultError(err, "data"))
	}
	return task, nil
}

func (f *DataFlags) wrongKind() error {
	if _, err := os.Stat(f.Data); errors.Is(err, fs.ErrNotExist) && !slices.Contains(namedsets.Names(), f.Data) {
		if near := didYouMean(f.Data, namedsets.Names()); near != "" {
			return InputError(fmt.Errorf("%s: is not a data set, folder or file%s", f.Data, near),
				"known data sets are "+strings.Join(namedsets.Names(), ", "),
				"give one of these names, a folder or a file", "data")
		}
	}
	return WrongKind(f.Data, "a table or images", "data", filekind.NPY, filekind.Parquet, filekind.Gzip, filekind.Zstandard, filekind.IDX,
		filekind.UTF16, filekind.Empty, filekind.Folder)
}

func (f *DataFlags) Where() (string, error) {
	if slices.Contains(namedsets.Names(), f.Data) {
		return f.Data, nil
	}
	return WholePath(f.Data)
}

func WholePath(path string) (string, error) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("where is %s: %w", path, err)
	}
	return whole, nil
}

// Identity returns a text with the path of the data and the flags for reading them. If no flags except label,
// unit and header are given, and no value contains "|", the text is PATH|LABEL|UNIT|HEADER. So runs of the
// first version of pate can resume.
func (f *DataFlags) Identity() (string, error) {
	path, err := f.Where()
	if err != nil {
		return "", err
	}
	first := []string{path, f.Label, f.Unit, f.Header}
	all := append(slices.Clone(first), f.Separator, fmt.Sprint(f.Classes), f.ClassNames, f.OtherLabels, f.Kind)
	later := []string{f.Labels, f.Units, f.Columns.drop, f.Columns.keep, f.Columns.size, f.Columns.missing, f.Columns.text, f.Columns.Embeddings}
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

// PairFlags are the flags that describe a private file and a file of public rows.
type PairFlags struct {
	Public           string
	PublicLabels     string // labels for public NPY or idx rows
	publicEmbeddings string
	UnitName         string
	data             DataFlags // how to read the private file
	accept           bool
}

func (f *PairFlags) Add(flags *pflag.FlagSet) {
	f.data.Columns.Add(flags)
	f.data.AddReading(flags)
	Declare(flags, "private", To{"public": &f.Public, "label": &f.data.Label, "unit": &f.data.Unit, "unit-name": &f.UnitName,
		"labels": &f.data.Labels, "units": &f.data.Units, "public-labels": &f.PublicLabels,
		"public-embeddings": &f.publicEmbeddings, "kind": &f.data.Kind,
		"accept-differences": &f.accept})
}

// Pair returns PairFlags for a command that can also read private and public rows from one file.
func (f *DataFlags) Pair(public, publicLabels, unitName string, accept bool) PairFlags {
	return PairFlags{Public: public, PublicLabels: publicLabels, UnitName: unitName, data: *f, accept: accept}
}

// Reading returns the settings for reading both files, and may print the warning of [DataFlags.WarnUnits].
func (f *PairFlags) Reading(g *Globals) (dataset.Reading, error) {
	f.data.WarnUnits(g)
	opt, err := f.data.Options()
	if err != nil {
		return dataset.Reading{}, err
	}
	return dataset.Reading{CSV: opt.CSV, Rule: opt.Rule, Kind: opt.Kind, Keep: opt.Keep, ImageSize: opt.ImageSize, Accept: f.accept}, nil
}

func (f *PairFlags) PrivateSource(path string) dataset.Source {
	return dataset.Source{Path: path, Labels: f.data.Labels, Units: f.data.Units, Embeddings: f.data.Columns.Embeddings}
}

func (f *PairFlags) PublicSource() dataset.Source {
	return dataset.Source{Path: f.Public, Labels: f.PublicLabels, Embeddings: f.publicEmbeddings}
}

// CheckApart returns an error if the private and the public file have equal contents after decompression.
func (f *PairFlags) CheckApart(private string) error {
	if f.Public == "" {
		return nil
	}
	what := "%s is given as the private file and as the public file"
	if same, err := durable.Same(private, f.Public); err != nil || !same {
		a, err := unpack.Sum(private)
		if err != nil {
			return nil // the later read reports the error
		}
		if b, err := unpack.Sum(f.Public); err != nil || a != b {
			return nil
		}
		what = "%s is a copy of the public file"
	}
	return InputError(fmt.Errorf(what, private),
		"public rows are not protected, so anybody may learn them", "give a file of other rows as --public", "data")
}

func (f *PairFlags) UnitWord() string { return UnitWord(f.UnitName, f.data.Unit) }

func (f *PairFlags) Names() []string {
	return []string{"public", "label", "unit", "unit-name", "labels", "units", "public-labels", "separator", "class-names", "other-labels", "kind",
		"drop", "keep", "missing", "image-size", "text", "embeddings", "public-embeddings", "header", "classes", "accept-differences"}
}

type ColumnFlags struct{ drop, keep, missing, size, text, Embeddings string }

func (f *ColumnFlags) Add(flags *pflag.FlagSet) {
	Declare(flags, "columns", To{"drop": &f.drop, "keep": &f.keep, "missing": &f.missing, "image-size": &f.size, "text": &f.text,
		"embeddings": &f.Embeddings})
}

func (f *ColumnFlags) parse(o *dataset.Options) error {
	var errs [3]error
	o.CSV.Text = f.text
	o.CSV.Drop, errs[0] = commas("--drop", f.drop)
	o.Keep, errs[1] = commas("--keep", f.keep)
	o.CSV.Missing, errs[2] = commas("--missing", f.missing)
	if err := cmp.Or(errs[:]...); err != nil {
		return err
	}
	if size := &o.ImageSize; f.size != "" {
		if n, err := fmt.Sscanf(f.size+" ", "%dx%d ", &size.Rows, &size.Cols); n != 2 || err != nil || min(size.Rows, size.Cols) < 1 ||
			max(size.Rows, size.Cols) > 256 {
			return Usagef("data", "--image-size %q: must be ROWSxCOLUMNS, each 1 to 256, such as 32x32", f.size)
		}
	}
	return nil
}

func commas(flag, text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	names, err := Names(text)
	if err != nil {
		return nil, Usagef("data", "%s: %w", flag, err)
	}
	return slices.DeleteFunc(names, func(s string) bool { return s == "" }), nil
}

// Complete sets the shell completion of the flags and of the file argument of cmd.
func (f *PairFlags) Complete(cmd *cobra.Command) {
	Declare(cmd.Flags(), "private", nil)
	CompleteArgs(cmd, Files("csv", "jsonl", "tsv", "gz", "zst", "parquet", "npy"))
}
