package recipe

import (
	"cmp"
	"math"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/charged"
)

// The numbers in this file are constants and rules of public numbers, so they cost no privacy on data that
// they have not seen. They were chosen on the development splits of MNIST and Fashion-MNIST (`pate dpsgd
// --split development`), which never touch a row that scores; docs/comparing.md lists the trials. For these
// public benchmarks epsilon does not cover that choice, as everywhere in the literature.

// Default returns the recipe for a task at a target epsilon, +Inf without privacy. Empty
// names mean the best known ones.
func Default(s Shape, featureSet, model string, epsilon float64) Recipe {
	model = cmp.Or(model, Linear)
	switch {
	case featureSet != "":
	case model == CNN:
		featureSet = features.NamePixels
	default:
		featureSet = defaultFeatures(s)
	}
	r := Recipe{Features: featureSet, Statistics: statistics(s), Model: model}
	columns, err := r.Columns(s)
	if err != nil { // Validate refuses the recipe
		columns = s.Columns
	}
	if math.IsInf(epsilon, 1) {
		r.Train = r.unprotected(s, columns)
	} else {
		r.Train = r.protected(s, columns, epsilon)
	}
	return r
}

func defaultFeatures(s Shape) string {
	const least = 16 // side of an image on which scattering and gradients see something
	switch {
	case s.Image.Rows < least || s.Image.Cols < least:
		return features.NamePixels
	case s.Image.Planes() > 1:
		return features.NameHOG
	case s.Kind == dataset.Handwriting: // its slant carries no meaning
		return deskewed + ScatteringHOG
	default:
		return ScatteringHOG
	}
}

// statistics: with 50,000 records means stand this noise, and half the noise serves no better; at epsilon 0.5
// they are a tenth of the budget. Handwriting is classified by cells of 5x5 pixels, pictures by finer ones.
func statistics(s Shape) charged.Config {
	c := charged.Default(s.Records)
	c.SecondNoise, c.MeanNoise, c.HOGMeanNoise = 30, 60, 60
	c.Gradients = features.StandardHOG()
	c.Gradients.Cell = 3
	if s.Kind == dataset.Handwriting {
		c.Gradients.Cell = 5
	}
	return c
}

// batch is the expected size of a batch: at a fixed budget large batches, all records if there are few, make
// the noise of a step smallest against its signal (De et al. 2022).
const batch = 8192

func samplingProbability(batch float64, records int) float64 {
	return math.Min(1, batch/float64(records))
}

// protected returns the private training of rows whose norm is the root of their length, or
// of pixels. Pixels take more steps the more records there are.
//
// Gradients of long rows are long, and at a clip norm this small every record contributes a unit vector,
// however well it is classified. The weights then grow as they do in a perceptron: early steps fade by
// themselves, and neither momentum nor a falling rate helps. What counts is how far a step goes in logits,
// the learning rate times the clip norm times the norm of a row, which may grow as the noise falls, with
// epsilon and the number of records. Where classes overlap it grows more slowly, and takes more steps.
func (r Recipe) protected(s Shape, columns int, epsilon float64) dpsgd.Config {
	c := dpsgd.Config{
		SamplingProbability: samplingProbability(batch, s.Records),
		ClipNorm:            1,
		Steps:               int(math.Min(200, math.Max(50, 200*math.Sqrt(float64(s.Records)/60000)))),
		LearningRate:        0.5,
		Optimizer:           optim.Config{Momentum: 0.9},
	}
	if r.Features == features.NamePixels {
		return c
	}
	c.ClipNorm, c.LearningRate = 0.1, math.Min(10, 5*math.Pow(epsilon/2, 0.7))
	if r.Model == Linear {
		budget := math.Min(8, epsilon*float64(s.Records)/50000)
		step := 220 * math.Pow(budget, 0.75)
		c.Steps, c.Optimizer.Momentum = 200, 0
		if s.Kind == dataset.Handwriting { // whose classes hardly overlap
			step = 220 * budget
			c.Steps = 100
		}
		c.LearningRate = step / (c.ClipNorm * math.Sqrt(float64(columns)))
	}
	return c
}

// unprotected returns the training without privacy for columns of standard deviation 1. For
// images, whose rows are long, batches are an eighth as large: where no noise is added, twice
// the steps of half the length learn as much for a quarter of the work.
func (r Recipe) unprotected(s Shape, columns int) dpsgd.Config {
	c := dpsgd.Config{
		SamplingProbability: samplingProbability(batch, s.Records),
		ClipNorm:            math.Inf(1),
		Steps:               200,
		LearningRate:        0.5 / math.Sqrt(float64(columns)),
		Optimizer:           optim.Config{Momentum: 0.9},
	}
	if r.Model == Linear && s.Image.Rows > 0 {
		c.SamplingProbability, c.Steps, c.LearningRate = samplingProbability(batch/8, s.Records), 2*c.Steps, c.LearningRate/2
	}
	return c
}
