package quota

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/rng"
)

// Append appends the record of a question for a journal: ID, radius and features.
func (q Question) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, q.ID)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(q.Radius))
	for _, v := range q.Row {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// ParseQuestion decodes a record that [Question.Append] made.
func ParseQuestion(b []byte) (q Question, err error) {
	if len(b) < 16 || len(b)%4 != 0 {
		return q, errors.New("quota: the record of a question has a wrong length")
	}
	q.ID, q.Radius = binary.LittleEndian.Uint64(b), math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))
	for b = b[16:]; len(b) > 0; b = b[4:] {
		q.Row = append(q.Row, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return q, nil
}

const unitSize = 16

// Units returns the keyed hashes of all units, sorted. The hash of a unit covers its name, rows and
// classes. The result is private.
func Units(key rng.Key, private neighbours.Rows) ([]byte, error) {
	secret, err := key.Derive("units").MarshalText()
	if err != nil {
		return nil, fmt.Errorf("quota: %w", err)
	}
	var hashes [][]byte
	for _, rows := range dense.Groups(private.Units) {
		h := hmac.New(sha256.New, secret)
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(private.Units[rows[0]]))))
		h.Write([]byte(private.Units[rows[0]]))
		for _, i := range rows {
			h.Write(Question{ID: uint64(private.Y[i]), Row: dense.Row(private.X, i)}.Append(nil))
		}
		hashes = append(hashes, h.Sum(nil)[:unitSize])
	}
	slices.SortFunc(hashes, slices.Compare)
	return slices.Concat(hashes...), nil
}

// ErrUnits matches the error for new or changed units.
var ErrUnits = errors.New("quota: a unit was added or changed")

// CheckUnits returns ErrUnits if a hash in `now` is missing in `before`. The arguments are results of
// [Units]. A changed unit is refused, because its earlier votes cannot be counted. Units may be missing in
// `now`.
func CheckUnits(before, now []byte) error {
	for ; len(now) > 0; now = now[unitSize:] {
		for len(before) > 0 && slices.Compare(before[:unitSize], now[:unitSize]) < 0 {
			before = before[unitSize:]
		}
		if len(before) == 0 || !slices.Equal(before[:unitSize], now[:unitSize]) {
			return ErrUnits
		}
		before = before[unitSize:]
	}
	return nil
}
