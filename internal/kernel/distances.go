package kernel

// distanceSums is in how many places a squared distance is summed: one sum waits for itself most of the
// time.
const distanceSums = 4

// SquaredDistances sets dst to the squared distances of x from the rows of a matrix at the given places;
// both have one length. Element p goes to sum p mod 4, the elements after the last four to the first sum;
// then the sums are added in pairs. All paths have the same bits.
func SquaredDistances(dst, x, rows []float32, ld int, places []int32) {
	match(len(dst) == len(places))
	for _, p := range places {
		if p < 0 {
			panic("kernel: place out of range")
		}
		check(rows, ld, int(p)+1, len(x))
	}
	for from := 0; from < len(places); from += distancesAtOnce {
		var sums [distancesAtOnce][distanceSums]float32
		part := places[from:min(from+distancesAtOnce, len(places))]
		done, k := whole[float32](len(part), 4), whole[float32](len(x), distanceSums)
		if done > 0 && k > 0 {
			distances32(&sums[0][0], &x[0], &rows[0], 4*ld, &part[0], done, k)
		}
		for i, p := range part {
			s, row := &sums[i], rows[int(p)*ld:][:len(x)]
			j := len(x) &^ (distanceSums - 1)
			if i >= done {
				for k := 0; k < j; k += distanceSums {
					a, b := x[k:k+4:k+4], row[k:k+4:k+4]
					for e := range s {
						d := a[e] - b[e]
						s[e] += float32(d * d)
					}
				}
			}
			for ; j < len(x); j++ {
				d := x[j] - row[j]
				s[0] += float32(d * d)
			}
			dst[from+i] = s[0] + s[1] + (s[2] + s[3])
		}
	}
}

// distancesAtOnce is how many distances have their sums side by side.
const distancesAtOnce = 32
