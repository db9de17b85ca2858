package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// rowSource gives rows of numbers one after the other, any number of times, so that a
// large file is never held whole before its rows have been scaled.
type rowSource interface {
	// size returns the number of rows and of columns.
	size() (rows, cols int)
	// each calls visit with every row in order. The row is valid during the call only.
	each(visit func(i int, row []float64) error) error
	// image returns the shape of the rows as images, zero if they are none. Pixels lie
	// in [0, 1].
	image() Shape
	// names returns a name for every row that no other row decides, nil if there is none.
	names() []string
}

// maxNumbers bounds the numbers of one matrix in memory: 4 GiB.
const maxNumbers = 1 << 30

// numbers are rows of numbers with their labels and units.
type numbers struct {
	path string
	rows rowSource
	// about holds labels, units and the class rule. It has no columns.
	about Table
}

// Len returns the number of rows.
func (n *numbers) Len() int {
	rows, _ := n.rows.size()
	return rows
}

// contentNames names rows by what stands in them and by how many equal rows stand above,
// as [ReadTable] does.
type contentNames struct {
	copies map[[16]byte]int
	raw    []byte
}

// of returns the unit of a row and the group of rows that equal it.
func (c *contentNames) of(row []float64, label string) (unit, group string) {
	c.raw = c.raw[:0]
	for _, v := range row {
		c.raw = binary.LittleEndian.AppendUint32(c.raw, math.Float32bits(float32(v)))
	}
	c.raw = append(c.raw, label...)
	sum := sha256.Sum256(c.raw)
	name := [16]byte(sum[:16])
	if c.copies == nil {
		c.copies = map[[16]byte]int{}
	}
	c.copies[name]++
	unit = fmt.Sprintf("content/%x/%d", name, c.copies[name])
	return unit, unit[:len("content/")+2*len(name)]
}
