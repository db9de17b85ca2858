package learn

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pate-go/pate/internal/template"
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

func parseTexts(texts ...text) (*template.Template, error) {
	all, err := template.Text("", "", nil)
	if err != nil {
		return nil, err
	}
	for _, t := range texts {
		seen := make(map[string]bool)
		for _, s := range t.sections {
			if seen[s.id] || s.body == "" {
				return nil, fmt.Errorf("learn: %q: section %q is empty or there twice", t.title, s.id)
			}
			seen[s.id] = true
			if err := errors.Join(all.Add(s.id, s.body), all.Add(headingOf(s.id), s.heading)); err != nil {
				return nil, fmt.Errorf("learn: %q: %w", t.title, err)
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
