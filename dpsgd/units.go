package dpsgd

// unitModel trains a model on records of several rows each: see Data.Ends. A unit of privacy is then one
// record: it is sampled as one, contributes one vector of at most the clip norm, and is added or removed as
// one. So a step is the Poisson-sampled Gaussian mechanism on units, by the proof beside grid with "record"
// read as "unit", and costs as much as a step on as many single rows. Rows sampled one by one would have the
// cost of a group: a unit of k rows would then move the sum by up to k times the clip norm. How many rows a
// unit has shapes nothing but its own contribution.
type unitModel struct{ Model }

// forRecords returns the model whose rows are the records of data, unpacked.
func forRecords(m Model, data Data) Model {
	if data.Packed != nil {
		m = unpackedModel{m}
	}
	if data.Ends != nil {
		m = unitModel{m}
	}
	return m
}

func (m unitModel) Fingerprint() []byte {
	return append([]byte("units "), m.Model.Fingerprint()...)
}

// Groups implements [Grouped].
func (m unitModel) Groups() []int  { return groupsOf(m.Model) }
func (m unitModel) Worker() Worker { return &unitWorker{meanWorker: newMeanWorker(m.Model)} }

type unitWorker struct {
	meanWorker
	rows []int // of one unit
}

func (w *unitWorker) Start() { w.inner.Start() }

func (w *unitWorker) AddClipped(sum []float32, data Data, records []int, clip Clip) Tally {
	return w.addMeans(sum, records, clip, func(u int) (Data, []int) {
		from := 0
		if u > 0 {
			from = data.Ends[u-1]
		}
		w.rows = w.rows[:0]
		for r := from; r < data.Ends[u]; r++ {
			w.rows = append(w.rows, r)
		}
		return data, w.rows
	})
}
