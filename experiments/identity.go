package experiments

import "github.com/pate-go/pate/run"

// Identity is everything a run is a function of, apart from its key: runs with equal identities repeat each
// other and may share a folder.
type Identity struct {
	Schema   string    `json:"schema,omitempty"`
	Data     string    `json:"data"`
	Split    string    `json:"split"`
	Epsilon  float64   `json:"epsilon"`
	Delta    float64   `json:"delta"`
	Epsilons []float64 `json:"epsilons,omitempty"` // if there are several
	Seeds    int       `json:"seeds"`
	Seed     string    `json:"seed,omitempty"` // of a seeded run
	Learner  string    `json:"learner"`
	// Features, Teachers and Methods as asked for; empty means the default.
	Features string   `json:"features,omitempty"`
	Teachers int      `json:"teachers,omitempty"`
	Methods  []string `json:"methods,omitempty"`
	// Pool is the source of the questions, and Ranges their ranges, where there are no public rows.
	Pool    string `json:"pool,omitempty"`
	Ranges  string `json:"ranges,omitempty"`
	Quick   bool   `json:"quick,omitempty"`
	Typical string `json:"bayes,omitempty"`   // figures of a typical record
	Command string `json:"command,omitempty"` // repeats the run
}

// Run returns the identity of a folder, whose kind is the schema.
func (id Identity) Run() run.Identity {
	is := run.Identity{Kind: id.Schema, Command: id.Command}
	id.Schema, id.Command = "", ""
	is.Settings = id
	return is
}
