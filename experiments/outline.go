package experiments

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/aggregate/nearby"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/teachers/training"
)

// Outline is the plan of a comparison, with estimates of time and memory. It depends only on public numbers.
type Outline struct {
	Schema  string  `json:"schema"`
	Steps   []Step  `json:"steps"`
	Seconds float64 `json:"seconds"` // of all steps
	Bytes   float64 `json:"bytes"`   // of the largest step
}

type Step struct {
	What    string  `json:"what"`
	Times   int     `json:"times"`   // how often, over all targets and seeds
	Seconds float64 `json:"seconds"` // all runs together
	Bytes   float64 `json:"bytes"`   // memory while it runs
}

type addStep func(what string, times int, seconds, bytes float64)

const SchemaOutline = "pate.compare-plan/1"

// These speeds were measured on one processor at 2.4 GHz with AVX2.
const (
	perScattered   = 0.32e-3 / 784 // s per pixel of an image: scattering and gradients
	perGradient    = 0.05e-3 / 784 // s per pixel: gradients alone
	perProduct     = 1 / 25e9      // s per multiplication and addition, in long products
	perHashed      = 1.5e-9        // s per number of a training set, for its fingerprint
	perSplit       = 6e-9          // s per row, column tried and level of a tree
	perLeaf        = 12e-9         // s per row and level of a tree that predicts
	perCell        = 3e-9          // s per row and pair of columns that is counted
	treesOfForest  = 100
	perStudent     = 3.0  // s, on images; a third of this on other rows
	perOffered     = 3e-9 // s per pair of a row and a question
	perLabel       = 3e-3 // s per label that students are compared on
	bytesOfProcess = 1e8
)

// Outline returns the plan of Compare. It reads only the shape of the task, and writes nothing.
func (c Config) Outline(ctx context.Context) (Outline, error) {
	c, err := c.withDefaults()
	if err != nil {
		return Outline{}, err
	}
	o := Outline{Schema: SchemaOutline}
	add := func(what string, times int, seconds, bytes float64) {
		seconds *= float64(times) / float64(c.Workers)
		o.Steps = append(o.Steps, Step{What: what, Times: times, Seconds: seconds, Bytes: bytes})
	}
	rows, test, classes := float64(c.Task.Private.Len()), float64(c.Task.Test.Len()), float64(len(c.Task.Classes))
	data := bytesOfProcess + 4*(rows+test+float64(c.Task.Pool.Len()))*float64(c.Task.Private.X.Cols)
	points, err := c.points(ctx)
	if err == nil {
		err = c.outlineModels(add, data)
	}
	if err != nil {
		return o, err
	}
	c.outlinePool(points, add, data)
	if err := c.outlineNeighbours(ctx, points, add, data); err != nil {
		return o, err
	}
	if c.wants(ensembleMethods()...) {
		asked, labels, students := 0., "", 0
		for i, p := range points {
			asked += float64(max(p.questions(GNMax), p.questions(ConfidentGNMax)))
			if i > 0 {
				labels += ", "
			}
			labels += fmt.Sprint(p.answers)
			for _, m := range append(voteMethods(), TrueLabels) {
				if c.wants(m) {
					students++
				}
			}
		}
		columns := float64(c.votedColumns())
		features := 4 * (rows*columns + (test+float64(c.Task.Pool.Len()))*float64(c.dimensions()))
		if c.Task.Image.Rows > 0 {
			seconds := perGradient * (rows + test) * float64(c.Task.Image.Pixels())
			add("features of teachers and students, "+c.Features, 1, seconds, data+features)
		} else {
			features = 0
		}
		share := rows / float64(c.teachers())
		each := share*share*columns*perProduct + (asked+test)*share*columns*perProduct + share*share*share*perProduct
		if training.OnTrees(c.Learner) {
			depth := math.Log2(share + 2)
			each = treesOfForest * (share*math.Sqrt(columns)*depth*perSplit + (asked+test)*depth*perLeaf)
		}
		ensembles := c.Seeds
		if c.counted() { // columns are scaled by the marginals of each target
			ensembles *= len(points)
		}
		what := fmt.Sprintf("%d teachers, %s, and their votes on %.0f rows", c.teachers(), c.Learner, asked+test)
		add(what, ensembles, each*float64(c.teachers()), data+features)
		student := perStudent
		if c.Task.Image.Rows == 0 {
			student *= math.Max(1, classes/10) / 3
		}
		if students > 0 {
			add("students, on "+labels+" labels", c.Seeds*students, student, data+features)
		}
	}
	for _, s := range o.Steps {
		o.Seconds, o.Bytes = o.Seconds+s.Seconds, math.Max(o.Bytes, s.Bytes)
	}
	return o, nil
}

