package page

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed text/*.md
var texts embed.FS

// Text is the words of a chapter.
type Text struct {
	Title string
	Short string // for the list of chapters
	Page  string // of docs/lecture
	Claim string
	Look  string // what to try
	Wrong string // the misconception
	Right string // what ends it
	parts map[string]string
}

// readText reads the text of a chapter. Words are paragraphs, so a line may be broken
// anywhere. A part that is missing is empty; a test finds it.
func readText(name string) Text {
	raw, err := texts.ReadFile("text/" + name + ".md")
	if err != nil {
		return Text{}
	}
	parts := strings.Split(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\n## ")
	title, short, _ := strings.Cut(parts[0], "\n")
	t := Text{Title: strings.TrimPrefix(title, "# "), Short: flow(strings.TrimPrefix(strings.TrimSpace(short), "> ")), parts: make(map[string]string)}
	for _, part := range parts[1:] {
		heading, body, _ := strings.Cut(part, "\n")
		t.parts[heading] = flow(body)
	}
	t.Page, t.Claim, t.Look = t.parts["Page"], t.parts["Claim"], t.parts["Look"]
	t.Wrong, t.Right = t.parts["Wrong"], t.parts["Right"]
	return t
}

// flow joins lines.
func flow(body string) string { return strings.Join(strings.Fields(body), " ") }

// exercise returns an exercise with the words of its parts: NAME, and NAME, solved.
func (t Text) exercise(name string, answer func() (float64, error), tolerance float64) Exercise {
	return Exercise{Name: name, Question: t.parts["Exercise "+name], Solution: t.parts["Solution "+name], answer: answer, tolerance: tolerance}
}

// Exercise is a question whose answer is a number that the packages compute.
type Exercise struct {
	Name      string
	Question  string
	Solution  string
	answer    func() (float64, error)
	tolerance float64 // relative
}

// Answer returns the right answer.
func (e Exercise) Answer() (float64, error) { return e.answer() }

// Check says whether an answer is right.
func (c Chapter) Check(exercise string, given float64) (right bool, words string, err error) {
	for _, e := range c.Exercises {
		if e.Name != exercise {
			continue
		}
		answer, err := e.answer()
		if err != nil {
			return false, "", err
		}
		switch off := given - answer; {
		case off >= -e.tolerance*abs(answer) && off <= e.tolerance*abs(answer):
			return true, fmt.Sprintf("Right: %s.", short(answer)), nil
		case off > 0:
			return false, "Less than that.", nil
		}
		return false, "More than that.", nil
	}
	return false, "", fmt.Errorf("page: %s has no exercise %q", c.Name, exercise)
}

func abs(x float64) float64 { return max(x, -x) }
