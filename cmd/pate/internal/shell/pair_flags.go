package shell

import (
	"fmt"
	"maps"
	"slices"

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
func (f *PairFlags) Add(flags *pflag.FlagSet) { f.add(flags, To{"public": &f.Public}) }

// AddPrivate registers the flags apart from --public.
func (f *PairFlags) AddPrivate(flags *pflag.FlagSet) { f.add(flags, To{}) }

func (f *PairFlags) add(flags *pflag.FlagSet, to To) {
	f.data.Columns.Add(flags)
	f.data.AddReading(flags)
	maps.Copy(to, To{"label": &f.data.Label, "unit": &f.data.Unit, "unit-name": &f.UnitName, "labels": &f.data.Labels,
		"units":         &f.data.Units,
		"public-labels": &f.PublicLabels, "kind": &f.data.Kind, "accept-differences": &f.accept})
	Declare(flags, "private", to)
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
	Declare(flags, "columns", To{"drop": &f.drop, "keep": &f.keep, "image-size": &f.size})
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
			return nil, nil, size, Usagef("data", "--image-size %q: must be ROWSxCOLUMNS, each 1 to 256, such as 32x32", f.size)
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
		return nil, Usagef("data", "%s: %w", flag, err)
	}
	return slices.DeleteFunc(names, func(s string) bool { return s == "" }), nil
}

// Complete declares the values of flags that a command has of its own, and of the argument.
func (f *PairFlags) Complete(cmd *cobra.Command) {
	Declare(cmd.Flags(), "private", nil)
	CompleteArgs(cmd, Files("csv", "tsv", "gz", "zst", "parquet", "npy"))
}
