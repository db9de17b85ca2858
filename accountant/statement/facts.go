package statement

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pate-go/pate/fault"
)

// Facts holds facts that no ledger records. All facts depend only on public and released data.
type Facts struct {
	// Audit holds results of `pate audit`. [New] keeps only results about mechanisms that the ledger charges.
	// A result without a Target is about a program. New keeps this result if Epsilon and Delta equal the
	// budget of the ledger.
	Audit []struct {
		Target  string  `json:"target,omitempty"`
		Method  string  `json:"method,omitempty"`
		Epsilon float64 `json:"epsilon"` // the claim
		Delta   float64 `json:"delta"`
		Lower   float64 `json:"epsilon_lower"`
		Refuted bool    `json:"refuted,omitempty"`
	} `json:"audit,omitempty"`
	Utility []Share `json:"utility,omitempty"`
	// Derived lists files. Each was computed from public rows and a released file.
	Derived []Derived `json:"derived,omitempty"`
	// Destroyed names the secrets that had been removed when the statement was written.
	Destroyed string `json:"destroyed,omitempty"`
}

// Derived is a file that a ledger did not release.
type Derived struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	From   string `json:"from"` // SHA-256 of a released file that was an input
}

func (opt Options) paid() (files []File, err error) {
	for _, d := range opt.Derived {
		from, err := hex.DecodeString(d.From)
		if err != nil || len(from) != sha256.Size {
			return nil, errNotReleased
		}
		files = append(files, File{SHA256: [sha256.Size]byte(from)})
	}
	return append(files, opt.Files...), nil
}

// Share counts the right predictions of a released model on a group of public rows with known classes.
type Share struct {
	Of    string `json:"of"` // such as "all rows" or "class yes"
	Rows  int    `json:"rows"`
	Right int    `json:"right"`
}

var audits = map[string]string{"confident": "threshold", "interactive": "threshold", "permute-and-flip": "pure",
	"dpsgd": "poisson_sampled", "sparse-vector": "pure", "propose-test-release": "with_failure", "silos": "discrete_gaussian",
	"silos-shared": "group"}

func (s *Statement) charges(kind string) bool {
	text, err := json.Marshal(s.Schedule)
	return err == nil && strings.Contains(string(text), `"type":"`+kind+`"`)
}

func (s *Statement) keepAudits() error {
	all := s.Audit
	s.Audit = nil
	for _, a := range all {
		kind, known := audits[a.Target]
		if !known {
			kind = strings.ReplaceAll(a.Target, "-", "_")
		}
		program := a.Target == "" && a.Epsilon == float64(*s.Budget.Epsilon) && a.Delta == s.Budget.Delta
		if !program && (a.Target == "" || !s.charges(kind)) {
			continue
		}
		if a.Refuted {
			return &fault.Error{What: "the audit refutes a claim about " + targetOf(a.Target), Why: "the ledger charges this claim",
				Fix: "release nothing, and report the audit (SECURITY.md)", Check: true}
		}
		s.Audit = append(s.Audit, a)
	}
	if len(all) > 0 && len(s.Audit) == 0 {
		return &fault.Error{What: "the audit has no result about a mechanism of the ledger", Why: "a statement has evidence about its own mechanisms",
			Fix: "audit a mechanism of the ledger (pate audit --suite NAME --format json), or a program with the budget of the ledger as its claim"}
	}
	return nil
}

func targetOf(target string) string { return cmp.Or(target, "a program") }

func (s *Statement) audited() (lines []string) {
	for _, a := range s.Audit {
		lines = append(lines, fmt.Sprintf("%s, by %s: ε is at least %s, and the claim is %s, at δ = %s", Plain(targetOf(a.Target)),
			Plain(cmp.Or(a.Method, "runs of its command")),
			digits(a.Lower), most(a.Epsilon), exact(a.Delta)))
	}
	return lines
}

func (s *Statement) useful() (lines []string) {
	for _, u := range s.Utility {
		lines = append(lines, fmt.Sprintf("%s: %s %% of %d", Plain(u.Of), digits(float64(1000*u.Right/max(u.Rows, 1))/10), u.Rows))
	}
	return lines
}
