package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// ColumnNote describes a column and its features. It depends only on public rows or declared [Ranges].
type ColumnNote struct {
	Name    string `json:"name"`
	Is      string `json:"is"`      // "numeric", "category, 9 levels", "free text"
	Becomes string `json:"becomes"` // "1 feature", "left out: ..."
}

// minJudged is the smallest number of public rows with which a column can be taken for ids or free text.
const minJudged = 20

type columnKind int

const (
	isNumeric columnKind = iota
	isCategory
	isText  // left out
	isNames // left out: names, addresses or numbers of persons
	isID    // left out
	isIndex // left out: row numbers that pandas or R wrote
	isEmpty // left out: all values are missing
	isTexts // declared column of texts
)

type numberForm struct {
	comma bool   // 1.234,5
	date  string // layout of package time; a date becomes days
}

var dateLayouts = []string{
	"2006-01-02", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02T15:04:05Z07:00", "2006-01-02 15:04", "2006/01/02",
	"02.01.2006", "02/01/2006", "01/02/2006", "02-01-2006", "2 Jan 2006", "02-Jan-2006", "Jan 2, 2006",
}

type columnUse struct {
	is      columnKind
	form    numberForm
	levels  int
	numbers bool           // all values are numbers or dates
	odd     map[string]int // counts of values that are not numbers, in a numeric column; such values are missing
	repeat  bool           // ids repeat, so several rows may belong to one unit
}

var personName = regexp.MustCompile(`(?i)(^|[^a-z])((first|last|full|sur|family|patient|user|customer)?[ _-]?names?|(nach|vor|familien)name|` +
	`e-?mail|(tele)?phone|telefon|address|adresse|street|stra(ss|ß)e)$`)

var idName = regexp.MustCompile(`(?i)(^|[^a-z])(id|ids|uuid|guid|nbr|mrn|ssn|identifier)$|[a-z](ID|Id)$`)

func isIndexName(name string, first bool) bool {
	return first && name == "column 1" || name == "index" || strings.HasPrefix(name, "Unnamed: ")
}

func inspect(c Column, first bool, count map[string]int) columnUse {
	n := 0
	for _, k := range count {
		n += k
	}
	j := columnUse{levels: len(count)}
	values := slices.Collect(maps.Keys(count))
	all := func(is func(string) bool) bool {
		return !slices.ContainsFunc(values, func(v string) bool { return !is(v) })
	}
	distinct := n >= minJudged && len(count) == n
	switch {
	case n == 0:
		j.is = isEmpty
	case all(numberForm{}.fits):
		j.is, j.numbers = isNumeric, true
		switch whole, named := all(isWhole), idName.MatchString(c.Name); {
		case whole && distinct &&
			(strings.HasPrefix(c.Name, "__index_level_") || isIndexName(c.Name, first) && ascending(c.Values)):
			j.is = isIndex
		case whole && distinct && (named || ascending(c.Values) && n >= 50):
			j.is = isID
		case whole && named && n >= minJudged && len(count) > n/5 && len(count) > minJudged:
			j.is, j.repeat = isID, true
		}
	default:
		j.is = isCategory
		if form, odd := mostly(count, n); form != nil {
			j.is, j.form, j.odd, j.numbers = isNumeric, *form, odd, len(odd) == 0
			return j
		}
		words, long := 0, 0
		for _, v := range values {
			if strings.ContainsFunc(v, unicode.IsSpace) {
				words++
			}
			if len(v) > 60 {
				long++
			}
		}
		many := n >= minJudged && len(count) > n/2
		switch {
		case (many || len(count) > maxCategories) && (2*words > len(count) || 2*long > len(count)):
			j.is = isText
		case personName.MatchString(c.Name) && len(count) > minJudged:
			j.is = isNames
		case many && len(count) > n*9/10:
			j.is = isID
		case n >= minJudged && idName.MatchString(c.Name) && len(count) > n/5 && len(count) > minJudged:
			j.is, j.repeat = isID, len(count) < n
		}
	}
	return j
}

func isWhole(cell string) bool {
	_, err := strconv.ParseInt(cell, 10, 64)
	return err == nil
}

func ascending(values []string) bool {
	last, seen := int64(0), false
	for _, v := range values {
		if isMissing(v) {
			continue
		}
		x, err := strconv.ParseInt(v, 10, 64)
		if err != nil || seen && x <= last {
			return false
		}
		last, seen = x, true
	}
	return true
}

// mostly returns the number form of nearly all cells, or nil. The map counts the values that this form cannot
// parse.
func mostly(count map[string]int, n int) (*numberForm, map[string]int) {
	forms := []numberForm{{}, {comma: true}}
	for _, layout := range dateLayouts {
		forms = append(forms, numberForm{date: layout})
	}
	most := 0
	if n >= minJudged {
		most = n / 20
	}
	for _, form := range forms {
		odd, others := map[string]int{}, 0
		for v, k := range count {
			if form.fits(v) {
				continue
			}
			if others += k; others > most {
				break
			}
			if !form.reads(v) {
				odd[v] = k
			}
		}
		if others <= most {
			return &form, odd
		}
	}
	return nil, nil
}

var decimalComma = regexp.MustCompile(`^[+-]?(\d{1,3}(\.\d{3})*|\d+)(,\d+)?$`)

func (n numberForm) reads(cell string) bool {
	_, err := n.parse(cell)
	return !errors.Is(err, strconv.ErrSyntax)
}

func (n numberForm) fits(cell string) bool {
	return n.reads(cell) && (n != numberForm{} || !strings.Contains(cell, ","))
}

