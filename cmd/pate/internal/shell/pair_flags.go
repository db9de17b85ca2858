package shell

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/unpack"
)

// PairFlags name private and public rows and how they are read.
type PairFlags struct {
	Public       string
	PublicLabels string // of public NPY or idx rows
	UnitName     string
	data         DataFlags // the reading of the private file
	accept       bool
}

// Add registers the flags.
func (f *PairFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.Public, "public", "", "public rows (required); a CSV, Parquet, NPY or idx file, or a folder of images")
	f.AddPrivate(flags)
}

// AddPrivate registers the flags apart from --public.
func (f *PairFlags) AddPrivate(flags *pflag.FlagSet) {
	flags.StringVar(&f.data.Label, "label", "", "label column of a table: a name, or a number from 1")
	flags.StringVar(&f.data.Unit, "unit", "", "column that names whose record a row is (default: every row is its own)")
	flags.StringVar(&f.UnitName, "unit-name", "", "what a unit is called (default: the unit column, or record)")
	flags.StringVar(&f.data.Labels, "labels", "", "labels of private NPY or idx rows; NPY, idx, Parquet of one column, or a text with one a line")
	flags.StringVar(&f.data.Units, "units", "", "units of private NPY or idx rows, likewise (default: every row is its own)")
	flags.StringVar(&f.PublicLabels, "public-labels", "", "labels of public NPY or idx rows, if there are any")
	f.data.Columns.Add(flags)
	f.data.AddReading(flags)
	flags.StringVar(&f.data.Kind, "kind", "", "what images are: "+strings.Join(dataset.Kinds(), " or ")+" (default pictures)")
	flags.BoolVar(&f.accept, "accept-differences", false, "train though the private rows are unlike the public ones in some column")
}

// Pair returns the flags of private and public rows of a command that can also read both
// from one file.
func (f *DataFlags) Pair(public, publicLabels, unitName string, accept bool) PairFlags {
	return PairFlags{Public: public, PublicLabels: publicLabels, UnitName: unitName, data: *f, accept: accept}
}

// Reading returns how the rows are to be read.
func (f *PairFlags) Reading() (dataset.Reading, error) {
	opt, err := f.data.Options()
	if err != nil {
		return dataset.Reading{}, err
	}
	return dataset.Reading{CSV: opt.CSV, Rule: opt.Rule, Kind: opt.Kind, Keep: opt.Keep, ImageSize: opt.ImageSize, Accept: f.accept}, nil
}

// PrivateSource and PublicSource name the files.
func (f *PairFlags) PrivateSource(path string) dataset.Source {
	return dataset.Source{Path: path, Labels: f.data.Labels, Units: f.data.Units}
}

// PublicSource names the public files.
func (f *PairFlags) PublicSource() dataset.Source {
	return dataset.Source{Path: f.Public, Labels: f.PublicLabels}
}

// CheckApart refuses one file as both, and a copy, packed or not: its rows would be private and public.
func (f *PairFlags) CheckApart(private string) error {
	if f.Public == "" {
		return nil
	}
	what := "%s is given as private and as public"
	if same, err := durable.Same(private, f.Public); err != nil || !same {
		a, err := unpack.Sum(private)
		if err != nil {
			return nil // what cannot be read is refused where it is read
		}
		if b, err := unpack.Sum(f.Public); err != nil || a != b {
			return nil
		}
		what = "%s is a copy of the public file"
	}
	return InputError(fmt.Errorf(what, private),
		"nothing protects public rows: whatever is in them may be known to anybody", "name a file of other rows with --public", "data")
}

// UnitWord returns the word for a unit.
func (f *PairFlags) UnitWord() string { return UnitWord(f.UnitName, f.data.Unit) }

// Names returns the flags, in the order in which a command is repeated.
func (f *PairFlags) Names() []string {
	return []string{"public", "label", "unit", "unit-name", "labels", "units", "public-labels", "separator", "class-names", "other-labels", "kind",
		"drop", "keep", "image-size", "header", "classes", "accept-differences"}
}

// ColumnFlags select the columns that become features.
type ColumnFlags struct{ drop, keep, size string }

// Add registers the flags.
func (f *ColumnFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.drop, "drop", "", "columns that are no features, with commas")
	flags.StringVar(&f.keep, "keep", "", "columns that are features; though they look like ids or free text")
	flags.StringVar(&f.size, "image-size", "", "size to which images of a folder are brought, as ROWSxCOLUMNS (default: that of the public ones)")
}

// parse returns the names of columns, and the size.
func (f *ColumnFlags) parse() (drop, keep []string, size dataset.Shape, err error) {
	if drop, err = commas("--drop", f.drop); err != nil {
		return nil, nil, size, err
	}
	if keep, err = commas("--keep", f.keep); err != nil {
		return nil, nil, size, err
	}
	if f.size != "" {
		if n, err := fmt.Sscanf(f.size+" ", "%dx%d ", &size.Rows, &size.Cols); n != 2 || err != nil || size.Rows < 1 || size.Cols < 1 ||
			size.Rows > 256 || size.Cols > 256 {
			return nil, nil, size, UsageError("data", fmt.Errorf("--image-size %q: must be ROWSxCOLUMNS, each 1 to 256, such as 32x32", f.size))
		}
	}
	return drop, keep, size, nil
}

// commas splits a list as a CSV row, so that names with commas can be quoted.
func commas(flag, text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	names, err := namesIn(text)
	if err != nil {
		return nil, UsageError("data", fmt.Errorf("%s: %w", flag, err))
	}
	return slices.DeleteFunc(names, func(s string) bool { return s == "" }), nil
}

// Complete declares the values of the flags and of the argument.
func (f *PairFlags) Complete(cmd *cobra.Command) {
	rows := Files("csv", "tsv", "gz", "zst", "parquet", "npy")
	lines := Files("npy", "csv", "txt", "parquet")
	Complete(cmd, map[string]Values{
		"public": rows, "labels": lines, "units": lines, "public-labels": lines,
		"label": Anything(), "unit": Anything(), "unit-name": Suggested("record", "patient", "user"), "kind": Words(dataset.Kinds()...),
		"drop": Anything(), "keep": Anything(), "image-size": Anything(),
		"header": Words("auto", "yes", "no"), "separator": Suggested("tab"), "class-names": Anything(), "other-labels": Suggested("drop"),
	})
	CompleteArgs(cmd, rows)
}
