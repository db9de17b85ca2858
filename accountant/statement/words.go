package statement

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/buildinfo"
	"github.com/pate-go/pate/internal/number"
)

// section is a part of the page, the same in Markdown and HTML.
type section struct {
	Title  string
	Text   []string // paragraphs before the table
	Header []string
	Rows   [][]string
	After  []string // paragraphs after it
	List   []string
	Code   []string // commands
}

// title returns the headline: the guarantee in one line.
func (s *Statement) title() string {
	return fmt.Sprintf("Privacy statement: ε = %s at δ = %s for one %s", up(s.epsilon()), exact(s.Budget.Delta), s.Unit)
}

func (s *Statement) epsilon() float64 { return float64(*s.Claims[0].Epsilon) }

// verdict returns the first thing a reader has to see.
func (s *Statement) verdict() (text string, alarm bool) {
	switch {
	case s.Release == nil:
		return "The ledger does not say where the noise came from. Release nothing before that is known.", true
	case !*s.Release:
		text := "NOT FOR RELEASE:"
		for _, l := range s.each() {
			if len(l.Waived) > 0 {
				text += fmt.Sprintf(" refusals were waived for %s (%s), so the numbers below may not be "+
					"true.", l.Ledger, strings.Join(l.Waived, ", "))
			}
		}
		if s.seeded() {
			text += " the noise was drawn from a seed. Whoever knows the seed can take it off again, and the numbers below protect nobody."
		}
		return text, true
	}
	this := "this ledger"
	if len(s.Of) > 0 {
		this = "these ledgers"
	}
	text = "What was committed to " + this + " may be released under the guarantee below. What else was computed from the private data may not."
	if s.Warning != "" {
		return text + " But " + s.Warning + ".", true
	}
	return text, false
}

// seeded reports whether any noise came from a seed.
func (s *Statement) seeded() bool {
	return slices.ContainsFunc(s.each(), func(l *Statement) bool { return l.Noise == string(ledger.SeededNoise) })
}

// about returns who, what and when, as a table of two columns.
func (s *Statement) about() [][2]string {
	var rows [][2]string
	if s.About != nil {
		about := *s.About
		for _, f := range about.fields() {
			if *f.value != "" {
				rows = append(rows, [2]string{f.title, Plain(*f.value)})
			}
		}
	}
	for _, l := range s.each() {
		name := l.Ledger
		if l.ID != "" {
			name += ", id " + l.ID
		}
		rows = append(rows, [2]string{"Ledger", name})
	}
	return append(rows, [2]string{"Written by", "pate " + Plain(s.Program.String()) + " (" + buildinfo.Module + ")"})
}

func (s *Statement) each() []*Statement {
	if len(s.Of) > 0 {
		return s.Of
	}
	return []*Statement{s}
}

func (s *Statement) sections() []section {
	return []section{s.protected(), s.strength(), s.meaning(), s.mechanisms(), s.charges(), s.trust(), s.check()}
}

func (s *Statement) protected() section {
	unit := s.Unit
	differ := "one has all data of one " + unit + " and the other does not"
	if s.Relation == accountant.ReplaceOne {
		differ = "the data of one " + unit + " are replaced by any others"
	}
	unitIs := ""
	if unit == "id" || strings.HasSuffix(unit, "_id") || strings.HasSuffix(unit, "ID") {
		unitIs = "One " + unit + " stands for all records that carry it, such as those of one person. "
	}
	known := ""
	if s.Relation == accountant.AddRemove {
		known = " For somebody who knows the number of " + unit + "s, two such data sets differ in one that was " +
			"replaced, which is covered as a group of two is, at twice ε and (1 + e^ε) times δ at most."
	}
	return section{Title: "What is protected", Text: []string{
		unitIs + "The contribution of any one " + unit + " to the private data. Two data sets are neighbours if " + differ +
			" (relation " + s.Relation.String() + "). Whatever was released is nearly as likely on either, so " +
			"nobody can tell from it with confidence what any one " + unit + " contributed, whatever else they know." + known,
		"Not protected are facts about many at once: what the data teach about everybody is meant to be learnt, " +
			"and k " + unit + "s together are protected k times less, in ε.",
	}}
}

func (s *Statement) strength() section {
	if len(s.Of) > 0 {
		return s.strengthTogether()
	}
	out := section{Title: "How strongly", Header: []string{"δ", "ε at most"}}
	switch {
	case s.Mode == ledger.Filter:
		out.Text = []string{"Costs were chosen as the work went on, within a budget fixed before it began. What " +
			"holds is that budget as a whole, whether all of it was used or not:"}
	case s.Entries == 0:
		out.Text = []string{"Nothing has been charged, and so nothing may have been released:"}
	case !s.Complete:
		out.Text = []string{fmt.Sprintf("All charges so far, whether they were used or not. More may follow, up "+
			"to ε = %s, until the first of them is used; this statement then changes:", exact(float64(*s.Budget.Epsilon)))}
	default:
		out.Text = []string{"All charges were fixed before the first answer was given. They hold together, whether they were used or not:"}
	}
	for _, c := range s.Claims {
		out.Rows = append(out.Rows, []string{exact(c.Delta), up(float64(*c.Epsilon))})
	}
	out.After = []string{fmt.Sprintf("All three are true at once. ε is the privacy loss that is not exceeded; δ "+
		"is a chance that it is, and must be far below one over the number of %ss. The budget was ε = %s at δ = %s.",
		s.Unit, exact(float64(*s.Budget.Epsilon)), exact(s.Budget.Delta))}
	return out
}

