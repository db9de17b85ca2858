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

// tally is room to count votes of one byte. It is empty before and after a count but for the abstentions.
type tally [4][256]uint32

// A sum of lanes counts the votes for fewLanes classes, of laneBits each. It holds laneMost votes.
const (
	fewLanes = 10
	laneBits = 6
	laneMost = 1<<laneBits - 1
)

// lanes are what votes add to a sum of lanes: abstentions nothing.
var lanes = func() (lanes [256]uint64) {
	for class := range fewLanes {
		lanes[class] = 1 << (laneBits * class)
	}
	return lanes
}()

// count does what countWide does for votes of one byte, each a class or an abstention.
func (t *tally) count(dst []int, votes []byte) {
	if len(dst) > fewLanes {
		t.countMany(dst, votes)
		return
	}
	clear(dst)
	for len(votes) > 0 {
		part := votes[:min(len(votes), 4*laneMost)]
		votes = votes[len(part):]
		countFew(dst, part)
	}
}

// countFew adds up at most 4 laneMost votes. Teachers agree, so one sum would wait for itself at each vote;
// four take turns.
func countFew(dst []int, votes []byte) {
	var a, b, c, d uint64
	for ; len(votes) >= 8; votes = votes[8:] {
		v := binary.LittleEndian.Uint64(votes)
		a += lanes[byte(v)]
		b += lanes[byte(v>>8)]
		c += lanes[byte(v>>16)]
		d += lanes[byte(v>>24)]
		a += lanes[byte(v>>32)]
		b += lanes[byte(v>>40)]
		c += lanes[byte(v>>48)]
		d += lanes[byte(v>>56)]
	}
	for i, v := range votes {
		switch i % 4 {
		case 0:
			a += lanes[v]
		case 1:
			b += lanes[v]
		case 2:
			c += lanes[v]
		default:
			d += lanes[v]
		}
	}
	// Lanes twice as wide hold the sums of all four.
	const wide = 0x03f03f03f03f03f
	even := a&wide + b&wide + c&wide + d&wide
	odd := a>>laneBits&wide + b>>laneBits&wide + c>>laneBits&wide + d>>laneBits&wide
	for class := 0; class < len(dst); class += 2 {
		dst[class] += int(even & (1<<(2*laneBits) - 1))
		if class+1 < len(dst) {
			dst[class+1] += int(odd & (1<<(2*laneBits) - 1))
		}
		even, odd = even>>(2*laneBits), odd>>(2*laneBits)
	}
}

// countMany counts in four tables that take turns.
func (t *tally) countMany(dst []int, votes []byte) {
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
