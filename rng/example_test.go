package rng_test

import (
	"fmt"
	"log"

	"github.com/pate-go/pate/rng"
)

func Example() {
	key := rng.SeedKey(7) // experiments only; NewKey for what is released
	noise, err := rng.NewDiscreteGaussian(40)
	if err != nil {
		log.Fatal(err)
	}
	first := noise.Sample(key.Derive("gnmax", 1).Stream())
	again := noise.Sample(key.Derive("gnmax", 1).Stream())
	fmt.Println(first == again, key.Releasable(), key)
	// Output: true false rng.Key(redacted)
}
