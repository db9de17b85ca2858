package neighbours

// near is a place, its distance, and the class of the row at that distance.
type near struct {
	distance float32
	label    int32
	at       int
}

// before reports whether a comes first in the order of distances and, for equal distances, of places. No two
// places are the same.
func before(a, b near) bool {
	return a.distance < b.distance || a.distance == b.distance && a.at < b.at
}

// nearest keeps the first k of the places offered, in ascending order of at. It keeps up to twice as many and
// then drops all but the first k, so that dropping a place costs the same for any k.
type nearest struct {
	k    int
	kept []near
	full bool    // k places are kept that are not farther than last
	last float32 // distance
}

func (n *nearest) reset(k int) { *n = nearest{k: k, kept: n.kept[:0]} }

// beyond reports whether no place at this distance is kept. A place as far as the last of k other places
// comes after it, because places are offered in order.
func (n *nearest) beyond(distance float32) bool { return n.full && !(distance < n.last) }

// offer keeps a place if it may be among the first k so far.
func (n *nearest) offer(place near) {
	if n.beyond(place.distance) {
		return
	}
	if n.kept = append(n.kept, place); len(n.kept) == 2*n.k {
		n.cut()
	}
}

// first returns the first k of all places offered, or all places if they are fewer, in no order.
func (n *nearest) first() []near {
	n.cut()
	return n.kept
}

// cut drops all but the first k. It partitions the kept places, and then again the side with the k-th (Hoare
// 1961).
func (n *nearest) cut() {
	h := n.kept
	if len(h) < n.k {
		return
	}
	for low, high := 0, len(h)-1; low < high; {
		about := middle(h[low], h[(low+high)/2], h[high])
		i, j := low, high
		for i <= j {
			for before(h[i], about) {
				i++
			}
			for before(about, h[j]) {
				j--
			}
			if i <= j {
				h[i], h[j] = h[j], h[i]
				i, j = i+1, j-1
			}
		}
		switch { // places up to j come before places from i on
		case n.k-1 <= j:
			high = j
		case n.k-1 >= i:
			low = i
		default:
			low = high
		}
	}
	n.kept, n.full, n.last = h[:n.k], true, h[n.k-1].distance
}

// middle returns the second of three places.
func middle(a, b, c near) near {
	if before(b, a) {
		a, b = b, a
	}
	if before(c, b) {
		b = c
		if before(c, a) {
			b = a
		}
	}
	return b
}