// strengthTogether has a row for each ledger, and the total.
func (s *Statement) strengthTogether() section {
	out := section{Title: "How strongly", Header: []string{"ledger", "budget ε", "ε at most", "δ"}}
	out.Text = []string{fmt.Sprintf("What each ledger costs one %s, and what all of them together cost somebody "+
		"whose data stand behind each:", s.Unit)}
	sum := 0.0
	for _, l := range s.Of {
		out.Rows = append(out.Rows, []string{l.Ledger, exact(float64(*l.Budget.Epsilon)), up(l.epsilon()), exact(l.Budget.Delta)})
		sum += l.epsilon()
	}
	out.Rows = append(out.Rows, []string{"all together", up(float64(*s.Budget.Epsilon)), up(s.epsilon()), exact(s.Claims[0].Delta)})
	how := "The total is the sum of the ε, at the sum of the δ (basic composition)."
	if s.epsilon() < sum*(1-1e-9) {
		how = fmt.Sprintf("The δ add up. The ε add up to %s; the charges composed as Rényi divergences come to less, and that is the total.", up(sum))
	}
	out.After = []string{how + " It holds if the budget of no ledger was chosen by what another one released."}
	if !s.Complete {
		out.After = append(out.After, "More may be charged to some of these ledgers; this statement then changes.")
	}
	return out
}

func (s *Statement) meaning() section {
	out := section{Title: "What that means", Header: []string{"wrongly accused", "rightly found at most"}}
	doubt, test := "whether one "+s.Unit+" took part", "took part"
	if s.Relation == accountant.ReplaceOne {
		doubt, test = "which of two values one "+s.Unit+" has", "have the value in question"
	}
	out.Text = []string{fmt.Sprintf("Of a thousand guesses %s, made from even odds by somebody who knows "+
		"everything else, at most %s are right, a chance of at most %s; a coin is right in 500. Any test for "+
		"those who %s that wrongly accuses a share of the others finds at most this share of them:",
		doubt, strconv.Itoa(int(math.Min(1000, math.Ceil(1000*s.Attacker.Right)))), percent(s.Attacker.Right), test)}
	for _, r := range s.Attacker.Rates {
		out.Rows = append(out.Rows, []string{digits(100*r.FPR) + " %", percent(r.TPR)})
	}
	out.After = []string{"These are limits for the worst case, for any attack there is or will be; real attacks do worse."}
	if s.Attacker.Curve {
		out.After[0] += " They come from the whole trade-off curve of what was charged, which one pair of ε and δ does not tell."
	}
	return out
}

func (s *Statement) mechanisms() section {
	out := section{Title: "Mechanisms and accountant", Header: []string{"mechanism", "parameters", "times at most"}}
	for _, p := range s.Charged {
		out.Rows = append(out.Rows, []string{p.Mechanism, p.Parameters, strconv.FormatInt(p.Count, 10)})
	}
	account := "Costs were added as Rényi divergences with the probability of failures beside them, and " +
		"converted by Proposition 12 of Canonne, Kamath and Steinke (2020)"
	if s.Mode == ledger.Filter {
		var orders []string
		for _, a := range s.Orders {
			orders = append(orders, exact(a))
		}
		if s.Pure {
			orders = append(orders, "infinity")
		}
		account += ", as a filter at order " + strings.Join(orders, ", ") + ", fixed before the first charge"
		if len(s.Orders) > 1 {
			account += ", with δ split among the orders"
		}
	} else if s.Accountant == string(accountant.ByPLD) {
		account = "All charges were composed as privacy loss distributions, each replaced by one that dominates " +
			"it on a grid, with truncation and rounding added (docs/accounting.md)"
	} else {
		account += ", at the best order over the whole"
	}
	out.After = []string{account + ". Every bound is rounded up. Made with " + s.Library + "."}
	if len(s.Of) > 0 {
		out.After = []string{"Costs were added as Rényi divergences with the probability of failures beside " +
			"them, in each ledger by itself; filters state their budget as a whole. Every bound is rounded up. Made with " + s.Library + "."}
	}
	for _, l := range s.each() {
		if l.Seal != "" {
			out.After = append(out.After, l.Seal)
		}
	}
	return out
}

