package main

import (
	"math"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/experiments/recipe"
)

// trainingFlags are those of `pate dpsgd` that change a recipe.
type trainingFlags struct {
	steps        int
	batch        float64
	clip         float64
	learningRate float64
	finalRate    float64
	momentum     float64
}

func (f *trainingFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.steps, "steps", 0, "number of updates")
	flags.Float64Var(&f.batch, "batch", 0, "expected number of records in a batch")
	flags.Float64Var(&f.clip, "clip", 0, "norm to which every record's gradient is clipped")
	flags.Float64Var(&f.learningRate, "learning-rate", 0, "factor of an update")
	flags.Float64Var(&f.finalRate, "final-learning-rate", 0, "of the last step; rates go there in a straight line")
	flags.Float64Var(&f.momentum, "momentum", 0, "of earlier updates in an update, from 0 to below 1")
}

func (f *trainingFlags) names() []string {
	return []string{"steps", "batch", "clip", "learning-rate", "final-learning-rate", "momentum"}
}

// set changes what was given.
func (f *trainingFlags) set(cmd *cobra.Command, s recipe.Shape, r *recipe.Recipe) {
	given := cmd.Flags().Changed
	if given("steps") {
		r.Train.Steps = f.steps
	}
	if given("batch") {
		r.Train.SamplingProbability = math.Min(1, f.batch/float64(s.Records))
	}
	if given("clip") {
		r.Train.ClipNorm = f.clip
	}
	if given("learning-rate") {
		r.Train.LearningRate = f.learningRate
	}
	if given("final-learning-rate") {
		r.Train.Schedule = dpsgd.Schedule{Shape: dpsgd.Linear, Final: f.finalRate / r.Train.LearningRate}
	}
	if given("momentum") {
		r.Train.Optimizer.Momentum = f.momentum
	}
}
