package published

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/aggregate/nearby"
	"github.com/pate-go/pate/internal/sealed"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/teachers/votes"
)

// FuzzModel reads anything that is sealed as a model, and asks what is accepted about a
// row: neither may panic or run on.
func FuzzModel(f *testing.F) {
	const head = `{"schema":"pate.student-model/1","classes":["a","b"],"rows":{"kind":"table","features":2,"scale":{"mean":[0,0],"sd":[1,1]}},"features":"raw","extractor":"raw","columns":2,"model":`
	for _, model := range []string{
		`{"constant":{"class":1}}`,
		`{"linear":{"classes":[0,1],"weights":[[1,2],[3,4]],"bias":[0,1]}}`,
		`{"kernel":{"classes":[1],"centre":[0,0],"scale":1,"limit":9,"directions":[[1],[1]],"gamma":1,"landmarks":[[1]],"coefficients":[[1]],"intercept":[0]}}`,
		`{"trees":{"classes":[0,1],"roots":[0],"column":[1,-1,-1],"threshold":[0,0,0],"right":[2,0,1],"ends":[1,2],"leaf_class":[0,1],"share":[1,1]}}`,
		`{"trees":{"classes":[0,1],"roots":[0,1],"column":[-1,-1],"threshold":[1,2],"right":[0,0],"prior":[0]}}`,
		`{"mean":{"doubt":0.01,"members":[{"name":"x","power":1,"weight":1,"model":{"constant":{"class":0}}}]}}`,
		`{}`,
	} {
		_, err := parse(sealed.Seal([]byte(magic + head + model + "}")))
		if (err == nil) != (model != "{}") {
			f.Fatalf("%s: %v", model, err)
		}
		f.Add([]byte(head + model + "}"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parse(sealed.Seal(append([]byte(magic), text...)))
		if err != nil || m.Rows.Features > 1<<12 {
			return
		}
		n := m.Rows.Features
		if _, err := m.Predict(context.Background(), dataset.Pool{X: blas32.General{Rows: 1, Cols: n, Stride: n, Data: make([]float32, n)}, Image: m.Rows.Image}); err != nil {
			t.Skip(err)
		}
	})
}

// FuzzReadLabels reads anything as labels, and labels of a class with any name, with noisy votes and without.
func FuzzReadLabels(f *testing.F) {
	f.Add([]byte("query,label\n0,1\n1,\n"), 3, "a, b")
	f.Add([]byte("query,label_not_releasable\r\n2,yes\r\n"), 3, "votes ")
	f.Add([]byte("query,label,\"votes a, b\",votes c\n2,\"a, b\",-3,4\n"), 3, "\u200c\u00a0x")
	f.Fuzz(func(t *testing.T, text []byte, pool int, name string) {
		if pool < 0 || pool > 1000 {
			return
		}
		l, err := ReadLabels(bytes.NewReader(text), pool, nil, nil)
		if err == nil && (len(l.Of) != pool || l.Released > l.Asked || len(l.Classes) < 2) {
			t.Fatalf("%+v", l)
		}
		classes, of := []string{name, "other"}, []int{0, aggregate.Abstain, 1}
		if votes.CheckClassNames(classes) != nil {
			return
		}
		var file bytes.Buffer
		for _, noisy := range []neighbours.Counts{{}, {Classes: 2, Votes: []int64{3, -4, 0, 0, 1, 2}}} {
			file.Reset()
			labels := nearby.Labels{Of: of, Counts: noisy}
			if err := labels.Table("label", dataset.Numbers(3), func(class int) string { return classes[class] }, classes).Write(&file, table.CSV); err != nil {
				t.Fatal(err)
			}
			if l, err := ReadLabels(bytes.NewReader(file.Bytes()), 3, nil, classes); err != nil || !slices.Equal(l.Of, of) {
				t.Fatalf("%s: %+v, %v", file.String(), l, err)
			}
		}
	})
}

// TestOpenBoundsItsMemory: a file that claims to be a model and is another is not read.
func TestOpenBoundsItsMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(1 << 40); err != nil {
		t.Skip(err)
	}
	f.Close()
	if _, err := Open(path); err == nil {
		t.Fatal("a sparse file is a model")
	}
}
