// Package number prints numbers for people. A claim is rounded up, so that the printed number is never below
// the computed number; a lower bound is rounded down.
//
// "Up" means: the text, read as a float64, is at least x. The last digit is moved in decimal, not by
// arithmetic on x: Ceil(x*1e4)/1e4 is below x for nine of a hundred x that lie just above a number with four
// decimals.
package number

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Exact returns the shortest text that reads back as x.
func Exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Digits returns x rounded to that many significant digits.
func Digits(x float64, digits int) string { return strconv.FormatFloat(x, 'g', digits, 64) }

// DigitsUp returns the least number with that many significant digits, at most 15, that is not below x.
func DigitsUp(x float64, digits int) string { return Digits(Up(x, digits), digits) }

// DigitsDown returns the largest number with that many significant digits, at most 15, that is not above x.
func DigitsDown(x float64, digits int) string { return Digits(-Up(-x, digits), digits) }

// Up returns the float64 that DigitsUp prints. It is not below x.
func Up(x float64, digits int) float64 {
	text := strconv.FormatFloat(x, 'e', digits-1, 64)
	nearest, _ := strconv.ParseFloat(text, 64) // infinite if it overflows
	if nearest >= x || math.IsNaN(x) {
		return nearest
	}
	mantissa, exponent, _ := strings.Cut(text, "e")
	unit, none := strconv.Atoi(exponent) // text is infinite
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

// DecimalsUp returns the least number with that many decimals that is not below x.
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

// following returns the integer after text without its decimal point. The error, for too many digits, cannot
// happen: a text with more digits than a float64 resolves reads back as its number.
func following(text string) (int64, error) {
	whole, err := strconv.ParseInt(strings.Replace(text, ".", "", 1), 10, 64)
	return whole + 1, err
}

// TrimZeros returns a decimal number without trailing zeros in its decimals.
func TrimZeros(text string) string {
	if !strings.Contains(text, ".") {
		return text
	}
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
