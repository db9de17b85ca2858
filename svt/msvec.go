package svt

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
)

// MSvecConfig holds the parameters of an [MSvec]. No parameter has a default. [CalibrateMSvec] computes
// parameters. [PrintedMSvec] returns the parameters of the literature, for comparison.
type MSvecConfig struct {
	Lambda    float64 // scale of the threshold noise, in records; query noise has scale 2 Lambda; [2^-8, 2^39]
	Threshold int64   // for the distance, in records; [0, 2^50]
	Failures  int     // refusals after which the run stops; [1, 2^30]
}

// Proof. A stretch is the part of a run up to and including a refusal. Each stretch is one AboveThreshold on
// the distances, of cost 1/Lambda + 2/(2 Lambda) = 2/Lambda. Call a query unstable if its answers on the two
// neighbours differ: its distance is then 0. As in [StableSVT], let G be the transcripts that release no
// unstable query. On G the run is the composition of Q stretches. Outside G some unstable query was released,
// and each earlier unstable query was refused, which ended its stretch. So each stretch has at most one
// unstable query, at a position that earlier stretches determine. This query is released with probability at
// most
//
//	p = P[noise of scale 2 Lambda + noise of scale Lambda > Threshold].
//
// So Q p is charged, for any number of queries. The least delta at this epsilon is 1-(1-p)^Q. The literature
// charges m p for m queries, by a union bound over queries. But late in a stretch rho is probably low, so the
// probability of a release exceeds p. So the union bound must be over stretches. This step is new, and was
// checked like [StableSVT] (see docs/claims.md).
//
// Lecture notes have more errors. Lambda is multiplied by epsilon instead of divided, so a run at a nominal
// epsilon of 1/4 costs 3.0. The formula contains log(1/delta), although another part of the charge uses half
// of delta. The loop runs Q + 1 stretches. The query noise has scale Lambda, unlike AboveThreshold. M_stab
// computes the threshold again. Only the last answer is returned.

// MSvec releases stable answers at no cost and is charged for each refusal. After a refusal it draws new
// threshold noise (Bassily, Thakkar, Thakurta 2018). MSvec is for comparison only: at the same cost,
// [StableSVT] needs a several times smaller distance. Query i has the answer f_i and the distance d_i.
//
//	rho = noise of scale Lambda
//	for each query:  release f_i  iff  d_i + nu_i > Threshold + rho, nu_i = noise of scale 2 Lambda
//	                 otherwise refuse, and draw rho again;  stop at refusal Q = Failures
type MSvec struct {
	drawn
	cfg MSvecConfig
}

func NewMSvec(cfg MSvecConfig) (*MSvec, error) {
	if err := checkStable(cfg.Threshold, cfg.Failures); err != nil {
		return nil, err
	}
	if !(cfg.Lambda >= 0x1p-8 && cfg.Lambda <= 0x1p39) {
		return nil, fmt.Errorf("svt: Lambda must be in [2^-8, 2^39] records, not %g", cfg.Lambda)
	}
	d, err := newDrawn(Law{
		Threshold:      -float64(cfg.Threshold),
		ThresholdNoise: Noise{DiscreteLaplace, cfg.Lambda},
		QueryNoise:     Noise{DiscreteLaplace, 2 * cfg.Lambda},
		Stop:           cfg.Failures,
		Refresh:        true,
	})
	if err != nil {
		return nil, fmt.Errorf("svt: Lambda: %w", err)
	}
	return &MSvec{d, cfg}, nil
}

// PrintedMSvec returns the calibration of the literature, for comparison. With m = queries and Q = failures,
// Lambda = sqrt(32 Q log(2/delta))/epsilon and Threshold = 2 Lambda log(2 m/delta). (Some lecture notes
// multiply by epsilon instead.) If Q < 8 log(2/delta), plain composition needs a smaller Lambda: 2 Q/epsilon.
func PrintedMSvec(epsilon, delta float64, queries, failures int) (MSvecConfig, error) {
	if err := checkMSvec(epsilon, delta, failures); err != nil {
		return MSvecConfig{}, err
	}
	if queries < 1 {
		return MSvecConfig{}, fmt.Errorf("svt: a printed calibration needs a number of queries, not %d", queries)
	}
	lambda := math.Sqrt(32*float64(failures)*math.Log(2/delta)) / epsilon
	return MSvecConfig{Lambda: lambda, Threshold: int64(math.Ceil(2 * lambda * math.Log(2*float64(queries)/delta))), Failures: failures}, nil
}

