// Package museum reproduces privacy mistakes of published papers and programs, as small mechanisms.
//
//	e := museum.Exhibits()[0]
//	p, q := e.Laws(false) // log probabilities of the outputs on two neighbouring inputs
//
// An [Exhibit] has a source, a year, a claim and two neighbouring inputs. Most mechanisms can run with or
// without the mistake. The mechanisms of the other exhibits are in package controls. Package controls audits
// all exhibits. Package page turns all exhibits into exercises.
//
// # Caveats
//
// A mechanism copies only the mistake of its source, on small inputs. Mechanisms on integers add discrete
// noise. The privacy cost is about the same as with continuous noise. Noisy integers are clamped to a range
// around 0. This post-processing costs no privacy.
package museum
