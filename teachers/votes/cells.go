package votes

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pate-go/pate/internal/npy"
	shown "github.com/pate-go/pate/internal/table"
)

const maxClassName = 256

// CheckClassNames accepts 2 to [MaxClasses] different names. A name has 1 to 256 bytes of UTF-8. It has no
// double quotes, no control characters, and no blanks at the ends. It must not begin like a spreadsheet
// formula.
func CheckClassNames(names []string) error {
	if len(names) < 2 || len(names) > MaxClasses {
		return fmt.Errorf("votes: %d class names, want 2 to %d", len(names), MaxClasses)
	}
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		switch {
		case name == "" || strings.TrimSpace(name) != name:
			return fmt.Errorf("votes: class name %d, %q, is empty or has blanks around it", i+1, name)
		case len(name) > maxClassName || !shown.Harmless(name) || strings.ContainsAny(name, "\"\ufffd"):
			return fmt.Errorf("votes: class name %d is longer than %d bytes, no UTF-8, holds quotes or control characters, "+
				"or begins with = + - @ as a formula does",
				i+1, maxClassName)
		case seen[name]:
			return fmt.Errorf("votes: class name %q stands there twice", name)
		}
		seen[name] = true
	}
	return nil
}

// domain describes valid cells: whole numbers from first to first+limit-1, class names, or probabilities. A
// negative low also allows abstentions.
type domain struct {
	low, limit int
	first      int64
	names      map[string]int
	numbers    map[int64]int
	shares     bool
}

func (o Options) labelDomain(classes int) domain {
	d := domain{low: Abstention, limit: classes, first: int64(o.FirstClass)}
	if o.ClassNames == nil {
		return d
	}
	d.names = make(map[string]int, classes)
	for class, name := range o.ClassNames {
		d.names[name] = class
		if v, err := strconv.ParseInt(name, 10, 64); err == nil {
			if d.numbers == nil {
				d.numbers = make(map[int64]int)
			}
			if _, taken := d.numbers[v]; !taken { // the name "1" has priority over "01"
				d.numbers[v] = class
			}
		}
	}
	return d
}

func (d domain) plain() bool { return d.first == 0 && d.names == nil && !d.shares }

func (d domain) whole(v int64) int {
	if d.shares {
		return share(float64(v))
	}
	if d.numbers != nil {
		if class, ok := d.numbers[v]; ok {
			return class
		}
	}
	switch {
	case v == Abstention && d.low < 0:
		return Abstention
	case d.numbers != nil || v < d.first || v-d.first >= int64(d.limit):
		return badRange
	}
	return int(v - d.first)
}

func (d domain) text(cell []byte) int {
	if d.names != nil {
		if class, ok := d.names[string(cell)]; ok {
			return class
		}
	}
	if len(cell) == 0 {
		if d.shares {
			return badNaN // pandas writes NaN as an empty cell
		}
		if d.low < 0 {
			return Abstention
		}
		return badText
	}
	if len(cell) <= 9 {
		v := 0
		for _, c := range cell {
			if c < '0' || c > '9' {
				v = -1
				break
			}
			v = 10*v + int(c-'0')
		}
		if v >= 0 {
			return d.whole(int64(v))
		}
	}
	v, err := strconv.ParseFloat(string(cell), 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax), strings.ContainsAny(string(cell), "xX_pP"):
		return badText
	case err != nil: // the number is too large
		return badRange
	}
	return d.float(v)
}

func fillNPY[C cell](r *reader, cur *cursor, dst []C, dom domain) (bad int, err error) {
	size := cur.npy.Size
	for len(dst) > 0 {
		n := min(len(dst), bufferBytes/size)
		raw, err := r.at(cur.in, cur.offset, n*size)
		if err != nil {
			return bad, err
		}
		if len(raw) < n*size {
			return bad, changed(cur.in.name, errChanged)
		}
		if cur.npy.IsText() {
			bad += decodeText(dst[:n], raw, *cur.npy, dom)
		} else {
			bad += decode(dst[:n], raw, *cur.npy, dom)
		}
		dst = dst[n:]
		cur.offset += int64(n * size)
	}
	return bad, nil
}

// decode returns the number of invalid elements. It may change raw.
func decode[C cell](dst []C, raw []byte, t npy.Type, dom domain) (bad int) {
	if bytes, ok := any(dst).([]byte); ok && t.Size == 1 && t.Kind != 'b' && dom.plain() {
		copy(bytes, raw)
		if t.Kind == 'i' && allWithin(raw, 1, dom.limit) || t.Kind == 'u' && allWithin(raw, 0, dom.limit-1) {
			return 0
		}
	}
	if t.Big {
		npy.SwapBytes(raw, t.Size)
	}
	const chunk = 512
	var floats [chunk]float64
	for len(dst) > 0 {
		n := min(len(dst), chunk)
		if t.Kind == 'f' {
			npy.Floats(floats[:n], raw, t.Size)
		}
		for i := range n {
			var c int
			if t.Kind == 'f' {
				c = dom.float(floats[i])
			} else {
				v, unsigned := npy.Whole(raw[i*t.Size:], t)
				if t.Kind != 'i' {
					v = int64(min(unsigned, math.MaxInt64))
				}
				if t.Kind == 'b' && unsigned > 1 {
					v = math.MaxInt64 // outside every domain
				}
				c = dom.whole(v)
			}
			if c < dom.low {
				bad++
			}
			dst[i] = C(c)
		}
		dst, raw = dst[n:], raw[n*t.Size:]
	}
	return bad
}

func decodeText[C cell](dst []C, raw []byte, t npy.Type, dom domain) (bad int) {
	var buf []byte
	for i := range dst {
		buf = npy.AppendText(buf[:0], raw[i*t.Size:(i+1)*t.Size], t)
		v := dom.text(trimCell(buf))
		if v < dom.low {
			bad++
		}
		dst[i] = C(v)
	}
	return bad
}

func allWithin(raw []byte, add, limit int) bool {
	for _, b := range raw {
		if b+byte(add) > byte(limit) {
			return false
		}
	}
	return true
}

func (d domain) float(v float64) int {
	if d.shares {
		return share(v)
	}
	if d.plain() && v >= float64(d.low) && v < float64(d.limit) {
		if whole := int(v); float64(whole) == v {
			return whole
		}
	}
	switch {
	case v != v:
		return badNaN
	case math.IsInf(v, 0):
		return badNumber
	case v > 0 && v < 1:
		return badShare
	case math.Trunc(v) != v:
		return badNumber
	case math.Abs(v) >= 1<<53:
		return badRange
	}
	return d.whole(int64(v))
}
