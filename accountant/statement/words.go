package statement

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/buildinfo"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/template"
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
	t, err := template.Text("page", pageMarkdown, template.Funcs{
		"next": next, "md": escape.Replace, "code": strings.NewReplacer("\n", " ", "```", "").Replace,
	})
	if err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	return s.write(w, t)
}

// WriteHTML writes the statement as one self-contained HTML page that prints on one sheet.
func (s *Statement) WriteHTML(w io.Writer) error {
	t, err := template.HTML("page", pageHTML, template.Funcs{"next": next})
	if err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	return s.write(w, t)
}

func next(i int) int { return i + 1 }

func (s *Statement) write(w io.Writer, t *template.Template) error {
	s = s.printed()
	p := page{Title: s.title(), About: s.about()}
	p.Verdict, p.Alarm = s.verdict()
	var err error
	if p.Sections, err = s.sections(); err != nil {
		return err
	}
	text, err := t.Fill("page", p)
	if err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	comment, err := s.record().comment("<!-- ", " -->")
	if err != nil {
		return err
	}
	_, err = w.Write(seal([]byte(text + comment)))
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

func exact(x float64) string { return number.Exact(x) }

func digits(x float64) string { return number.Digits(x, 5) }

func most(x float64) string { return number.DigitsUp(x, 5) }

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

// Plain makes text safe to print on one line: it replaces control, format and other non-graphic characters.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r != ' ' && (unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || !unicode.IsGraphic(r)) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

func (s *Statement) printed() *Statement {
	p := *s
	p.Ledger, p.Unit, p.Library, p.Data, p.Torn = Plain(s.Ledger), Plain(s.Unit), Plain(s.Library), Plain(s.Data), Plain(s.Torn)
	p.Seal = Plain(s.Seal) // contains the Library of the header
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

// quoted returns word as one shell word that is not an option.
func quoted(word string) string {
	if strings.HasPrefix(word, "-") {
		word = "./" + word
	}
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+:@%,-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

type section struct {
	Title  string
	Text   []string // paragraphs before the table
	Header []string
	Rows   [][]string
	After  []string // paragraphs after the table
	List   []string
	Code   []string // commands
}

func (s *Statement) title() string {
	return fmt.Sprintf("Privacy statement: ε = %s at δ = %s for one %s", up(s.epsilon()), exact(s.Budget.Delta), s.Unit)
}

func (s *Statement) epsilon() float64 { return float64(*s.Claims[0].Epsilon) }

func (s *Statement) verdict() (text string, alarm bool) {
	switch {
	case s.Release == nil:
		return "The ledger does not record where the noise came from. Release nothing before the origin is established.", true
	case !*s.Release:
		text := "NOT FOR RELEASE:"
		for _, l := range s.each() {
			if len(l.Waived) > 0 {
				text += fmt.Sprintf(" refusals were waived for %s (%s), so the numbers below may be wrong.", l.Ledger, strings.Join(l.Waived, ", "))
			}
		}
		if s.seeded() {
			text += " the noise was drawn from a seed. Whoever has the seed can remove the noise, so the numbers below protect nobody."
		}
		return text, true
	}
	this := "this ledger"
	if len(s.Of) > 0 {
		this = "these ledgers"
	}
	text = "Outcomes that were committed to " + this + " may be released under the guarantee below. " +
		"Nothing else that was computed from the private data may be released."
	if s.Warning != "" {
		return text + " But " + s.Warning + ".", true
	}
	return text, false
}

func (s *Statement) seeded() bool {
	return slices.ContainsFunc(s.each(), func(l *Statement) bool { return l.Noise == string(ledger.SeededNoise) })
}

func (s *Statement) about() [][2]string {
	var rows [][2]string
	if s.About != nil {
		about := *s.About
		for _, f := range about.fields() {
			if *f.value != "" && f.name != "justification" { // it stands beside the risk
				rows = append(rows, [2]string{f.title, Plain(*f.value)})
			}
		}
	}
	for _, l := range s.each() {
		name := l.Ledger
		if l.ID != "" {
			name += ", id " + l.ID
		}
		rows = append(rows, [2]string{"Ledger", name})
	}
	return append(rows, [2]string{"Written by", "pate " + Plain(s.Program.String()) + " (" + buildinfo.Module + ")"})
}

func (s *Statement) each() []*Statement {
	if len(s.Of) > 0 {
		return s.Of
	}
	return []*Statement{s}
}

//go:embed words.txt
var words string

func (s *Statement) sections() ([]section, error) {
	sum := 0.0
	for _, l := range s.Of {
		sum += l.epsilon()
	}
	var orders []string
	for _, a := range s.Orders {
		orders = append(orders, exact(a))
	}
	if s.Pure {
		orders = append(orders, "infinity")
	}
	t, err := template.Text("words", words, template.Funcs{
		"exact": func(x any) string { return exact(reflect.Indirect(reflect.ValueOf(x)).Float()) },
		"up":    func(x any) string { return up(reflect.Indirect(reflect.ValueOf(x)).Float()) },
		"rate":  func(x float64) string { return digits(100*x) + " %" },
		"plain": Plain, "row": row, "percent": percent, "plural": plural, "quoted": quoted,
		"file": func(r Released) string { return strings.TrimPrefix(r.Name+": "+r.SHA256, ": ") },
	})
	if err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	text, err := t.Fill("words", struct {
		*Statement
		Each                                            []*Statement
		Carried, Replaced, Filter, Losses, Seeded, Held bool
		Composed                                        bool // Rényi composition is below the sum
		Sum                                             float64
		AtOrders                                        string
		Guesses                                         int
		Audited, Useful                                 []string
	}{
		Statement: s, Each: s.each(), Replaced: s.Relation == accountant.ReplaceOne, Filter: s.Mode == ledger.Filter,
		Carried: s.Unit == "id" || strings.HasSuffix(s.Unit, "_id") || strings.HasSuffix(s.Unit, "ID"),
		Losses:  s.Mode != ledger.Filter && s.Accountant == string(accountant.ByPLD), Seeded: s.seeded(),
		Held: s.Compared != nil && *s.Compared, Composed: s.epsilon() < sum*(1-1e-9), Sum: sum,
		AtOrders: strings.Join(orders, ", "), Guesses: int(math.Min(1000, math.Ceil(1000*s.Attacker.Right))),
		Audited: s.audited(), Useful: s.useful(),
	})
	if err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	return layout(text), nil
}

func row(cells ...any) string {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = fmt.Sprint(c)
	}
	return "| " + strings.Join(texts, "\t")
}

func layout(text string) []section {
	// The first row is the header. "- " starts an item of the list, and "$ " a command. Other lines are
	// paragraphs before or after the table. An item or paragraph continues until an empty line or a different
	// kind of line.
	var all []section
	var s *section
	var open *string
	add := func(to *[]string, text string) *string {
		*to = append(*to, text)
		return &(*to)[len(*to)-1]
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch kind, rest, _ := strings.Cut(line, " "); {
		case line == "":
			open = nil
		case kind == "##":
			all, open = append(all, section{Title: rest}), nil
			s = &all[len(all)-1]
		case kind == "|" && s.Header == nil:
			s.Header, open = strings.Split(rest, "\t"), nil
		case kind == "|":
			s.Rows = append(s.Rows, strings.Split(rest, "\t"))
		case kind == "-":
			open = add(&s.List, rest)
		case kind == "$":
			add(&s.Code, rest)
		case open != nil:
			*open += " " + line
		case s.Header == nil:
			open = add(&s.Text, line)
		default:
			open = add(&s.After, line)
		}
	}
	return all
}

// OfSeal describes how the epsilon in the ledger's seal differs from the epsilon that this version of pate
// computes. Without a difference, OfSeal returns "".
func OfSeal(s ledger.Summary) string {
	c := s.Claimed
	if c.Again == nil {
		return ""
	}
	larger := "the upper end that this version finds"
	if c.Sealed > c.Again.Upper {
		larger = "the sealed one"
	}
	return fmt.Sprintf("The ledger was sealed at ε %s, by %s. This version finds ε between %s and %s. The claim is the larger: %s, %s.",
		exact(c.Sealed), s.Library, number.DigitsDown(c.Again.Lower, 8), number.DigitsUp(c.Again.Upper, 8), larger, number.DigitsUp(c.Epsilon, 8))
}

func notCharged(c ledger.Config) []string {
	return []string{
		"any choice of a mechanism, noise, threshold, model or setting that was made on these data without a charge above",
		"numbers computed from the votes or the data themselves, such as a data-dependent ε, vote gaps, or the accuracy on " +
			"private rows: they are secret, and no decision may depend on them",
		"the number of " + c.Unit + "s, the ranges of columns, the list of classes, public rows and their labels, which are taken to be public",
		"the charges of other ledgers for the same people: the budgets of two ledgers add up, and a ledger has no record of the other",
	}
}

func percent(x float64) string {
	return number.TrimZeros(number.DecimalsUp(math.Min(100, 100*x), 2)) + " %"
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatInt(n, 10) + " " + what + "s"
}
