package published

import (
	"fmt"

	"github.com/pate-go/pate/student"
)

// nearlyAll is the share of one class among released labels from which on a student has
// little of the others to learn from.
const nearlyAll = 0.95

// Doubt says, for people, why the model that was trained on the labels may be of no more use
// than always naming their most frequent class: because nearly all of them are of it, or
// because that is right for more labels than the student predicted when they were held back.
// It is empty if neither is so. All of it follows from what was released.
func (m *Model) Doubt(l Labels) string {
	class, most := l.majority()
	held := m.HeldBack
	switch {
	case l.Released == 0:
		return ""
	case float64(most) >= nearlyAll*float64(l.Released):
		return fmt.Sprintf("%d of %d released labels are %q: the student has next to nothing to learn the other classes from; release more labels, or ask rows among which they are less rare",
			most, l.Released, l.Classes[class])
	case held.Labels > 0 && int64(held.Right)*int64(l.Released) < int64(most)*int64(held.Labels):
		return fmt.Sprintf("the student predicted %d of %d labels held back, and %d of %d released labels are %q: always saying so would be right more often; release more labels",
			held.Right, held.Labels, most, l.Released, l.Classes[class])
	}
	return ""
}

// majority returns the class that most labels are of, the lowest of them, and how many.
func (l Labels) majority() (class, most int) {
	count := make([]int, len(l.Classes))
	for _, c := range l.Of {
		if c == student.Unlabelled {
			continue
		}
		if count[c]++; count[c] > most || count[c] == most && c < class {
			class, most = c, count[c]
		}
	}
	return class, most
}
