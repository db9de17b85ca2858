package golearn

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/sjwhitworth/golearn/base"
	"github.com/sjwhitworth/golearn/trees"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

// BaggedID3 is a majority vote of ID3 trees. Each tree uses a bootstrap sample and 4·Features random features
// (random subspaces, Ho 1998). Each node tries a random subset of size Features. Threshold makes features
// binary, because golearn would split constant numeric features forever.
type BaggedID3 struct {
	Threshold float64 // a feature is present if it exceeds this public constant, in feature units; may be 0
	Pool      Pooling // applied before the threshold
	Trees     int     // 0 means 10
	Features  int     // features tried at a node; 0 means the square root of the number of features, rounded up
}

func (l BaggedID3) Fit(ctx context.Context, data teachers.Dataset, rnd *rand.Rand) (teachers.Classifier, error) {
	if err := checkThreshold("BaggedID3", l.Threshold); err != nil {
		return nil, err
	}
	if l.Trees < 0 || l.Features < 0 {
		return nil, fmt.Errorf("golearn: BaggedID3 of %d trees, %d features", l.Trees, l.Features)
	}
	l.Trees = cmp.Or(l.Trees, 10)
	return fit(ctx, "ID3", data, l.Pool, func(pooled teachers.Dataset) (teachers.Classifier, error) {
		model := &forest{BaggedID3: l, features: data.X.Cols, pooled: pooled.X.Cols, classes: data.Classes}
		rule := &someFeatures{ctx: ctx, count: cmp.Or(l.Features, int(math.Ceil(math.Sqrt(float64(pooled.X.Cols)))))}
		seen := min(pooled.X.Cols, 4*min(rule.count, pooled.X.Cols))
		record := make([]int, data.X.Rows)
		for range l.Trees {
			for i := range record {
				record[i] = rnd.IntN(data.X.Rows)
			}
			instances, err := binary(pooled, record, rnd.Perm(pooled.X.Cols)[:seen], l.Threshold)
			if err != nil {
				return nil, err
			}
			rule.tree = rnd.Uint64()
			root, err := model.add(trees.InferID3Tree(instances, rule))
			if err != nil {
				return nil, err
			}
			model.roots = append(model.roots, root)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		return model, nil
	})
}

// Once ctx is done, it returns no split, which ends the tree.
//
// golearn visits features, children and classes in the random order of Go maps, but the model must depend
// only on the seed. So someFeatures sorts the features and adds entropies in a fixed order. The random choice
// at a node depends on the tree's seed and on the node's features and class counts.

// someFeatures chooses the split of a tree node: the most informative of a few random features.
type someFeatures struct {
	ctx   context.Context
	tree  uint64 // seed of the current tree
	count int
}

func (s *someFeatures) GenerateSplitRule(f base.FixedDataGrid) *trees.DecisionTreeRule {
	if s.ctx.Err() != nil {
		return nil
	}
	candidates := base.AttributeDifferenceReferences(f.AllAttributes(), f.AllClassAttributes())
	slices.SortFunc(candidates, func(a, b base.Attribute) int { return strings.Compare(a.GetName(), b.GetName()) })
	if len(candidates) > 1 { // alwaysOn separates no classes
		candidates = slices.DeleteFunc(candidates, func(a base.Attribute) bool { return a.GetName() == alwaysOn })
	}
	rnd := rand.New(rand.NewPCG(s.tree, fingerprint(candidates, base.GetClassDistribution(f))))
	count := min(s.count, len(candidates))
	var best base.Attribute
	least := math.Inf(1)
	for i := range count {
		j := i + rnd.IntN(len(candidates)-i)
		candidates[i], candidates[j] = candidates[j], candidates[i]
		if left := remaining(base.GetClassDistributionAfterSplit(f, candidates[i])); left < least {
			best, least = candidates[i], left
		}
	}
	return &trees.DecisionTreeRule{SplitAttr: best}
}

func fingerprint(candidates []base.Attribute, classes map[string]int) uint64 {
	h := fnv.New64a()
	for _, a := range candidates {
		fmt.Fprintf(h, "%s ", a.GetName())
	}
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		fmt.Fprintf(h, "%s:%d ", class, classes[class])
	}
	return h.Sum64()
}

func remaining(parts map[string]map[string]int) float64 {
	var entropy float64
	for _, value := range slices.Sorted(maps.Keys(parts)) {
		total := 0
		for _, n := range parts[value] {
			total += n
		}
		for _, class := range slices.Sorted(maps.Keys(parts[value])) {
			n := float64(parts[value][class])
			entropy -= n * math.Log(n/float64(total))
		}
	}
	return entropy
}

type forest struct {
	BaggedID3
	features, pooled, classes int
	nodes                     []node
	roots                     []int
}

type node struct {
	feature         int
	absent, present int // indices of the child nodes
	class           int
}

func (f *forest) add(from *trees.DecisionTreeNode) (int, error) {
	class, err := commonest(from.ClassDist)
	if err != nil {
		return 0, err
	}
	if len(from.Children) == 0 {
		return f.leaf(class), nil
	}
	if from.SplitRule.SplitAttr.GetName() == alwaysOn {
		return f.add(from.Children["1"])
	}
	feature, err := strconv.Atoi(from.SplitRule.SplitAttr.GetName())
	if err != nil || feature < 0 || feature >= f.pooled {
		return 0, fmt.Errorf("ID3 splits on %q", from.SplitRule.SplitAttr.GetName())
	}
	at := f.leaf(class)
	var next [2]int
	for value := range next {
		if child, ok := from.Children[strconv.Itoa(value)]; !ok {
			next[value] = f.leaf(class)
		} else if next[value], err = f.add(child); err != nil {
			return 0, err
		}
	}
	f.nodes[at] = node{feature: feature, absent: next[0], present: next[1]}
	return at, nil
}

func commonest(examples map[string]int) (int, error) {
	best, most := 0, 0
	for name, n := range examples {
		class, err := strconv.Atoi(name)
		if err != nil {
			return 0, fmt.Errorf("ID3 node of class %q: %w", name, err)
		}
		if n > most || n == most && class < best {
			best, most = class, n
		}
	}
	return best, nil
}

func (f *forest) leaf(class int) int {
	f.nodes = append(f.nodes, node{feature: -1, class: class})
	return len(f.nodes) - 1
}

func (f *forest) Predict(dst []int, x teachers.Matrix) error {
	if err := teachers.ValidateQueries(dst, x, f.features); err != nil {
		return err
	}
	pooled := make([]float32, f.pooled)
	count := make([]int64, f.classes)
	for i := range dst {
		f.Pool.apply(pooled, dense.Row(x, i))
		clear(count)
		for _, at := range f.roots {
			count[f.answer(at, pooled)]++
		}
		dst[i] = dense.Argmax(count)
	}
	return nil
}

func (f *forest) answer(at int, pooled []float32) int {
	for {
		n := f.nodes[at]
		switch {
		case n.feature < 0:
			return n.class
		case float64(pooled[n.feature]) > f.Threshold:
			at = n.present
		default:
			at = n.absent
		}
	}
}
