package learn

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
)

//go:embed text/*.md
var texts embed.FS

// text is the file of one mechanism or chapter: see the package comment.
type text struct {
	title, short, long string
	inputs             []Input
	sections           []section
	course             map[string]string // parts for package page, by heading
}

// section is one part of a trace, a template whose values Go fills in.
type section struct{ id, heading, body string }

// isCourse reports whether a part of that heading belongs to the course and not to the trace.
func isCourse(heading string) bool {
	return slices.Contains([]string{"Chapter", "Claim", "Look", "Wrong", "Right"}, heading) ||
		strings.HasPrefix(heading, "Exercise ") || strings.HasPrefix(heading, "Solution ")
}

// Course returns the title of a chapter and the words of its parts, by heading. A line may be broken
// anywhere.
func Course(name string) (title string, parts map[string]string, err error) {
	t, err := readText(name)
	title, _, _ = strings.Cut(t.title, ":")
	return title, t.course, err
}

// readText reads the text of that name.
func readText(name string) (text, error) {
	raw, err := texts.ReadFile("text/" + name + ".md")
	if err != nil {
		return text{}, fmt.Errorf("learn: %w", err)
	}
	parts := strings.Split(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\n## ")
	title, about, _ := strings.Cut(parts[0], "\n")
	t := text{title: strings.TrimPrefix(title, "# "), course: make(map[string]string)}
	if rest, found := strings.CutPrefix(strings.TrimSpace(about), "> "); found {
		t.short, t.long, _ = strings.Cut(rest, "\n")
	}
	t.long = strings.TrimSuffix(wrap(t.long, "", ""), "\n")
	for _, part := range parts[1:] {
		heading, body, _ := strings.Cut(part, "\n")
		if heading == "Inputs" {
			t.inputs = readInputs(body)
			continue
		}
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

// readInputs reads lines "- name = default: what it is".
func readInputs(body string) (inputs []Input) {
	for line := range strings.SplitSeq(strings.TrimSpace(body), "\n") {
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "- "), " = ")
		value, usage, _ := strings.Cut(rest, ": ")
		inputs = append(inputs, Input{name, value, usage})
	}
	return inputs
}

// parseTexts reads the sections of texts, each named for its id, its heading for
// headingOf(id). A section of a later text replaces a section of an earlier text. A value that Go does not
// give is an error when the section is used.
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

// setOut divides the body of a section into its paragraph and its formula. Lines of the
// paragraph are joined; lines of the formula are kept.
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
