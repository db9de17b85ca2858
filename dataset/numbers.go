package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
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

// contentNames names a row by a hash of its content and a counter of equal rows, from 1. So an added row does
// not rename others.
type contentNames struct {
	hashes [][16]byte
	raw    []byte
}

const (
	contentPrefix = "content/"
	groupBytes    = len(contentPrefix) + 32 // of a name, the same for equal rows
)

func (c *contentNames) addNumbers(row []float64, label string) {
	raw := c.raw[:0]
	for _, v := range row {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(v)))
	}
	c.add(append(raw, label...))
}

func (c *contentNames) addCells(cells []string) {
	raw := c.raw[:0]
	for _, cell := range cells {
		if len(cell) >= 10 {
			raw = strconv.AppendInt(raw, int64(len(cell)/10), 10)
		}
		raw = append(append(raw, '0'+byte(len(cell)%10), ':'), cell...)
	}
	c.add(raw)
}

func (c *contentNames) add(raw []byte) {
	sum := sha256.Sum256(raw)
	c.raw, c.hashes = raw, append(c.hashes, [16]byte(sum[:]))
}

func appendGroup(raw []byte, hash [16]byte) []byte {
	return hex.AppendEncode(append(raw, contentPrefix...), hash[:])
}

func (c *contentNames) names() []string {
	// Most hashes are alone in their place of alike, and the map counts the others only.
	alike := make([]uint8, 1<<bits.Len(8*uint(len(c.hashes))))
	place := func(hash [16]byte) *uint8 { return &alike[binary.LittleEndian.Uint64(hash[:])%uint64(len(alike))] }
	for _, hash := range c.hashes {
		*place(hash) = min(*place(hash)+1, 2)
	}
	number := make([]int64, len(c.hashes))
	for i, hash := range c.hashes {
		number[i] = int64(*place(hash))
	}
	names, copies := make([]string, len(c.hashes)), map[[16]byte]int64{}
	var texts textBlocks
	for i, hash := range c.hashes {
		if number[i] > 1 {
			copies[hash]++
			number[i] = copies[hash]
		}
		c.raw = append(appendGroup(c.raw[:0], hash), '/')
		names[i] = texts.add(strconv.AppendInt(c.raw, number[i], 10))
	}
	return names
}

func (t *Table) nameUnits() error {
	if len(t.Labels) == 0 {
		return wrong(t.path, "has no labels", "a model is trained on labelled rows",
			"name a file with --labels, or put images into a folder for each class")
	}
	if t.Units != nil {
		return nil
	}
	var content contentNames
	err := t.numbers.each(func(i int, row []float64) error {
		text := t.label(i)
		if t.silos != nil { // equal rows of two silos are not alike
			text += "\x00" + t.silos[i]
		}
		content.addNumbers(row, text)
		return nil
	})
	t.Units, t.keyBytes = content.names(), groupBytes
	return err
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
