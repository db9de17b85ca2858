// Package number formats rounded numbers. The text of an upper bound is rounded up, and parses to a float64
// that is at least the bound. A lower bound is rounded down.
//
// The package rounds decimal text, because float64 arithmetic can round to the wrong side.
package number

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Exact returns the shortest text that parses to exactly x.
func Exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Digits returns x as text, rounded to the given number of significant digits.
func Digits(x float64, digits int) string { return strconv.FormatFloat(x, 'g', digits, 64) }

// DigitsUp rounds x up to the given number of significant digits, at most 15.
func DigitsUp(x float64, digits int) string { return Digits(Up(x, digits), digits) }

// DigitsDown rounds x down to the given number of significant digits, at most 15.
func DigitsDown(x float64, digits int) string { return Digits(-Up(-x, digits), digits) }

// Up is like [DigitsUp] but returns a float64. The result is at least x.
func Up(x float64, digits int) float64 {
	text := strconv.FormatFloat(x, 'e', digits-1, 64)
	nearest, _ := strconv.ParseFloat(text, 64) // infinite on overflow
	if nearest >= x || math.IsNaN(x) {
		return nearest
	}
	mantissa, exponent, _ := strings.Cut(text, "e")
	unit, none := strconv.Atoi(exponent) // an error if text is infinite
	unit -= digits - 1
	if strings.Trim(mantissa, "0.") == "-1" { // the next number above -1.00 is -0.999
		mantissa += "0"
		unit--
	}
	next, err := following(mantissa)
	above, over := strconv.ParseFloat(fmt.Sprintf("%de%d", next, unit), 64)
	if cmp.Or(none, err, over) != nil {
		return math.Inf(1)
	}
	return above
}

// DecimalsUp returns the least number >= x with the given number of decimals.
func DecimalsUp(x float64, decimals int) string {
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if nearest, err := strconv.ParseFloat(text, 64); err != nil || nearest >= x || math.IsNaN(x) {
		return text
	}
	next, err := following(text)
	if err != nil {
		return Exact(x)
	}
	sign := ""
	if next < 0 {
		sign, next = "-", -next
	}
	whole := fmt.Sprintf("%0*d", decimals+1, next)
	if decimals == 0 {
		return sign + whole
	}
	return sign + whole[:len(whole)-decimals] + "." + whole[len(whole)-decimals:]
}

func following(text string) (int64, error) {
	whole, err := strconv.ParseInt(strings.Replace(text, ".", "", 1), 10, 64)
	return whole + 1, err
}

// TrimZeros removes trailing zeros after the decimal point.
func TrimZeros(text string) string {
	if !strings.Contains(text, ".") {
		return text
	}
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
