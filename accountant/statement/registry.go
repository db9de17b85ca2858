package statement

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/buildinfo"
)

const notStated = "not stated"

// figure is a number whose YAML form has a decimal point, because parsers of YAML 1.1 read 1e-05 as text.
type figure float64

func (f figure) MarshalYAML() (any, error) {
	text := strconv.FormatFloat(float64(f), 'g', -1, 64)
	if number, exponent, found := strings.Cut(text, "e"); found && !strings.Contains(number, ".") {
		text = number + ".0e" + exponent
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: text}, nil
}

type entry struct {
	Slug       string     `yaml:"url_slug"`
	Status     string     `yaml:"status"`
	Tier       int        `yaml:"tier"`
	Deployment deployment `yaml:"deployment"`
}

type deployment struct {
	Basic struct {
		Name        string   `yaml:"name"`
		Curators    []string `yaml:"data_curators"`
		Use         string   `yaml:"intended_use"`
		Kind        string   `yaml:"data_product_type"`
		Region      string   `yaml:"data_product_region"`
		Description string   `yaml:"description"`
		Date        string   `yaml:"publication_date"`
	} `yaml:"basic"`
	Variant struct {
		Name        string `yaml:"variant_name"`
		Domain      string `yaml:"data_domain"`
		Unprotected string `yaml:"unprotected_quantities"`
	} `yaml:"dp_variant"`
	Loss struct {
		Unit       string `yaml:"privacy_unit"`
		Details    string `yaml:"privacy_unit_details"`
		Parameters struct {
			Epsilon figure `yaml:"epsilon"`
			Delta   figure `yaml:"delta"`
		} `yaml:"privacy_parameters"`
		More string `yaml:"privacy_parameters_details"`
	} `yaml:"privacy_loss"`
	Model struct {
		Name     string `yaml:"model_name"`
		Details  string `yaml:"model_name_details"`
		Actors   string `yaml:"actors,omitempty"`
		Releases string `yaml:"release_type"`
		Plans    string `yaml:"release_type_details,omitempty"`
		Source   string `yaml:"data_source_type"`
		Access   string `yaml:"access_type"`
	} `yaml:"deployment_model"`
	Accounting struct {
		After       string `yaml:"post_processing"`
		Composition string `yaml:"composition"`
	} `yaml:"accounting"`
	Implementation struct {
		Before     string `yaml:"preprocessing_and_hyperparameter_tuning,omitempty"`
		Mechanisms string `yaml:"mechanisms"`
		Why        string `yaml:"justification,omitempty"`
	} `yaml:"implementation"`
	Administrative struct {
		Sources string   `yaml:"sources,omitempty"`
		Notes   string   `yaml:"notes"`
		Authors []string `yaml:"registry_authors"`
	} `yaml:"administrative"`
}

// MissingForTier3 returns the empty fields of s.About that a registry entry of tier 3 needs. If a field is
// missing, [Statement.WriteRegistry] writes an entry of tier 2.
func (s *Statement) MissingForTier3() []string {
	var about About
	if s.About != nil {
		about = *s.About
	}
	var missing []string
	for _, f := range about.fields() {
		switch f.name {
		case "purpose", "region", "actors", "plans", "tuning", "justification":
			if *f.value == "" {
				missing = append(missing, f.name)
			}
		}
	}
	return missing
}

