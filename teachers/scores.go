package teachers

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/dense"
)

// scorer is the shared part of models that score the classes of their share and answer the best class. It
// checks the queries, goes block by block and picks the class.
type scorer struct {
	features int
	classes  int
	present  []int   // class of each score, ascending
	absent   float32 // score of classes that the share did not have
}

// predictRows is how many rows are scored at a time. This bounds the working memory.
const predictRows = 256

// predict calls score on blocks of x. The function score fills a row per query, with one score for each
// class present. Ties go to the lowest class.
func (s scorer) predict(dst []int, x Matrix, score func(dst, x Matrix)) error {
	if err := ValidateQueries(dst, x, s.features); err != nil {
		return err
	}
	s.blocks(x, score, func(i int, scores []float32) {
		dst[i] = s.present[dense.Argmax(scores)]
	})
	return nil
}

func (s scorer) scores(dst, x Matrix, score func(dst, x Matrix)) error {
	if err := checkScores(dst, x, s.classes, s.features); err != nil {
		return err
	}
	s.blocks(x, score, func(i int, scores []float32) {
		out := dense.Row(dst, i)
		for c := range out {
			out[c] = s.absent
		}
		for k, v := range scores {
			out[s.present[k]] = v
		}
	})
	return nil
}

func (s scorer) blocks(x Matrix, score func(dst, x Matrix), use func(i int, scores []float32)) {
	work := dense.New(min(predictRows, x.Rows), len(s.present))
	for from := 0; from < x.Rows; from += predictRows {
		to := min(from+predictRows, x.Rows)
		block := dense.Rows(work, 0, to-from)
		score(block, dense.Rows(x, from, to))
		for i := from; i < to; i++ {
			use(i, dense.Row(block, i-from))
		}
	}
}

func checkScores(dst, x Matrix, classes, features int) error {
	if dst.Rows != x.Rows || dst.Cols != classes || dense.Check(dst) != nil {
		return fmt.Errorf("teachers: scores of %d rows and %d classes do not fit into %d x %d", x.Rows, classes, dst.Rows, dst.Cols)
	}
	return checkQueries(x, features)
}

// softmaxRow replaces logits by probabilities.
func softmaxRow(v []float32) {
	top := v[dense.Argmax(v)]
	var sum float64
	for i, x := range v {
		e := math.Exp(float64(x - top))
		v[i] = float32(e)
		sum += e
	}
	scale := float32(1 / sum)
	for i := range v {
		v[i] *= scale
	}
}
