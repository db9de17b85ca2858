package dpsgd

import "github.com/pate-go/pate/accountant"

// allocation draws the steps of a record afresh in each epoch.
type allocation struct{ epochs }

func (a allocation) event(_ Phase, steps int, noise accountant.Gaussian) accountant.Event {
	return accountant.Repeated{Event: accountant.RandomAllocation{K: int64(a.per), Steps: int64(a.steps), Event: noise}, Count: a.count(steps)}
}

func (a allocation) sampler(_ float64, start, parts, blocks int) sampler {
	return &epochSampler{epochs: a.epochs, start: start, blocks: blocks, parts: make([]epochPart, parts)}
}
