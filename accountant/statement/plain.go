package statement

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/number"
)

// exact shows a number whole: a delta or a budget, without which a claim means nothing.
func exact(x float64) string { return number.Exact(x) }

// digits shows a parameter with five digits; the ledger has them all.
func digits(x float64) string { return number.Digits(x, 5) }

// most shows a part of a claim with five digits at most, rounded up.
func most(x float64) string { return number.DigitsUp(x, 5) }

// up shows a claim with four decimals, or four digits if it is small, rounded up.
func up(x float64) string {
	if math.IsInf(x, 1) {
		return "none known"
	}
	decimals := 4
	if x > 0 && x < 0.1 {
		decimals = 3 - int(math.Floor(math.Log10(x)))
	}
	return number.TrimZeros(number.DecimalsUp(x, decimals))
}

// Plain makes text from a ledger fit to be printed on one line: characters that steer a terminal or the
// order of letters become replacement characters.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r != ' ' && (unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || !unicode.IsGraphic(r)) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// printed returns the statement with text from outside made plain. JSON has it as it is.
func (s *Statement) printed() *Statement {
	p := *s
	p.Ledger, p.Unit, p.Library, p.Data, p.Torn = Plain(s.Ledger), Plain(s.Unit), Plain(s.Library), Plain(s.Data), Plain(s.Torn)
	p.NotShown = notCharged(ledger.Config{Unit: p.Unit})
	p.Released = slices.Clone(s.Released)
	for i, r := range p.Released {
		p.Released[i].Name, p.Released[i].Run = Plain(r.Name), Plain(r.Run)
	}
	p.Of = nil
	for _, one := range s.Of {
		p.Of = append(p.Of, one.printed())
	}
	return &p
}

// quoted returns one word of a shell, which is no option.
func quoted(word string) string {
	if strings.HasPrefix(word, "-") {
		word = "./" + word
	}
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+:@%,-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
