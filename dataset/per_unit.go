package dataset

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/pate-go/pate/internal/sealed"
)

// PerUnit returns at most so many rows of every unit, rows of a unit together, and where each unit ends:
// unit u is the rows from ends[u-1], or 0, up to ends[u]. Units come in the order in which they first
// appear.
//
// A unit with more rows keeps those whose features and label have the least hash under the key, and all
// rows come in the order of their hashes. So the rows of a unit, and their order, depend on the contents of
// its own rows and on the key, and not on their place nor on any other unit: a unit more or fewer is a run
// of rows more or fewer.
func (s Set) PerUnit(most int, key []byte) (kept Set, ends []int) {
	type ranked struct {
		row  int
		hash [sha256.Size]byte
	}
	mac, raw := hmac.New(sha256.New, key), []byte(nil)
	number := make(map[string]int)
	var units [][]ranked
	for i, name := range s.Units {
		u, ok := number[name]
		if !ok {
			u = len(units)
			number[name] = u
			units = append(units, nil)
		}
		mac.Reset()
		raw = sealed.Append(binary.LittleEndian.AppendUint64(raw[:0], uint64(s.Y[i])), s.X.Data[i*s.X.Stride:i*s.X.Stride+s.X.Cols])
		mac.Write(raw)
		r := ranked{row: i}
		mac.Sum(r.hash[:0])
		units[u] = append(units[u], r)
	}
	var rows []int
	for _, unit := range units {
		slices.SortFunc(unit, func(a, b ranked) int { return bytes.Compare(a.hash[:], b.hash[:]) })
		for _, r := range unit[:min(most, len(unit))] {
			rows = append(rows, r.row)
		}
		ends = append(ends, len(rows))
	}
	return s.rows(rows), ends
}
