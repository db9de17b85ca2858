package shell

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
)

//go:embed help/*.txt
var helpTexts embed.FS

const details = "pate_details"

// Describe sets the help texts of all commands below root, and adds a command for each help topic.
func Describe(root *cobra.Command) {
	files, _ := helpTexts.ReadDir("help") // embedded files cannot fail
	texts := map[string]string{}
	for _, f := range files {
		text, _ := helpTexts.ReadFile("help/" + f.Name())
		texts[strings.TrimSuffix(f.Name(), ".txt")] = strings.TrimRight(string(text), "\n")
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		name := strings.ReplaceAll(strings.TrimPrefix(cmd.CommandPath(), "pate "), " ", "-")
		if text, found := texts[name]; found {
			cmd.Short, text, _ = strings.Cut(text, "\n\n")
			cmd.Long, text, _ = strings.Cut(text, "\n\nExamples:\n")
			cmd.Example, text, _ = strings.Cut(text, "\n\n")
			annotate(cmd, details, strings.Replace(text, "{{events}}", strings.Join(accountant.EventTypes(), "; "), 1))
			delete(texts, name)
		}
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(root)
	list := "Topics of pate help TOPIC; pate help COMMAND has everything about a command:\n\n  votes         what a votes file looks like\n"
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".txt")
		text, left := texts[name]
		if !left {
			continue
		}
		title, text, _ := strings.Cut(text, "\n\n")
		list += fmt.Sprintf("  %-13s %s\n", name, title)
		root.AddCommand(&cobra.Command{Use: name, Short: title, Long: strings.Replace(text, "{{mechanisms}}\n", mechanismTable(), 1)})
	}
	root.AddCommand(&cobra.Command{Use: "topics", Short: "the list of topics", Long: list})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { cmd.Print(Help(cmd, false)) })
	root.SetUsageFunc(func(cmd *cobra.Command) error { cmd.Print(Help(cmd, false)); return nil })
}

func annotate(cmd *cobra.Command, name, value string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[name] = value
}

func mechanismTable() string {
	const does, costs = 33, 26 // column widths
	var b strings.Builder
	for _, d := range mechanisms.All() {
		left, right, name := Folded(d.Short, does), Folded(d.Cost, costs), d.Name
		for len(left) > 0 || len(right) > 0 {
			var short, cost string
			if len(left) > 0 {
				short, left = left[0], left[1:]
			}
			if len(right) > 0 {
				cost, right = right[0], right[1:]
			}
			b.WriteString(strings.TrimRight(fmt.Sprintf("  %-17s %-*s %s", name, does, short, cost), " ") + "\n")
			name = ""
		}
	}
	return b.String()
}

// Help returns the help text of a command. If full is set, the text is complete, as in `pate help COMMAND`.
// Otherwise the text has two examples, a line for each frequent flag, and the names of all other flags.
func Help(cmd *cobra.Command, full bool) string {
	var b strings.Builder
	fmt.Fprintln(&b, Wrapped(cmp.Or(cmd.Long, cmd.Short)))
	if cmd.IsAdditionalHelpTopicCommand() {
		return b.String()
	}
	if groups := cmd.Groups(); len(groups) > 0 {
		for _, group := range groups {
			fmt.Fprintln(&b, group.Title)
			listCommands(&b, cmd, group.ID)
		}
		b.WriteString("pate COMMAND --help; pate help COMMAND; pate help topics; version, completion\n")
		return b.String()
	}
	examples, more := cmd.Example, cmd.Annotations[details]
	if full && more != "" {
		fmt.Fprintf(&b, "\n%s\n", Wrapped(more))
	}
	if !full {
		examples = firstExamples(examples, 2)
	}
	if cmd.Runnable() {
		fmt.Fprintf(&b, "\nUsage:\n  %s\n", cmd.UseLine())
	}
	if examples != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", foldedCommands(examples))
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		listCommands(&b, cmd, "")
	}
	if cmd.Runnable() && !full {
		b.WriteString(shortFlags(cmd))
	} else if cmd.Runnable() {
		parts, _ := sections(cmd)
		for _, s := range parts {
			fmt.Fprintf(&b, "\n%s:\n%s", s.title, s.flags.FlagUsagesWrapped(Columns))
		}
	}
	if !full && more != "" {
		fmt.Fprintf(&b, "\nMore: pate help %s\n", strings.TrimPrefix(cmd.CommandPath(), "pate "))
	}
	return b.String()
}

