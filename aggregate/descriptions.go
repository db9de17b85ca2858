package aggregate

// Descriptions lists the noisy argmax mechanisms.
func Descriptions() []Description {
	return []Description{
		gnmaxDescription(),
		confidentDescription(),
		interactiveDescription(),
		lnmaxDescription(),
		exponentialDescription(),
		permuteAndFlipDescription(),
	}
}
