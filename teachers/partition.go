package teachers

import (
	"errors"
	"fmt"

	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/teachers/votes"
)

// Partition returns the teacher, in [0, teachers), of every record from its unit id: the id of the record,
// or of the person it belongs to. The teacher is a pseudo-random function (HMAC-SHA-256) of key and id
// alone. So records of one unit share a teacher, and a record that comes or goes moves no other record.
// Shares do not have equal sizes, and must not be made equal: a teacher of n records in expectation has n ±
// √n.
//
// Ids are compared byte by byte. An empty id is refused: it usually is a missing value, and would join
// strangers.
func Partition(units []string, teachers int, key rng.Key) ([]int, error) {
	if teachers < 1 || teachers > votes.MaxTeachers {
		return nil, fmt.Errorf("teachers: cannot partition among %d teachers, want 1 to %d", teachers, votes.MaxTeachers)
	}
	if key.IsZero() {
		return nil, errors.New("teachers: partition needs a key")
	}
	share := make([]int, len(units))
	for i, unit := range units {
		if unit == "" {
			return nil, fmt.Errorf("teachers: record %d has no unit id", i)
		}
		share[i] = int(key.DeriveBytes("unit", []byte(unit)).Stream().Uint64N(uint64(teachers)))
	}
	return share, nil
}
