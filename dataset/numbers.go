package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/pate-go/pate/internal/mathx"
)

type rowSource interface {
	size() (rows, cols int)
	// each calls visit with every row in order. The slice `row` is valid only during this call.
	each(visit func(i int, row []float64) error) error
	image() Shape
}

const maxNumbers = 1 << 30

// contentNames names a row by a hash of its content and a counter of equal rows, from 1.
type contentNames struct {
	copies map[[16]byte]int64
	raw    []byte
}

func (c *contentNames) unit(row []float64, label string) (unit, group string) {
	c.raw = c.raw[:0]
	for _, v := range row {
		c.raw = binary.LittleEndian.AppendUint32(c.raw, math.Float32bits(float32(v)))
	}
	c.raw = append(c.raw, label...)
	sum := sha256.Sum256(c.raw)
	return c.name([16]byte(sum[:16]))
}

func (c *contentNames) name(hash [16]byte) (unit, group string) {
	if c.copies == nil {
		c.copies = map[[16]byte]int64{}
	}
	c.copies[hash]++
	text := hex.AppendEncode(append(make([]byte, 0, 64), "content/"...), hash[:])
	end := len(text)
	unit = string(strconv.AppendInt(append(text, '/'), c.copies[hash], 10))
	return unit, unit[:end]
}

func (t *Table) nameUnits() error {
	if len(t.Labels) == 0 {
		return wrong(t.path, "has no labels", "a model is trained on labelled rows",
			"name a file with --labels, or put images into a folder for each class")
	}
	if t.Units != nil {
		return nil
	}
	var names contentNames
	return t.numbers.each(func(i int, row []float64) error {
		content := t.label(i)
		if t.silos != nil { // equal rows of two silos are not alike
			content += "\x00" + t.silos[i]
		}
		unit, group := names.unit(row, content)
		t.Units, t.groups = append(t.Units, unit), append(t.groups, group)
		return nil
	})
}

func (t *Table) fitPool(task *Task, s *Schema, pool []int) (err error) {
	if pictures, ok := t.numbers.(*pictureRows); ok {
		pictures.shape, err = shapeOfPictures(pictures.dir, pickRows(pictures.files, pool), pictures.shape)
		if err != nil {
			return err
		}
	}
	if task.Image = t.numbers.image(); task.Image != (Shape{}) {
		task.Kind, task.Grouped = Pictures, false
		return nil
	}
	s.scale, err = fitScale(t.path, some{t.numbers, pool})
	return err
}

type some struct {
	rowSource
	kept []int // ascending
}

func (s some) size() (rows, cols int) {
	_, cols = s.rowSource.size()
	return len(s.kept), cols
}

func (s some) each(visit func(i int, row []float64) error) error {
	next := 0
	return s.rowSource.each(func(i int, row []float64) error {
		if next == len(s.kept) || s.kept[next] != i {
			return nil
		}
		next++
		return visit(next-1, row)
	})
}

type scale struct {
	Mean []float64 `json:"mean,omitempty"`
	SD   []float64 `json:"sd,omitempty"` // 0 if the column is constant over public rows
}

func fitScale(path string, public rowSource) (scale, error) {
	_, cols := public.size()
	s := scale{Mean: make([]float64, cols), SD: make([]float64, cols)}
	count := make([]float64, cols)
	err := public.each(func(_ int, row []float64) error { // Welford's algorithm
		for j, v := range row {
			if math.IsNaN(v) || math.Abs(v) > math.MaxFloat32 {
				continue
			}
			count[j]++
			d := v - s.Mean[j]
			s.Mean[j] += d / count[j]
			s.SD[j] += d * (v - s.Mean[j])
		}
		return nil
	})
	if err != nil {
		return s, failed(path, "cannot be scaled", err)
	}
	for j := range s.SD {
		if s.SD[j] = math.Sqrt(s.SD[j] / max(1, count[j])); !mathx.IsFinite(s.SD[j]) || s.SD[j] < 1e-9*math.Abs(s.Mean[j]) {
			s.SD[j] = 0
		}
	}
	if slices.Max(s.SD) == 0 {
		return s, failed(path, "cannot be scaled", fmt.Errorf("no column varies over the public rows"))
	}
	return s, nil
}

const numbersClip = 6

func (s scale) apply(dst []float32, row []float64) {
	for j, v := range row {
		switch {
		case s.Mean == nil:
			dst[j] = float32(v)
		case s.SD[j] == 0 || math.IsNaN(v):
			dst[j] = 0
		default:
			dst[j] = float32(max(-numbersClip, min(numbersClip, (v-s.Mean[j])/s.SD[j])))
		}
	}
}
