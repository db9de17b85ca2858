package accountant

// Laplace is one release of a function plus continuous Laplace noise.
type Laplace struct {
	NoiseMultiplier float64 `json:"noise_multiplier"` // noise scale / L1 sensitivity, > 0
}

// DiscreteGaussian is one release of an integer-valued function plus discrete
// Gaussian noise (Canonne, Kamath, Steinke 2020) on every coordinate.
type DiscreteGaussian struct {
	Sigma       float64 `json:"sigma"`       // parameter of the noise law, > 0
	Sensitivity float64 `json:"sensitivity"` // L2 sensitivity of the function, > 0
}

// DiscreteLaplace is one release of an integer-valued function plus discrete
// Laplace noise, mass proportional to exp(-|k|/Scale), on every coordinate.
type DiscreteLaplace struct {
	Scale       float64 `json:"scale"`       // > 0
	Sensitivity int64   `json:"sensitivity"` // L1 sensitivity of the function, >= 1
}

// ExponentialMechanism is one selection by the exponential mechanism (Gumbel
// noise). Its log-ratios lie in an interval of length Epsilon (bounded range),
// which permute-and-flip does not satisfy: charge that as PureDP.
type ExponentialMechanism struct {
	Epsilon float64 `json:"epsilon"` // pure epsilon of one selection, >= 0
}

// PureDP is any mechanism that is Epsilon-differentially private.
type PureDP struct {
	Epsilon float64 `json:"epsilon"` // >= 0
}

// RandomizedResponse is one randomised response whose largest log-ratio is
// Epsilon. Its cost is that of the binary one, the worst of that Epsilon.
type RandomizedResponse struct {
	Epsilon float64 `json:"epsilon"` // >= 0
}

// KaryResponse is one randomised response among Categories answers: the true
// one with a chance e^Epsilon times that of each other. It is a local mechanism
// whose input is replaced, so it is accounted under replace_one.
type KaryResponse struct {
	Epsilon    float64 `json:"epsilon"`    // largest log-ratio, >= 0
	Categories int64   `json:"categories"` // >= 2
}

// ZCDP is any mechanism that satisfies Rho-zero-concentrated differential
// privacy (Bun, Steinke 2016).
type ZCDP struct {
	Rho float64 `json:"rho"` // >= 0
}

func (KaryResponse) event() {}
