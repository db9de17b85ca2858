package votes

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// newHash starts the hash of a matrix, whose cells are then written row by row as appendCells has them.
func newHash(kind string, shape ...int) hash.Hash {
	head := []byte(kind)
	for _, n := range shape {
		head = binary.LittleEndian.AppendUint64(head, uint64(n))
	}
	h := sha256.New()
	h.Write(head)
	return h
}

// appendCells appends cells as they are saved and hashed, little-endian.
func appendCells[C cell](buf []byte, cells []C) []byte {
	switch cells := any(cells).(type) {
	case []byte:
		return append(buf, cells...)
	case []int16:
		for _, v := range cells {
			buf = binary.LittleEndian.AppendUint16(buf, uint16(v))
		}
	case []int32:
		for _, v := range cells {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(v))
		}
	}
	return buf
}

// signed returns the number that a cell stands for.
func signed[C cell](v C) int {
	if b, ok := any(v).(byte); ok {
		return int(int8(b))
	}
	return int(v)
}

// countWide adds up votes of two bytes into dst, one place for each class. Abstentions count for nobody.
func countWide(dst []int, votes []int16) {
	clear(dst)
	for _, vote := range votes {
		if vote >= 0 {
			dst[vote]++
		}
	}
}

// tally counts votes of one byte in four tables that take turns: teachers agree, and a table alone would
// wait for the vote before. Outside of count it is empty but for the abstentions.
type tally [4][256]uint32

// count does what countWide does for votes of one byte, each a class or an abstention.
func (t *tally) count(dst []int, votes []byte) {
	for ; len(votes) >= 8; votes = votes[8:] {
		v := binary.LittleEndian.Uint64(votes)
		for i := range t {
			t[i][byte(v>>(8*i))]++
			t[i][byte(v>>(8*i+32))]++
		}
	}
	for _, v := range votes {
		t[0][v]++
	}
	for class := range dst {
		dst[class] = 0
		for i := range t {
			dst[class] += int(t[i][class])
			t[i][class] = 0
		}
	}
}
