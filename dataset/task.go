package dataset

import (
	"fmt"
)

// Protocol names a way to split a data set.
type Protocol string

const (
	// Literature is the split for reported results. For images, the training set is private. The first nine
	// tenths of the test set are the pool, and the last tenth are test images. For MNIST, this gives 60,000
	// private, 9,000 pool and 1,000 test images, as in Papernot et al. 2017. For tables, 70 % of the units
	// are private, 20 % are the pool and 10 % are for tests.
	Literature Protocol = "literature"
	// Development is the split for choosing hyper-parameters. Development never uses the test rows of
	// [Literature]. For images, Development splits the training set. The first 50/60 are private, the next
	// 9/60 are the pool, and the last 1/60 is for tests. For MNIST, this gives 50,000 private, 9,000 pool and
	// 1,000 test images. For tables, Development splits the private part of Literature: 70 % are private, 20
	// % are the pool and 10 % are for tests.
	Development Protocol = "development"
	// FullTest is for images. The whole test set is for tests, and the last sixth of the training set is the
	// pool. For MNIST, this gives 50,000 private, 10,000 pool and 10,000 test images. Data without a test set
	// are an error.
	FullTest Protocol = "full-test"
)

func Protocols() []string { return []string{string(Literature), string(Development), string(FullTest)} }

// Kind describes rows. The defaults of training depend on the kind. The user declares the kind. Data sets
// that commands open by name have a fixed kind. No kind is derived from rows.
type Kind string

const (
	Columns     Kind = "table"
	Handwriting Kind = "handwriting" // letters or digits, whose slant has no meaning
	Pictures    Kind = "pictures"    // all other images, upright
)

func Kinds() []string { return []string{string(Handwriting), string(Pictures)} }

// Task is a data set that is split for private learning.
type Task struct {
	Name     string
	Protocol Protocol
	Kind     Kind
	Private  Set // the rows to be protected
	// Pool holds public rows, which are the queries to teachers. Use the true labels Pool.Y only for
	// evaluation and to train a baseline student.
	Pool    Set
	Test    Set // only for evaluation, not for queries or training
	Classes []string
	Image   Shape // zero if the rows are not images
	// Grouped reports whether a column or file has unit ids, so that a unit may have several rows. Grouped is
	// public. Whether a unit really has several rows is private.
	Grouped    bool
	Provenance string
	Published  bool     // all rows are public, also the rows of Private
	Encoder    *Encoder // encodes rows of a table; nil for images and NPY rows
	// Ranges holds the declared columns if there are no public rows, and is otherwise nil. If Ranges is set,
	// the pool is drawn from Ranges and Pool.Y has no meaning.
	Ranges    *Ranges
	Questions *Table // rows of a drawn pool as a table, otherwise nil
	// Silos holds the sorted names of the silos (such as hospitals) in column CSVOptions.Silo of the public
	// rows. SiloOf maps each private unit to the index of its silo. A unit with rows in two silos is refused.
	Silos  []string
	SiloOf map[string]int
}

var partNames = [3]string{"private", "pool", "test"}

func (t *Task) sets() [3]*Set { return [3]*Set{&t.Private, &t.Pool, &t.Test} }

func splitImages(train, test Set, p Protocol) (Task, error) {
	n, cut := train.Len(), test.Len()*9/10
	switch a, b := n*50/60, n*59/60; p {
	case Development:
		return newTask(p, [3]Set{train, train, train}, [3][2]int{{0, a}, {a, b}, {b, n}})
	case FullTest:
		return newTask(p, [3]Set{train, train, test}, [3][2]int{{0, a}, {a, n}, {0, test.Len()}})
	}
	return newTask(p, [3]Set{train, test, test}, [3][2]int{{0, n}, {0, cut}, {cut, test.Len()}})
}

// WithoutPool returns the task without a pool, for a method without public queries. The pool's rows become
// the first rows of Test. A drawn pool has no labels and is dropped. Under FullTest the pool is dropped,
// because Test is then the whole test set.
func (t Task) WithoutPool() Task {
	if t.Pool.Len() == 0 {
		return t
	}
	if t.Protocol != FullTest && t.Questions == nil {
		t.Test = t.Pool.with(t.Test)
	}
	t.Pool = t.Pool.rows(nil)
	return t
}

// Withheld returns the reason why results on this split must not be released, or "" if the split is no such
// reason. Results on [Development] and [FullTest] may reveal rows that are private under [Literature]. The
// epsilon of a run under Literature does not cover this leak.
func (t Task) Withheld() string {
	if t.Published || t.Protocol == "" || t.Protocol == Literature {
		return ""
	}
	return "rows score that the default split keeps private; see pate dpsgd tune"
}

// Waived returns a value for ledger.Config.Waived. It is nil if Withheld is "". Any other value makes the
// ledger not releasable.
func (t Task) Waived() []string {
	if t.Withheld() == "" {
		return nil
	}
	return []string{"split"}
}

func newTask(p Protocol, from [3]Set, cuts [3][2]int) (Task, error) {
	private := from[0]
	t := Task{Name: private.Name, Protocol: p, Kind: Pictures, Classes: private.Classes, Image: private.Image, Provenance: private.Provenance}
	for i, part := range t.sets() {
		var err error
		if *part, err = from[i].slice(cuts[i][0], cuts[i][1]); err != nil {
			return Task{}, err
		}
	}
	return t, t.validate()
}

func (t *Task) validate() error {
	for i, set := range t.sets() {
		if set.Len() == 0 {
			return fmt.Errorf("dataset: %q: no rows are left for the %s part; the data are too few to split", t.Name, partNames[i])
		}
		if err := set.Validate(); err != nil {
			return err
		}
	}
	return nil
}