func (c Config) outlineNeighbours(ctx context.Context, points []point, add addStep, data float64) error {
	for _, method := range neighbourMethods() {
		if !c.wants(method) {
			continue
		}
		for _, p := range points {
			times, voters, units := c.Seeds, c.Task.Private.Len(), c.units
			if n := len(c.Task.Silos); method == oneSilo {
				times, voters, units = times*n, voters/n, units/n
			} else if method == allSilos { // votes are cast by silo, and for all rows
				voters *= 2
			}
			plan, err := p.neighbourPlan(ctx, method, units)
			if err != nil {
				return err
			}
			pairs := float64(voters) * float64(plan.Questions)
			seconds := perStudent + pairs*(float64(c.votedColumns())*perProduct+perOffered) +
				perLabel*math.Min(float64(plan.Questions), nearby.MostQuestions)
			add(fmt.Sprintf("%s at epsilon %v: %d labels and a student", method, p.epsilon, plan.Questions), times, seconds, data)
		}
	}
	return nil
}

func (c Config) outlineModels(add addStep, data float64) error {
	shape, images := c.shape(), c.Task.Image.Rows > 0
	r := recipe.Default(shape, c.named, recipe.Linear, c.Epsilons[0])
	columns, err := r.Columns(shape)
	if err != nil {
		return fmt.Errorf("experiments: %w", err)
	}
	rows, classes := float64(shape.Records), float64(len(c.Task.Classes))
	size := rows * float64(columns)
	bytes := data
	switch {
	case images && c.named == "": // packed, and those of the test rows
		bytes += 2 * (size + float64(c.Task.Test.Len()*columns))
	case images || columns > shape.Columns: // features are not the rows themselves
		bytes += 4 * size
	}
	if images && c.wants(DPSGD, NonPrivate) {
		add("features of DP-SGD, "+r.Features, c.Seeds, perScattered*rows*float64(c.Task.Image.Pixels()), bytes)
	}
	sgd := func(r recipe.Recipe) float64 {
		return size*perHashed + 4*float64(r.Train.TotalSteps())*r.Train.SamplingProbability*size*classes*perProduct
	}
	if c.wants(DPSGD) {
		for _, e := range c.Epsilons {
			add(fmt.Sprintf("DP-SGD at epsilon %v", e), c.Seeds, sgd(recipe.Default(shape, c.named, recipe.Linear, e)), bytes)
		}
	}
	if c.wants(NonPrivate) {
		if images {
			seconds := sgd(recipe.Default(shape, c.named, recipe.Linear, math.Inf(1)))
			add("the same model without privacy", c.Seeds, seconds, bytes)
		} else {
			add("logistic regression without privacy", 1, 4*linearIterations*rows*float64(shape.Columns)*classes*perProduct, data)
		}
	}
	if c.wants(BoostedTrees) {
		const rounds, levels, part = 100, 4, 0.4 // share of rows times columns
		add("boosted trees without privacy", 1, rounds*levels*part*size*math.Max(1, classes)*perSplit/4, data)
	}
	return nil
}
