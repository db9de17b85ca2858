package learn

import (
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:embed text
var texts embed.FS

type text struct {
	title, short, long string
	inputs             []Input
	sections           []section
	course             map[string]string // parts for package page, by heading
}

type section struct{ id, heading, body string }

func isCourse(heading string) bool {
	return slices.Contains([]string{"Chapter", "Claim", "Look", "Wrong", "Right"}, heading) ||
		strings.HasPrefix(heading, "Exercise ") || strings.HasPrefix(heading, "Solution ")
}

// Course returns the title of a chapter and the chapter's sections by heading. Line breaks in sections have
// no meaning.
func Course(name string) (title string, parts map[string]string, err error) {
	t, err := readText(name)
	title, _, _ = strings.Cut(t.title, ":")
	return title, t.course, err
}

func readText(name string) (text, error) {
	raw, err := texts.ReadFile("text/" + name + ".md")
	if err != nil {
		return text{}, fmt.Errorf("learn: %w", err)
	}
	parts := strings.Split(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\n## ")
	title, about, _ := strings.Cut(parts[0], "\n")
	t := text{title: strings.TrimPrefix(title, "# "), course: make(map[string]string), inputs: inputsOf(name)}
	if rest, found := strings.CutPrefix(strings.TrimSpace(about), "> "); found {
		t.short, t.long, _ = strings.Cut(rest, "\n")
	}
	t.long = strings.TrimSuffix(wrap(t.long, "", ""), "\n")
	for _, part := range parts[1:] {
		heading, body, _ := strings.Cut(part, "\n")
		if isCourse(heading) {
			t.course[heading] = strings.Join(strings.Fields(body), " ")
			continue
		}
		s := section{id: heading, heading: heading, body: strings.TrimSpace(body)}
		if words, id, found := strings.Cut(strings.TrimSuffix(heading, "}"), " {#"); found {
			s.heading, s.id = words, id
		}
		t.sections = append(t.sections, s)
	}
	return t, nil
}

func inputsOf(mechanism string) (inputs []Input) {
	all, _ := texts.ReadFile("text/inputs.txt")
	for block := range strings.SplitSeq(strings.TrimSpace(string(all)), "\n\n") {
		lines, found := strings.CutPrefix(block, mechanism+"\n- ")
		if !found {
			continue
		}
		for line := range strings.SplitSeq(lines, "\n- ") {
			name, rest, _ := strings.Cut(line, " = ")
			value, usage, _ := strings.Cut(rest, ": ")
			inputs = append(inputs, Input{name, value, usage})
		}
	}
	return inputs
}

func parseTexts(texts ...text) (phrases, error) {
	all := make(phrases)
	for _, t := range texts {
		seen := make(map[string]bool)
		for _, s := range t.sections {
			if seen[s.id] || s.body == "" {
				return nil, fmt.Errorf("learn: %q: section %q is empty or there twice", t.title, s.id)
			}
			seen[s.id] = true
			if err := errors.Join(all.add(s.id, s.body), all.add(headingOf(s.id), s.heading)); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func headingOf(id string) string { return "heading of " + id }

func setOut(body string) (words string, f *Formula, err error) {
	var prose, plain, tex []string
	ended := false
	for line := range strings.SplitSeq(body, "\n") {
		switch {
		case strings.TrimSpace(line) == "":
			ended = prose != nil
		case strings.HasPrefix(line, "    "):
			plain, ended = append(plain, strings.TrimSpace(line)), true
		case strings.HasPrefix(line, "$$"):
			tex, ended = append(tex, strings.Trim(line, "$ ")), true
		case ended:
			return "", nil, fmt.Errorf("learn: a section is one paragraph and at most one formula: %q", line)
		default:
			prose = append(prose, strings.Fields(line)...)
		}
	}
	if prose == nil || len(tex) > 1 || (plain == nil) != (tex == nil) {
		return "", nil, fmt.Errorf("learn: a section has words, and a formula in both forms or none: %q", body)
	}
	if tex != nil {
		f = &Formula{Text: strings.Join(plain, ";  "), TeX: tex[0]}
	}
	return strings.Join(prose, " "), f, nil
}

// The language is a part of text/template: {{.value}}, {{if .value}}, {{if eq .value 2}}, {{else}}, {{else
// if}}, {{end}} and {{template "name" .}}. Package text/template itself calls methods by name, so the linker
// would keep all exported methods, and the page's program would be four times as large.

// phrases holds parsed templates by name.
type phrases map[string][]phrase

type phrase struct {
	words, value, other string
	cases               []phraseCase
}

// phraseCase is a branch of an if.
type phraseCase struct {
	value, equal string // {{if eq .value equal}}, or {{if .value}} with equal empty, or {{else}} with both empty
	then         []phrase
}

func (p phrases) add(name, body string) error {
	parser := phraseParser{rest: body}
	parsed, end, err := parser.sequence()
	if err == nil && end != nil {
		err = fmt.Errorf("{{%s}} without if", strings.Join(end, " "))
	}
	if err != nil {
		return fmt.Errorf("learn: %q: %w", name, err)
	}
	p[name] = parsed
	return nil
}

type phraseParser struct{ rest string }

func (p *phraseParser) next() (words string, mark []string, err error) {
	words, rest, found := strings.Cut(p.rest, "{{")
	if !found {
		p.rest = ""
		return words, nil, nil
	}
	inside, rest, closed := strings.Cut(rest, "}}")
	mark = strings.Fields(inside)
	if !closed || strings.ContainsAny(inside, "{}") || mark == nil {
		return "", nil, notUnderstood(inside)
	}
	p.rest = rest
	return words, mark, nil
}

func notUnderstood(mark string) error { return fmt.Errorf("what does {{%s}} mean?", mark) }

func (p *phraseParser) sequence() (list []phrase, end []string, err error) {
	for {
		words, mark, err := p.next()
		if err != nil {
			return nil, nil, err
		}
		if words != "" {
			list = append(list, phrase{words: words})
		}
		switch {
		case mark == nil || mark[0] == "end" || mark[0] == "else":
			return list, mark, nil
		case mark[0] == "if":
			cases, err := p.branches(mark)
			if err != nil {
				return nil, nil, err
			}
			list = append(list, phrase{cases: cases})
		case len(mark) == 3 && mark[0] == "template" && mark[2] == ".":
			list = append(list, phrase{other: strings.Trim(mark[1], `"`)})
		case len(mark) == 1 && mark[0][0] == '.':
			list = append(list, phrase{value: mark[0][1:]})
		default:
			return nil, nil, notUnderstood(strings.Join(mark, " "))
		}
	}
}

func condition(mark []string) (value, equal string, err error) {
	switch {
	case len(mark) == 1 && mark[0][0] == '.':
		return mark[0][1:], "", nil
	case len(mark) == 3 && mark[0] == "eq" && mark[1][0] == '.':
		return mark[1][1:], mark[2], nil
	}
	return "", "", notUnderstood("if " + strings.Join(mark, " "))
}

func (p *phraseParser) branches(mark []string) (cases []phraseCase, err error) {
	for {
		var c phraseCase
		if mark[0] == "else" {
			mark = mark[1:]
		}
		last := len(mark) == 0
		if !last {
			if c.value, c.equal, err = condition(mark[1:]); err != nil {
				return nil, err
			}
		}
		if c.then, mark, err = p.sequence(); err != nil {
			return nil, err
		}
		cases = append(cases, c)
		switch {
		case mark == nil || last && mark[0] == "else":
			return nil, errors.New("an if has no {{end}}")
		case mark[0] == "end":
			return cases, nil
		}
	}
}

func (p phrases) fill(b *strings.Builder, name string, values map[string]any) error {
	list, found := p[name]
	if !found {
		return fmt.Errorf("learn: there is no text %q: one of %s", name, strings.Join(slices.Sorted(maps.Keys(p)), ", "))
	}
	return p.write(b, list, values)
}

func (p phrases) write(b *strings.Builder, list []phrase, values map[string]any) error {
	for _, one := range list {
		var err error
		switch {
		case one.value != "":
			var text string
			text, err = valueText(one.value, values)
			b.WriteString(text)
		case one.other != "":
			err = p.fill(b, one.other, values)
		default:
			b.WriteString(one.words)
			err = p.choose(b, one.cases, values)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p phrases) choose(b *strings.Builder, cases []phraseCase, values map[string]any) error {
	for _, c := range cases {
		met := c.value == ""
		if !met {
			text, err := valueText(c.value, values)
			if err != nil {
				return err
			}
			met = text != "0" && text != "false" && text != ""
			if c.equal != "" {
				met = text == c.equal
			}
		}
		if met {
			return p.write(b, c.then, values)
		}
	}
	return nil
}

func valueText(name string, values map[string]any) (string, error) {
	value, found := values[name]
	if !found {
		return "", fmt.Errorf("learn: the text names a value %q that is not given", name)
	}
	return fmt.Sprint(value), nil
}
