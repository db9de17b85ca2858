package learn

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// phrases are sentences with values to fill in, by name. Their language is the part of text/template that a
// lecturer needs: {{.value}}, {{if .value}}, {{if eq .value 2}}, {{else}}, {{else if}}, {{end}} and
// {{template "name" .}}. That package itself is not used, because it calls methods by name: a program with
// it keeps every exported method of every type, and the page's code would be four times as long.
type phrases map[string][]phrase

// phrase is words, a value, another phrase, or cases of which the first that is met is used.
type phrase struct {
	words, value, other string
	cases               []phraseCase
}

// phraseCase is a branch. It is met if the value is there and neither false nor 0, or if it
// reads equal; the last branch has no value and is always met.
type phraseCase struct {
	value, equal string
	then         []phrase
}

// add parses a phrase under a name, which replaces one of that name.
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

// next returns the words up to a mark, and the words of the mark; none at the end.
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

// sequence parses up to the mark that ends a branch, which it returns.
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

// condition reads what stands after an if: a value, or eq, a value and a number.
func condition(mark []string) (value, equal string, err error) {
	switch {
	case len(mark) == 1 && mark[0][0] == '.':
		return mark[0][1:], "", nil
	case len(mark) == 3 && mark[0] == "eq" && mark[1][0] == '.':
		return mark[1][1:], mark[2], nil
	}
	return "", "", notUnderstood("if " + strings.Join(mark, " "))
}

// branches parses the cases that begin with a mark, to their end.
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

// fill writes the phrase of that name. A value that is not there is an error.
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