// OfSeal explains the claim of a ledger that was sealed by another version at another epsilon; "" for other
// ledgers.
func OfSeal(s ledger.Summary) string {
	c := s.Claimed
	if c.Again == nil {
		return ""
	}
	larger := "the upper end that this version finds"
	if c.Sealed > c.Again.Upper {
		larger = "the sealed one"
	}
	return fmt.Sprintf("The ledger was sealed at ε %s, by %s. This version finds ε between %s and %s. The claim is the larger: %s, %s.",
		exact(c.Sealed), s.Library, number.DigitsDown(c.Again.Lower, 8), number.DigitsUp(c.Again.Upper, 8), larger, number.DigitsUp(c.Epsilon, 8))
}

func (s *Statement) charges() section {
	out := section{Title: "What was charged, and what was not"}
	out.Text = []string{fmt.Sprintf("Charged: %s, each with its worst case over all data, before it ran; %d led "+
		"to an outcome that was committed before it left. Nothing was given back.",
		plural(s.Entries, "reservation"), s.Committed)}
	out.Header, out.Rows = []string{"released file, SHA-256", "entries"}, s.releasedRows()
	if s.More > 0 {
		out.Text = append(out.Text, fmt.Sprintf("%s more are in the ledger and not listed.", plural(s.More, "outcome")))
	}
	if s.Torn != "" {
		out.Text = append(out.Text, "The last line of the ledger is cut off: "+s.Torn+".")
	}
	out.After = []string{"Not charged, and so not covered unless it never looked at the private data:"}
	out.List = s.NotShown
	return out
}

func (s *Statement) releasedRows() [][]string {
	var rows [][]string
	for _, l := range s.each() {
		for _, r := range l.Released {
			name, entries := r.SHA256, r.Entries
			if r.Name != "" {
				name = r.Name + ": " + name
			}
			if len(s.Of) > 0 {
				entries = l.Ledger + " " + entries
			}
			rows = append(rows, []string{name, entries})
		}
	}
	return rows
}

// notCharged lists what no ledger covers.
func notCharged(c ledger.Config) []string {
	return []string{
		"the choice of the mechanism, its noise and thresholds, the model and its settings, where they were " +
			"tuned or planned on these data without a charge above",
		"numbers computed from the votes or the data themselves: data-dependent ε, vote gaps, accuracy on " +
			"private rows. They are secrets, and must have steered nothing",
		"the number of " + c.Unit + "s, the list of classes, public rows and their labels, which are taken to be public",
		"what other ledgers charged for the same people: budgets of two ledgers add up, and neither knows of the other",
	}
}

func (s *Statement) trust() section {
	out := section{Title: "What has to be trusted"}
	switch {
	case s.seeded():
		out.List = append(out.List, "Randomness: noise came from a seed. This was an experiment.")
	case s.Noise != string(ledger.SecretNoise):
		out.List = append(out.List, "Randomness: the ledger does not say where the noise came from.")
	default:
		out.List = append(out.List, "Randomness: noise came from a secret key drawn by the operating system. "+
			"Who learns that key can take the noise off; it is to be destroyed when the run is closed.")
	}
	out.List = append(out.List,
		"Each cost is that of one changed input of its mechanism, such as one vote or one "+
			"row. One "+s.Unit+" changes no more than one; whoever has several is protected less.",
		"The curator holds the private data, and what is computed from them before noise, in the clear. "+
			"Protection begins at release; it is no substitute for access control and deletion.",
		"The program ran what was charged, and nothing left around it. The ledger shows charges and hashes of "+
			"outcomes; it cannot show what was never written into it.",
		"Who watches the run itself, its time, its memory or its files, sees more than was released.")
	if s.Data != "" {
		out.List = append(out.List, "The private input is the one whose recorded identity is "+s.Data+".")
	}
	return out
}

func (s *Statement) check() section {
	var commands []string
	for _, l := range s.each() {
		command := "pate ledger verify " + quoted(l.Ledger)
		if l.Head.Lines > 0 {
			command += fmt.Sprintf(" --head %d:%s", l.Head.Lines, l.Head.Hash)
		}
		commands = append(commands, command)
	}
	text := []string{
		"Anybody who has the ledger can check this page with the accountant alone, without the data and without " +
			"the program that ran. Every ε is recomputed, and an accidental change inside the file is found with its line.",
		"The lines are chained by hashes, without a key. Somebody who can write the file can write another that " +
			"passes: with other charges, or without its last lines. The head below shows that it is the same " +
			"file, if it was kept where they cannot write:",
	}
	switch {
	case s.Compared == nil:
	case *s.Compared:
		text[0] += " When this page was made, the ledger held the head that was kept of it."
	default:
		text[0] += " When this page was made no head of the ledger was known: whether its last lines were cut off is not known."
	}
	return section{Title: "How to verify", Text: text, Code: commands, After: []string{
		"With --labels FILE or --model FILE the command says which entry released a file, by its SHA-256, and " +
			"with --statement whether this page is unchanged and says what the ledger says."}}
}

// percent shows a share, rounded up to a hundredth of a percent.
func percent(x float64) string {
	return number.TrimZeros(number.DecimalsUp(math.Min(100, 100*x), 2)) + " %"
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatInt(n, 10) + " " + what + "s"
}
