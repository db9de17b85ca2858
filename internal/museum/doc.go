// Package museum holds privacy mistakes of published papers and programs, as small mechanisms.
//
//	for _, e := range museum.Exhibits() {
//		with, without := e.Laws(false) // with the mistake; true corrects it
//	}
//
// An [Exhibit] has a source, a year, a claim and two neighbouring inputs. Its mechanism makes the mistake, or
// on request the correction. Package controls audits the exhibits, and package page makes exercises of them.
//
// # Caveats
//
// A mechanism keeps only the mistake of its source, with small numbers. Noise on integers is discrete, which
// costs about as much as continuous noise, and a window around 0 bounds noisy numbers (post-processing).
package museum
