package man

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/internal/buildinfo"
)

// section returns the part of the manual: 1 for commands, 7 for topics, which run nothing.
func section(cmd *cobra.Command) int {
	if !cmd.Runnable() && !cmd.HasSubCommands() {
		return 7
	}
	return 1
}

// title returns the name of a page: pate-ledger-verify.
func title(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func fileName(cmd *cobra.Command) string { return fmt.Sprintf("%s.%d", title(cmd), section(cmd)) }

// Page returns the manual page of a command or a topic, in the language of man(7). It has
// no date, so that the same source gives the same bytes.
func Page(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s %d \"\" \"pate %s\"\n", strings.ToUpper(title(cmd)), section(cmd), escaped(buildinfo.Read().Version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escaped(title(cmd)), escaped(cmd.Short))
	if section(cmd) == 1 {
		fmt.Fprintf(&b, ".SH SYNOPSIS\n.nf\n%s\n.fi\n", escaped(cmd.UseLine()))
	}
	if cmd.Long != "" {
		b.WriteString(".SH DESCRIPTION\n" + paragraphs(cmd.Long))
	}
	writeFlags(&b, "OPTIONS", cmd.NonInheritedFlags())
	writeFlags(&b, "OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n" + verbatim(cmd.Example))
	}
	var also []string
	if cmd.HasParent() {
		also = append(also, reference(cmd.Parent()))
	}
	for _, child := range cmd.Commands() {
		if !child.Hidden {
			also = append(also, reference(child))
		}
	}
	if len(also) > 0 {
		b.WriteString(".SH SEE ALSO\n" + strings.Join(also, ",\n") + "\n")
	}
	return b.String()
}

func reference(cmd *cobra.Command) string {
	return fmt.Sprintf("\\fB%s\\fR(%d)", escaped(title(cmd)), section(cmd))
}

func writeFlags(b *strings.Builder, heading string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	b.WriteString(".SH " + heading + "\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(b, "\\fB\\-%s\\fR, ", escaped(f.Shorthand))
		}
		fmt.Fprintf(b, "\\fB\\-\\-%s\\fR", escaped(f.Name))
		if kind != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", escaped(kind))
		}
		b.WriteString("\n" + escaped(usage))
		switch f.DefValue {
		case "", "false", "[]", "0":
		default:
			b.WriteString(escaped(fmt.Sprintf(" (default %s)", f.DefValue)))
		}
		b.WriteString("\n")
	})
}

// paragraphs returns a help text. A paragraph with an indented line is a table or code and
// keeps its lines; the others are filled.
func paragraphs(text string) string {
	var b strings.Builder
	for i, p := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if strings.HasPrefix(p, " ") || strings.Contains(p, "\n ") {
			b.WriteString(verbatim(p))
			continue
		}
		b.WriteString(escaped(p) + "\n")
	}
	return b.String()
}

func verbatim(text string) string { return ".nf\n" + escaped(strings.Trim(text, "\n")) + "\n.fi\n" }

// escaped returns a text without what man would take for its own: backslashes, hyphens that
// must stay so, and lines that begin like a request.
func escaped(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
