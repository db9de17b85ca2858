package analysis

import (
	"fmt"
	"math"
)

// GNSS is a release of a number f plus normal noise scaled by the smooth
// sensitivity S of f, shifted so that the release is seldom too low:
//
//	f + S SigmaSS (Z + Margin),   Z ~ N(0, 1)
//
// (Papernot et al. 2018, appendix B.3, where Margin is 0). S is as private as f,
// so a margin cannot be added afterwards. The release is below f with probability
// P[Z < -Margin]. It costs [GNSS.RDP] and must be charged like any other.
type GNSS struct {
	Beta    float64 // smoothness of S: neighbours differ by a factor of at most e^Beta; > 0
	SigmaSS float64 // standard deviation of the noise, in units of S; > 0
	Margin  float64 // shift, in standard deviations of the noise; >= 0
}

// Validate reports the first parameter that is out of range.
func (g GNSS) Validate() error {
	for _, p := range []struct {
		name string
		x    float64
		ok   bool
	}{{"Beta", g.Beta, g.Beta > 0}, {"SigmaSS", g.SigmaSS, g.SigmaSS > 0}, {"Margin", g.Margin, g.Margin >= 0}} {
		if !p.ok || math.IsInf(p.x, 1) {
			return fmt.Errorf("analysis: GNSS: %s %v is out of range", p.name, p.x)
		}
	}
	return nil
}

// RDP is the divergence of order a > 1 of the release, +Inf unless
// a (1 - e^{-2 Beta}) < 1:
//
//	a (1 + Margin SigmaSS (e^Beta - 1))^2 / ( 2 SigmaSS^2 (a - (a-1) e^{2 Beta}) )
//	- ( a Beta + log(1 - a (1 - e^{-2 Beta}))/2 ) / (a-1)
//
// This is the largest divergence between normal laws with standard deviations
// S SigmaSS and S' SigmaSS, S/e^Beta <= S' <= S e^Beta, and means at most
// min(S, S') + Margin SigmaSS |S - S'| apart; it is attained at S' = S/e^Beta.
// The published curve (Theorem 23: a e^{2 Beta}/SigmaSS^2 + (a Beta -
// log(1-2 a Beta)/2)/(a-1) for a < 1/(2 Beta)) lacks the growth of the first part
// as a nears its limit: at a = 17, Beta = 0.48/17, SigmaSS = 7.7 it says 0.434 where
// two such laws have a divergence of 2.09.
func (g GNSS) RDP(a float64) float64 {
	left := 1 - a*-math.Expm1(-2*g.Beta)
	if !(left > 0) {
		return math.Inf(1)
	}
	shift := 1 + g.Margin*g.SigmaSS*math.Expm1(g.Beta)
	// a - (a-1) e^{2 Beta} = left e^{2 Beta}
	mean := a * shift * shift / (2 * g.SigmaSS * g.SigmaSS * left * math.Exp(2*g.Beta))
	return mean - (a*g.Beta+math.Log(left)/2)/(a-1)
}

// printedGNSS is the curve as published, kept to reproduce published numbers. It
// is not a bound for a above about 1/(4 beta).
func printedGNSS(beta, sigmaSS, a float64) float64 {
	return a*math.Exp(2*beta)/(sigmaSS*sigmaSS) + (beta*a-math.Log1p(-2*a*beta)/2)/(a-1)
}

// discounted is the beta-smooth sensitivity of a profile of local sensitivities.
func discounted(profile []float64, beta float64) float64 {
	worst := 0.0
	for d, change := range profile {
		worst = math.Max(worst, change*math.Exp(-beta*float64(d)))
	}
	return worst
}
