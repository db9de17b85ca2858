package page

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/learn"
)

// exercise adds an exercise with the words of its two parts. Its tolerance is relative.
func (c *Chapter) exercise(name string, tolerance float64, answer func() float64) {
	c.Exercises = append(c.Exercises, Exercise{
		Name: name, Question: c.Text["Exercise "+name], Solution: c.Text["Solution "+name], answer: answer, tolerance: tolerance})
}

// Exercise is a question whose answer is a number that the packages compute.
type Exercise struct {
	Name      string
	Question  string
	Solution  string
	answer    func() float64
	tolerance float64 // relative
}

// Answer returns the right answer.
func (e Exercise) Answer() (x float64, err error) {
	defer learn.Catch(&err)
	return e.answer(), nil
}

// Check reports whether an answer is right, with words for the reader.
func (c Chapter) Check(exercise string, given float64) (right bool, words string, err error) {
	for _, e := range c.Exercises {
		if e.Name != exercise {
			continue
		}
		answer, err := e.Answer()
		if err != nil {
			return false, "", err
		}
		switch off := given - answer; {
		case math.Abs(off) <= e.tolerance*math.Abs(answer):
			return true, fmt.Sprintf("Right: %s.", short(answer)), nil
		case off > 0:
			return false, "Less than that.", nil
		}
		return false, "More than that.", nil
	}
	return false, "", fmt.Errorf("page: %s has no exercise %q", c.Name, exercise)
}