// CalibrateMSvec returns the least Lambda for epsilon and delta/2 by Rényi divergence, then the least
// Threshold. With this Threshold, the other half of delta covers releases of unstable answers.
func CalibrateMSvec(ctx context.Context, epsilon, delta float64, failures int) (MSvecConfig, error) {
	if err := checkMSvec(epsilon, delta, failures); err != nil {
		return MSvecConfig{}, err
	}
	account := accountant.RDPConfig{Relation: accountant.ReplaceOne}
	lambda, _, err := accountant.CalibrateNoise(ctx, account.NewAccount, accountant.Target{Epsilon: epsilon, Delta: delta / 2},
		func(lambda float64) (accountant.Event, error) { return stretches(lambda, failures), nil })
	if err != nil {
		return MSvecConfig{}, fmt.Errorf("svt: calibrating Lambda: %w", err)
	}
	within := func(t int64) bool { return float64(failures)*falseRelease(lambda, t) <= delta/2 }
	return MSvecConfig{Lambda: lambda, Threshold: mathx.Least(within), Failures: failures}, nil
}

func checkMSvec(epsilon, delta float64, failures int) error {
	if !(epsilon >= 0x1p-10 && epsilon <= 0x1p9 && delta >= 1e-15 && delta <= 0.25) {
		return fmt.Errorf("svt: no calibration at epsilon %g and delta %g", epsilon, delta)
	}
	return checkStop("failures", failures)
}

func stretches(lambda float64, failures int) accountant.Event {
	return accountant.Repeated{Event: accountant.PureDP{Epsilon: 2 / lambda * (1 + 0x1p-50)}, Count: int64(failures)}
}

func falseRelease(lambda float64, threshold int64) float64 {
	return mathx.Up(math.Exp(sumTail(lambda, 2*lambda, threshold+1)) * (1 + 1e-9))
}

func (m *MSvec) Event() accountant.Event {
	return accountant.WithFailure{
		Event: stretches(m.cfg.Lambda, m.cfg.Failures),
		Delta: min(float64(m.cfg.Failures)*falseRelease(m.cfg.Lambda, m.cfg.Threshold), 1-0x1p-53),
	}
}

func (m *MSvec) LawAt(distance int64) (released, refused float64) {
	need := m.cfg.Threshold - min(max(distance, -1<<50), 1<<51) + 1
	return sumTail(m.cfg.Lambda, 2*m.cfg.Lambda, need), sumTail(m.cfg.Lambda, 2*m.cfg.Lambda, 1-need)
}

// sumTail returns log P[X + Y >= m] for independent discrete Laplace noises X and Y. The scales b1 and b2
// must differ.
func sumTail(b1, b2 float64, m int64) float64 {
	// Let r_i = e^(-1/b_i), u_i = r_i + 1/r_i = 2 cosh(1/b_i) and c_i = tanh(1/(2 b_i)). Partial fractions of
	// the generating function give
	//
	//	P[X + Y = k] = c_1 c_2 (2 sinh(1/b_1) r_2^|k| - 2 sinh(1/b_2) r_1^|k|)/(u_1 - u_2)
	if m <= 0 {
		return math.Log1p(-math.Exp(sumTail(b1, b2, 1-m)))
	}
	if b1 > b2 {
		b1, b2 = b2, b1
	}
	t1, t2 := 1/b1, 1/b2
	// The sum of r^k for k >= m is r^m/(1-r). The tail of the wider distribution is factored out.
	wide := math.Sinh(t1) / -math.Expm1(-t2)
	narrow := math.Sinh(t2) / -math.Expm1(-t1) * math.Exp(-float64(m)*(t1-t2))
	u := 2 * math.Sinh((t1+t2)/2) * math.Sinh((t1-t2)/2) // (u_1 - u_2)/2
	return -float64(m)*t2 + math.Log(math.Tanh(t1/2)) + math.Log(math.Tanh(t2/2)) + math.Log((wide-narrow)/u)
}

func (m *MSvec) identity() (string, []uint64) {
	return "m_svec", []uint64{math.Float64bits(m.cfg.Lambda), uint64(m.cfg.Threshold), uint64(m.cfg.Failures)}
}
