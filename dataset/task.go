package dataset

import (
	"fmt"
)

// Protocol is the name of a way to split a data set.
type Protocol string

const (
	// Literature is the split for reported results. Images: the training set is private; of the test set the
	// first nine tenths are the pool, the last tenth the test set (MNIST: 60,000, test[0:9000],
	// test[9000:10000], as in Papernot et al. 2017). Tables: 70 %, 20 % and 10 % of the units.
	Literature Protocol = "literature"
	// Development is the split for choosing hyper-parameters. It never uses a test row of Literature. Images:
	// the training set alone, cut at 50/60 and 59/60 (MNIST: train[0:50000], [50000:59000], [59000:60000]).
	// Tables: the private part of Literature, split again 70, 20 and 10 %.
	Development Protocol = "development"
	// FullTest tests on the whole test set of images: the training set is cut at 50/60, and its last sixth is
	// the pool (MNIST: 50,000 private, 10,000 pool, 10,000 test). Data without a test set, such as a table,
	// cannot be split this way.
	FullTest Protocol = "full-test"
)

func Protocols() []string { return []string{string(Literature), string(Development), string(FullTest)} }

// Kind is the kind of rows, which determines how a model is best trained. It is declared, for known data sets
// by this package, and never derived from rows.
type Kind string

const (
	Columns     Kind = "table"       // columns of a table
	Handwriting Kind = "handwriting" // letters or digits: their slant carries no meaning
	Pictures    Kind = "pictures"    // other images, of upright things
)

// Kinds lists the kinds that images may have.
func Kinds() []string { return []string{string(Handwriting), string(Pictures)} }

// Task is a data set split for private learning.
type Task struct {
	Name     string
	Protocol Protocol
	Kind     Kind // determines how a model is best trained
	Private  Set  // the rows to be protected
	// Pool is public and unlabelled: its rows are the questions to teachers. Pool.Y holds the true labels for
	// the baseline "student on true labels" only.
	Pool    Set
	Test    Set // for evaluation only: neither queries nor training rows
	Classes []string
	Image   Shape // zero if the rows are not images
	// Grouped reports whether units were given by a column, so that a unit may have several rows. This is
	// public; whether a unit really has several rows is not.
	Grouped    bool
	Provenance string
	Published  bool     // all rows are public, whatever part they are in
	Encoder    *Encoder // encoder of a table's rows; nil for images
	// Ranges are the declared columns if there are no public rows, otherwise nil. The pool is then drawn:
	// Questions holds its rows as a table, and Pool.Y means nothing.
	Ranges    *Ranges
	Questions *Table
}

// partNames are the names of a task's sets in ids and messages, in the order of [Task.sets].
var partNames = [3]string{"private", "pool", "test"}

func (t *Task) sets() [3]*Set { return [3]*Set{&t.Private, &t.Pool, &t.Test} }

// splitImages splits images as a protocol defines it. Their Kind is Pictures.
func splitImages(train, test Set, p Protocol) (Task, error) {
	n, cut := train.Len(), test.Len()*9/10
	switch a, b := n*50/60, n*59/60; p {
	case Development:
		return newTask(p, train, train, [3][2]int{{0, a}, {a, b}, {b, n}})
	case FullTest: // one public set, from which newTask cuts pool and test
		public, err := train.Slice(a, n)
		if err != nil {
			return Task{}, err
		}
		return newTask(p, train, public.with(test), [3][2]int{{0, a}, {0, n - a}, {n - a, n - a + test.Len()}})
	}
	return newTask(p, train, test, [3][2]int{{0, n}, {0, cut}, {cut, test.Len()}})
}

// WithoutPool returns the task for a method that needs no public queries: the rows of the pool become test
// rows, before the rows of Test, and the pool is empty. MNIST then has 60,000 private and 10,000 test rows,
// under Development 50,000 and 10,000. Under FullTest the rows of the pool are training rows and do not
// become test rows, nor do drawn rows, which have no labels.
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

// Withheld returns why nothing learned with this split may be released, whatever was charged for it; "" if it
// may. If rows are public in one split and private in another, no ε of a run with the second covers what was
// learned or chosen with the first.
func (t Task) Withheld() string {
	if t.Published || t.Protocol == "" || t.Protocol == Literature {
		return ""
	}
	return "rows score that the default split keeps private; see pate tune"
}

// Waived returns the waiver that marks a ledger of this split as not releasable; nil if Withheld is "".
func (t Task) Waived() []string {
	if t.Withheld() == "" {
		return nil
	}
	return []string{"split"}
}

func newTask(p Protocol, private, public Set, cuts [3][2]int) (Task, error) {
	t := Task{Name: private.Name, Protocol: p, Kind: Pictures, Classes: private.Classes, Image: private.Image, Provenance: private.Provenance}
	from := private
	for i, part := range t.sets() {
		var err error
		if *part, err = from.Slice(cuts[i][0], cuts[i][1]); err != nil {
			return Task{}, err
		}
		from = public
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
