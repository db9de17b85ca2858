package statement

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	texttemplate "text/template"
	"unicode"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/number"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.txt
	pageMarkdown string
)

type page struct {
	Title, Verdict string
	Alarm          bool
	About          [][2]string
	Sections       []section
}

// WriteMarkdown writes the statement as a page of Markdown.
func (s *Statement) WriteMarkdown(w io.Writer) error {
	escape := strings.NewReplacer("\\", "\\\\", "|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;", "`", "\\`",
		"#", `\#`, "[", `\[`, "]", `\]`, "~", `\~`, "\n", " ")
	t, err := texttemplate.New("page").Funcs(texttemplate.FuncMap{
		"next": next, "md": escape.Replace, "code": strings.NewReplacer("\n", " ", "```", "").Replace,
	}).Parse(pageMarkdown)
	if err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	return s.write(w, t)
}

// WriteHTML writes the statement as one self-contained HTML page that prints on one sheet.
func (s *Statement) WriteHTML(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{"next": next}).Parse(pageHTML)
	if err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	return s.write(w, t)
}

func next(i int) int { return i + 1 }

// write writes a page and its record.
func (s *Statement) write(w io.Writer, t interface{ Execute(io.Writer, any) error }) error {
	s = s.printed()
	p := page{Title: s.title(), About: s.about()}
	p.Verdict, p.Alarm = s.verdict()
	var err error
	if p.Sections, err = s.sections(); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	comment, err := s.comment()
	if err != nil {
		return err
	}
	b.WriteString(comment)
	_, err = w.Write(seal(b.Bytes()))
	return err
}

// WriteJSON writes the statement as one JSON object.
func (s *Statement) WriteJSON(w io.Writer) error {
	data, err := json.MarshalIndent(struct {
		*Statement
		Record record `json:"record"`
	}{s, s.record()}, "", "  ")
	if err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	_, err = w.Write(seal(append(data, '\n')))
	return err
}

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
	p.Seal = Plain(s.Seal) // has the Library of its header
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
