package published_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/student"
)

// A student is doubted where nearly all labels are one class, and where it is right less
// often than the most frequent class is.
func TestDoubt(t *testing.T) {
	labels := func(no, yes int) published.Labels {
		l := published.Labels{Classes: []string{"no", "yes"}, Released: no + yes, Of: []int{student.Unlabelled}}
		for i := range no + yes {
			class := 0
			if i < yes {
				class = 1
			}
			l.Of = append(l.Of, class, student.Unlabelled)
		}
		return l
	}
	for _, c := range []struct {
		no, yes, held, right int
		want                 string
	}{
		{0, 0, 0, 0, ""},
		{94, 6, 0, 0, ""},
		{95, 5, 100, 100, `95 of 100 released labels are "no"`},
		{0, 3, 0, 0, `3 of 3 released labels are "yes"`},
		{80, 20, 100, 80, ""},
		{80, 20, 50, 40, ""},
		{80, 20, 100, 79, "predicted 79 of 100 labels held back, and 80 of 100"},
		{20, 80, 50, 39, `80 of 100 released labels are "yes": always saying so`},
	} {
		m := published.Model{Card: published.Card{HeldBack: published.HeldBack{Labels: c.held, Right: c.right}}}
		got := m.Doubt(labels(c.no, c.yes))
		if c.want == "" {
			require.Empty(t, got, "%+v", c)
		} else {
			require.Contains(t, got, c.want, "%+v", c)
		}
	}
}
