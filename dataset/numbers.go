package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

// rowSource gives rows of numbers one after the other, any number of times, so that a large file is never
// held whole before its rows have been scaled.
type rowSource interface {
	size() (rows, cols int)
	// each calls visit with every row in order. The row is valid during the call only.
	each(visit func(i int, row []float64) error) error
	// image returns the shape of the rows as images with pixels in [0, 1], zero if they are none.
	image() Shape
}

// maxNumbers bounds the numbers of one matrix in memory: 4 GiB.
const maxNumbers = 1 << 30

// numbers are rows of numbers. The table holds their labels, units and class rule, and has no columns.
type numbers struct {
	Table
	rows rowSource
	ids  []string // public names of the rows, nil if they have none
}

// contentNames names rows by their content and by the number of equal rows above, as [ReadTable] does.
type contentNames struct {
	copies map[[16]byte]int
	raw    []byte
}

// unit returns the unit of a row and the group of rows that equal it.
func (c *contentNames) unit(row []float64, label string) (unit, group string) {
	c.raw = c.raw[:0]
	for _, v := range row {
		c.raw = binary.LittleEndian.AppendUint32(c.raw, math.Float32bits(float32(v)))
	}
	c.raw = append(c.raw, label...)
	sum := sha256.Sum256(c.raw)
	return c.name([16]byte(sum[:16]))
}

// name returns the unit and the group of a row with this hash.
func (c *contentNames) name(hash [16]byte) (unit, group string) {
	if c.copies == nil {
		c.copies = map[[16]byte]int{}
	}
	c.copies[hash]++
	unit = fmt.Sprintf("content/%x/%d", hash, c.copies[hash])
	return unit, unit[:len("content/")+2*len(hash)]
}

// nameUnits gives every row a unit by its content, where none is named.
func (n *numbers) nameUnits() error {
	if n.Units != nil {
		return nil
	}
	var names contentNames
	return n.rows.each(func(i int, row []float64) error {
		unit, group := names.unit(row, n.label(i))
		n.Units, n.groups = append(n.Units, unit), append(n.groups, group)
		return nil
	})
}

// splitNumbers splits rows of numbers or images by unit, as [splitTable] does. Numbers are scaled by the
// rows of the pool, and images get the shape of the pool.
func splitNumbers(n *numbers, p Protocol) (Task, error) {
	defer rows{numbers: n}.close()
	if len(n.Labels) == 0 {
		return Task{}, wrong(n.path, "has no labels", "a model is trained on labelled rows",
			"name a file with --labels, or put images into a folder for each class")
	}
	if err := n.nameUnits(); err != nil {
		return Task{}, err
	}
	parts, err := n.parts(p)
	if err != nil {
		return Task{}, err
	}
	task, err := n.task(p, slices.Concat(parts[1], parts[2]))
	if err != nil {
		return Task{}, err
	}
	if pictures, ok := n.rows.(*pictureRows); ok {
		pool := make([]pictureFile, len(parts[1]))
		for i, at := range parts[1] {
			pool[i] = pictures.files[at]
		}
		if pictures.shape, err = shapeOfPictures(pictures.dir, pool, pictures.shape); err != nil {
			return Task{}, err
		}
	}
	s := &Schema{}
	if task.Image = n.rows.image(); task.Image != (Shape{}) {
		task.Kind, task.Grouped = Pictures, false
	} else if s.scale, err = n.fitScale(some{n.rows, parts[1]}); err != nil {
		return Task{}, err
	}
	kept, err := n.fill(&task, parts)
	if err != nil {
		return Task{}, err
	}
	for i, set := range task.sets() {
		if set.X, err = s.matrix(&numbers{Table: Table{path: n.path}, rows: some{n.rows, kept[i]}}, nil); err != nil {
			return Task{}, err
		}
	}
	return task, task.validate()
}

// some are some rows of a source, in its order.
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

// scale brings columns of numbers to mean 0 and deviation 1 over public rows. The zero scale leaves numbers
// as they are, as for pixels.
type scale struct {
	Mean []float64 `json:"mean,omitempty"`
	SD   []float64 `json:"sd,omitempty"` // 0 for a column that does not vary over public rows
}

// fitScale fits a scale to public rows. Numbers that are not finite are left out.
func (n *numbers) fitScale(public rowSource) (scale, error) {
	_, cols := public.size()
	s := scale{Mean: make([]float64, cols), SD: make([]float64, cols)}
	count := make([]float64, cols)
	err := public.each(func(_ int, row []float64) error { // Welford
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
		return s, failed(n.path, "cannot be scaled", err)
	}
	for j := range s.SD {
		if s.SD[j] = math.Sqrt(s.SD[j] / max(1, count[j])); !mathx.IsFinite(s.SD[j]) || s.SD[j] < 1e-9*math.Abs(s.Mean[j]) {
			s.SD[j] = 0
		}
	}
	if slices.Max(s.SD) == 0 {
		return s, failed(n.path, "cannot be scaled", fmt.Errorf("no column varies over the public rows"))
	}
	return s, nil
}

// numbersClip is how many deviations from the mean a number may be. Embeddings have longer tails than the
// columns of a table.
const numbersClip = 6

// apply writes a row. A NaN becomes the public mean.
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
