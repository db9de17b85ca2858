package accountant

// GNMax is one noisy argmax of vote counts with Gaussian noise of standard
// deviation Sigma on every count (Papernot et al. 2018, Proposition 8). Its
// Rényi curve is that of either noise (Canonne, Kamath, Steinke 2020); its loss
// distribution is not, so Discrete says which was drawn.
type GNMax struct {
	Sigma    float64 `json:"sigma"`              // per vote count, > 0
	Discrete bool    `json:"discrete,omitempty"` // discrete Gaussian noise on integer counts
}

// Threshold is one noisy comparison of the largest vote count with a public
// threshold, Gaussian noise of standard deviation Sigma (Papernot et al. 2018,
// Algorithm 1, step 1). The largest count has sensitivity 1.
type Threshold struct {
	Sigma    float64 `json:"sigma"`              // per vote count, > 0
	Discrete bool    `json:"discrete,omitempty"` // discrete Gaussian noise; count and threshold are integers
}

// LNMax is one noisy argmax of vote counts with Laplace noise of the given
// scale on every count (Papernot et al. 2017). A moved vote changes two
// counts, so it is 2/Scale-differentially private.
type LNMax struct {
	Scale    float64 `json:"scale"`              // per vote count, > 0
	Discrete bool    `json:"discrete,omitempty"` // discrete Laplace noise on integer counts
}

// MStab is one propose-test-release of a stable answer: release it if and only
// if its distance to instability plus Laplace noise of scale 1/Epsilon exceeds
// Threshold (Dwork, Lei 2009; Smith, Thakurta 2013). The noise is continuous;
// with discrete Laplace noise and an integer threshold charge
// WithFailure{PureDP{Epsilon}, exp(-Epsilon*Threshold)/2} instead.
type MStab struct {
	Epsilon   float64 `json:"epsilon"`   // of the distance, which has sensitivity 1, > 0
	Threshold float64 `json:"threshold"` // >= 0
}

// AboveThreshold is one run of the sparse vector technique with continuous
// Laplace noise: one noisy threshold of scale 1/Epsilon1, fresh query noise of
// scale 2 Answers/Epsilon2, halt at the last of Answers positive answers
// (Dwork, Roth 2014; Lyu, Su, Li 2017, Algorithm 7). Charge integer noise as
// PureDP{Epsilon1 + Epsilon2}.
type AboveThreshold struct {
	Epsilon1 float64 `json:"epsilon1"` // of the threshold, > 0
	Epsilon2 float64 `json:"epsilon2"` // of all answers together, > 0
	Answers  int64   `json:"answers"`  // >= 1
}

// StableSVT is one run of the stable sparse vector with one-sided integer
// noise: a threshold noise of mass proportional to exp(-k/B1), fresh query
// noise of mass proportional to exp(-k/B2), k >= 0; stable answers are released
// free of further charge until Failures queries have failed.
type StableSVT struct {
	B1        float64 `json:"b1"`        // > 0
	B2        float64 `json:"b2"`        // > 0
	Threshold int64   `json:"threshold"` // >= 0
	Failures  int64   `json:"failures"`  // >= 1
}
