package votes

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// newHash starts the hash of a matrix, whose cells are then written row by
// row as appendCells has them.
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

// countWide adds up votes of two bytes into dst, one place for each class.
// Abstentions count for nobody.
func countWide(dst []int, votes []int16) {
	clear(dst)
	for _, vote := range votes {
		if vote >= 0 {
			dst[vote]++
		}
	}
}

// tally is room to count votes of one byte. Teachers agree, so one table would
// wait for its own last sum at each vote; four take turns.
type tally [4][256]uint32

// count does what countWide does for votes of one byte; the tally is empty before and after
// but for the abstentions.
func (t *tally) count(dst []int, votes []byte) {
	for len(votes) >= 8 {
		v := binary.LittleEndian.Uint64(votes)
		t[0][byte(v)]++
		t[1][byte(v>>8)]++
		t[2][byte(v>>16)]++
		t[3][byte(v>>24)]++
		t[0][byte(v>>32)]++
		t[1][byte(v>>40)]++
		t[2][byte(v>>48)]++
		t[3][byte(v>>56)]++
		votes = votes[8:]
	}
	for _, v := range votes {
		t[0][v]++
	}
	for class := range dst {
		c := byte(class)
		dst[class] = int(t[0][c] + t[1][c] + t[2][c] + t[3][c])
		t[0][c], t[1][c], t[2][c], t[3][c] = 0, 0, 0, 0
	}
}
