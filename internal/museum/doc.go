// Package museum holds privacy mistakes of published papers and programs, as small mechanisms.
//
//	for _, e := range museum.Exhibits() {
//		with, without := e.Laws(false)
//	}
//
// An [Exhibit] has a source, a year, the claimed epsilon and delta, and two neighbouring inputs. Its function
// Run makes the mistake, or on request the correction. Package controls audits the exhibits, and package page
// makes an exercise of each.
//
// # Caveats
//
// A mechanism keeps only the mistake of its source, with small numbers. Noise on integers is discrete, which
// costs no more than continuous noise. A window around 0 bounds each noisy number. This is post-processing.
// The file exhibits.json also has exhibits without a mechanism here, whose mechanism is in package controls.
package museum
