package shell

import (
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// Columns is the width of the terminal that help is written for.
const Columns = 80

// helpTemplate opens with the examples: what people copy first.
const helpTemplate = `{{if .Example}}Examples:
{{.Example}}

{{end}}{{with (or .Long .Short)}}{{. | wrapped}}

{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}`

// usageExamples is the part of cobra's usage that the help opens with instead.
const usageExamples = `{{if .HasExample}}

Examples:
{{.Example}}{{end}}`

// UseOwnHelp sets both templates of a command and all below it.
func UseOwnHelp(root *cobra.Command) {
	cobra.AddTemplateFunc("wrapped", Wrapped)
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(strings.NewReplacer(usageExamples, "", "FlagUsages", "FlagUsagesWrapped 80").Replace(root.UsageTemplate()))
}

// Wrapped fills the paragraphs of a text anew; lines that begin with a blank,
// such as code and lists, stay as they are.
func Wrapped(text string) string {
	var out strings.Builder
	used := 0 // Columns of the line being filled
	for _, line := range strings.Split(strings.TrimRight(strings.TrimLeft(text, "\n"), " \n"), "\n") {
		if line == "" || line[0] == ' ' {
			if used > 0 {
				out.WriteByte('\n')
			}
			out.WriteString(line + "\n")
			used = 0
			continue
		}
		for _, word := range strings.Fields(line) {
			n := utf8.RuneCountInString(word)
			switch {
			case used == 0:
				used = n
			case used+1+n > Columns:
				out.WriteByte('\n')
				used = n
			default:
				out.WriteByte(' ')
				used += 1 + n
			}
			out.WriteString(word)
		}
	}
	return strings.TrimRight(out.String(), "\n")
}
