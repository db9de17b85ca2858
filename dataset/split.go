package dataset

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"

	"github.com/pate-go/pate/fault"
)

// SplitTable splits a table by unit: 70 % of the units are private, 20 % the
// pool, 10 % score, all of them however many they are. A unit goes where a hash of
// its name with a public constant falls, so that it is on one side only and the
// split is the same on every run and for any order of rows. Rows that are units
// of their own and equal are on one side, too. The features are encoded by an
// [Encoder] fitted on the pool, which keeps the columns of these names even where they
// look like ids or free text, and labels become classes as t.Rule states. IDs count the
// rows of each part in the order of the table, "pool/0", "pool/1" and so on, so that those of
// the pool, which are released with its labels, do not depend on private rows.
func SplitTable(t *Table, p Protocol, keep ...string) (Task, error) {
	private, pool, test, err := t.parts(p)
	if err != nil {
		return Task{}, err
	}
	classes, err := t.classesOf(slices.Concat(pool, test))
	if err != nil {
		return Task{}, err
	}
	task := Task{Name: t.Name, Protocol: p, Classes: classes, Kind: Columns, Grouped: t.groups == nil, Provenance: t.Provenance}
	parts := []struct {
		name string
		set  *Set
		rows []int
		y    []int
	}{{"private", &task.Private, private, nil}, {"pool", &task.Pool, pool, nil}, {"test", &task.Test, test, nil}}
	for i, part := range parts {
		if parts[i].rows, parts[i].y, err = t.classify(classes, part.rows); err != nil {
			return Task{}, err
		}
		part.set.LeftOut = leftOut(t.Units, part.rows, parts[i].rows)
	}
	if err := t.enough(parts[0].rows, parts[1].rows, parts[2].rows); err != nil {
		return Task{}, err
	}
	e, err := fitEncoder(t.Rows(parts[1].rows), encoderOptions{Keep: keep})
	if err != nil {
		return Task{}, err
	}
	task.Encoder = e
	for _, part := range parts {
		rows := t.Rows(part.rows)
		x, err := e.Encode(rows)
		if err != nil {
			return Task{}, err
		}
		*part.set = Set{Name: t.Name, X: x, Y: part.y, Units: rows.Units, LeftOut: part.set.LeftOut, IDs: numbered(part.name, len(part.rows)), Classes: classes, Provenance: t.Provenance}
	}
	return task, task.validate()
}

// parts returns the rows of each part under a protocol, and an error where one has none.
func (t *Table) parts(p Protocol) (private, pool, test []int, err error) {
	all := make([]int, t.Len())
	for i := range all {
		all[i] = i
	}
	private, pool, test = splitUnits(t.splitKeys(), all, Literature)
	switch p {
	case Literature:
	case Development:
		private, pool, test = splitUnits(t.splitKeys(), private, Development)
	default:
		return nil, nil, nil, fmt.Errorf("dataset: unknown protocol %q", p)
	}
	return private, pool, test, t.enough(private, pool, test)
}

// enough reports parts that have no rows.
func (t *Table) enough(private, pool, test []int) error {
	if len(private) == 0 || len(pool) == 0 || len(test) == 0 {
		return &fault.Error{File: t.Name, What: fmt.Sprintf("splits into %d private, %d pool and %d test rows", len(private), len(pool), len(test)),
			Why: "each part must have rows", Fix: "give a table with more units"}
	}
	return nil
}

// splitUnits distributes rows by their keys. The constant depends on the
// protocol, so that a second split of one part is independent of the first.
func splitUnits(keys []string, rows []int, p Protocol) (private, pool, test []int) {
	place := newPlacer("pate dataset split 1 " + string(p))
	for _, i := range rows {
		switch u := place.of(keys[i]); {
		case u < 0.7:
			private = append(private, i)
		case u < 0.9:
			pool = append(pool, i)
		default:
			test = append(test, i)
		}
	}
	return private, pool, test
}

// placer sends names to [0, 1) by a hash with a public constant.
type placer struct {
	mac hash.Hash
	sum []byte
}

func newPlacer(constant string) *placer {
	return &placer{mac: hmac.New(sha256.New, []byte(constant))}
}

func (p *placer) of(name string) float64 {
	p.mac.Reset()
	p.mac.Write([]byte(name)) // a hash never returns an error
	p.sum = p.mac.Sum(p.sum[:0])
	return float64(binary.BigEndian.Uint64(p.sum)>>11) / (1 << 53) // 53 bits: never 1
}
