package student

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

// Config configures the public part of a student. The defaults of zero fields were chosen on the development
// split of public MNIST (HOG features, 50 to 500 labels out of 9,000 rows).
type Config struct {
	Components int // number of principal directions, at most the number of features; default 128
	Neighbours int // number of nearest rows per row in the graph; default 10
	// Landmarks is the number of pool rows that are centres of the classifier's kernels. The default is
	// 2,000. With 1,000, Fit is faster, and the accuracy on MNIST is .0017 lower.
	Landmarks int
	// Rounds is the number of refinements by Fit. In each, Fit learns the directions in which rows of one
	// class differ, and spreads the labels again. The default is 1. A negative number means none.
	Rounds   int
	Progress func(Progress) // called in the caller's goroutine; may be nil
}

const defaultComponents = 128

// Progress is the state of [NewPool], [Select] or [Pool.Fit].
type Progress struct {
	Stage       string // "project", "graph", "select", "fit"
	Done, Total int
}

const maxRows = 200_000

// Pool is the part of a student that needs only public rows. It is immutable. Concurrent calls are safe if
// Config.Progress may be called concurrently.
type Pool struct {
	config     Config
	projection *projection
	z          Matrix // rows x components
	neighbours neighbours
	graph      *graph
	landmarks  []int
}

// NewPool learns from x, which has one row per public example, and does not retain x. It refuses an empty
// pool, more than 200,000 rows, and NaN or infinite features. The result depends only on x, config and rnd.
func NewPool(ctx context.Context, x Matrix, config Config, rnd *rand.Rand) (*Pool, error) {
	if config.Components < 0 || config.Neighbours < 0 || config.Landmarks < 0 {
		return nil, fmt.Errorf("student: Config has a negative field: Components %d, Neighbours %d, Landmarks %d",
			config.Components, config.Neighbours, config.Landmarks)
	}
	config.Components, config.Neighbours = cmp.Or(config.Components, defaultComponents), cmp.Or(config.Neighbours, 10)
	config.Landmarks, config.Rounds = cmp.Or(config.Landmarks, 2000), cmp.Or(config.Rounds, 1)
	if config.Progress == nil {
		config.Progress = func(Progress) {}
	}
	if err := checkMatrix(x); err != nil {
		return nil, err
	}
	if x.Rows == 0 {
		return nil, errors.New("student: the pool is empty")
	}
	if x.Rows > maxRows {
		return nil, fmt.Errorf("student: a pool of %d rows, at most %d fit", x.Rows, maxRows)
	}
	p := &Pool{config: config}
	var err error
	config.Progress(Progress{Stage: "project", Total: 1})
	if p.projection, err = newProjection(ctx, x, config.Components, rnd); err != nil {
		return nil, err
	}
	if p.z, err = p.projection.apply(ctx, x); err != nil {
		return nil, err
	}
	config.Progress(Progress{Stage: "project", Done: 1, Total: 1})
	config.Progress(Progress{Stage: "graph", Total: 1})
	if p.neighbours, err = findNeighbours(ctx, p.z, candidates*config.Neighbours); err != nil {
		return nil, err
	}
	p.graph = p.neighbours.graph(config.Neighbours)
	config.Progress(Progress{Stage: "graph", Done: 1, Total: 1})
	p.landmarks = rnd.Perm(x.Rows)[:min(config.Landmarks, x.Rows)]
	slices.Sort(p.landmarks)
	return p, nil
}

func (p *Pool) Len() int { return p.z.Rows }

// Spread propagates released labels along the neighbour graph. The slice labels has a class or [Unlabelled]
// for each pool row. The result has one row per pool row and one column per class. A row is zero if all
// labels are more than 36 steps away. All other rows are non-negative and sum to 1. Without labels the error
// is [ErrNoLabels].
func (p *Pool) Spread(ctx context.Context, labels []int, classes int) (Matrix, error) {
	if _, _, err := released(labels, p.Len(), classes); err != nil {
		return Matrix{}, err
	}
	all := make([]int, classes)
	for c := range all {
		all[c] = c
	}
	return p.graph.spread(ctx, labels, all, classes)
}

// Fit trains the semi-supervised student. The slice labels has a class or [Unlabelled] for each pool row.
// Without labels the error is [ErrNoLabels]. The student is a teachers.Scorer and never predicts a class
// without a released label.
func (p *Pool) Fit(ctx context.Context, labels []int, classes int) (teachers.Classifier, error) {
	_, present, err := released(labels, p.Len(), classes)
	if err != nil {
		return nil, err
	}
	m := &model{projection: p.projection}
	column := columns(present, classes)
	z, g := p.z, p.graph
	rounds := max(0, p.config.Rounds)
	steps := rounds + 2
	var hard []int
	for round := 0; ; round++ {
		p.config.Progress(Progress{Stage: "fit", Done: round, Total: steps})
		soft, err := g.spread(ctx, labels, column, len(present))
		if err != nil {
			return nil, err
		}
		centre(soft, labels, column)
		hard = harden(soft)
		if round == rounds {
			break
		}
		if m.metric, err = withinClass(p.z, hard, len(present)); err != nil {
			return nil, err
		}
		z = dense.New(p.z.Rows, p.z.Cols)
		dense.MulAB(z, p.z, m.metric)
		ranked, err := p.neighbours.rank(ctx, z, p.config.Neighbours)
		if err != nil {
			return nil, err
		}
		g = ranked.graph(p.config.Neighbours)
	}
	p.config.Progress(Progress{Stage: "fit", Done: rounds + 1, Total: steps})
	if m.ridge, err = fitRidge(ctx, z, hard, p.landmarks, g.width, len(present)); err != nil {
		return nil, err
	}
	p.config.Progress(Progress{Stage: "fit", Done: steps, Total: steps})
	return m.of(classes, present), nil
}
