package sql

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"
)

//go:embed count.sql
var source string

// count is which votes are counted, in the words of one database: what the templates of
// count.sql are given.
type count struct {
	dialect
	Table, Query, Teacher, Vote string // the votes: one row for each that was cast
	Pool, PoolQuery             string // the public queries; "" where only those voted on are known
	Teachers                    int
	Classes                     []string // as the vote column holds them, numbers or words
	Words                       bool     // are they words
	File                        string   // that the export writes
}

// part returns one of the templates of count.sql, filled in.
func (c count) part(name string) (string, error) {
	t, err := template.New("").Funcs(template.FuncMap{"column": c.column, "table": c.table}).Parse(source)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.ExecuteTemplate(&out, name, c)
	return out.String() + "\n", err
}

// Values returns the classes as literals.
func (c count) Values() []string {
	out := make([]string, len(c.Classes))
	for i, name := range c.Classes {
		out[i] = name
		if c.Words {
			out[i] = c.literal(name)
		}
	}
	return out
}

// mask is the teachers, from First up to End, whose bits are in one number.
type mask struct{ First, End int }

const (
	bitsEach = 62
	maxMasks = 16 // of a query
)

// Masks returns how the different teachers of a query are counted in bits; nil if in no bits.
func (c count) Masks() []mask {
	if !c.bits || c.Teachers > maxMasks*bitsEach {
		return nil
	}
	var masks []mask
	for first := 0; first < c.Teachers; first += bitsEach {
		masks = append(masks, mask{first, min(c.Teachers, first+bitsEach)})
	}
	return masks
}

// ClassFlag returns the flag that gives pate label the classes.
func (c count) ClassFlag() string {
	if !c.Words {
		return fmt.Sprintf("--classes %d", len(c.Classes))
	}
	return "--class-names '" + strings.ReplaceAll(strings.Join(c.Classes, ","), "'", `'\''`) + "'"
}
