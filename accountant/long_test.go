package accountant

import "flag"

var long = flag.Bool("long", false, "play all of what tests take a sample of")

// Cases returns how many random cases are played: those of the flag, or all with -long.
func Cases(flagged *int, all int) int {
	if *long {
		return max(*flagged, all)
	}
	return *flagged
}

// skipped reports whether case i is left out: all but each n-th are, unless -long plays all.
func skipped(i, n int) bool { return !*long && i%n != 0 }