var thousands = regexp.MustCompile(`^[+-]?\d{1,3}(,\d{3})+$`)

// parse reads a number, or a date as days since 1970. A bound such as <0.6 is read as 0.6.
func (n numberForm) parse(cell string) (float64, error) {
	if n.date == "" && cell != "" && (cell[0] < '-' || cell[0] > '9') { // most cells need no trimming
		cell = strings.TrimLeft(cell, "<>≤≥= ")
	}
	if !n.comma && n.date == "" {
		if v, short := shortDecimal(cell); short {
			return v, nil
		}
		v, err := strconv.ParseFloat(cell, 64)
		if !errors.Is(err, strconv.ErrSyntax) || strings.Contains(cell, ".") || thousands.MatchString(cell) {
			return v, err
		}
		n.comma = true // a comma that cannot separate thousands is a decimal comma
	}
	if n.comma {
		if !decimalComma.MatchString(cell) {
			return 0, strconv.ErrSyntax
		}
		return strconv.ParseFloat(strings.Replace(strings.ReplaceAll(cell, ".", ""), ",", ".", 1), 64)
	}
	t, err := time.Parse(n.date, cell)
	if err != nil {
		return 0, strconv.ErrSyntax
	}
	return float64(t.Unix()) / 86400, nil
}

func shortDecimal(cell string) (v float64, short bool) {
	// The integer of the digits and the power of ten are exact, so the quotient is rounded once.
	digits := cell
	if cell != "" && (cell[0] == '-' || cell[0] == '+') {
		digits = cell[1:]
	}
	whole, point := uint64(0), -1
	for i := range min(len(digits), 17) {
		switch c := digits[i] - '0'; {
		case c <= 9:
			whole = 10*whole + uint64(c)
		case digits[i] == '.' && point < 0:
			point = i
		default:
			return 0, false
		}
	}
	n, after := len(digits), 0
	if point >= 0 {
		n, after = n-1, n-1-point
	}
	if n < 1 || n > 15 {
		return 0, false
	}
	if v = float64(whole) / math.Pow10(after); cell[0] == '-' {
		v = -v
	}
	return v, true
}

func (j columnUse) describe(name string, f encodedColumn) ColumnNote {
	n := ColumnNote{Name: name, Is: [...]string{
		isNumeric: "numeric", isCategory: "category, " + plural(j.levels, "level"), isText: "free text", isNames: "names or addresses of persons",
		isID: "id-like: nearly every row has its own", isIndex: "row numbers without a name", isEmpty: "empty in public rows", isTexts: "texts",
	}[j.is]}
	switch {
	case j.is == isNumeric && j.form.comma:
		n.Is = "numeric, with decimal commas"
	case j.is == isNumeric && j.form.date != "":
		n.Is = "date, like " + j.form.date
	case j.is == isID && j.repeat:
		n.Is = "id-like, and ids repeat"
	}
	if len(j.odd) > 0 {
		n.Is += "; no numbers: " + shownOdd(j.odd)
	}
	values := f.width
	if f.missing >= 0 {
		values--
	}
	switch {
	case j.is == isEmpty:
		n.Becomes = "left out"
	case j.is == isTexts:
		n.Becomes = fmt.Sprintf("%d features, of the %d words that at least two public texts contain", values, f.text.Words())
	case j.leftOut() && j.repeat:
		n.Becomes = "left out; --unit if it names the person of a row"
	case j.leftOut():
		n.Becomes = "left out; --keep takes it"
	case values == 0 && f.missing >= 0:
		n.Becomes = "1 feature, for missing values"
		return n
	case values == 0:
		n.Becomes = "left out: it does not vary over public rows"
	case j.is == isCategory && j.levels > values:
		n.Becomes = fmt.Sprintf("%d features, for the most frequent levels", values)
	default:
		n.Becomes = plural(values, "feature")
	}
	if f.missing >= 0 {
		n.Becomes += ", and one for missing values"
	}
	return n
}

func (j columnUse) keep() columnUse {
	if j.leftOut() {
		j.is, j.repeat = isCategory, false
		if j.numbers {
			j.is = isNumeric
		}
	}
	return j
}

func (j columnUse) leftOut() bool {
	return j.is == isText || j.is == isNames || j.is == isID || j.is == isIndex
}

func shownOdd(odd map[string]int) string {
	var texts []string
	for _, v := range frequent(odd, 3) {
		texts = append(texts, fmt.Sprintf("%.20q (%d)", v, odd[v]))
	}
	if more := len(odd) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}

func (e *Encoder) ownRows(name string) error {
	if e == nil || e.repeated == nil {
		return nil
	}
	return wrong(name, fmt.Sprintf("has no unit, and ids repeat in column %q of the public rows", e.repeated[0]),
		"a person with several rows is protected only if the person is the unit",
		fmt.Sprintf("give --unit %s, or --unit none if rows are units although ids repeat", e.repeated[0]))
}

// Notes describes each column and its features. The result is nil if e was read from JSON.
func (e *Encoder) Notes() []ColumnNote { return e.notes }

var labelNames = []string{"label", "labels", "target", "class", "outcome", "y"}

func obviousLabel(names []string) int {
	is := func(name string) bool { return slices.Contains(labelNames, strings.ToLower(name)) }
	at := slices.IndexFunc(names, is)
	if at >= 0 && slices.ContainsFunc(names[at+1:], is) {
		return -1
	}
	return at
}

func shown(names []string) string {
	text := strings.Join(names[:min(len(names), 20)], ", ")
	if len(names) > 20 {
		text += ", ..."
	}
	return cmp.Or(text, "none")
}
