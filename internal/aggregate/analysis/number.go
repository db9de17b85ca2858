package analysis

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strconv"
)

// Number is a number computed from private votes: as private as they are, and marked so wherever it is
// printed, logged or encoded. No accountant, ledger or statement takes one.
type Number struct{ value float64 }

// Reveal returns the number. Nothing may be decided by it that others can see.
func (n Number) Reveal() float64 { return n.value }

// String marks the number as private.
func (n Number) String() string { return strconv.FormatFloat(n.value, 'g', 6, 64) + " (private)" }

// Format writes String, whatever the verb.
func (n Number) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, n.String()) }

// LogValue marks the number as private.
func (n Number) LogValue() slog.Value {
	return slog.GroupValue(slog.Bool("private", true), slog.Float64("value", n.value))
}

// MarshalJSON marks the number as private. An infinite one is null.
func (n Number) MarshalJSON() ([]byte, error) {
	mark := struct {
		Private bool     `json:"private"`
		Value   *float64 `json:"value"`
	}{Private: true}
	if n.value-n.value == 0 {
		mark.Value = &n.value
	}
	return json.Marshal(mark)
}
