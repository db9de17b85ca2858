package teachers

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// newVotesHash starts the hash of a matrix, whose cells are then written row by
// row as appendCells has them.
func newVotesHash(kind string, shape ...int) hash.Hash {
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
	case []int8:
		for _, v := range cells {
			buf = append(buf, byte(v))
		}
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

// countVotes adds up votes into dst, one place for each class, and returns it.
// Abstentions count for nobody.
func countVotes[C cell](dst []int, votes []C) []int {
	clear(dst)
	for _, vote := range votes {
		if vote >= 0 {
			dst[vote]++
		}
	}
	return dst
}

// tally is room to count votes of one byte. Teachers agree, so one table would
// wait for its own last sum at each vote; four take turns.
type tally [4][256]uint32

// count is countVotes.
func (t *tally) count(dst []int, votes []int8) {
	for len(votes) >= 4 {
		t[0][uint8(votes[0])]++
		t[1][uint8(votes[1])]++
		t[2][uint8(votes[2])]++
		t[3][uint8(votes[3])]++
		votes = votes[4:]
	}
	for _, v := range votes {
		t[0][uint8(v)]++
	}
	for class := range dst {
		c := class & 0xff
		dst[class] = int(t[0][c] + t[1][c] + t[2][c] + t[3][c])
		t[0][c], t[1][c], t[2][c], t[3][c] = 0, 0, 0, 0
	}
}
