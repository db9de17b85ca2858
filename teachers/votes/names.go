package votes

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	shown "github.com/pate-go/pate/internal/table"
)

const maxClassName = 256

// CheckClassNames refuses names that cannot stand for classes: fewer than two, equal ones, empty ones, and
// those that a line of a file could not hold.
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

// domain is what a cell may hold: whole numbers low <= v < limit or, if stated, other words or numbers.
type domain struct {
	low, limit int
	// first is the number that stands for class 0 in the file.
	first int64
	// names stand for classes, if there are any.
	names map[string]int
	// numbers stand for classes in place of first, if one of the names is a number.
	numbers map[int64]int
	// shares: cells are probabilities, see [share].
	shares bool
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
			if _, taken := d.numbers[v]; !taken { // "1" before "01"
				d.numbers[v] = class
			}
		}
	}
	return d
}

// plain reports whether the number k stands for class k.
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

// text returns the cell for a trimmed text: a name, a number, or nothing for an abstention.
func (d domain) text(cell []byte) int {
	if d.names != nil {
		if class, ok := d.names[string(cell)]; ok {
			return class
		}
	}
	if len(cell) == 0 {
		if d.shares {
			return badNaN // as pandas writes it
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
	case err != nil: // too large
		return badRange
	}
	return d.float(v)
}

// isVote reports whether the text of a cell, trimmed, names a class.
func (d domain) isVote(cell []byte) bool { return len(cell) > 0 && d.text(cell) >= 0 }
