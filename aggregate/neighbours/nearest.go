package neighbours

type near struct {
	distance float32
	label    int32
	at       int
}

func before(a, b near) bool {
	return a.distance < b.distance || a.distance == b.distance && a.at < b.at
}

// nearest keeps the k nearest candidates. The caller must offer candidates in ascending order of index.
type nearest struct {
	k    int
	kept []near
	full bool    // at least k kept places are not farther than last
	last float32 // distance
}

func (n *nearest) reset(k int) { *n = nearest{k: k, kept: n.kept[:0]} }

func (n *nearest) beyond(distance float32) bool { return n.full && !(distance < n.last) }

func (n *nearest) offer(place near) {
	if n.beyond(place.distance) {
		return
	}
	if n.kept = append(n.kept, place); len(n.kept) == 2*n.k {
		n.cut()
	}
}

func (n *nearest) first() []near {
	n.cut()
	return n.kept
}

// cut keeps the k nearest candidates, by quickselect (Hoare 1961).
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
		switch { // places up to index j come before places from index i on
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
