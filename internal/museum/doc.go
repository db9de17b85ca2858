// Package museum holds privacy mistakes of published papers and programs, as small mechanisms.
//
//	for _, e := range museum.Exhibits() {
//		with, without := e.Laws(false) // with the mistake; true corrects it
//	}
//
// An [Exhibit] has a source, a year, a claim and two neighbouring inputs. Its mechanism can run with or
// without the mistake. The exhibits are audited by package controls, and are exercises in package page.
//
// # Caveats
//
// A mechanism copies only the mistake of its source, on small inputs. Noise on integers is discrete. Discrete
// noise costs about as much privacy as continuous noise. Noisy integers are clamped to a range around 0
// (post-processing).
package museum