func listCommands(b *strings.Builder, cmd *cobra.Command, group string) {
	for _, child := range cmd.Commands() {
		if child.GroupID == group && child.IsAvailableCommand() {
			fmt.Fprintf(b, "  %-*s %s\n", child.NamePadding(), child.Name(), child.Short)
		}
	}
}

func firstExamples(examples string, n int) string {
	var lines []string
	continued := false
	for line := range strings.Lines(examples) {
		line = strings.TrimRight(line, "\n")
		if !continued {
			if n--; n < 0 {
				break
			}
		}
		lines, continued = append(lines, line), strings.HasSuffix(line, "\\")
	}
	return strings.Join(lines, "\n")
}

type section struct {
	title string
	flags *pflag.FlagSet
}

//go:embed sections.txt
var sectionTexts string

func sections(cmd *cobra.Command) (found []section, rare []string) {
	texts := strings.Split(sectionTexts, "\n\n")
	texts, rare = texts[:len(texts)-1], strings.Fields(texts[len(texts)-1])
	var placed, others []string
	for _, text := range texts {
		_, names, _ := strings.Cut(text, "\n")
		placed = append(placed, strings.Fields(names)...)
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(placed, f.Name) {
			others = append(others, f.Name)
		}
	})
	for _, text := range texts {
		title, names, named := strings.Cut(text, "\n")
		s := section{title, pflag.NewFlagSet(title, pflag.ContinueOnError)}
		s.flags.SortFlags = false
		list := others
		if named {
			list = strings.Fields(names)
		}
		for _, name := range list {
			if f := cmd.Flag(name); f != nil && !f.Hidden {
				s.flags.AddFlag(f)
			}
		}
		if s.flags.HasFlags() {
			found = append(found, s)
		}
	}
	return found, rare
}

const fewFlags = 19

func shortFlags(cmd *cobra.Command) string {
	var b strings.Builder
	var left []string
	parts, rare := sections(cmd)
	number := 0
	for _, s := range parts {
		s.flags.VisitAll(func(*pflag.Flag) { number++ })
	}
	for _, s := range parts {
		lines := ""
		s.flags.VisitAll(func(f *pflag.Flag) {
			switch {
			case f.Name == "help" || f.Name == "quiet":
			case number > fewFlags && slices.Contains(rare, f.Name):
				left = append(left, "--"+f.Name)
			default:
				lines += flagLine(f)
			}
		})
		if lines != "" {
			fmt.Fprintf(&b, "\n%s:\n%s", s.title, lines)
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(&b, "\nMore flags:\n  %s\n", strings.Join(Folded(strings.Join(left, " "), Columns-2), "\n  "))
	}
	return b.String()
}

func flagLine(f *pflag.Flag) string {
	const column = 26
	name := fmt.Sprintf("  --%s %s", f.Name, valueWord(f))
	usage, tag := shortUsage(f.Usage), ""
	if strings.Contains(f.Usage, "(required") {
		tag = " (required)"
	} else if f.DefValue != "" && f.DefValue != "0" && !strings.HasPrefix(f.DefValue, "[") && f.Value.Type() != "bool" {
		tag = " [" + f.DefValue + "]"
	}
	if lines := Folded(usage, Columns-column); len(lines) > 1 {
		if end := strings.LastIndex(lines[0], ", "); end > 0 {
			usage = lines[0][:end]
		} else {
			usage = Folded(usage, Columns-column-4)[0] + " ..."
		}
	}
	if utf8.RuneCountInString(usage+tag) <= Columns-column {
		usage += tag
	}
	return fmt.Sprintf("%-*s %s\n", column-1, strings.TrimRight(name, " "), usage)
}

func valueWord(f *pflag.Flag) string {
	takes := told(f)
	kind := f.Value.Type()
	switch {
	case kind == "bool":
		return ""
	case f.NoOptDefVal != "":
		return "[=WHAT]"
	case takes.is("dir"):
		return "DIR"
	case takes.is("file"):
		return "FILE"
	case strings.HasPrefix(kind, "int") || strings.HasPrefix(kind, "uint"):
		return "N"
	case strings.HasPrefix(kind, "float"):
		return "X"
	case takes.is("list") || strings.Contains(kind, "ice") || strings.HasSuffix(kind, "s"):
		return "LIST"
	case kind == "duration":
		return "TIME"
	}
	return "WORD"
}
