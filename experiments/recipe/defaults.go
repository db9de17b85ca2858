package recipe

import (
	"math"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/experiments/private"
)

// The numbers in this file are constants and rules of public numbers, so they cost no
// privacy on data that they have not seen. How they were chosen: on the development
// split of MNIST (`pate dpsgd --split development`), which never touches a row that
// scores. For these public benchmarks epsilon does not cover that choice, as
// everywhere in the literature.

// Default is the recipe for a task at a target epsilon, +Inf without privacy. Empty
// names mean the best known ones.
func Default(s Shape, features, model string, epsilon float64) Recipe {
	if model == "" {
		model = Linear
	}
	switch {
	case features != "":
	case model == CNN:
		features = experiments.Raw
	default:
		features = defaultFeatures(s)
	}
	r := Recipe{Features: features, Statistics: private.Default(s.Records), Model: model}
	if math.IsInf(epsilon, 1) {
		columns, err := r.columns(s)
		if err != nil { // which Validate says
			columns = s.Columns
		}
		r.Train = unprotected(s, columns)
	} else {
		r.Train = protected(s, features, epsilon)
	}
	return r
}

func defaultFeatures(s Shape) string {
	const least = 16 // side of an image on which scattering and gradients see something
	switch {
	case s.Image.Rows < least || s.Image.Cols < least:
		return experiments.Raw
	case s.Name == "mnist": // slant carries no meaning in digits
		return deskewed + ScatteringHOG
	default:
		return ScatteringHOG
	}
}

// batch is the expected size of a batch: at a fixed budget large batches, all records
// if there are few, make the noise of a step smallest against its signal (De et al.
// 2022).
const batch = 8192

func samplingProbability(records int) float64 { return math.Min(1, batch/float64(records)) }

// protected: the best number of steps grows with the number of records. Rows of a few
// thousand columns have the norm of the root of their number, so gradients are long,
// and a small clip norm treats all records alike; the learning rate makes up for it,
// and the less noise there is the larger it may be.
func protected(s Shape, features string, epsilon float64) dpsgd.Config {
	c := dpsgd.Config{
		SamplingProbability: samplingProbability(s.Records),
		ClipNorm:            1,
		Steps:               int(math.Min(200, math.Max(50, 200*math.Sqrt(float64(s.Records)/60000)))),
		LearningRate:        0.5,
		Optimizer:           optim.Config{Momentum: 0.9},
	}
	if features != experiments.Raw {
		c.ClipNorm = 0.1
		c.LearningRate = math.Min(10, 5*math.Pow(epsilon/2, 0.7))
	}
	return c
}

// unprotected is for columns of standard deviation 1.
func unprotected(s Shape, columns int) dpsgd.Config {
	return dpsgd.Config{
		SamplingProbability: samplingProbability(s.Records),
		ClipNorm:            math.Inf(1),
		Steps:               200,
		LearningRate:        0.5 / math.Sqrt(float64(columns)),
		Optimizer:           optim.Config{Momentum: 0.9},
	}
}
