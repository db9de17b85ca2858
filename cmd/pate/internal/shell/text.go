package shell

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
)

const Columns = 80

func foldedCommands(text string) string {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if at := strings.LastIndex(line[:min(len(line), Columns-2)], " --"); len(line) > Columns && at > 0 {
			lines[i] = line[:at] + " \\"
			lines = slices.Insert(lines, i+1, "      "+line[at+1:])
		}
	}
	return strings.Join(lines, "\n")
}

// Wrapped wraps paragraphs to the width of a terminal. Lines that begin with a blank, such as code and lists,
// keep their form.
func Wrapped(text string) string {
	var lines []string
	var paragraph strings.Builder
	fill := func() {
		lines = append(lines, Folded(paragraph.String(), Columns)...)
		paragraph.Reset()
	}
	for _, line := range strings.Split(strings.TrimRight(strings.TrimLeft(text, "\n"), " \n"), "\n") {
		if line == "" || line[0] == ' ' {
			fill()
			lines = append(lines, line)
		} else {
			paragraph.WriteString(line + "\n")
		}
	}
	fill()
	return strings.Join(lines, "\n")
}

func ShellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Folded breaks text into lines of at most columns characters, except for longer words.
func Folded(text string, columns int) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if n := len(lines); n > 0 && utf8.RuneCountInString(lines[n-1])+1+utf8.RuneCountInString(word) <= columns {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

func YesNo(v bool) string {
	if v {
		return "yes"
	}
	return "no"
}

// NotReleasable returns the word "no" and the reason why a result must not be released. The reason is the
// waived checks, or otherwise --seed.
func NotReleasable(waived []string) string {
	if len(waived) > 0 {
		return "no: waived " + strings.Join(waived, ", ")
	}
	return "no: seeded"
}

// FormatUp formats an upper bound, rounded up to five significant digits. If exact is true, FormatUp rounds
// nothing.
func FormatUp(x float64, exact bool) string {
	if math.IsInf(x, 1) {
		return "inf"
	}
	if exact {
		return number.Exact(x)
	}
	return number.DigitsUp(x, 5)
}

func FormatDown(x float64) string { return strings.TrimPrefix(number.DigitsDown(x, 5), "+") }

// FormatEpsilon formats x like [FormatUp], but with four decimals if 0.01 <= x <= 1e6 and exact is false.
func FormatEpsilon(x float64, exact bool) string {
	if exact || x > 1e6 || x < 1e-2 {
		return FormatUp(x, exact)
	}
	return number.DecimalsUp(x, 4)
}

// FormatExpected formats x with one decimal, or none if x >= 999.95. With exact, x keeps all digits.
func FormatExpected(x float64, exact bool) string {
	if !exact && x >= 999.95 {
		return Fixed(x, 0, false)
	}
	return Fixed(x, 1, exact)
}

// Fixed formats x with this number of decimals, or with all digits if exact is true.
func Fixed(x float64, decimals int, exact bool) string {
	if exact {
		return number.Exact(x)
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// Repeats returns a command line of words and flags. The slice `names` lists possible flags. A flag in
// `values` has its value there, or is omitted if this value is empty. Any other flag is included if
// given(flag) is true. The caller must quote words and values for a shell.
func Repeats(cmd *cobra.Command, words, names []string, given func(*pflag.Flag) bool, values map[string]string) string {
	for _, name := range names {
		flag := cmd.Flags().Lookup(name)
		value, fixed := values[name]
		if !fixed {
			value = ShellWord(flag.Value.String())
		}
		switch {
		case fixed && value == "", !fixed && !given(flag):
		case flag.Value.Type() == "bool":
			words = append(words, "--"+name)
		default:
			words = append(words, "--"+name, value)
		}
	}
	return strings.Join(words, " ")
}

// Given reports whether a flag was given, for [Repeats].
func Given(f *pflag.Flag) bool { return f.Changed }

// Differs reports whether a flag's value differs from the default. It is an argument for [Repeats].
func Differs(f *pflag.Flag) bool { return f.Value.String() != f.DefValue }

// UnitWord returns the name of the privacy unit: given, else column, else "record". The column noUnit counts
// as empty.
func UnitWord(given, column string) string {
	if column == noUnit {
		column = ""
	}
	return cmp.Or(given, column, "record")
}

// noUnit, as the value of --unit, makes each row a unit even if ids repeat.
const noUnit = "none"

// Object is a JSON object with ordered fields: names and values alternate. If a name ends in a question mark,
// the field is omitted if its value is zero, nil or an empty list.
type Object []any

func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i := 0; i < len(o); i += 2 {
		name, optional := strings.CutSuffix(o[i].(string), "?")
		if v := reflect.ValueOf(o[i+1]); optional && (!v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0) {
			continue
		}
		value, err := json.Marshal(o[i+1])
		if err != nil {
			return nil, err
		}
		b.WriteString(`,"` + name + `":`)
		b.Write(value)
	}
	if b.Len() == 0 {
		return []byte("{}"), nil
	}
	return append(append([]byte("{"), b.Bytes()[1:]...), '}'), nil
}

// Number is a float64 whose infinite values are null in JSON.
type Number float64

func (x Number) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

func WriteJSON(w io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// TableOf returns a table with these columns and no rows. If a name begins with <, TableOf removes the < and
// aligns the column to the left.
func TableOf(names ...string) table.Table {
	var t table.Table
	for _, name := range names {
		name, left := strings.CutPrefix(name, "<")
		t.Header, t.Left = append(t.Header, name), append(t.Left, left)
	}
	return t
}
