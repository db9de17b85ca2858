package golearn

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/sjwhitworth/golearn/base"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

// ErrNeedsCgo is the error for models that golearn implements in C, in builds without cgo.
var ErrNeedsCgo = errors.New("golearn: this model needs a build with cgo")

func fit(ctx context.Context, name string, data teachers.Dataset, pool Pooling,
	train func(pooled teachers.Dataset) (teachers.Classifier, error)) (_ teachers.Classifier, err error) {
	if err := data.Validate(); err != nil {
		return nil, err
	}
	features, err := pool.features(data.X.Cols)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("golearn: %s: %w", name, err)
	}
	if c, ok := teachers.Constant(data); ok {
		return c, nil
	}
	defer catch(name, &err)
	pooled := teachers.Dataset{X: pool.matrix(data.X, features), Y: data.Y, Classes: data.Classes}
	model, err := train(pooled)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("golearn: %s: %w", name, err)
	}
	return model, nil
}

func catch(name string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("golearn: %s panicked: %v", name, p)
	}
}

// labels adds all class names at once, because golearn would add missing names without a lock.
func labels(classes int) *base.CategoricalAttribute {
	attribute := base.NewCategoricalAttribute()
	attribute.SetName("class")
	for c := range classes {
		attribute.GetSysValFromString(strconv.Itoa(c))
	}
	return attribute
}

// Without it, golearn's BernoulliNB panics if no feature is present in a class, and golearn's ID3 does not
// split on a single feature.

// alwaysOn is the name of an attribute that is present in every row.
const alwaysOn = "on"

func binary(pooled teachers.Dataset, record, chosen []int, threshold float64) (*base.DenseInstances, error) {
	instances := base.NewDenseInstances()
	class := labels(pooled.Classes)
	classSpec := instances.AddAttribute(class)
	if err := instances.AddClassAttribute(class); err != nil {
		return nil, err
	}
	specs := make([]base.AttributeSpec, len(chosen))
	for k, j := range chosen {
		specs[k] = instances.AddAttribute(base.NewBinaryAttribute(strconv.Itoa(j)))
	}
	on := instances.AddAttribute(base.NewBinaryAttribute(alwaysOn))
	if err := instances.Extend(len(record)); err != nil {
		return nil, err
	}
	for i, r := range record {
		instances.Set(classSpec, i, class.GetSysVal(strconv.Itoa(pooled.Y[r])))
		x := dense.Row(pooled.X, r)
		for k, j := range chosen {
			if float64(x[j]) > threshold {
				instances.Set(specs[k], i, []byte{1})
			}
		}
		instances.Set(on, i, []byte{1})
	}
	return instances, nil
}

func all(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Pooling averages blocks of Size x Size pixels in images of Rows x Cols pixels, stored row by row. Rows and
// Cols must be multiples of Size. The zero Pooling leaves features unchanged.
type Pooling struct {
	Rows, Cols, Size int
}

func (p Pooling) features(from int) (int, error) {
	if p == (Pooling{}) {
		return from, nil
	}
	if p.Size < 1 || p.Rows < 1 || p.Cols < 1 || p.Rows%p.Size != 0 || p.Cols%p.Size != 0 {
		return 0, fmt.Errorf("golearn: Pooling of %d x %d images by %d", p.Rows, p.Cols, p.Size)
	}
	if from%p.Cols != 0 || from/p.Cols != p.Rows {
		return 0, fmt.Errorf("golearn: Pooling of %d x %d images, but rows have %d features", p.Rows, p.Cols, from)
	}
	return (p.Rows / p.Size) * (p.Cols / p.Size), nil
}

func (p Pooling) apply(dst, src []float32) {
	if p == (Pooling{}) {
		copy(dst, src)
		return
	}
	clear(dst)
	across := p.Cols / p.Size
	weight := 1 / float32(p.Size*p.Size)
	for i, v := range src {
		dst[i/p.Cols/p.Size*across+i%p.Cols/p.Size] += weight * v
	}
}

func (p Pooling) matrix(x teachers.Matrix, features int) teachers.Matrix {
	out := teachers.Matrix{Rows: x.Rows, Cols: features, Stride: features, Data: make([]float32, x.Rows*features)}
	for i := range x.Rows {
		p.apply(dense.Row(out, i), dense.Row(x, i))
	}
	return out
}