// WriteRegistry writes the statement as an entry of the Differential Privacy Deployments Registry (OpenDP) in
// YAML, with the status Draft. Errors: a [*fault.Error] if the ledger is not releasable, has no committed
// outcome, or has no finite epsilon.
func (s *Statement) WriteRegistry(w io.Writer) error {
	s = s.printed()
	verdict, alarm := s.verdict()
	switch {
	case s.Release == nil || !*s.Release || math.IsInf(s.epsilon(), 1):
		return &fault.Error{What: "there is no entry for the registry: " + verdict, Why: "the registry has real deployments only",
			Fix: "write the statement as .md or .html", Check: true}
	case s.Committed == 0:
		return &fault.Error{What: "there is no entry for the registry: the ledger has no committed outcome",
			Why: "an entry describes a data product", Fix: "release labels or a model first", Check: true}
	}
	var about About
	if s.About != nil {
		about = *s.About
	}
	for _, f := range about.fields() { // the registry refuses double backslashes
		for strings.Contains(*f.value, `\\`) {
			*f.value = strings.ReplaceAll(*f.value, `\\`, `\`)
		}
	}
	var e entry
	d := &e.Deployment
	e.Slug, e.Status, e.Tier = slug(cmp.Or(about.DataSet, s.Ledger)), "Draft", 3
	if len(s.MissingForTier3()) > 0 {
		e.Tier = 2
	}
	d.Basic.Kind = "Dataset" // labels
	if s.trained() {
		d.Basic.Kind = "Machine learning model"
	}
	curator := cmp.Or(about.Controller, notStated)
	d.Basic.Name, d.Basic.Curators = cmp.Or(about.DataSet, s.Ledger), []string{curator}
	d.Basic.Use, d.Basic.Region = cmp.Or(about.Purpose, notStated), cmp.Or(about.Region, notStated)
	d.Basic.Description = fmt.Sprintf("Labels or models learnt from private data under differential privacy. Released outcomes: %d.", s.Committed)
	written := s.record()
	if about.Date == "" {
		written.Date = cmp.Or(s.day, time.Now().UTC().Format(time.DateOnly))
	}
	d.Basic.Date = cmp.Or(about.Date, written.Date)

	d.Variant.Name = "Approximate DP"
	if s.Budget.Delta == 0 {
		d.Variant.Name = "Pure DP"
	}
	d.Variant.Domain = fmt.Sprintf("All data sets of %ss. No assumption about their distribution is made.", s.Unit)
	d.Variant.Unprotected = paragraphs(append([]string{"Not covered by the privacy loss, unless it is independent of the private data:"},
		bullets(s.NotShown)...)...)
	d.Loss.Unit, d.Loss.Details = s.Unit, s.neighbours()
	epsilon, _ := strconv.ParseFloat(up(s.epsilon()), 64)
	d.Loss.Parameters.Epsilon, d.Loss.Parameters.Delta = figure(epsilon), figure(s.Budget.Delta)
	d.Loss.More = s.parameters()

	d.Model.Name = "Central"
	d.Model.Details = "The curator holds the private data and everything that is computed from them before noise. " +
		"The noise comes from a secret key that the operating system drew."
	d.Model.Actors, d.Model.Plans = about.Actors, about.Plans
	d.Model.Releases = "One release"
	if about.Releases == "many" || about.Releases == "" && !s.Complete {
		d.Model.Releases = "Many releases"
	}
	d.Model.Source = capital(cmp.Or(about.Source, "static"))
	d.Model.Access = capital(cmp.Or(about.Access, "non-interactive"))
	d.Accounting.After = "Whatever is computed from the released files alone, such as a student model trained on labels, costs nothing more."
	for _, f := range s.Derived {
		d.Accounting.After += " " + Plain(f.Name) + " was computed so."
	}
	d.Accounting.Composition = fmt.Sprintf("Each charge is the worst case over all data sets. "+
		"The charges (%d) were composed by %s. All bounds are rounded up.", s.Entries, s.composition())
	d.Implementation.Before, d.Implementation.Why = "The ledger has no charge for preprocessing or tuning.", about.Justification
	if s.charges("selection") || s.charges("poisson_selection") {
		d.Implementation.Before = "The choice among settings is charged in the ledger."
	}
	d.Implementation.Before = strings.TrimSpace(about.Tuning + " " + d.Implementation.Before)
	d.Implementation.Mechanisms = s.mechanisms()
	if about.Contact != "" {
		d.Administrative.Sources = "Contact: " + about.Contact
	}
	notes := []string{fmt.Sprintf("This entry was written by pate %s from a privacy ledger with the hash of each released file.", s.Program)}
	for _, l := range s.each() {
		head := fmt.Sprintf("%d:%s", l.Head.Lines, l.Head.Hash)
		notes = append(notes, fmt.Sprintf("Verification of the ledger: `pate verify %s --head %s`.", quoted(l.Ledger), head))
	}
	kept := about.Retention
	if s.Destroyed != "" {
		kept = strings.TrimSpace(kept + " Removed when this entry was written: " + Plain(s.Destroyed) + ".")
	}
	for _, f := range [][2]string{{"Utility", about.Utility}, {"Retention", kept}, {"Correct on public rows", strings.Join(s.useful(), "; ")},
		{"Audited alone, and not refuted, which is no proof", strings.Join(s.audited(), "; ")}} {
		if f[1] != "" {
			notes = append(notes, f[0]+": "+f[1])
		}
	}
	if alarm {
		notes = append(notes, verdict)
	}
	d.Administrative.Notes, d.Administrative.Authors = paragraphs(notes...), []string{curator}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(e); err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	comment, err := written.comment("#   ", "") // as long as "<!-- " after a line break
	if err != nil {
		return err
	}
	b.WriteString(comment)
	_, err = w.Write(seal(b.Bytes()))
	return err
}

func (s *Statement) neighbours() string {
	text := fmt.Sprintf("Two data sets are neighbours if one has all data of one %s and the other has none of them (add or remove).", s.Unit)
	if s.Relation == accountant.ReplaceOne {
		text = fmt.Sprintf("Two data sets are neighbours if they differ only in the data of one %s (replace one).", s.Unit)
	}
	return text + fmt.Sprintf(" The costs hold if one %s changes one input of a mechanism, such as one vote or one row.", s.Unit)
}

func (s *Statement) parameters() string {
	text := []string{"ε is an upper bound that does not depend on the data."}
	for _, c := range s.Claims[1:] {
		text = append(text, fmt.Sprintf("At δ = %s it is %s.", exact(c.Delta), up(float64(*c.Epsilon))))
	}
	if risk, err := curveOf(s.fixed()); err == nil && risk != nil {
		if g := risk.GDP(); !math.IsInf(g.Mu, 1) {
			text = append(text, fmt.Sprintf("Gaussian differential privacy: μ = %s, except with probability %s.", up(g.Mu), exact(g.Delta)))
		}
	}
	return strings.Join(append(text, fmt.Sprintf("An attacker who guesses at even odds whether one %s is in the data "+
		"is right with probability at most %s.", s.Unit, percent(s.Attacker.Right))), " ")
}

func (s *Statement) composition() string {
	switch {
	case len(s.Of) > 0:
		return "basic composition of ledgers, or Rényi divergences where these give less"
	case s.Mode == ledger.Filter:
		return "a Rényi privacy filter"
	case s.Accountant == string(accountant.ByPLD):
		return "privacy loss distributions"
	}
	return "Rényi divergences"
}

func (s *Statement) mechanisms() string {
	var items []string
	for _, p := range s.Charged {
		items = append(items, fmt.Sprintf("%s (%s), %d times", p.Mechanism, p.Parameters, p.Count))
	}
	return paragraphs(append(append([]string{"Mechanisms:"}, bullets(items)...),
		fmt.Sprintf("Implementation: %s (%s), which draws discrete noise exactly, on integers, without floating-point error. "+
			"Every charge is on disk before its noise is drawn. Protection against timing is not claimed.", s.Library, buildinfo.Module))...)
}

func (s *Statement) trained() bool {
	return slices.ContainsFunc(s.Charged, func(p accountant.Part) bool {
		way, sum := strings.CutPrefix(p.Mechanism, "noisy sum")
		return sum && (strings.Contains(way, "sample") || strings.Contains(way, "steps") || strings.Contains(way, "batches"))
	})
}

func bullets(items []string) []string {
	var lines []string
	for _, item := range items {
		lines = append(lines, "- "+item)
	}
	return lines
}

func paragraphs(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

func slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return cmp.Or(strings.Join(words, "_"), "deployment")
}
