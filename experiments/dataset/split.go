package dataset

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// SplitTable splits a table by unit: 70 % of the units are private, 20 % the
// pool, 10 % score, all of them however many they are. A unit goes where a hash of
// its name with a public constant falls, so that it is on one side only and the
// split is the same on every run and for any order of rows. The features are
// encoded by an [Encoder] fitted on the pool.
func SplitTable(t *Table, p Protocol, opt EncoderOptions) (Task, error) {
	all := make([]int, t.Len())
	for i := range all {
		all[i] = i
	}
	private, pool, test := splitUnits(t.Units, all, Literature)
	switch p {
	case Literature:
	case Development:
		private, pool, test = splitUnits(t.Units, private, Development)
	default:
		return Task{}, fmt.Errorf("dataset: unknown protocol %q", p)
	}
	task := Task{Name: t.Name, Protocol: p, Classes: t.Classes, Provenance: t.Provenance}
	if len(private) == 0 || len(pool) == 0 || len(test) == 0 {
		return Task{}, &InputError{File: t.Name, What: fmt.Sprintf("splits into %d private, %d pool and %d test rows", len(private), len(pool), len(test)),
			Why: "each part must have rows", Fix: "give a table with more units"}
	}
	e, err := FitEncoder(t.Rows(pool), opt)
	if err != nil {
		return Task{}, err
	}
	for _, part := range []struct {
		set  *Set
		rows []int
	}{{&task.Private, private}, {&task.Pool, pool}, {&task.Test, test}} {
		rows := t.Rows(part.rows)
		x, err := e.Encode(rows)
		if err != nil {
			return Task{}, err
		}
		*part.set = Set{Name: t.Name, X: x, Y: rows.Y, Units: rows.Units, IDs: rows.IDs, Classes: t.Classes, Provenance: t.Provenance}
	}
	return task, task.validate()
}

// splitUnits distributes rows by their units. The constant depends on the
// protocol, so that a second split of one part is independent of the first.
func splitUnits(units []string, rows []int, p Protocol) (private, pool, test []int) {
	mac := hmac.New(sha256.New, []byte("pate dataset split 1 "+p))
	var sum []byte
	for _, i := range rows {
		mac.Reset()
		mac.Write([]byte(units[i])) // a hash never returns an error
		sum = mac.Sum(sum[:0])
		switch u := float64(binary.BigEndian.Uint64(sum)) / (1 << 64); {
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
