package shell

import (
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/pate-go/pate/internal/number"
)

// Number is a float64 whose infinity is null, which JSON can say.
type Number float64

// MarshalJSON implements json.Marshaler.
func (x Number) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// FormatUp prints a bound to five digits, rounded up, or exactly.
func FormatUp(x float64, exact bool) string {
	if math.IsInf(x, 1) {
		return "inf"
	}
	if exact {
		return number.Exact(x)
	}
	return number.DigitsUp(x, 5)
}

// FormatDown prints a lower bound to five digits, rounded down.
func FormatDown(x float64) string { return strings.TrimPrefix(number.DigitsDown(x, 5), "+") }

// WriteJSON writes v, indented, and a line end.
func WriteJSON(w io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// FormatEpsilon prints a claim to four decimals, rounded up.
func FormatEpsilon(x float64, exact bool) string {
	if exact || x > 1e6 || x < 1e-2 {
		return FormatUp(x, exact)
	}
	return number.DecimalsUp(x, 4)
}

// FormatExpected prints an expectation to a tenth.
func FormatExpected(x float64, exact bool) string {
	switch {
	case exact:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case x >= 999.95:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}
