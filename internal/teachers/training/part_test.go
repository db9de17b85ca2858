package training

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/sealed"
	"github.com/pate-go/pate/internal/teachers/manifest"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/teachertest"
	"github.com/pate-go/pate/teachers/trees"
)

func somePart(change func(*partHead)) []byte {
	hex := strings.Repeat("0f", 32)
	h := partHead{Part: 1, Parts: 2, Teachers: 5, Queries: 3, ClassNames: []string{"a", "b"}, Unit: "person", Salt: "0123456789abcdef", Key: "0123456789abcdef", Silo: "s", Units: 1,
		Training: manifest.Training{Program: "p", Learner: "l", Features: "f", Command: "c", Public: hex}}
	change(&h)
	text, _ := json.Marshal(h)
	b := binary.LittleEndian.AppendUint32([]byte(partMagic), uint32(len(text)))
	b = append(b, text...)
	return sealed.Seal(append(b, make([]byte, 2*2*3+16*min(h.Units, 1))...)) // teachers 1 and 3
}

func TestPartsThatLieAreRefused(t *testing.T) {
	require.Len(t, testkit.Must(decodePart(somePart(func(*partHead) {}))).units, 1)
	for name, change := range map[string]func(*partHead){
		"more queries":  func(h *partHead) { h.Queries++ },
		"huge":          func(h *partHead) { h.Queries = 1 << 60 },
		"negative":      func(h *partHead) { h.Queries = -1 },
		"more units":    func(h *partHead) { h.Units = 1 << 20 },
		"no proof":      func(h *partHead) { h.Units = 0 },
		"no silo":       func(h *partHead) { h.Silo = "" },
		"no part":       func(h *partHead) { h.Part = 2 },
		"many parts":    func(h *partHead) { h.Parts = 1 << 40 },
		"one class":     func(h *partHead) { h.ClassNames = []string{"a"} },
		"many teachers": func(h *partHead) { h.Teachers = 1 << 30 },
		"no salt":       func(h *partHead) { h.Salt = "" },
		"no hash":       func(h *partHead) { h.Training.Public = "x" },
	} {
		require.Error(t, testkit.Err(decodePart(somePart(change))), name)
	}
}

// Whatever a file says of itself, decoding it neither panics nor asks for more memory than it has bytes.
func FuzzPart(f *testing.F) {
	f.Add(somePart(func(*partHead) {}))
	f.Add(somePart(func(h *partHead) { h.Silo, h.Units = "", 0 }))
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > 32 {
			file = sealed.Seal(file[: len(file)-32 : len(file)-32])
		}
		p, err := decodePart(file)
		if err == nil {
			require.LessOrEqual(t, len(p.cells)+16*len(p.units), len(file))
		}
	})
}

func TestTeachersForLeavesUnitsToEach(t *testing.T) {
	for _, c := range []struct{ units, teachers int }{
		{2, 2}, {9, 9}, {100, 20}, {400, 40}, {1000, 70}, {3951, 197}, {22857, 310}, {60000, 490},
	} {
		require.Equal(t, c.teachers, TeachersFor(c.units), "%d units", c.units)
	}
}

func TestMixedForestIsALearner(t *testing.T) {
	l := mixedForest{Best: trees.Forest{Trees: 10}, Random: trees.Forest{Trees: 10, Thresholds: trees.RandomThresholds}}
	teachertest.TestLearner(t, func() teachers.Learner { return l }, teachertest.Options{})
}
